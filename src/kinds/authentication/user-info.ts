/** A user in authentication reviews. */
import { setOwn } from '../../lib/json-value.ts'
import { atomic, mapOf, message, type Static, string } from '../../schema/types.ts'
import type { User } from '../../schema/user.ts'

export const UserInfo = message('UserInfo', {
  username: [1, string, 'The name of the user.'],
  uid: [2, string, 'Identifies the user over time, even if the name is used again.'],
  groups: [3, atomic(string), 'The groups that the user is a member of.'],
  extra: [4, mapOf(atomic(string)), 'Further attributes from the authenticator.'],
})
export type UserInfo = Static<typeof UserInfo>

/** A user as an API object. */
export function userInfoOf({ name, uid, groups, extra = {} }: User): UserInfo {
  const attributes: Record<string, string[]> = {}
  for (const [key, values] of Object.entries(extra)) setOwn(attributes, key, [...values])
  return {
    ...(name !== '' && { username: name }),
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(Object.keys(attributes).length > 0 && { extra: attributes }),
  }
}
