/** The error of a request that is not allowed. */
import { goQuote } from '../lib/go-text.ts'
import type { Attributes } from './access.ts'
import { forbiddenPath, StatusError } from './status-error.ts'
import type { User } from './user.ts'

/** The error when no authorizer allowed a request. */
export function forbidden(user: User, { verb, path, resource }: Attributes, reason = ''): StatusError {
  const why = reason === '' ? '' : `: ${reason}`
  if (resource === undefined) {
    const message = plainText(`User ${goQuote(user.name)} cannot ${verb} path ${goQuote(path)}`)
    return forbiddenPath(`forbidden: ${message}${why}`)
  }
  const { group, plural, subresource, namespace, name } = resource
  const what = subresource === '' ? plural : `${plural}/${subresource}`
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${goQuote(namespace)}`
  const message = plainText(`User ${goQuote(user.name)} cannot ${verb} resource ${goQuote(what)} in API group ${goQuote(group)} ${where}`)
  const subject = `${group === '' ? plural : `${plural}.${group}`}${name === '' ? '' : ` ${goQuote(name)}`}`
  return new StatusError(403, 'Forbidden', `${subject} is forbidden: ${message}${why}`, {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    ...(plural === '' ? {} : { kind: plural }),
  })
}

/** The message repeats input of the client; it must not be interpreted as HTML where it is shown. */
const plainText = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
