/** Authorizers of a configuration file or of the mode Webhook. Loaded only if configured. */
import { readFileSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { AUTHORIZATION_CONFIGURATION, authorizersOf, type ConfiguredAuthorizer, type PlainType } from '../../authz/configuration.ts'
import { counted, inTurn, type NamedAuthorizer } from '../../authz/modes.ts'
import { type WebhookSettings, webhookAuthorizer } from '../../authz/webhook-authorizer.ts'
import { ConfigurationError, readConfiguration } from '../../codec/configuration-document.ts'
import { withoutQuoted } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import { wallMs } from '../../lib/environment.ts'
import { aggregate } from '../../lib/go-text.ts'
import type { Dial } from '../../transport/egress.ts'
import { postReview, type WebhookEndpoint } from '../../transport/review-call.ts'
import { WebhookTransport } from '../../transport/webhook-transport.ts'
import { type Config, ConfigError } from '../config.ts'
import { followFile } from '../files/follow-file.ts'
import { endpointInCluster, endpointOfKubeconfig } from '../files/webhook-kubeconfig.ts'
import type { AccessMetrics } from './access-metrics.ts'

type Chain = ReturnType<typeof inTurn>

export type ConfiguredParts = {
  readonly config: Config
  /** Creates the authorizer of a mode other than Webhook. */
  readonly plain: (type: PlainType) => NamedAuthorizer
  readonly metrics: AccessMetrics
  /** Opens connections to webhooks, where they are not direct. */
  readonly dial: Dial | undefined
  readonly log: Log
  readonly signal: AbortSignal
}

const FLAG_WEBHOOK_TIMEOUT_MS = 30_000
const REVIEWS_PATH = '/apis/authorization.k8s.io'

/** The authorizers in their order. Those of a file follow its changes; an invalid file changes nothing. Throws ConfigError. */
export function configuredAuthorizers(parts: ConfiguredParts): Chain {
  const { config, dial, metrics, log, signal } = parts
  const transport = new WebhookTransport({ dial })
  signal.addEventListener('abort', () => transport[Symbol.dispose](), { once: true })
  const plain = new Map<PlainType, NamedAuthorizer>()
  const make = (configured: ConfiguredAuthorizer): NamedAuthorizer => {
    if (configured.type === 'Webhook')
      return counted(webhookOf(configured, { ...parts, transport }), metrics.decisionsOf('Webhook', configured.settings.name))
    let known = plain.get(configured.type)
    if (!known) plain.set(configured.type, (known = parts.plain(configured.type)))
    return known
  }
  const { authorizationConfig: file } = config
  if (file === undefined) return inTurn(configuredByFlags(config).map(make))
  const text = read(file)
  const initial = authorizersIn(text, file)
  const reloads = metrics.reloads.authorization
  reloads.uses(text)
  let current = inTurn(initial.map(make))
  const kept = new Set(initial.map(({ type }) => type).filter(type => type === 'RBAC' || type === 'Node'))
  const reload = (text: string) => {
    const authorizers = authorizersIn(text, file)
    for (const { type } of authorizers)
      if ((type === 'RBAC' || type === 'Node') && !kept.has(type))
        throw new ConfigError(`authorizer type ${type} is not allowed if it was not enabled at initial server startup`)
    const missing = [...kept].filter(type => !authorizers.some(authorizer => authorizer.type === type)).sort()
    if (missing.length > 0) throw new ConfigError(`missing required types: [${missing.join(' ')}]`)
    current = inTurn(authorizers.map(make))
    reloads.reloaded('success', wallMs() / 1000)
    reloads.uses(text)
    log.info({ file }, 'the authorization configuration was read again')
  }
  const stop = followFile(file, {
    text,
    take: reload,
    failed(error) {
      reloads.reloaded('failure', wallMs() / 1000)
      log.error({ file, error }, 'the authorization configuration could not be read again; the one known before is kept')
    },
  })
  signal.addEventListener('abort', stop, { once: true })
  return {
    authorize: (user, attributes, request) => current.authorize(user, attributes, request),
    rulesFor: (user, namespace) => current.rulesFor(user, namespace),
  }
}

/** The authorizers of a file. Throws ConfigError. */
function authorizersIn(text: string, file: string): readonly ConfiguredAuthorizer[] {
  const fail = (why: string) => new ConfigError(`--authorization-config: ${file}: ${why}`)
  try {
    const read = authorizersOf(readConfiguration(text, AUTHORIZATION_CONFIGURATION), kubeconfigProblem)
    if ('errors' in read) throw fail(aggregate(read.errors))
    return read.authorizers
  } catch (error) {
    if (error instanceof ConfigurationError) throw fail(`failed to load AuthorizationConfiguration from file: ${error.message}`)
    throw error
  }
}

function kubeconfigProblem(file: string): string | undefined {
  if (!isAbsolute(file)) return 'must be an absolute path'
  try {
    return statSync(file).isFile() ? undefined : 'must be a regular file'
  } catch (error) {
    return `error loading file: ${(error as Error).message}`
  }
}

function configuredByFlags(config: Config): ConfiguredAuthorizer[] {
  return config.authorizationMode.map(mode => {
    if (mode !== 'Webhook') return { type: mode as PlainType }
    const settings: WebhookSettings = {
      name: 'default',
      version: config.authorizationWebhookVersion,
      authorizedTtlMs: config.authorizationWebhookCacheAuthorizedMs,
      unauthorizedTtlMs: config.authorizationWebhookCacheUnauthorizedMs,
      onFailure: 'no-opinion',
      conditions: [],
    }
    return { type: 'Webhook', settings, timeoutMs: FLAG_WEBHOOK_TIMEOUT_MS, kubeConfigFile: config.authorizationWebhookConfigFile }
  })
}

function webhookOf(
  { settings, timeoutMs, kubeConfigFile }: Extract<ConfiguredAuthorizer, { type: 'Webhook' }>,
  { metrics, log, transport }: ConfiguredParts & { readonly transport: WebhookTransport },
): NamedAuthorizer {
  const endpoint: WebhookEndpoint =
    kubeConfigFile === undefined
      ? endpointInCluster(`${REVIEWS_PATH}/${settings.version}/subjectaccessreviews`, process.env)
      : endpointOfKubeconfig(kubeConfigFile)
  return webhookAuthorizer({
    settings,
    post: (review, signal) => postReview(review, { endpoint, transport, timeoutMs, signal }),
    observer: metrics,
    now: wallMs,
    warn: message => log.warn({}, withoutQuoted(message)),
  })
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`--authorization-config: cannot read ${file}: ${(error as Error).message}`)
  }
}
