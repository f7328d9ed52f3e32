/** Checks the names and types of the library's options, before the server checks their values. */
import { nearestName } from './lib/nearest-name.ts'
import type {
  AuditBackendOptions,
  AuditLogOptions,
  AuditOptions,
  AuditWebhookOptions,
  OidcOptions,
  ServerOptions,
  StartOptions,
} from './public.d.ts'
import { AUDIT_DEFAULTS, AUDIT_MODES } from './server/audit-config.ts'
import { type Config, ConfigError, DEFAULTS } from './server/config.ts'

type Check = { readonly takes: string; readonly fits: (value: unknown) => boolean }
type Option = Check & { /** The flag that messages of the server name. */ readonly flag: string }

const text: Check = { takes: 'a string', fits: value => typeof value === 'string' }
const texts: Check = { takes: 'a list of strings', fits: value => Array.isArray(value) && value.every(text.fits) }
const flag: Check = { takes: 'true or false', fits: value => typeof value === 'boolean' }
const count: Check = { takes: 'a number, 0 or more', fits: value => Number.isSafeInteger(value) && Number(value) >= 0 }
const oneOf = (...values: string[]): Check => ({ takes: values.join(', '), fits: value => values.includes(value as string) })
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null && !Array.isArray(value)
const ports: Check = {
  takes: '{ from, to } with two ports',
  fits: value => isObject(value) && 'from' in value && 'to' in value && count.fits(value.from) && count.fits(value.to),
}
const decimal: Check = { takes: 'a number, 0 or more', fits: value => Number.isFinite(value) && Number(value) >= 0 }
const options: Check = { takes: 'an object of options', fits: isObject }
const record: Check = { takes: 'an object of strings', fits: value => isObject(value) && Object.values(value).every(text.fits) }

const OIDC: { readonly [K in keyof OidcOptions]-?: Option } = {
  issuerUrl: { flag: 'oidc-issuer-url', ...text },
  clientId: { flag: 'oidc-client-id', ...text },
  usernameClaim: { flag: 'oidc-username-claim', ...text },
  usernamePrefix: { flag: 'oidc-username-prefix', ...text },
  groupsClaim: { flag: 'oidc-groups-claim', ...text },
  groupsPrefix: { flag: 'oidc-groups-prefix', ...text },
  caFile: { flag: 'oidc-ca-file', ...text },
  requiredClaims: { flag: 'oidc-required-claim', ...record },
  signingAlgorithms: { flag: 'oidc-signing-algs', ...texts },
}

const auditBackend = (backend: 'log' | 'webhook'): { readonly [K in keyof AuditBackendOptions]-?: Option } => ({
  mode: { flag: `audit-${backend}-mode`, ...oneOf(...AUDIT_MODES) },
  version: { flag: `audit-${backend}-version`, ...text },
  batchBufferSize: { flag: `audit-${backend}-batch-buffer-size`, ...count },
  batchMaxSize: { flag: `audit-${backend}-batch-max-size`, ...count },
  batchMaxWaitMs: { flag: `audit-${backend}-batch-max-wait`, ...count },
  batchThrottleEnable: { flag: `audit-${backend}-batch-throttle-enable`, ...flag },
  batchThrottleQps: { flag: `audit-${backend}-batch-throttle-qps`, ...decimal },
  batchThrottleBurst: { flag: `audit-${backend}-batch-throttle-burst`, ...count },
  truncateEnabled: { flag: `audit-${backend}-truncate-enabled`, ...flag },
  truncateMaxBatchSize: { flag: `audit-${backend}-truncate-max-batch-size`, ...count },
  truncateMaxEventSize: { flag: `audit-${backend}-truncate-max-event-size`, ...count },
})

const AUDIT_LOG: { readonly [K in keyof AuditLogOptions]-?: Option } = {
  path: { flag: 'audit-log-path', ...text },
  format: { flag: 'audit-log-format', ...oneOf('json', 'legacy') },
  maxAge: { flag: 'audit-log-maxage', ...count },
  maxBackup: { flag: 'audit-log-maxbackup', ...count },
  maxSize: { flag: 'audit-log-maxsize', ...count },
  compress: { flag: 'audit-log-compress', ...flag },
  ...auditBackend('log'),
}

const AUDIT_WEBHOOK: { readonly [K in keyof AuditWebhookOptions]-?: Option } = {
  configFile: { flag: 'audit-webhook-config-file', ...text },
  initialBackoffMs: { flag: 'audit-webhook-initial-backoff', ...count },
  ...auditBackend('webhook'),
}

const AUDIT: { readonly [K in keyof AuditOptions]-?: Option } = {
  policyFile: { flag: 'audit-policy-file', ...text },
  policy: { flag: 'audit-policy', takes: 'a Policy of audit.k8s.io/v1', fits: isObject },
  log: { flag: 'audit-log', ...options },
  webhook: { flag: 'audit-webhook', ...options },
}

const OPTIONS: { readonly [K in keyof Config]-?: Option } = {
  store: { flag: 'store', ...oneOf('embedded', 'memory', 'etcd') },
  etcdServers: { flag: 'etcd-servers', ...texts },
  etcdCafile: { flag: 'etcd-cafile', ...text },
  etcdCertfile: { flag: 'etcd-certfile', ...text },
  etcdKeyfile: { flag: 'etcd-keyfile', ...text },
  etcdPrefix: { flag: 'etcd-prefix', ...text },
  encryptionProviderConfig: { flag: 'encryption-provider-config', ...text },
  encryptionProviderConfigAutomaticReload: { flag: 'encryption-provider-config-automatic-reload', ...flag },
  dataDir: { flag: 'data-dir', ...text },
  host: { flag: 'bind-address', ...text },
  port: { flag: 'secure-port', takes: 'a port between 0 and 65535', fits: value => count.fits(value) && Number(value) <= 65535 },
  advertiseAddress: { flag: 'advertise-address', ...text },
  tlsSans: { flag: 'tls-san', ...texts },
  kubeconfig: { flag: 'kubeconfig', ...text },
  contextName: { flag: 'context-name', ...text },
  tokenAuthFile: { flag: 'token-auth-file', ...text },
  clientCaFile: { flag: 'client-ca-file', ...text },
  requestheaderClientCaFile: { flag: 'requestheader-client-ca-file', ...text },
  requestheaderAllowedNames: { flag: 'requestheader-allowed-names', ...texts },
  requestheaderUsernameHeaders: { flag: 'requestheader-username-headers', ...texts },
  requestheaderUidHeaders: { flag: 'requestheader-uid-headers', ...texts },
  requestheaderGroupHeaders: { flag: 'requestheader-group-headers', ...texts },
  requestheaderExtraHeadersPrefix: { flag: 'requestheader-extra-headers-prefix', ...texts },
  authenticationConfig: { flag: 'authentication-config', ...text },
  authenticationTokenWebhookConfigFile: { flag: 'authentication-token-webhook-config-file', ...text },
  authenticationTokenWebhookVersion: { flag: 'authentication-token-webhook-version', ...oneOf('v1', 'v1beta1') },
  authenticationTokenWebhookCacheMs: { flag: 'authentication-token-webhook-cache-ttl', ...count },
  serviceAccountSigningKeyFile: { flag: 'service-account-signing-key-file', ...text },
  serviceAccountSigningEndpoint: { flag: 'service-account-signing-endpoint', ...text },
  serviceAccountKeyFiles: { flag: 'service-account-key-file', ...texts },
  serviceAccountIssuers: { flag: 'service-account-issuer', ...texts },
  serviceAccountMaxTokenExpirationMs: { flag: 'service-account-max-token-expiration', ...count },
  serviceAccountExtendTokenExpiration: { flag: 'service-account-extend-token-expiration', ...flag },
  apiAudiences: { flag: 'api-audiences', ...texts },
  oidc: { flag: 'oidc', takes: 'an object', fits: isObject },
  tlsCertFile: { flag: 'tls-cert-file', ...text },
  tlsPrivateKeyFile: { flag: 'tls-private-key-file', ...text },
  tlsCipherSuites: { flag: 'tls-cipher-suites', ...texts },
  tlsMinVersion: { flag: 'tls-min-version', ...text },
  tlsSniCertKeys: { flag: 'tls-sni-cert-key', ...texts },
  corsAllowedOrigins: { flag: 'cors-allowed-origins', ...texts },
  groupDomain: { flag: 'group-domain', ...text },
  featureGates: { flag: 'feature-gates', ...text },
  api: { flag: 'api', ...oneOf('none', 'minimal', 'all') },
  runtimeConfig: { flag: 'runtime-config', ...text },
  emulatedVersion: { flag: 'emulated-version', ...text },
  minCompatibilityVersion: { flag: 'min-compatibility-version', ...text },
  emulationForwardCompatible: { flag: 'emulation-forward-compatible', ...flag },
  runtimeConfigEmulationForwardCompatible: { flag: 'runtime-config-emulation-forward-compatible', ...flag },
  controllers: { flag: 'controllers', ...texts },
  nodes: { flag: 'nodes', ...count },
  kubeletCertificateAuthority: { flag: 'kubelet-certificate-authority', ...text },
  kubeletClientCertificate: { flag: 'kubelet-client-certificate', ...text },
  kubeletClientKey: { flag: 'kubelet-client-key', ...text },
  proxyClientCertFile: { flag: 'proxy-client-cert-file', ...text },
  proxyClientKeyFile: { flag: 'proxy-client-key-file', ...text },
  peerCaFile: { flag: 'peer-ca-file', ...text },
  peerAdvertiseIp: { flag: 'peer-advertise-ip', ...text },
  peerAdvertisePort: {
    flag: 'peer-advertise-port',
    takes: 'a port between 1 and 65535',
    fits: value => count.fits(value) && Number(value) <= 65535,
  },
  proxyAllowedNetworks: { flag: 'proxy-allowed-networks', ...texts },
  kubeletPreferredAddressTypes: { flag: 'kubelet-preferred-address-types', ...texts },
  nodeCapacity: { flag: 'node-capacity', ...record },
  horizontalPodAutoscalerSyncMs: { flag: 'horizontal-pod-autoscaler-sync-period', ...count },
  horizontalPodAutoscalerDownscaleStabilizationMs: { flag: 'horizontal-pod-autoscaler-downscale-stabilization', ...count },
  horizontalPodAutoscalerCpuInitializationMs: { flag: 'horizontal-pod-autoscaler-cpu-initialization-period', ...count },
  horizontalPodAutoscalerInitialReadinessMs: { flag: 'horizontal-pod-autoscaler-initial-readiness-delay', ...count },
  horizontalPodAutoscalerTolerance: {
    flag: 'horizontal-pod-autoscaler-tolerance',
    takes: 'a number, 0 or more',
    fits: value => Number(value) >= 0,
  },
  concurrentHorizontalPodAutoscalerSyncs: { flag: 'concurrent-horizontal-pod-autoscaler-syncs', ...count },
  nodeDevices: { flag: 'node-devices', ...texts },
  localImages: { flag: 'local-image', ...texts },
  nodePlugins: { flag: 'node-plugins', ...text },
  nodeMonitorGraceMs: { flag: 'node-monitor-grace-period', ...count },
  nodeStartupGraceMs: { flag: 'node-startup-grace-period', ...count },
  clusterSigningCertFile: { flag: 'cluster-signing-cert-file', ...text },
  clusterSigningKeyFile: { flag: 'cluster-signing-key-file', ...text },
  clusterSigningKubeletServingCertFile: { flag: 'cluster-signing-kubelet-serving-cert-file', ...text },
  clusterSigningKubeletServingKeyFile: { flag: 'cluster-signing-kubelet-serving-key-file', ...text },
  clusterSigningKubeletClientCertFile: { flag: 'cluster-signing-kubelet-client-cert-file', ...text },
  clusterSigningKubeletClientKeyFile: { flag: 'cluster-signing-kubelet-client-key-file', ...text },
  clusterSigningKubeApiserverClientCertFile: { flag: 'cluster-signing-kube-apiserver-client-cert-file', ...text },
  clusterSigningKubeApiserverClientKeyFile: { flag: 'cluster-signing-kube-apiserver-client-key-file', ...text },
  clusterSigningLegacyUnknownCertFile: { flag: 'cluster-signing-legacy-unknown-cert-file', ...text },
  clusterSigningLegacyUnknownKeyFile: { flag: 'cluster-signing-legacy-unknown-key-file', ...text },
  clusterSigningDurationMs: { flag: 'cluster-signing-duration', ...count },
  enableBootstrapTokenAuth: { flag: 'enable-bootstrap-token-auth', ...flag },
  allocateNodeCidrs: { flag: 'allocate-node-cidrs', ...flag },
  clusterCidr: { flag: 'cluster-cidr', ...texts },
  nodeCidrMaskSize: { flag: 'node-cidr-mask-size', ...count },
  nodeCidrMaskSizeIpv4: { flag: 'node-cidr-mask-size-ipv4', ...count },
  nodeCidrMaskSizeIpv6: { flag: 'node-cidr-mask-size-ipv6', ...count },
  enableAdmissionPlugins: { flag: 'enable-admission-plugins', ...texts },
  disableAdmissionPlugins: { flag: 'disable-admission-plugins', ...texts },
  admissionControlConfigFile: { flag: 'admission-control-config-file', ...text },
  schedulerConfigFile: { flag: 'scheduler-config-file', ...text },
  defaultNotReadyTolerationSeconds: { flag: 'default-not-ready-toleration-seconds', ...count },
  defaultUnreachableTolerationSeconds: { flag: 'default-unreachable-toleration-seconds', ...count },
  serviceClusterIpRange: { flag: 'service-cluster-ip-range', ...texts },
  serviceNodePortRange: { flag: 'service-node-port-range', ...ports },
  anonymousAuth: { flag: 'anonymous-auth', ...flag },
  authorizationMode: { flag: 'authorization-mode', ...texts },
  authorizationConfig: { flag: 'authorization-config', ...text },
  egressSelectorConfigFile: { flag: 'egress-selector-config-file', ...text },
  authorizationPolicyFile: { flag: 'authorization-policy-file', ...text },
  authorizationWebhookConfigFile: { flag: 'authorization-webhook-config-file', ...text },
  authorizationWebhookVersion: { flag: 'authorization-webhook-version', ...oneOf('v1', 'v1beta1') },
  authorizationWebhookCacheAuthorizedMs: { flag: 'authorization-webhook-cache-authorized-ttl', ...count },
  authorizationWebhookCacheUnauthorizedMs: { flag: 'authorization-webhook-cache-unauthorized-ttl', ...count },
  audit: { flag: 'audit', ...options },
  tracingConfigFile: { flag: 'tracing-config-file', ...text },
  profiling: { flag: 'profiling', ...flag },
  console: { flag: 'console', ...flag },
  enableFaultInjection: { flag: 'enable-fault-injection', ...flag },
  workspaces: { flag: 'workspaces', ...flag },
  testEndpoints: { flag: 'test-endpoints', ...flag },
  logLevel: { flag: 'log-level', ...oneOf('debug', 'info', 'warn', 'error', 'silent') },
  loggingFormat: { flag: 'logging-format', ...oneOf('json', 'text') },
  shutdownDelayMs: { flag: 'shutdown-delay-duration', ...count },
  drainMs: { flag: 'drain', ...count },
  historyMs: { flag: 'history-window', ...count },
  quotaBackendBytes: { flag: 'quota-backend-bytes', takes: 'a number of bytes', fits: value => Number.isSafeInteger(value) },
  bookmarkMs: { flag: 'bookmark-interval', ...count },
  maxRequestsInflight: { flag: 'max-requests-inflight', ...count },
  maxMutatingRequestsInflight: { flag: 'max-mutating-requests-inflight', ...count },
}

/** Options of the library alone. */
const TEST_OPTIONS: { readonly [K in keyof TestOptions]-?: Option } = {
  apply: { flag: 'apply', takes: 'a list of paths and objects', fits: value => Array.isArray(value) && value.every(isManifest) },
  keepAlive: { flag: 'keep-alive', ...flag },
}
type TestOptions = Pick<StartOptions, 'apply' | 'keepAlive'>

function isManifest(value: unknown): boolean {
  return typeof value === 'string' || isObject(value)
}

/** The names of all options, for the page that documents them. */
export const OPTION_NAMES: readonly string[] = [
  ...Object.keys(OPTIONS),
  ...Object.keys(TEST_OPTIONS),
  ...namesIn(OIDC, 'oidc.'),
  ...namesIn(AUDIT, 'audit.'),
  ...namesIn(AUDIT_LOG, 'audit.log.'),
  ...namesIn(AUDIT_WEBHOOK, 'audit.webhook.'),
]

function namesIn(options: object, prefix: string): string[] {
  return Object.keys(options).map(name => prefix + name)
}

/** Every setting of a configuration, with the flag that sets it. */
export function* settingsOf(config: Config): Iterable<{ readonly flag: string; readonly name: string; readonly value: unknown }> {
  const { log, webhook } = config.audit
  const groups: readonly (readonly [options: Readonly<Record<string, Option>>, values: object])[] = [
    [OPTIONS, config],
    [OIDC, config.oidc],
    [AUDIT, config.audit],
    [AUDIT_LOG, log],
    [AUDIT_WEBHOOK, webhook],
  ]
  for (const [options, values] of groups)
    for (const [name, { flag }] of Object.entries(options)) yield { flag, name, value: (values as Readonly<Record<string, unknown>>)[name] }
}

/** The options, with those of the library alone checked. Throws ConfigError. */
export function testOptionsOf(options: StartOptions): StartOptions & Required<Pick<TestOptions, 'apply'>> {
  if (!isObject(options)) throw new ConfigError(`options must be an object, not ${shown(options)}`)
  const { apply = [], keepAlive, ...rest } = options
  return { ...rest, apply, ...checked({ apply, keepAlive }, TEST_OPTIONS, '') }
}

/** The configuration of these options, with defaults for the others. Throws ConfigError. */
export function configOf(options: ServerOptions): Config {
  if (isObject(options) && 'processes' in options)
    throw new ConfigError('processes: a server of the library is this process; keelson serve --processes starts several')
  const given = checked(options, OPTIONS, '')
  const oidc = checked(given.oidc ?? {}, OIDC, 'oidc.')
  const store = given.store ?? (given.dataDir === undefined ? 'memory' : 'embedded')
  return { ...DEFAULTS, port: 0, ...given, store, oidc: { ...DEFAULTS.oidc, ...oidc }, audit: auditOf(given.audit ?? {}) }
}

function auditOf(options: AuditOptions): Config['audit'] {
  const { log = {}, webhook = {}, ...given } = checked(options, AUDIT, 'audit.')
  return {
    ...given,
    log: { ...AUDIT_DEFAULTS.log, ...checked(log, AUDIT_LOG, 'audit.log.') },
    webhook: { ...AUDIT_DEFAULTS.webhook, ...checked(webhook, AUDIT_WEBHOOK, 'audit.webhook.') },
  }
}

/** The message of a ConfigError, in which flags are named as options. */
export function inOptionNames(message: string): string {
  const named = (options: Readonly<Record<string, Option>>, prefix: string) =>
    Object.entries(options).map(([name, option]): [flag: string, name: string] => [option.flag, prefix + name])
  const names = new Map([
    ...named(OPTIONS, ''),
    ...named(OIDC, 'oidc.'),
    ...named(AUDIT, 'audit.'),
    ...named(AUDIT_LOG, 'audit.log.'),
    ...named(AUDIT_WEBHOOK, 'audit.webhook.'),
  ])
  return message.replace(/--([a-z]+(?:-[a-z0-9]+)*)/g, (written, flag) => names.get(flag) ?? written)
}

/** The given options, each known and of its type; undefined counts as absent. */
function checked<T extends object>(options: T, known: Readonly<Record<string, Option>>, prefix: string): Partial<T> {
  if (!isObject(options)) throw new ConfigError(`options must be an object, not ${shown(options)}`)
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  for (const [name, value] of given) {
    const option = Object.hasOwn(known, name) ? known[name] : undefined
    if (!option) throw new ConfigError(`there is no option ${prefix}${name}${suggestion(name, known, prefix)}`)
    if (!option.fits(value)) throw new ConfigError(`${prefix}${name} must be ${option.takes}, not ${shown(value)}`)
  }
  return Object.fromEntries(given) as Partial<T>
}

/** An option with a similar name, or the one that a flag of this name sets. */
function suggestion(name: string, known: Readonly<Record<string, Option>>, prefix: string): string {
  const options = new Map(Object.entries(known).flatMap(([option, { flag }]) => [[flag, option] as const, [option, option] as const]))
  const near = nearestName(name, options.keys())
  return near === undefined ? `; the options are ${Object.keys(known).join(', ')}` : `; did you mean ${prefix}${options.get(near)}?`
}

const shown = (value: unknown): string => (typeof value === 'function' ? 'a function' : (JSON.stringify(value) ?? String(value)))
