/** One call of an admission webhook, and its outcome. */
import { stringifyJson } from '../../codec/json.ts'
import type { Cancellation } from '../../lib/cancellation.ts'
import { LIMITS } from '../../lib/limits.ts'
import { badRequest, type StatusError } from '../../schema/status-error.ts'
import { type Destination, type ReportedDestination, UnreachableService } from '../../transport/destination.ts'
import { failureOf, type WebhookCall, WebhookCallError, type WebhookTransport, webhookPath } from '../../transport/webhook-transport.ts'
import type { Attributes } from '../attributes.ts'
import type { VersionedRequest } from '../expression-variables.ts'
import { InvalidReview, type ReviewResponse, readReview, rejection, reviewFor } from './review.ts'
import type { ClientConfig, Webhook } from './webhook.ts'

export type CallParts = {
  readonly transport: WebhookTransport
  /** Where a service can be reached; throws UnreachableService when it cannot. */
  readonly resolve: (service: Required<Pick<NonNullable<ClientConfig['service']>, 'namespace' | 'name' | 'port'>>) => Destination
  /** Where a redirect to another host may lead. */
  readonly elsewhere?: ReportedDestination | undefined
  readonly newUid: () => string
  /** The credentials for the webhook at `HOST:PORT`; none unless configured. */
  readonly credentials?: ((address: string) => Pick<WebhookCall, 'client' | 'headers'>) | undefined
}

/** Allowed, rejected by the webhook, or not called successfully, which is for the failure policy to judge. */
export type CallOutcome =
  | { readonly outcome: 'allowed'; readonly response: ReviewResponse }
  | { readonly outcome: 'rejected'; readonly error: StatusError; readonly response?: ReviewResponse }
  | { readonly outcome: 'failed'; readonly message: string; readonly code: number }

const USER_AGENT = { 'User-Agent': 'kube-apiserver-admission' }

export type WebhookOptions = {
  readonly isMutating: boolean
  readonly signal: Cancellation
  /** Headers beside those of its credentials. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly parts: CallParts
}

export async function callWebhook(
  webhook: Webhook,
  request: VersionedRequest,
  { isMutating, signal, headers, parts }: WebhookOptions,
): Promise<CallOutcome> {
  const { attributes } = request
  const { name, reviewVersion: version } = webhook
  const failed = (why: string, code = 503): CallOutcome => ({
    outcome: 'failed',
    message: `failed calling webhook "${name}": ${why}`,
    code,
  })
  if (attributes.dryRun && webhook.hasSideEffects)
    return { outcome: 'rejected', error: badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`) }
  if (!version)
    return failed('could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)', 400)
  const uid = parts.newUid()
  const timeoutSeconds = secondsFor(webhook, attributes)
  try {
    const { headers: own, ...address } = addressOf(webhook, timeoutSeconds, parts)
    const answer = await parts.transport.call({
      body: stringifyJson(reviewFor(request, { uid, version })),
      maxResponseBytes: LIMITS.admissionAnswerBytes,
      timeoutMs: timeoutSeconds * 1000,
      signal,
      elsewhere: parts.elsewhere,
      ...address,
      headers: headers || own ? { ...USER_AGENT, ...headers, ...own } : USER_AGENT,
    })
    const failure = failureOf(answer)
    if (failure !== undefined) return failed(`failed to call webhook: ${failure}`, answer.status)
    if (answer.body === '')
      return failed(`failed to call webhook: 0-length response with status code: ${answer.status} and content type: ${answer.contentType}`)
    const { groupDomain } = attributes.ctx
    const response = await readReview(answer.body, { uid, version, isMutating, groupDomain })
    return response.allowed ? { outcome: 'allowed', response } : { outcome: 'rejected', error: rejection(name, response.status), response }
  } catch (error) {
    if (error instanceof InvalidReview)
      return failed(`${error.stage === 'reading' ? 'failed to call webhook' : 'received invalid webhook response'}: ${error.message}`)
    if (error instanceof WebhookCallError || error instanceof UnreachableService) return failed(`failed to call webhook: ${error.message}`)
    throw error
  }
}

/** The time that a webhook has, in whole seconds: its own, or the rest of the request's. */
function secondsFor({ timeoutSeconds }: Webhook, { remainingMs }: Attributes): number {
  return remainingMs === undefined || remainingMs <= 0 ? timeoutSeconds : Math.min(timeoutSeconds, Math.ceil(remainingMs / 1000))
}

/** Where a webhook is called. */
function addressOf({ client }: Webhook, timeoutSeconds: number, { resolve, credentials }: CallParts): CalledAt {
  const { service } = client
  const known = clientOf(client)
  const query = `?timeout=${timeoutSeconds}s`
  if (service) {
    const { namespace, name, port = 443 } = service
    const servername = `${name}.${namespace}.svc`
    const shownHost = `${servername}:${port}`
    const path = known.path + query
    return {
      ...resolved({ namespace, name, port }, resolve, `https://${shownHost}${path}`),
      path,
      servername,
      shownHost,
      ...known.trust,
      ...credentials?.(shownHost),
    }
  }
  const { host, port, path, shown } = known.at ?? urlOf('')
  return { host, port, path: path + query, ...known.trust, ...credentials?.(shown) }
}

/** Without a way to the service, the call fails as if the connection had. */
function resolved(service: Parameters<CallParts['resolve']>[0], resolve: CallParts['resolve'], url: string): Destination {
  try {
    return resolve(service)
  } catch (error) {
    throw error instanceof UnreachableService ? new UnreachableService(`Post ${JSON.stringify(url)}: ${error.message}`) : error
  }
}

type CalledAt = Omit<WebhookCall, 'body' | 'maxResponseBytes' | 'timeoutMs' | 'signal'>
type Known = { readonly trust: Pick<WebhookCall, 'ca'>; readonly at: ReturnType<typeof urlOf> | undefined; readonly path: string }
const clients = new WeakMap<ClientConfig, Known>()

/** The client of a configuration, read once. */
function clientOf(client: ClientConfig): Known {
  let known = clients.get(client)
  if (!known) {
    const { url, service, caBundle } = client
    const trust = caBundle ? { ca: Buffer.from(caBundle, 'base64').toString('utf8') } : {}
    clients.set(client, (known = { trust, at: url === undefined ? undefined : urlOf(url), path: webhookPath(service?.path ?? '') }))
  }
  return known
}

function urlOf(url: string) {
  const { hostname, port: given, pathname } = new URL(url)
  const port = given === '' ? 443 : Number(given)
  return { host: hostname.replace(/^\[|\]$/g, ''), port, path: webhookPath(pathname), shown: `${hostname}:${port}` }
}
