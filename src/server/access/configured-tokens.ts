/** Token authenticators of a configuration file, and of a webhook. Loaded only if configured. */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { AUTHENTICATION_CONFIGURATION, authenticationOf, type ConfiguredAuthentication } from '../../authn/configuration.ts'
import { OidcAuthenticator } from '../../authn/oidc.ts'
import type { TokenAuthenticator } from '../../authn/token.ts'
import { TokenWebhook } from '../../authn/token-webhook.ts'
import { ConfigurationError, readConfiguration } from '../../codec/configuration-document.ts'
import { withoutQuoted } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import { wallMs } from '../../lib/environment.ts'
import { aggregate } from '../../lib/go-text.ts'
import type { TokenFinding } from '../../schema/access.ts'
import type { Dial } from '../../transport/egress.ts'
import { postReview } from '../../transport/review-call.ts'
import { WebhookTransport } from '../../transport/webhook-transport.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Egress } from '../egress.ts'
import { followFile } from '../files/follow-file.ts'
import { checkCertificates } from '../files/own-files.ts'
import { endpointOfKubeconfig } from '../files/webhook-kubeconfig.ts'
import type { AccessMetrics } from './access-metrics.ts'
import { httpsFetch } from './https-fetch.ts'

export type ConfiguredTokenParts = {
  readonly config: Config
  /** The audiences of the server itself. */
  readonly audiences: readonly string[]
  readonly log: Log
  readonly signal: AbortSignal
}

const TIMEOUT_MS = 30_000

/** The webhook that authenticates tokens. Throws ConfigError. */
export function tokenWebhook({
  config,
  audiences,
  dial,
  log,
  signal,
}: ConfiguredTokenParts & { readonly dial: Dial | undefined }): TokenWebhook {
  const transport = new WebhookTransport({ dial })
  signal.addEventListener('abort', () => transport[Symbol.dispose](), { once: true })
  const endpoint = endpointOfKubeconfig(config.authenticationTokenWebhookConfigFile!)
  return new TokenWebhook({
    version: config.authenticationTokenWebhookVersion,
    cacheMs: config.authenticationTokenWebhookCacheMs,
    audiences,
    // Several requests may wait for one answer, so none of them cancels it.
    post: review => postReview(review, { endpoint, transport, timeoutMs: TIMEOUT_MS, signal }),
    now: wallMs,
    warn: message => log.warn({}, withoutQuoted(message)),
  })
}

type IssuerParts = ConfiguredTokenParts & {
  readonly ownIssuers: readonly string[]
  readonly egress: Egress
  readonly gate: (name: string) => boolean
  readonly metrics: AccessMetrics
}

/** The issuers of a configuration file, which follow its changes; an invalid file changes nothing. Throws ConfigError. */
export function configuredIssuers(parts: IssuerParts): {
  readonly tokens: TokenAuthenticator
  readonly anonymous: ConfiguredAuthentication['anonymous']
} {
  const { config, audiences, log, signal, metrics } = parts
  const file = config.authenticationConfig!
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`--authentication-config: cannot read ${file}: ${(error as Error).message}`)
  }
  const make = ({ issuers }: ConfiguredAuthentication) => {
    metrics.keySets.keep(issuers.map(({ settings }) => settings.issuer))
    return issuers.map(({ settings, ca, egress }) => {
      const fetch = httpsFetch(ca, egress === '' ? undefined : dialOf(egress, parts))
      return new OidcAuthenticator({ settings, audiences, fetch, ...metrics.keySets.observerOf(settings.issuer, parts.gate), now: wallMs })
    })
  }
  const initial = authenticationIn(text, parts)
  const reloads = metrics.reloads.authentication
  reloads.uses(text)
  let current = make(initial)
  const stop = followFile(file, {
    text,
    take(text) {
      const changed = authenticationIn(text, parts)
      if (!isDeepStrictEqual(changed.anonymous, initial.anonymous))
        throw new ConfigError(`--authentication-config: ${file}: anonymous: Forbidden: changed from initial configuration file`)
      current = make(changed)
      reloads.reloaded('success', wallMs() / 1000)
      reloads.uses(text)
      log.info({ file }, 'the authentication configuration was read again')
    },
    failed(error) {
      reloads.reloaded('failure', wallMs() / 1000)
      log.error({ file, error }, 'the authentication configuration could not be read again; the one known before is kept')
    },
  })
  signal.addEventListener('abort', stop, { once: true })
  const tokens: TokenAuthenticator = {
    async authenticate(token, requestedAudiences): Promise<TokenFinding> {
      for (const issuer of current) {
        const found = await issuer.authenticate(token, requestedAudiences)
        if (found.outcome !== 'none') return found
      }
      return { outcome: 'none' }
    },
  }
  return { tokens, anonymous: initial.anonymous }
}

/** Opens connections to an issuer that names its network; undefined where the configuration says that they are direct. */
function dialOf(name: 'controlplane' | 'cluster', { egress, config }: Pick<IssuerParts, 'egress' | 'config'>): Dial | undefined {
  const fail = (why: string) => new ConfigError(`--authentication-config: ${config.authenticationConfig}: oidc: egress lookup ${why}`)
  if (!egress.named) throw fail(`required with egress selector type "${name}"`)
  if (!egress.named.has(name)) throw fail(`for "${name}" is not configured`)
  return egress[name]
}

function authenticationIn(
  text: string,
  { config, ownIssuers, gate }: Pick<IssuerParts, 'config' | 'ownIssuers' | 'gate'>,
): ConfiguredAuthentication {
  const fail = (why: string) => new ConfigError(`--authentication-config: ${config.authenticationConfig}: ${why}`)
  const certificateProblem = (pem: string) => {
    if (!pem.includes('-----BEGIN CERTIFICATE-----')) return 'data does not contain any valid RSA or ECDSA certificates'
    try {
      checkCertificates(pem, 'it')
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }
  try {
    const { signingAlgorithms } = config.oidc
    const found = authenticationOf(readConfiguration(text, AUTHENTICATION_CONFIGURATION), {
      ownIssuers,
      certificateProblem,
      signingAlgorithms,
      takesEgress: gate('StructuredAuthenticationConfigurationEgressSelector'),
    })
    if ('errors' in found) throw fail(aggregate(found.errors))
    if (found.anonymous && config.anonymousAuth !== undefined) throw fail(ANONYMOUS_TWICE)
    return found
  } catch (error) {
    if (error instanceof ConfigurationError) throw fail(error.message)
    throw error
  }
}

const ANONYMOUS_TWICE =
  'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file'
