/** What a secret that is to hold the token of a service account needs: to be filled, or to go with the account. */
import type { AnyObject } from '../../schema/object-meta.ts'

export const TOKEN_TYPE = 'kubernetes.io/service-account-token'
const NAME = 'kubernetes.io/service-account.name'
const UID = 'kubernetes.io/service-account.uid'

export type Step =
  | { readonly step: 'delete' }
  /** What is missing beside the token, as a merge patch; and whether the token is. */
  | { readonly step: 'fill'; readonly needsToken: boolean; readonly patch: { metadata: object; data: Readonly<Record<string, string>> } }

/** The account that a secret names, with the uid that it must have, if it says. */
export function accountOf({ metadata: { annotations = {} } }: AnyObject): { readonly name: string; readonly uid: string } {
  return { name: annotations[NAME] ?? '', uid: annotations[UID] ?? '' }
}

/** The next step, or undefined when the secret is as it should be. The account is the one that it names, if that is there. */
export function nextStep(secret: AnyObject, account: AnyObject | undefined, authority: string): Step | undefined {
  const { uid } = accountOf(secret)
  if (secret.metadata.deletionTimestamp) return undefined
  if (!account || (uid !== '' && uid !== account.metadata.uid)) return { step: 'delete' }
  const data: Readonly<Record<string, string>> = secret['data'] ?? {}
  const encode = (text: string) => Buffer.from(text).toString('base64')
  const missing = {
    ...(data['ca.crt'] !== encode(authority) && { 'ca.crt': encode(authority) }),
    ...(!data['namespace'] && { namespace: encode(secret.metadata.namespace ?? '') }),
  }
  const needsToken = !data['token']
  if (!needsToken && Object.keys(missing).length === 0) return undefined
  const { uid: own, resourceVersion } = secret.metadata
  const annotations = { [NAME]: account.metadata.name, [UID]: account.metadata.uid }
  return { step: 'fill', needsToken, patch: { metadata: { uid: own, resourceVersion, annotations }, data: missing } }
}
