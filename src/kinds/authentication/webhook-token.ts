/** Tokens that are bound to a webhook configuration: with these an API server shows its webhooks who calls, and about which API group. */
import { isDNS1123Subdomain } from '../../lib/names.ts'
import { accountGroups, accountUser } from '../../lib/service-account-name.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { forbidden } from '../../schema/forbidden.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { entry, type FieldError, invalid, type Ref, unsupported, withValue } from '../../schema/refs.ts'
import type { ReviewContext } from '../../schema/request-context.ts'
import { badRequest, forbiddenRequest } from '../../schema/status-error.ts'

/** The longest life of such a token. */
export const WEBHOOK_TOKEN_SECONDS = 600
/** The attestation that such a token has: API groups of the requests that webhooks are asked about. */
const API_GROUPS = 'admissionReviewAPIGroups'
/** All API groups; only for those that may attest every one. */
const ALL_GROUPS = '*'

/** A list that is empty in the request is null when it has been decoded. */
type Attestations = Readonly<Record<string, readonly string[] | null>>
type WebhookKind = { readonly plural: string; readonly claim: 'validatingwebhookconfiguration' | 'mutatingwebhookconfiguration' }

const WEBHOOK_KINDS: ReadonlyMap<string, WebhookKind> = new Map([
  ['ValidatingWebhookConfiguration', { plural: 'validatingwebhookconfigurations', claim: 'validatingwebhookconfiguration' }],
  ['MutatingWebhookConfiguration', { plural: 'mutatingwebhookconfigurations', claim: 'mutatingwebhookconfiguration' }],
])

/** The kind of webhook configuration that a reference names, if it names one. */
export function webhookKind(
  { apiVersion, kind = '' }: { readonly apiVersion?: string; readonly kind?: string },
  groupDomain: string,
): WebhookKind | undefined {
  return apiVersion === `${groupOf(groupDomain)}/v1` ? WEBHOOK_KINDS.get(kind) : undefined
}

const groupOf = (groupDomain: string) => `admissionregistration.${groupDomain}`

/** Rules for the attestations of a token for a webhook: one API group. */
export function* validateAttestations(attestations: Attestations, at: Ref<Record<string, string[]>>): Iterable<FieldError> {
  const [key, ...more] = Object.keys(attestations)
  if (key === undefined || more.length > 0) {
    const shown = withValue(at, key === undefined ? null : attestations)
    yield invalid(shown, `webhook bound requests require exactly one ${API_GROUPS} attestation`)
    return
  }
  const values = attestations[key] ?? []
  const atKey = entry(at, key)
  if (key !== API_GROUPS) yield unsupported(withValue(atKey, key), API_GROUPS)
  else if (values.length !== 1) yield invalid(withValue(atKey, values), 'must specify a single value')
  else yield* validateGroup(values[0]!, (atKey as Ref<string[]>)[0]!)
}

/** An empty name would mean the core group here, and every group to the authorizer. */
function* validateGroup(group: string, at: Ref<string>): Iterable<FieldError> {
  if (group === '') yield invalid(at, 'may not be an empty string')
  else if (group !== ALL_GROUPS) for (const why of isDNS1123Subdomain(group)) yield invalid(at, `must specify a valid API Group: ${why}`)
}

type WebhookTokenRequest = {
  readonly account: AnyObject
  readonly kind: WebhookKind
  /** The name of the configuration. */
  readonly name: string
  readonly audiences: readonly string[]
  readonly attestations: Attestations
}

/**
 * The webhook configuration that a token is to be bound to. The account has to be permitted to attest the API group, and one webhook has
 * to be asked about that group and be the audience. Why none is suitable is not told: the account may not be permitted to read them.
 */
export async function webhookOfToken(
  { account, kind, name, audiences, attestations }: WebhookTokenRequest,
  { access, now, groupDomain, signal }: ReviewContext,
): Promise<AnyObject> {
  if (audiences.some(audience => access.audiences.includes(audience)))
    throw badRequest('api server audiences are invalid for webhook token requests')
  const [audience = ''] = audiences
  const [group = ''] = attestations[API_GROUPS] ?? []
  const user = userOf(account)
  const asked = {
    verb: 'attest',
    path: '',
    resource: {
      group: `authentication.${groupDomain}`,
      version: '*',
      plural: API_GROUPS,
      subresource: '',
      namespace: '',
      name: group,
    },
  }
  const decision = await access.authorize(user, asked, { signal })
  if (decision.verdict !== 'allow')
    throw forbidden(user, asked, [decision.error, decision.reason].filter(part => part !== undefined && part !== '').join(': '))
  const found: AnyObject | undefined = access.find({ group: groupOf(groupDomain), version: 'v1', plural: kind.plural }, '', name)
  if (!found || isDeleted(found, now) || !(group === ALL_GROUPS || hasWebhookFor(found, group, audience)))
    throw forbiddenRequest({ group: '', plural: 'serviceaccounts/token', kind: '' }, account.metadata.name ?? '', 'token request denied')
  return found
}

function userOf({ metadata: { namespace = '', name = '', uid = '' } }: AnyObject) {
  return { name: accountUser({ namespace, name }), uid, groups: accountGroups(namespace) }
}

const isDeleted = ({ metadata: { deletionTimestamp } }: AnyObject, now: Date) =>
  deletionTimestamp !== undefined && now.getTime() > millisecondsAt(deletionTimestamp)

type Webhook = {
  readonly clientConfig: {
    readonly url?: string
    readonly service?: { readonly namespace: string; readonly name: string; readonly path?: string; readonly port?: number }
  }
  readonly rules?: readonly { readonly apiGroups?: readonly string[] }[]
}

const hasWebhookFor = (configuration: AnyObject & { readonly webhooks?: readonly Webhook[] }, group: string, audience: string): boolean =>
  (configuration.webhooks ?? []).some(webhook => isAskedAbout(webhook, group) && isAudience(webhook, audience))

const isAskedAbout = ({ rules = [] }: Webhook, group: string) =>
  rules.some(({ apiGroups = [] }) => apiGroups.some(each => each === '*' || each === group))

/** The audience of a webhook is its URL, or that of its service with the port. */
function isAudience({ clientConfig: { url, service } }: Webhook, audience: string): boolean {
  if (audience === url) return true
  if (!service) return false
  const { namespace, name, path = '/', port = 443 } = service
  return audience === `https://${name}.${namespace}.svc:${port}${path.startsWith('/') ? '' : '/'}${path}`
}
