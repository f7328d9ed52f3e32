/** Bootstrap tokens: Secrets in kube-system with which new nodes introduce themselves. */
import { millisecondsAt } from './time.ts'

export const TOKEN_TYPE = 'bootstrap.kubernetes.io/token'
export const TOKEN_NAMESPACE = 'kube-system'
export const TOKEN_PREFIX = 'bootstrap-token-'
const TOKEN_GROUP = 'system:bootstrappers'
export const TOKEN_USER = 'system:bootstrap:'

const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/

/** The data of a Secret of this type; values are in base64. */
export type TokenData = Readonly<Record<string, string>> | undefined

/** One value of a token as a string; empty when the key is absent. */
export const tokenValue = (data: TokenData, key: string): string =>
  data && Object.hasOwn(data, key) ? Buffer.from(data[key]!, 'base64').toString('utf8') : ''

/** When a token expires; undefined when it does not. A token whose expiry cannot be read has expired. */
export function tokenExpiry(data: TokenData): number | undefined {
  const text = tokenValue(data, 'expiration')
  if (text === '') return undefined
  try {
    return RFC3339.test(text) ? millisecondsAt(text) : 0
  } catch {
    return 0
  }
}
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** The groups that a token gives its user; undefined when one of them is not allowed. */
export function tokenGroups(data: TokenData): string[] | undefined {
  const extra = tokenValue(data, 'auth-extra-groups')
  const groups = extra === '' ? [] : extra.split(',')
  return groups.every(group => EXTRA_GROUP.test(group)) ? [...new Set([TOKEN_GROUP, ...groups])].sort() : undefined
}

/** The id and secret of a token; undefined when the string is not a bootstrap token. */
export function readToken(text: string): { readonly id: string; readonly secret: string } | undefined {
  const [, id, secret] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(text) ?? []
  return id !== undefined && secret !== undefined ? { id, secret } : undefined
}
