/** Rules for the address of a webhook: a URL, or a service. */
import { isDNS1123Subdomain, isValidPortNum } from '../../lib/names.ts'
import { parseUrl } from '../../lib/url.ts'
import { type FieldError, invalid, type Ref, required, withValue } from '../../schema/refs.ts'

type Service = { name: string; namespace: string; port?: number; path?: string }

const URL_LAYOUT = '; desired format: https://host[/path]'

/** The URL of a webhook must be https, without user, query or fragment. */
export function* validateWebhookUrl(text: string, at: Ref<string>): Iterable<FieldError> {
  const url = parseUrl(text)
  if ('problem' in url) return yield required(at, `url must be a valid URL: ${url.problem}${URL_LAYOUT}`)
  if (url.scheme !== 'https') yield invalid(withValue(at, url.scheme), `'https' is the only allowed URL scheme${URL_LAYOUT}`)
  if (url.host === '') yield invalid(withValue(at, ''), `host must be specified${URL_LAYOUT}`)
  if (url.user !== undefined) yield invalid(withValue(at, url.user), 'user information is not permitted in the URL')
  if (url.fragment !== '') yield invalid(withValue(at, url.fragment), 'fragments are not permitted in the URL')
  if (url.query !== '') yield invalid(withValue(at, url.query), 'query parameters are not permitted in the URL')
}

/** A missing name is reported for the namespace and vice versa, as in kube-apiserver. */
export function* validateWebhookService({ name, namespace, port = 0, path }: Service, at: Ref<Service>): Iterable<FieldError> {
  if (!namespace) yield required(at.name)
  if (!name) yield required(at.namespace)
  const faults = isValidPortNum(port)
  if (faults.length > 0) yield invalid(at.port, `port is not valid: ${faults.join(', ')}`)
  if (path !== undefined && path !== '' && path !== '/') yield* validatePath(path, at.path)
}

function* validatePath(path: string, at: Ref<string>): Iterable<FieldError> {
  if (path === '//') return yield invalid(at, 'segment[0] may not be empty')
  if (!path.startsWith('/')) yield invalid(at, "must start with a '/'")
  for (const [i, segment] of path.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (segment === '') yield invalid(at, `segment[${i}] may not be empty`)
    else for (const fault of isDNS1123Subdomain(segment)) yield invalid(at, `segment[${i}]: ${fault}`)
  }
}
