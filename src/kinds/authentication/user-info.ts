/** A user as the reviews of authentication tell of it. */
import { setOwn } from '../../lib/json-value.ts'
import { atomic, mapOf, message, type Static, string } from '../../schema/types.ts'
import type { User } from '../../schema/user.ts'

export const UserInfo = message('UserInfo', {
  username: [1, string, 'The name by which the user is known here.'],
  uid: [2, string, 'Tells users apart that have borne the same name in turn.'],
  groups: [3, atomic(string), 'The groups that the user belongs to.'],
  extra: [4, mapOf(atomic(string)), 'What the authenticator knows beside that.'],
})
export type UserInfo = Static<typeof UserInfo>

/** What is known of a user, in the form of the API. */
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
