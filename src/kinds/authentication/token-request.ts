/** TokenRequest requests a token of a service account, which may be bound to a pod, a secret, a node or a webhook configuration. */
import { goQuote } from '../../lib/go-text.ts'
import { accountUser } from '../../lib/service-account-name.ts'
import { formatTime, timestampOf } from '../../lib/time.ts'
import type { AnyObject, Envelope } from '../../schema/object-meta.ts'
import { type FieldError, invalid, type Ref, refTo } from '../../schema/refs.ts'
import type { ReviewContext } from '../../schema/request-context.ts'
import { badRequest, conflict, invalidObject, notFound } from '../../schema/status-error.ts'
import type { CreateSubresource, Reviewed } from '../../schema/subresources.ts'
import { atomic, int64, mapOf, message, type Static, string, time } from '../../schema/types.ts'
import { validateAttestations, WEBHOOK_TOKEN_SECONDS, webhookKind, webhookOfToken } from './webhook-token.ts'

const BoundObjectReference = message('BoundObjectReference', {
  kind: [1, string, 'Pod, Secret, Node, ValidatingWebhookConfiguration or MutatingWebhookConfiguration.'],
  apiVersion: [2, string, 'The version of that kind.'],
  name: [3, string, 'The name of the object.'],
  uid: [4, string, 'The uid of the object, if it must be just that one.'],
})
type BoundObjectReference = Static<typeof BoundObjectReference>

const TokenRequestSpec = message('TokenRequestSpec', {
  audiences: [1, atomic(string).always().omittable(), 'The intended audiences of the token; the server itself if empty.'],
  expirationSeconds: [4, int64.optional().default(3600), 'How long the token holds; the server may choose less.'],
  boundObjectRef: [3, BoundObjectReference.always().omittable(), 'The token ends with this object.'],
  attestations: [5, mapOf(atomic(string)), 'Claims that the server attests in the token.'],
})

const TokenRequestStatus = message('TokenRequestStatus', {
  token: [1, string.always().omittable(), 'The token.'],
  expirationTimestamp: [2, time.always(), 'When the token ends.'],
})

/** The fields of a TokenRequest beside its metadata. */
const TokenRequest = message('TokenRequest', {
  spec: [2, TokenRequestSpec.orEmpty(), 'The desired properties of the token.'],
  status: [3, TokenRequestStatus.orEmpty(), 'The token; set by the server.'],
})
type TokenRequest = Static<typeof TokenRequest>
type Request = TokenRequest & Envelope

const GROUP = 'authentication.{group_domain}'
const MIN_SECONDS = 600
const MAX_SECONDS = 2 ** 32
/**
 * The lifetime that kubelets request for pods that may not reload tokens: such a token is warned about after that time and expires much
 * later.
 */
const WARN_ONLY_SECONDS = 3607
const EXTENDED_SECONDS = 365 * 24 * 3600
const UID_GATE = 'TokenRequestServiceAccountUIDValidation'

export const token: CreateSubresource<AnyObject, TokenRequest> = {
  input: { group: GROUP, version: 'v1', kind: 'TokenRequest', type: TokenRequest },
  verbs: ['create'],
  prepare: completeRequest,
  review: answerRequest,
}

function completeRequest(account: AnyObject, request: Request, { access, now, gate, groupDomain }: ReviewContext): void {
  const { name = '', namespace = '', uid = '' } = account.metadata
  const { metadata, spec } = request
  const subject = { group: `authentication.${groupDomain}`, kind: 'TokenRequest' }
  const at = refTo(request)
  if (metadata.name && metadata.name !== name)
    throw invalidObject(subject, name, [invalid(at.metadata.name, 'must match the service account name if specified')])
  if (metadata.uid && metadata.uid !== uid && gate(UID_GATE))
    throw conflict({ ...subject, plural: 'TokenRequest' }, name, `${uidMismatch(metadata.uid, uid)}`)
  if (!spec.audiences?.length) spec.audiences = [...access.audiences]
  metadata.name = name
  metadata.namespace = namespace
  metadata.uid ||= uid
  metadata.creationTimestamp = timestampOf(now)
  request.status = { token: '', expirationTimestamp: null as never }
  const errors = [...validateTokenRequest(request, at, groupDomain)]
  if (errors.length > 0) throw invalidObject(subject, '', errors)
}

const uidMismatch = (sent: string, uid: string) =>
  `the UID in the token request (${sent}) does not match the UID of the service account (${uid})`

function* validateTokenRequest({ spec }: Request, at: Ref<Request>, groupDomain: string): Iterable<FieldError> {
  const { expirationSeconds, audiences, attestations = {}, boundObjectRef } = spec
  const isForWebhook = boundObjectRef && webhookKind(boundObjectRef, groupDomain) !== undefined
  if (!isForWebhook && Object.keys(attestations).length > 0) {
    yield invalid(at.spec.attestations, 'attestations may only be specified with a webhook bound object reference')
    return
  }
  if (expirationSeconds < MIN_SECONDS) yield invalid(at.spec.expirationSeconds, 'may not specify a duration less than 10 minutes')
  if (expirationSeconds > MAX_SECONDS) yield invalid(at.spec.expirationSeconds, 'may not specify a duration larger than 2^32 seconds')
  if (!isForWebhook) return
  if (audiences?.length !== 1) yield invalid(at.spec.audiences, 'must be length 1 when bound to a webhook config')
  yield* validateAttestations(attestations, at.spec.attestations)
}

async function answerRequest(account: AnyObject, request: Request, ctx: ReviewContext): Promise<Reviewed<Request>> {
  const { access, now } = ctx
  const { name = '', namespace = '', uid = '' } = account.metadata
  const { spec, metadata } = request
  const audiences = spec.audiences ?? []
  const { mostSeconds, isExtended: mayExtend } = access.tokenLifetime ?? { mostSeconds: undefined, isExtended: true }
  const bound = spec.boundObjectRef ? await boundClaims(account, spec, ctx) : {}
  const asked = bound.attestations ? Math.min(Number(spec.expirationSeconds), WEBHOOK_TOKEN_SECONDS) : Number(spec.expirationSeconds)
  const seconds = mostSeconds === undefined ? asked : Math.min(asked, mostSeconds)
  spec.expirationSeconds = seconds
  const isOwn = audiences.every(audience => access.audiences.includes(audience))
  const isExtended = mayExtend && bound.pod !== undefined && seconds === WARN_ONLY_SECONDS && isOwn
  const issued = Math.floor(now.getTime() / 1000)
  const signed = await access.issueToken({
    subject: accountUser({ namespace, name }),
    audiences,
    issued,
    seconds: isExtended ? EXTENDED_SECONDS : seconds,
    bound: { namespace, serviceaccount: { name, uid }, ...bound, ...(isExtended && { warnafter: issued + seconds }) },
  })
  ctx.annotate?.(ISSUED_CREDENTIAL, `JTI=${tokenId(signed)}`)
  const expirationTimestamp = formatTime({ seconds: issued + seconds, nanos: 0 })
  return {
    object: { ...request, status: { token: signed, expirationTimestamp } },
    warnings: [
      ...(metadata.uid === uid
        ? []
        : [`${uidMismatch(metadata.uid!, uid)} but ${UID_GATE} is not enabled. In the future, this will return a conflict error`]),
      ...(seconds === asked ? [] : [`requested expiration of ${asked} seconds shortened to ${seconds} seconds`]),
    ],
  }
}

/** Tells the audit which token was issued, by the name that its later requests have. */
const ISSUED_CREDENTIAL = 'authentication.kubernetes.io/issued-credential-id'

/** The claim `jti` of a token that this server has signed. */
function tokenId(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()).jti
}

type Claimed = { readonly name: string; readonly uid?: string }
type BoundClaims = {
  readonly pod?: Claimed
  readonly secret?: Claimed
  readonly node?: Claimed
  readonly validatingwebhookconfiguration?: Claimed
  readonly mutatingwebhookconfiguration?: Claimed
  /** Claims that the server attests to the webhook of the token. */
  readonly attestations?: TokenRequest['spec']['attestations']
}

/** The claims about the bound object, which has to exist. */
async function boundClaims(account: AnyObject, spec: TokenRequest['spec'], ctx: ReviewContext): Promise<BoundClaims> {
  const { access, gate, groupDomain } = ctx
  const ref: BoundObjectReference = spec.boundObjectRef!
  const { kind = '', apiVersion = '', name = '' } = ref
  const [group = '', version = ''] = apiVersion.split('/').length === 2 ? apiVersion.split('/') : ['', apiVersion]
  const type = `${group}/${version}, Kind=${kind}`
  const namespace = account.metadata.namespace ?? ''
  const find = (plural: string, within: string, named: string): AnyObject | undefined =>
    access.find({ group: '', version: 'v1', plural }, within, named)
  const get = (plural: string, within: string) => {
    const found = find(plural, within, name)
    if (!found) throw notFound({ group: '', plural, kind }, name)
    return found
  }
  const same = (found: AnyObject) => {
    if (ref.uid && found.metadata.uid !== ref.uid)
      throw conflict(
        { group, plural: kind, kind },
        name,
        `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      )
    return claimed(found)
  }
  if (group === '' && kind === 'Secret') return { secret: same(get('secrets', namespace)) }
  if (group === '' && kind === 'Node') return { node: same(get('nodes', '')) }
  if (group === '' && kind === 'Pod') {
    const pod = get('pods', namespace)
    const own = account.metadata.name ?? ''
    if (pod['spec'].serviceAccountName !== own)
      throw badRequest(`cannot bind token for serviceaccount ${goQuote(own)} to pod running with different serviceaccount name.`)
    const nodeName: string = pod['spec'].nodeName ?? ''
    const node = nodeName === '' ? undefined : (find('nodes', '', nodeName) ?? { metadata: { name: nodeName } })
    return { pod: same(pod), ...(node && { node: claimed(node) }) }
  }
  const webhook = webhookKind(ref, groupDomain)
  if (!webhook) throw badRequest(`cannot bind token to object of type ${type}`)
  if (!gate('APIServerWebhookAuthenticationToken'))
    throw badRequest(`cannot bind token to object of type ${type} (feature gate APIServerWebhookAuthenticationToken is disabled)`)
  const { audiences, attestations = {} } = spec
  const found = await webhookOfToken({ account, kind: webhook, name, audiences: audiences ?? [], attestations }, ctx)
  return { [webhook.claim]: same(found), attestations }
}

const claimed = ({ metadata: { name = '', uid } }: Pick<AnyObject, 'metadata'>): Claimed => ({ name, ...(uid && { uid }) })
