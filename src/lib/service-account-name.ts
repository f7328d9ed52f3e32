/** Service accounts as users: `system:serviceaccount:NAMESPACE:NAME`, and their groups. */
import { isDNS1123Label, isDNS1123Subdomain } from './names.ts'

const PREFIX = 'system:serviceaccount:'
const GROUP = 'system:serviceaccounts'

export type AccountName = { readonly namespace: string; readonly name: string }

/** The user name of an account. */
export const accountUser = ({ namespace, name }: AccountName): string => `${PREFIX}${namespace}:${name}`

/** The groups of every account in a namespace. */
export const accountGroups = (namespace: string): string[] => [GROUP, `${GROUP}:${namespace}`]

/** The account behind a user name; undefined for all other users. */
export function readAccountUser(user: string): AccountName | undefined {
  if (!user.startsWith(PREFIX)) return undefined
  const [namespace = '', name = '', ...more] = user.slice(PREFIX.length).split(':')
  if (more.length > 0 || isDNS1123Label(namespace).length > 0 || isDNS1123Subdomain(name).length > 0) return undefined
  return { namespace, name }
}
