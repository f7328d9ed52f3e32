/** Decides about a token secret of a service account: it is filled, or deleted with the account. */
import type { Secret } from '../../kinds/core/secret.ts'
import type { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

export type TokenSecret = Secret
export type Account = ServiceAccount

export const TOKEN_TYPE = 'kubernetes.io/service-account-token'
const NAME = 'kubernetes.io/service-account.name'
const UID = 'kubernetes.io/service-account.uid'

export type Step =
  | { readonly step: 'delete' }
  /** The secret as it should be, but for the token if that is missing. */
  | { readonly step: 'fill'; readonly needsToken: boolean; readonly secret: TokenSecret }

/** The account that a secret names, with the uid that it must have, if it says. */
export function accountOf({ metadata: { annotations = {} } }: Pick<AnyObject, 'metadata'>): {
  readonly name: string
  readonly uid: string
} {
  return { name: annotations[NAME] ?? '', uid: annotations[UID] ?? '' }
}

/** The next step, or undefined when the secret is as it should be. The account is the one that it names, if that is there. */
export function nextStep(secret: TokenSecret, account: Account | undefined, authority: string): Step | undefined {
  const { metadata } = secret
  const { uid } = accountOf(secret)
  if (metadata.deletionTimestamp) return undefined
  if (!account || (uid !== '' && uid !== account.metadata.uid)) return { step: 'delete' }
  const data: Readonly<Record<string, string>> = secret.data ?? {}
  const encode = (text: string) => Buffer.from(text).toString('base64')
  const missing = {
    ...(data['ca.crt'] !== encode(authority) && { 'ca.crt': encode(authority) }),
    ...(!data['namespace'] && { namespace: encode(metadata.namespace ?? '') }),
  }
  const needsToken = !data['token']
  if (!needsToken && Object.keys(missing).length === 0) return undefined
  const annotations = { ...metadata.annotations, [NAME]: account.metadata.name ?? '', [UID]: account.metadata.uid ?? '' }
  const filled = { ...secret, metadata: { ...metadata, annotations }, data: { ...data, ...missing } }
  return { step: 'fill', needsToken, secret: filled as TokenSecret }
}
