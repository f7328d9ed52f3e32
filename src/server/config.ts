/** The configuration of a server: every setting, its default, and its checks. */
import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { SIGNING_ALGORITHMS } from '../authn/oidc.ts'
import { corsProblems } from '../http/cors.ts'
import { isUnspecified, parseCIDR, parseIP } from '../lib/ip.ts'
import { LIMITS } from '../lib/limits.ts'
import { isQualifiedName } from '../lib/names.ts'
import { isQuantity } from '../lib/quantity.ts'
import { type NamedPair, readNamedPair, readTlsSettings, TlsSettingError } from '../lib/tls-settings.ts'
import { DriverSpecError, readDriverSpec } from '../nodes/device/driver.ts'
import { LocalImageError, readLocalImage } from '../nodes/process/local-image.ts'
import type { OidcOptions, ServerOptions } from '../public.d.ts'
import { AUDIT_DEFAULTS, type AuditConfig, auditProblems } from './audit-config.ts'
import { CONTROLLERS, type ControllerName, controllerNamed } from './controller-table.ts'

/** Every setting. The public options of the library document each. */
export type Config = Required<Omit<ServerOptions, 'oidc' | 'audit'>> & { readonly oidc: OidcConfig; readonly audit: AuditConfig }

/** The settings of an OpenID provider, used if issuer and client are set. */
export type OidcConfig = OidcOptions & Required<Pick<OidcOptions, 'usernameClaim' | 'requiredClaims' | 'signingAlgorithms'>>

/** The authorization modes. */
export const AUTHORIZATION_MODES = ['RBAC', 'Node', 'Webhook', 'ABAC', 'AlwaysAllow', 'AlwaysDeny'] as const

/** Whether a controller runs: named, or not excluded from `*`. Some of `*` run only with simulated nodes, some never. */
export function runsController(config: Config, name: ControllerName): boolean {
  const { controllers } = config
  if (controllers.includes('none') || namesController(config, name, '-')) return false
  const { onlyWithNodes, isOff } = CONTROLLERS.get(name)!
  return namesController(config, name) || (controllers.includes('*') && !isOff && (!onlyWithNodes || simulatedNodes(config) > 0))
}

/** Whether the configuration has a controller by its own name, after a prefix. */
export const namesController = ({ controllers }: Config, name: ControllerName, prefix: '' | '-' = ''): boolean =>
  controllers.some(each => each.startsWith(prefix) && controllerNamed(each.slice(prefix.length)) === name)

export const runsAnyController = (config: Config): boolean => [...CONTROLLERS.keys()].some(name => runsController(config, name))

/** The number of simulated nodes, which need all kinds. */
export const simulatedNodes = ({ nodes, controllers, api }: Config): number => (controllers.includes('none') || api !== 'all' ? 0 : nodes)

/** The settings of HorizontalPodAutoscalers. */
export const autoscalerSettings = (config: Config) => ({
  syncMs: config.horizontalPodAutoscalerSyncMs,
  downscaleStabilizationMs: config.horizontalPodAutoscalerDownscaleStabilizationMs,
  cpuInitializationMs: config.horizontalPodAutoscalerCpuInitializationMs,
  initialReadinessMs: config.horizontalPodAutoscalerInitialReadinessMs,
  tolerance: config.horizontalPodAutoscalerTolerance,
  workers: config.concurrentHorizontalPodAutoscalerSyncs,
})

/** An invalid setting; the message names it and a valid value. */
export class ConfigError extends Error {}

export const DEFAULTS: Config = {
  console: false,
  enableFaultInjection: false,
  testEndpoints: false,
  workspaces: false,
  store: 'embedded',
  etcdServers: [],
  etcdCafile: undefined,
  etcdCertfile: undefined,
  etcdKeyfile: undefined,
  etcdPrefix: '/registry',
  encryptionProviderConfig: undefined,
  encryptionProviderConfigAutomaticReload: false,
  dataDir: './keelson-data',
  host: '127.0.0.1',
  port: 6443,
  advertiseAddress: undefined,
  tlsSans: [],
  kubeconfig: undefined,
  contextName: 'keelson',
  tokenAuthFile: undefined,
  clientCaFile: undefined,
  requestheaderClientCaFile: undefined,
  requestheaderAllowedNames: [],
  requestheaderUsernameHeaders: [],
  requestheaderUidHeaders: [],
  requestheaderGroupHeaders: [],
  requestheaderExtraHeadersPrefix: [],
  authenticationConfig: undefined,
  authenticationTokenWebhookConfigFile: undefined,
  authenticationTokenWebhookVersion: 'v1beta1',
  authenticationTokenWebhookCacheMs: 120_000,
  serviceAccountSigningKeyFile: undefined,
  serviceAccountSigningEndpoint: undefined,
  serviceAccountKeyFiles: [],
  serviceAccountIssuers: [],
  /** 0 for the requested lifetime. */
  serviceAccountMaxTokenExpirationMs: 0,
  serviceAccountExtendTokenExpiration: true,
  apiAudiences: [],
  oidc: { usernameClaim: 'sub', signingAlgorithms: ['RS256'], requiredClaims: {} },
  tlsCertFile: undefined,
  tlsPrivateKeyFile: undefined,
  tlsCipherSuites: [],
  tlsMinVersion: '',
  tlsSniCertKeys: [],
  corsAllowedOrigins: [],
  groupDomain: 'k8s.io',
  api: 'all',
  featureGates: '',
  runtimeConfig: '',
  emulatedVersion: '',
  minCompatibilityVersion: '',
  emulationForwardCompatible: false,
  runtimeConfigEmulationForwardCompatible: false,
  controllers: ['*'],
  nodes: 1,
  nodeCapacity: {},
  horizontalPodAutoscalerSyncMs: 15_000,
  horizontalPodAutoscalerDownscaleStabilizationMs: 300_000,
  horizontalPodAutoscalerCpuInitializationMs: 300_000,
  horizontalPodAutoscalerInitialReadinessMs: 30_000,
  horizontalPodAutoscalerTolerance: 0.1,
  concurrentHorizontalPodAutoscalerSyncs: 5,
  nodeDevices: [],
  localImages: [],
  nodePlugins: undefined,
  nodeMonitorGraceMs: 50_000,
  nodeStartupGraceMs: 60_000,
  kubeletCertificateAuthority: undefined,
  kubeletClientCertificate: undefined,
  kubeletClientKey: undefined,
  proxyClientCertFile: undefined,
  proxyClientKeyFile: undefined,
  peerCaFile: undefined,
  peerAdvertiseIp: undefined,
  peerAdvertisePort: undefined,
  proxyAllowedNetworks: [],
  kubeletPreferredAddressTypes: ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'],
  clusterSigningCertFile: undefined,
  clusterSigningKeyFile: undefined,
  clusterSigningKubeletServingCertFile: undefined,
  clusterSigningKubeletServingKeyFile: undefined,
  clusterSigningKubeletClientCertFile: undefined,
  clusterSigningKubeletClientKeyFile: undefined,
  clusterSigningKubeApiserverClientCertFile: undefined,
  clusterSigningKubeApiserverClientKeyFile: undefined,
  clusterSigningLegacyUnknownCertFile: undefined,
  clusterSigningLegacyUnknownKeyFile: undefined,
  clusterSigningDurationMs: 365 * 24 * 3600_000,
  enableBootstrapTokenAuth: false,
  allocateNodeCidrs: false,
  clusterCidr: [],
  nodeCidrMaskSize: undefined,
  nodeCidrMaskSizeIpv4: undefined,
  nodeCidrMaskSizeIpv6: undefined,
  enableAdmissionPlugins: [],
  disableAdmissionPlugins: [],
  admissionControlConfigFile: undefined,
  schedulerConfigFile: undefined,
  defaultNotReadyTolerationSeconds: 300,
  defaultUnreachableTolerationSeconds: 300,
  serviceClusterIpRange: ['10.0.0.0/24'],
  serviceNodePortRange: { from: 30000, to: 32767 },
  anonymousAuth: undefined,
  authorizationMode: ['RBAC'],
  authorizationConfig: undefined,
  egressSelectorConfigFile: undefined,
  authorizationPolicyFile: undefined,
  authorizationWebhookConfigFile: undefined,
  authorizationWebhookVersion: 'v1beta1',
  authorizationWebhookCacheAuthorizedMs: 300_000,
  authorizationWebhookCacheUnauthorizedMs: 30_000,
  audit: AUDIT_DEFAULTS,
  tracingConfigFile: undefined,
  profiling: false,
  logLevel: 'warn',
  loggingFormat: undefined,
  shutdownDelayMs: 0,
  drainMs: 10_000,
  historyMs: undefined,
  quotaBackendBytes: undefined,
  bookmarkMs: 30_000,
  maxRequestsInflight: 400,
  maxMutatingRequestsInflight: 200,
}

/** The default issuer of tokens: the name of the server inside a cluster. */
export const DEFAULT_ISSUER = 'https://kubernetes.default.svc.cluster.local'

/** Certificates begin some minutes before they are issued. */
const MIN_SIGNED_MS = 600_000
const MIN_TOKEN_MS = 3600_000
const MAX_TOKEN_MS = 2 ** 32 * 1000
const MAX_TIMER_MS = 24 * 24 * 3600_000

/** The settings that differ from the default. None of them is a secret: secrets are in files, and only their names are here. */
export function changedSettings(config: Config): Partial<Config> {
  const isChanged = ([name, value]: [string, unknown]) => !isDeepStrictEqual(value, DEFAULTS[name as keyof Config])
  return Object.fromEntries(Object.entries(config).filter(isChanged))
}

/** Checks settings against each other; throws ConfigError. */
export function checkConfig(config: Config): Config {
  const {
    host,
    dataDir,
    port,
    groupDomain,
    tlsCertFile,
    tlsPrivateKeyFile,
    serviceClusterIpRange: ranges,
    controllers,
    historyMs,
    bookmarkMs,
  } = config
  // The operating system takes an empty address as all of them, and an empty directory is the current one.
  if (host === '') throw new ConfigError('--bind-address must be an address; 0.0.0.0 is every one that this machine has')
  // The name is written to YAML without quotes.
  if (!/^[A-Za-z0-9]([-A-Za-z0-9._@]*[A-Za-z0-9])?$/.test(config.contextName))
    throw new ConfigError(`--context-name takes letters, digits, dashes, dots and @, not "${config.contextName.slice(0, 100)}"`)
  if (dataDir === '') throw new ConfigError('--data-dir must name a directory')
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw new ConfigError(`--secure-port must be a port between 0 and 65535, not ${port}`)
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(groupDomain))
    throw new ConfigError(`--group-domain must be a DNS name such as k8s.io, not "${groupDomain}"`)
  checkAddresses(config)
  checkPeers(config)
  checkEtcd(config)
  if (config.encryptionProviderConfigAutomaticReload && !config.encryptionProviderConfig)
    throw new ConfigError('--encryption-provider-config-automatic-reload must be set with --encryption-provider-config')
  if ((tlsCertFile === undefined) !== (tlsPrivateKeyFile === undefined))
    throw new ConfigError('--tls-cert-file and --tls-private-key-file go together: give both or neither')
  if ((config.proxyClientCertFile === undefined) !== (config.proxyClientKeyFile === undefined))
    throw new ConfigError('--proxy-client-cert-file and --proxy-client-key-file go together: give both or neither')
  for (const issuer of config.serviceAccountIssuers)
    if (issuer === '' || (issuer.includes(':') && !URL.canParse(issuer)))
      throw new ConfigError(`--service-account-issuer must be a URL such as ${DEFAULT_ISSUER}, or a name without colons, not "${issuer}"`)
  if (
    config.serviceAccountSigningEndpoint !== undefined &&
    (config.serviceAccountSigningKeyFile !== undefined || config.serviceAccountKeyFiles.length > 0)
  )
    throw new ConfigError(
      "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with `--service-account-signing-endpoint` (They are mutually exclusive)",
    )
  const { serviceAccountMaxTokenExpirationMs: tokenMs } = config
  if (tokenMs !== 0 && !(tokenMs >= MIN_TOKEN_MS && tokenMs <= MAX_TOKEN_MS))
    throw new ConfigError('the service-account-max-token-expiration must be between 1 hour and 2^32 seconds')
  checkTls(config)
  const corsErrors = [...new Set(corsProblems(config.corsAllowedOrigins))]
  if (corsErrors.length > 0) throw new ConfigError(corsErrors.length === 1 ? corsErrors[0]! : `[${corsErrors.join(', ')}]`)
  checkOidc(config)
  for (const problem of auditProblems(config.audit)) throw new ConfigError(problem)
  checkRequestHeaders(config)
  checkReviewVersion('--authentication-token-webhook-version', config.authenticationTokenWebhookVersion)
  if (config.apiAudiences.includes('')) throw new ConfigError('--api-audiences: an audience must not be empty')
  if (historyMs !== undefined && !(historyMs >= 1000))
    throw new ConfigError('--history-window must be at least 1s: clients that reconnect need a moment')
  for (const [flag, ms] of [
    ['node-monitor-grace-period', config.nodeMonitorGraceMs],
    ['node-startup-grace-period', config.nodeStartupGraceMs],
  ] as const)
    if (!(ms >= 1000 && ms <= MAX_TIMER_MS)) throw new ConfigError(`--${flag} must be between 1s and 24 days`)
  checkAutoscaling(config)
  if (!(bookmarkMs >= 100 && bookmarkMs <= MAX_TIMER_MS)) throw new ConfigError('--bookmark-interval must be between 100ms and 24 days')
  const blocks = ranges.map(range => {
    const block = parseCIDR(range)
    if (!block) throw new ConfigError(`--service-cluster-ip-range: "${range}" is not a range such as 10.0.0.0/24 or fd00::/112`)
    return block
  })
  if (blocks.length > 2 || (blocks.length === 2 && blocks[0]!.network.family === blocks[1]!.network.family))
    throw new ConfigError('--service-cluster-ip-range takes one range, or one IPv4 and one IPv6 range')
  const { from, to } = config.serviceNodePortRange
  if (!(from >= 1 && from <= to && to <= 65535))
    throw new ConfigError(`--service-node-port-range takes ports such as 30000-32767, not ${from}-${to}`)
  checkAuthorization(config)
  for (const name of controllers)
    if (name !== '*' && name !== 'none' && !controllerNamed(name.replace(/^-/, '')))
      throw new ConfigError(
        `--controllers: there is no controller "${name.replace(/^-/, '')}"; this version takes *, none and ${[...CONTROLLERS.keys()].join(', ')}`,
      )
  checkNodes(config)
  checkLocalImages(config)
  if (!(config.clusterSigningDurationMs >= MIN_SIGNED_MS)) throw new ConfigError('--cluster-signing-duration must be at least 10m')
  return { ...config, dataDir: resolve(config.dataDir), etcdPrefix: normalPrefix(config.etcdPrefix) }
}

function checkEtcd({
  store,
  etcdServers,
  etcdCafile,
  etcdCertfile,
  etcdKeyfile,
  etcdPrefix,
  quotaBackendBytes,
  testEndpoints,
  workspaces,
}: Config): void {
  if (store === 'etcd' && workspaces)
    throw new ConfigError(
      '--workspaces are in the memory of one server, and servers on etcd are several; it is for --store embedded and memory',
    )
  if (store === 'etcd' && testEndpoints)
    throw new ConfigError('--test-endpoints could reset an etcd that others use; it is for --store embedded and memory')
  if (store === 'etcd' && quotaBackendBytes !== undefined)
    throw new ConfigError('--quota-backend-bytes is for the stores of this server; with --store etcd, start etcd with it')
  if (store !== 'etcd') {
    if (etcdServers.length > 0) throw new ConfigError('--etcd-servers is for --store etcd')
    return
  }
  if (etcdServers.length === 0) throw new ConfigError('--store etcd needs --etcd-servers, such as http://127.0.0.1:2379')
  for (const server of etcdServers)
    if (!/^https?:\/\/[^/?#@]+$/.test(server) || !URL.canParse(server))
      throw new ConfigError(`--etcd-servers takes addresses such as http://127.0.0.1:2379, separated by commas, not "${server}"`)
  if ((etcdCertfile === undefined) !== (etcdKeyfile === undefined))
    throw new ConfigError('--etcd-certfile and --etcd-keyfile go together: give both or neither')
  if ((etcdCafile ?? etcdCertfile) !== undefined && !etcdServers.some(server => server.startsWith('https:')))
    throw new ConfigError('--etcd-cafile and --etcd-certfile are for etcd servers with https:// in --etcd-servers')
  if (/\0/.test(etcdPrefix)) throw new ConfigError('--etcd-prefix must be a path such as /registry')
}

/** Joins paths as kube-apiserver does: with a slash before, and none after. */
const normalPrefix = (prefix: string) => `/${prefix}`.replace(/\/+/g, '/').replace(/\/$/, '')

function checkTls({ tlsMinVersion, tlsCipherSuites, tlsSniCertKeys }: Config): void {
  try {
    readTlsSettings({ minVersion: tlsMinVersion, cipherSuites: tlsCipherSuites })
    for (const text of tlsSniCertKeys) namedPair(text)
  } catch (error) {
    if (error instanceof TlsSettingError) throw new ConfigError(error.message)
    throw error
  }
}

/** The files and names of a value of --tls-sni-cert-key. Throws TlsSettingError. */
function namedPair(text: string): NamedPair {
  try {
    return readNamedPair(text)
  } catch (error) {
    throw new TlsSettingError(`invalid argument ${JSON.stringify(text)} for "--tls-sni-cert-key" flag: ${(error as Error).message}`)
  }
}

function checkAutoscaling(config: Config): void {
  const { horizontalPodAutoscalerSyncMs: syncMs, horizontalPodAutoscalerTolerance: tolerance } = config
  if (!(syncMs >= 100 && syncMs <= MAX_TIMER_MS))
    throw new ConfigError('--horizontal-pod-autoscaler-sync-period must be between 100ms and 24 days')
  if (!(tolerance >= 0)) throw new ConfigError('--horizontal-pod-autoscaler-tolerance must be a number such as 0.1')
  if (config.concurrentHorizontalPodAutoscalerSyncs < 1)
    throw new ConfigError('--concurrent-horizontal-pod-autoscaler-syncs must be 1 or more')
}

function checkDevices(texts: readonly string[]): void {
  const drivers = new Set<string>()
  for (const text of texts)
    try {
      const { driver } = readDriverSpec(text)
      if (drivers.has(driver)) throw new ConfigError(`--node-devices: ${driver} is described twice`)
      drivers.add(driver)
    } catch (error) {
      if (error instanceof DriverSpecError) throw new ConfigError(`--node-devices: ${error.message}`)
      throw error
    }
}

function checkLocalImages({ localImages }: Config): void {
  const images = new Set<string>()
  for (const text of localImages)
    try {
      const { image } = readLocalImage(text)
      if (images.has(image)) throw new ConfigError(`--local-image: ${image} is named twice`)
      images.add(image)
    } catch (error) {
      if (error instanceof LocalImageError) throw new ConfigError(`--local-image: ${error.message}`)
      throw error
    }
}

function checkNodes({ api, nodes, nodeCapacity, nodeDevices, kubeletClientCertificate, kubeletClientKey }: Config): void {
  if ((kubeletClientCertificate === undefined) !== (kubeletClientKey === undefined))
    throw new ConfigError('--kubelet-client-certificate and --kubelet-client-key are used together')
  if (api !== 'all' && nodes > DEFAULTS.nodes) throw new ConfigError(`--nodes: simulated nodes need --api all, not ${api}`)
  if (nodes > LIMITS.simulatedNodes) throw new ConfigError(`--nodes: ${LIMITS.simulatedNodes} simulated nodes at most, not ${nodes}`)
  for (const [resource, quantity] of Object.entries(nodeCapacity)) {
    if (isQualifiedName(resource).length > 0) throw new ConfigError(`--node-capacity: "${resource}" is not the name of a resource`)
    if (!isQuantity(quantity) || quantity.startsWith('-'))
      throw new ConfigError(`--node-capacity: ${resource} must be a quantity such as 4, 500m or 16Gi, not "${quantity}"`)
  }
  checkDevices(nodeDevices)
  const { pods } = nodeCapacity
  if (pods !== undefined && !(Number(pods) <= LIMITS.podsOfSimulatedNode))
    throw new ConfigError(`--node-capacity: pods must be a number, ${LIMITS.podsOfSimulatedNode} at most, not "${pods}"`)
}

function checkAddresses({ advertiseAddress, tlsSans, proxyAllowedNetworks }: Config): void {
  const ip = advertiseAddress === undefined ? undefined : parseIP(advertiseAddress)
  if (advertiseAddress !== undefined && (ip === undefined || isUnspecified(ip)))
    throw new ConfigError(`--advertise-address must be an IP address that others can reach, not "${advertiseAddress}"`)
  for (const network of proxyAllowedNetworks)
    if (!parseCIDR(network))
      throw new ConfigError(`--proxy-allowed-networks takes networks such as 127.0.0.0/8 or ::1/128, not "${network}"`)
  for (const name of tlsSans)
    if (!isIP(name) && !HOST_NAME.test(name)) throw new ConfigError(`--tls-san takes names and IP addresses, not "${name}"`)
}
/** Servers over one etcd that pass requests on to each other. */
function checkPeers({ store, peerCaFile, peerAdvertiseIp: ip, peerAdvertisePort: port, proxyClientCertFile }: Config): void {
  const given = [
    peerCaFile !== undefined && '--peer-ca-file',
    ip !== undefined && '--peer-advertise-ip',
    port !== undefined && '--peer-advertise-port',
  ]
  const named = given.filter(flag => flag !== false)
  if (named.length > 0 && store !== 'etcd')
    throw new ConfigError(`${named.join(', ')}: for --store etcd; a server on another store has no peers`)
  if ((ip === undefined) !== (port === undefined))
    throw new ConfigError('--peer-advertise-ip and --peer-advertise-port go together: give both or neither')
  const address = ip === undefined ? undefined : parseIP(ip)
  if (ip !== undefined && (address === undefined || isUnspecified(address)))
    throw new ConfigError(`--peer-advertise-ip must be an IP address at which other servers reach this one, not "${ip}"`)
  if (port !== undefined && !(port >= 1 && port <= 65535))
    throw new ConfigError(`--peer-advertise-port must be a port between 1 and 65535, not ${port}`)
  if (peerCaFile !== undefined && proxyClientCertFile === undefined)
    throw new ConfigError(
      'error building peer proxy handler, proxy-cert-file not specified: --peer-ca-file needs --proxy-client-cert-file and --proxy-client-key-file, by which peers trust this server',
    )
}

/** A DNS name, whose first label may be an asterisk. */
const HOST_NAME = /^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/i

function checkAuthorization(config: Config): void {
  const { authorizationConfig, authorizationMode: modes, authorizationWebhookConfigFile: webhook } = config
  // The identity of the default list shows that no mode was named.
  const isLegacy = modes !== DEFAULTS.authorizationMode || WEBHOOK_SETTINGS.some(name => config[name] !== DEFAULTS[name])
  if (authorizationConfig !== undefined && isLegacy)
    throw new ConfigError(
      '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
    )
  if (authorizationConfig !== undefined) return
  checkModes(modes)
  if (modes.includes('Webhook') && webhook === undefined)
    throw new ConfigError('--authorization-mode Webhook needs --authorization-webhook-config-file, which says where the webhook is')
  if (!modes.includes('Webhook') && webhook !== undefined)
    throw new ConfigError('--authorization-webhook-config-file has no effect without Webhook in --authorization-mode')
  if (modes.includes('ABAC') && config.authorizationPolicyFile === undefined)
    throw new ConfigError("authorization-mode ABAC's authorization policy file not passed")
  if (!modes.includes('ABAC') && config.authorizationPolicyFile !== undefined)
    throw new ConfigError('cannot specify --authorization-policy-file without mode ABAC')
  checkReviewVersion('--authorization-webhook-version', config.authorizationWebhookVersion)
}
const WEBHOOK_SETTINGS = [
  'authorizationWebhookConfigFile',
  'authorizationWebhookVersion',
  'authorizationWebhookCacheAuthorizedMs',
  'authorizationWebhookCacheUnauthorizedMs',
] as const

function checkRequestHeaders(config: Config): void {
  const lists = {
    'requestheader-username-headers': config.requestheaderUsernameHeaders,
    'requestheader-uid-headers': config.requestheaderUidHeaders,
    'requestheader-group-headers': config.requestheaderGroupHeaders,
    'requestheader-extra-headers-prefix': config.requestheaderExtraHeadersPrefix,
    'requestheader-allowed-names': config.requestheaderAllowedNames,
  }
  for (const [flag, values] of Object.entries(lists))
    if (values.some(value => value.trim() === '')) throw new ConfigError(`--${flag}: a name must not be empty`)
  const { requestheaderUidHeaders: uids } = config
  if (uids.length > 0 && !uids.some(name => name.toLowerCase() === 'x-remote-uid'))
    throw new ConfigError('--requestheader-uid-headers must have X-Remote-Uid among its headers')
}

function checkReviewVersion(flag: string, version: string): void {
  if (version !== 'v1' && version !== 'v1beta1') throw new ConfigError(`${flag} takes v1 or v1beta1, not "${version}"`)
}

function checkModes(modes: readonly string[]): void {
  const takes = `it takes a list of ${AUTHORIZATION_MODES.join(', ')}`
  if (modes.length === 0) throw new ConfigError(`--authorization-mode must name one way at least; ${takes}`)
  for (const [i, mode] of modes.entries()) {
    if (!(AUTHORIZATION_MODES as readonly string[]).includes(mode))
      throw new ConfigError(`--authorization-mode: this version has no mode "${mode}"; ${takes}`)
    if (modes.indexOf(mode) !== i) throw new ConfigError(`--authorization-mode: "${mode}" is named twice`)
  }
}

function checkOidc({ oidc, serviceAccountIssuers, authenticationConfig }: Config): void {
  const { issuerUrl, clientId, signingAlgorithms, usernamePrefix, groupsClaim, groupsPrefix, caFile } = oidc
  const isConfigured = [issuerUrl, clientId, usernamePrefix, groupsClaim, groupsPrefix, caFile].some(value => value !== undefined)
  if (!isConfigured) return
  if (authenticationConfig !== undefined) throw new ConfigError('--authentication-config and --oidc-* flags are mutually exclusive')
  if (!issuerUrl || !clientId)
    throw new ConfigError('--oidc-issuer-url and --oidc-client-id go together with every other --oidc flag: give both')
  const url = URL.canParse(issuerUrl) ? new URL(issuerUrl) : undefined
  if (url?.protocol !== 'https:' || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new ConfigError(`--oidc-issuer-url must be an https URL without user, query and fragment, not "${issuerUrl}"`)
  if ([DEFAULT_ISSUER, ...serviceAccountIssuers].includes(issuerUrl))
    throw new ConfigError("--oidc-issuer-url must not be the issuer of this server's own tokens")
  for (const algorithm of signingAlgorithms)
    if (!(SIGNING_ALGORITHMS as readonly string[]).includes(algorithm))
      throw new ConfigError(`--oidc-signing-algs takes ${SIGNING_ALGORITHMS.join(', ')}, not "${algorithm}"`)
}
