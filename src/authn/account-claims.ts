/**
 * Checks whether the claims of a service account's token are still valid, and maps them to a user. Signatures have been verified before.
 */

import { timingSafeEqual } from 'node:crypto'
import { goQuote } from '../lib/go-text.ts'
import { isObject, type JsonObject } from '../lib/json-value.ts'
import { accountGroups, accountUser, readAccountUser } from '../lib/service-account-name.ts'
import { millisecondsAt } from '../lib/time.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Annotate } from '../schema/request-context.ts'
import type { User } from '../schema/user.ts'
import { CREDENTIAL_ID } from './authenticator.ts'

/** The resources of objects that credentials are bound to. */
export type BoundPlural =
  | 'serviceaccounts'
  | 'secrets'
  | 'pods'
  | 'nodes'
  | 'validatingwebhookconfigurations'
  | 'mutatingwebhookconfigurations'
/** Looks up objects that credentials are bound to; the namespace is empty for cluster-scoped ones. */
export type FindBound = (plural: BoundPlural, namespace: string, name: string) => AnyObject | undefined
/** The time, and the objects at that time. */
export type Moment = { readonly now: number; readonly find: FindBound }
type Audited = { readonly annotate?: Annotate | undefined }

/** The reason why a token is rejected; it never contains a secret part of the token. */
export class ClaimError extends Error {}

/** Tolerated difference between clocks, in milliseconds. */
const LEEWAY_MS = 60_000
export const LEGACY_ISSUER = 'kubernetes/serviceaccount'

export type Bound = { readonly name: string; readonly uid: string }

/** Checks the times of a token. Throws ClaimError. */
function checkTimes(claims: JsonObject, now: number): void {
  const time = (name: string) => {
    const value = claims[name] ?? undefined
    if (value !== undefined && typeof value !== 'number') throw new ClaimError(NOT_A_DATE)
    return value === undefined ? undefined : value * 1000
  }
  const [nbf, exp, iat] = [time('nbf'), time('exp'), time('iat')]
  if (nbf !== undefined && now + LEEWAY_MS < nbf) throw new ClaimError('service account token is not valid yet')
  if (exp !== undefined && now - LEEWAY_MS > exp) throw new ClaimError('service account token has expired')
  if (iat !== undefined && now + LEEWAY_MS < iat) throw new ClaimError('service account token is issued in the future')
}

// A time that cannot be parsed must not count as absent, or the token would never expire.
const NOT_A_DATE = 'go-jose/go-jose/jwt: expected number value to unmarshal NumericDate'

/** Checks that the account and the bound objects of the token are still the same. Throws ClaimError. */
export function checkBound(claims: JsonObject, { annotate, mayBindWebhooks, ...moment }: Moment & Audited & WebhookTokens): void {
  checkTimes(claims, moment.now)
  const bound = boundTo(claims)
  checkStillThere(bound, moment)
  checkWebhooks(bound, { mayBindWebhooks, ...moment })
  if (annotate) noteStale(claims, moment.now, annotate)
}

/** A token of a pod that is used although its pod should have read a newer one, as it could be with a shorter validity. */
function noteStale(claims: JsonObject, now: number, annotate: Annotate): void {
  const said = claims['kubernetes.io']
  const warnAfter = isObject(said) ? said['warnafter'] : undefined
  if (typeof warnAfter !== 'number' || warnAfter === 0 || now <= warnAfter * 1000) return
  const seconds = Math.floor(now / 1000) - Math.floor(warnAfter)
  annotate(`${ANNOTATION}stale-token`, `subject: ${text(claims['sub'])}, seconds after warning threshold: ${seconds}`)
}
const ANNOTATION = 'authentication.k8s.io/'

/** An account, and the objects that a credential is bound to. */
export type BoundAccount = {
  readonly namespace: string
  readonly account: Bound
  readonly secret?: Bound | undefined
  readonly pod?: Bound | undefined
  readonly node?: Bound | undefined
}

/** Checks that an account and the bound objects of a credential exist, with the same uids. Throws ClaimError. */
export function checkStillThere({ namespace, account, secret, pod, node }: BoundAccount, { now, find }: Moment): void {
  const found = find('serviceaccounts', namespace, account.name)
  if (!found) throw new ClaimError(`serviceaccounts ${goQuote(account.name)} not found`)
  if (found.metadata.uid !== account.uid)
    throw new ClaimError(`service account UID (${found.metadata.uid}) does not match claim (${account.uid})`)
  if (isGone(found, now)) throw new ClaimError(`service account ${namespace}/${account.name} has been deleted`)
  const check = (kind: 'secret' | 'pod' | 'node', ref: Bound | undefined) => {
    if (!ref) return
    const object = find(`${kind}s` as const, kind === 'node' ? '' : namespace, ref.name)
    if (!object) throw new ClaimError(INVALIDATED)
    if (object.metadata.uid !== ref.uid)
      throw new ClaimError(`${kind} UID (${object.metadata.uid}) does not match service account ${kind} ref claim (${ref.uid})`)
    if (isGone(object, now)) throw new ClaimError(INVALIDATED)
  }
  check('secret', secret)
  check('pod', pod)
  // The node of a pod is informative: the token depends on the pod alone.
  if (!pod) check('node', node)
}
const INVALIDATED = 'service account token has been invalidated'

const isGone = ({ metadata }: AnyObject, now: number) =>
  metadata.deletionTimestamp !== undefined && millisecondsAt(metadata.deletionTimestamp) < now - LEEWAY_MS

/** Whether tokens may be bound to webhook configurations. */
export type WebhookTokens = { readonly mayBindWebhooks: boolean }

const WEBHOOK_CONFIGURATIONS = ['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration'] as const

/** Checks the webhook configuration that a token is bound to, if it is to one. Throws ClaimError. */
function checkWebhooks({ webhooks, apiGroups }: ReturnType<typeof boundTo>, { now, find, mayBindWebhooks }: Moment & WebhookTokens): void {
  if (webhooks.length === 0) return
  if (!mayBindWebhooks) throw new ClaimError('feature gate "APIServerWebhookAuthenticationToken" is disabled, but token is webhook bound')
  if (apiGroups.length === 0) throw new ClaimError(`bound object was a webhook config, but "${API_GROUPS}" attestation is missing`)
  for (const { kind, plural, ref } of webhooks) {
    const object = find(plural, '', ref.name)
    if (!object) throw new ClaimError(INVALIDATED)
    // The word validating is said of both kinds, as in Kubernetes.
    if (object.metadata.uid !== ref.uid)
      throw new ClaimError(`${kind} UID (${object.metadata.uid}) does not match service account validating ref claim (${ref.uid})`)
    if (isGone(object, now)) throw new ClaimError(INVALIDATED)
  }
}
const API_GROUPS = 'admissionReviewAPIGroups'

/** The user of a token with these claims. */
export function accountOf(claims: JsonObject): User {
  const { namespace, account, pod, node, webhooks, apiGroups } = boundTo(claims)
  const jti = text(claims['jti'])
  const extra: Record<string, readonly string[]> = {
    ...(pod && podExtra(pod)),
    ...(jti && { [CREDENTIAL_ID]: [`JTI=${jti}`] }),
    ...(node?.name && { [`${EXTRA}node-name`]: [node.name], ...(node.uid && { [`${EXTRA}node-uid`]: [node.uid] }) }),
  }
  for (const { kind, ref } of webhooks) {
    if (ref.name === '' || ref.uid === '') continue
    extra[`${EXTRA}${kind.toLowerCase()}-name`] = [ref.name]
    extra[`${EXTRA}${kind.toLowerCase()}-uid`] = [ref.uid]
  }
  // Attestations of a token that is bound to nothing mean nothing.
  if (webhooks.length > 0 && apiGroups.length > 0) extra[`attestation.${EXTRA}${API_GROUPS}`] = apiGroups
  return {
    name: accountUser({ namespace, name: account.name }),
    uid: account.uid,
    groups: accountGroups(namespace),
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}
const EXTRA = 'authentication.kubernetes.io/'

/** The extra attributes of a user that name the pod of a credential. */
export const podExtra = ({ name, uid }: Bound): Record<string, readonly string[]> =>
  name && uid ? { [`${EXTRA}pod-name`]: [name], [`${EXTRA}pod-uid`]: [uid] } : {}

function boundTo(claims: JsonObject) {
  const said = claims['kubernetes.io']
  const bound = isObject(said) ? said : {}
  const ref = (name: string): Bound | undefined => {
    const value = bound[name]
    return isObject(value) ? { name: text(value['name']), uid: text(value['uid']) } : undefined
  }
  return {
    namespace: text(bound['namespace']),
    account: ref('serviceaccount') ?? { name: '', uid: '' },
    secret: ref('secret'),
    pod: ref('pod'),
    node: ref('node'),
    webhooks: WEBHOOK_CONFIGURATIONS.flatMap(kind => {
      const name = kind.toLowerCase() as Lowercase<typeof kind>
      const found = ref(name)
      return found ? [{ kind, plural: `${name}s` as const, ref: found }] : []
    }),
    apiGroups: textsOf(isObject(bound['attestations']) ? bound['attestations'][API_GROUPS] : undefined),
  }
}

const textsOf = (value: unknown): string[] => (Array.isArray(value) ? value.filter(each => typeof each === 'string') : [])

const text = (value: unknown) => (typeof value === 'string' ? value : '')

/** The claims of legacy tokens, which are kept in Secrets and do not expire. */
export type LegacyClaims = {
  readonly subject: string
  readonly namespace: string
  readonly secret: string
  readonly account: string
  readonly uid: string
}

/** Reads the claims of a legacy token. Throws ClaimError when one is missing. */
export function legacyClaims(claims: JsonObject): LegacyClaims {
  const need = (value: string, name: string) => {
    if (value === '') throw new ClaimError(`${name} claim is missing`)
    return value
  }
  const subject = need(text(claims['sub']), 'sub')
  const namespace = need(text(claims[`${LEGACY_CLAIMS}namespace`]), 'namespace')
  const secret = need(text(claims[`${LEGACY_CLAIMS}secret.name`]), 'secretName')
  const account = need(text(claims[`${LEGACY_CLAIMS}service-account.name`]), 'serviceAccountName')
  const uid = need(text(claims[`${LEGACY_CLAIMS}service-account.uid`]), 'serviceAccountUID')
  const named = readAccountUser(subject)
  if (named?.namespace !== namespace || named.name !== account) throw new ClaimError('sub claim is invalid')
  return { subject, namespace, secret, account, uid }
}
const LEGACY_CLAIMS = 'kubernetes.io/serviceaccount/'

const INVALID_SINCE = 'kubernetes.io/legacy-token-invalid-since'

/** Checks a legacy token against the Secret that must still hold it; returns that Secret. Throws ClaimError. */
export function checkLegacy(token: string, claims: LegacyClaims, { find, annotate }: Pick<Moment, 'find'> & Audited): AnyObject {
  const { namespace, account, uid } = claims
  const secret = find('secrets', namespace, claims.secret)
  if (!secret || secret.metadata.deletionTimestamp !== undefined) throw new ClaimError('Token has been invalidated')
  const data: unknown = secret['data']
  const kept = isObject(data) && Object.hasOwn(data, 'token') ? Buffer.from(text(data['token']), 'base64') : Buffer.alloc(0)
  if (!isSame(kept, Buffer.from(token))) throw new ClaimError("Token does not match server's copy")
  const found = find('serviceaccounts', namespace, account)
  if (!found) throw new ClaimError(`serviceaccounts ${goQuote(account)} not found`)
  if (found.metadata.deletionTimestamp !== undefined) throw new ClaimError(`ServiceAccount ${namespace}/${account} has been deleted`)
  if (found.metadata.uid !== uid) throw new ClaimError(`ServiceAccount UID (${found.metadata.uid}) does not match claim (${uid})`)
  if (secret.metadata.labels?.[INVALID_SINCE]) {
    annotate?.(`${ANNOTATION}legacy-token-invalidated`, `${claims.secret}/${namespace}`)
    throw new ClaimError(
      `the token in secret ${namespace}/${claims.secret} for service account ${namespace}/${account} has been marked invalid. ` +
        'Use tokens from the TokenRequest API or manually created secret-based tokens, ' +
        `or remove the '${INVALID_SINCE}' label from the secret to temporarily allow use of this token`,
    )
  }
  annotate?.(`${ANNOTATION}legacy-token-${isGenerated(found, claims.secret) ? 'autogenerated' : 'manual'}-secret`, claims.secret)
  return secret
}

/** Secrets that an account lists were generated for it. */
function isGenerated({ secrets }: AnyObject & { readonly secrets?: unknown }, name: string): boolean {
  return Array.isArray(secrets) && secrets.some(ref => isObject(ref) && ref['name'] === name)
}

const isSame = (a: Buffer, b: Buffer) => a.length === b.length && timingSafeEqual(a, b)

/** The user of a legacy token. */
export const legacyAccountOf = ({ namespace, account, uid }: LegacyClaims): User => ({
  name: accountUser({ namespace, name: account }),
  uid,
  groups: accountGroups(namespace),
})
