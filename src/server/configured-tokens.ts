/** Tokens that others know about: a webhook. Loaded only where it is asked for. */
import { TokenWebhook } from '../authn/token-webhook.ts'
import type { Log } from '../http/observability/log.ts'
import { postReview } from '../lib/review-call.ts'
import { WebhookTransport } from '../lib/webhook-transport.ts'
import type { Config } from './config.ts'
import { endpointOfKubeconfig } from './webhook-kubeconfig.ts'

export type ConfiguredTokenParts = {
  readonly config: Config
  /** The audiences of the server itself. */
  readonly audiences: readonly string[]
  readonly log: Log
  readonly signal: AbortSignal
}

const TIMEOUT_MS = 30_000

/** The webhook that knows who bears a token. Throws ConfigError. */
export function tokenWebhook({ config, audiences, log, signal }: ConfiguredTokenParts): TokenWebhook {
  const transport = new WebhookTransport()
  signal.addEventListener('abort', () => transport[Symbol.dispose](), { once: true })
  const endpoint = endpointOfKubeconfig(config.authenticationTokenWebhookConfigFile!)
  return new TokenWebhook({
    version: config.authenticationTokenWebhookVersion,
    cacheMs: config.authenticationTokenWebhookCacheMs,
    audiences,
    // Several requests may wait for one answer, so none of them cancels it.
    post: review => postReview(review, { endpoint, transport, timeoutMs: TIMEOUT_MS, signal }),
    now: Date.now,
    warn: message => log.warn({}, message),
  })
}
