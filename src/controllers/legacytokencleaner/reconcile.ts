/** Decides about generated tokens of service accounts that nobody has used for long: first they are invalid, later they are deleted. */
import type { Secret } from '../../kinds/core/secret.ts'
import type { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { dateOf, isDate, millisecondsAt } from '../../lib/time.ts'

export const TOKEN_TYPE = 'kubernetes.io/service-account-token'
export const LAST_USED = 'kubernetes.io/legacy-token-last-used'
export const INVALID_SINCE = 'kubernetes.io/legacy-token-invalid-since'
const ACCOUNT_NAME = 'kubernetes.io/service-account.name'
const ACCOUNT_UID = 'kubernetes.io/service-account.uid'

const DAY_MS = 24 * 3600_000
/** How long a token must have been unused, and how long it stays invalid before it is deleted. */
export const UNUSED_MS = 365 * DAY_MS

/** Whether uses have been recorded for long enough; a date means some time of that day. */
export const isTrackedLongEnough = (since: string | undefined, now: number): boolean =>
  isDate(since) && now >= Date.parse(since) + DAY_MS + UNUSED_MS

export type TokenState = {
  readonly now: number
  /** The account of this name in the secret's namespace. */
  readonly account: (name: string) => ServiceAccount | undefined
  /** Whether a pod of the namespace mounts or reads the secret. */
  readonly isMounted: () => boolean
}

export function decide({ type, metadata }: Secret, { now, account, isMounted }: TokenState): 'keep' | 'invalidate' | 'delete' {
  const { name, labels = {}, annotations = {}, creationTimestamp, deletionTimestamp } = metadata
  const before = now - UNUSED_MS
  if (type !== TOKEN_TYPE || deletionTimestamp !== undefined || !(millisecondsAt(creationTimestamp, Number.NaN) < before)) return 'keep'
  const lastUsed = labels[LAST_USED]
  if (lastUsed !== undefined && (!isDate(lastUsed) || lastUsed >= dateOf(before))) return 'keep'
  const owner = account(annotations[ACCOUNT_NAME] ?? '')
  const uid = annotations[ACCOUNT_UID] ?? ''
  // A token that the account does not list was made by somebody on purpose.
  if (!owner || (uid !== '' && uid !== owner.metadata.uid) || !owner.secrets?.some(reference => reference.name === name)) return 'keep'
  if (isMounted()) return 'keep'
  const invalidSince = labels[INVALID_SINCE]
  if (!isDate(invalidSince)) return 'invalidate'
  return invalidSince < dateOf(before) ? 'delete' : 'keep'
}
