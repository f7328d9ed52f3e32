/**
 * The library: everything that `import 'keelson'` and `require('keelson')` give. The package ships this file as its types, so it
 * imports nothing, and compiles without the types of Node.
 *
 *     import { start } from 'keelson'
 *     const server = await start()
 *     await server.fetch('/api/v1/namespaces')
 *     await server.close()
 */

/** Starts a server. Unless told otherwise it keeps everything in memory and picks a free port. Throws ConfigError. */
export function start(options?: StartOptions): Promise<RunningServer>

/** An option that does not exist or has a value that makes no sense; the message names the option. */
export class ConfigError extends Error {}

/** A data directory that cannot be opened: another server uses it, or it is damaged. */
export class StoreUnavailable extends Error {
  /** What is wrong, without names of files. */
  readonly problem: string
  constructor(message: string, options?: { cause?: unknown; problem?: string })
}

/** The version of this package. */
export const VERSION: string

export interface RunningServer extends AsyncDisposal {
  /** `https://HOST:PORT`. */
  readonly url: string
  /** The admin's kubeconfig, as text: write it to a file, or give it to a client library. */
  readonly kubeconfig: string
  /** Sends a request as the admin. Paths are those of the API: `/api/v1/namespaces`. */
  readonly fetch: (path: string, init?: FetchInit) => Promise<FetchResponse>
  /** Ends watches, lets requests finish, closes the store. */
  close(): Promise<void>
  /**
   * Creates or changes objects, those of files and of folders of YAML or JSON among them, as `kubectl apply --server-side` does.
   * Namespaces and definitions of custom kinds come first, and custom kinds are waited for. Resolves with what is stored.
   */
  apply(...sources: readonly (string | object)[]): Promise<StoredObject[]>
  /** Makes everything that is stored what it was when the server had started. Faults and records are forgotten, too. */
  reset(): Promise<void>
  /** Keeps all that is stored now. */
  snapshot(): Promise<Snapshot>
  /** Makes everything that is stored what it was. Revisions go on, and watches see the changes. */
  restore(snapshot: Snapshot): Promise<void>
  /** The server as another user sees it. */
  as(user: string, groups?: readonly string[]): UserAccess
  /** The kubeconfig of another user, as text. */
  kubeconfigFor(user: string, groups?: readonly string[]): string
  /**
   * Waits until an object `exists` or is `deleted`, has a condition (`Available`, `Ready=False`), or a function of it says so.
   * The object is named as `deployment/web`, or by what has its apiVersion, kind and name. Rejects at once where no such kind is
   * served, and with the object as it is after ten seconds unless told otherwise. Resolves with the object.
   */
  waitFor(
    object: ObjectReference | string,
    condition?: string | ((object: any) => unknown),
    options?: {
      readonly timeoutMs?: number
      /** Where the object is; `default`, or what the reference says, unless told. */
      readonly namespace?: string
    },
  ): Promise<any>
  /** Resolves when the server's own controllers have nothing to do but to wait for a time to pass. */
  settled(): Promise<void>
  /** The requests that clients have sent since the start or the last reset, oldest first; the last 10,000 at least. */
  requests(): readonly RecordedRequest[]
  /** What has changed since then, whoever changed it. */
  changes(): readonly RecordedChange[]
  /** The time that the server lives by. */
  readonly clock: TestClock
  /** What is to go wrong. */
  readonly faults: TestFaults
}

/** The hooks of a test runner. */
export interface RunnerHooks {
  readonly beforeAll: (run: () => Promise<void>) => unknown
  readonly afterAll: (run: () => Promise<void>) => unknown
  readonly beforeEach: (run: () => Promise<void>) => unknown
  readonly afterEach: (run: () => Promise<void>) => unknown
}

/** Makes `useKeelson` for a test runner; `keelson/vitest`, `keelson/jest` and `keelson/node-test` have theirs. */
export function fixtureFor(hooks: RunnerHooks): (options?: FixtureOptions) => KeelsonFixture

/** Options of a server for tests; those of `start` among them. */
export interface FixtureOptions extends StartOptions {
  /** Whether each file has its server, or all files that a worker runs share one, which is reset between them. Default: file. */
  readonly per?: 'file' | 'worker'
  /** What is applied before the first test. */
  readonly apply?: readonly (string | object)[]
}

export interface KeelsonFixture {
  readonly server: RunningServer
  /** The namespace of the test that runs; it is deleted after it. */
  readonly namespace: string
}

/** An object as it is stored. */
export interface StoredObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly [field: string]: any
  }
  readonly [field: string]: any
}

export interface ObjectReference {
  readonly apiVersion: string
  readonly kind: string
  /** The namespace is `default` unless told. */
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** What a server had stored; for `restore` of the same server. */
export interface Snapshot {
  readonly objects: number
}

export interface UserAccess {
  readonly fetch: RunningServer['fetch']
  readonly kubeconfig: string
}

export interface RecordedRequest {
  readonly at: Date
  readonly method: string
  /** Path and query, as sent. */
  readonly path: string
  /** `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for other paths the method in lower case. */
  readonly verb: string
  readonly group: string
  readonly version: string
  /** Such as `deployments`; empty for other paths. */
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly user: string
  readonly userAgent: string
  /** 0 while it is not answered. */
  readonly status: number
  /** As text, unless it is larger than 64 KiB. */
  readonly body: string | undefined
}

export interface RecordedChange {
  readonly at: Date
  readonly type: 'added' | 'updated' | 'deleted'
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly revision: string
  /** Of a deletion: what it was last. */
  readonly object: any
  /** What it was before, while that is known. */
  readonly previous: any
}

export interface TestClock {
  /** What time it is for the server. */
  now(): Date
  /**
   * Puts the time forward by milliseconds or by a duration such as `1h30m`. What falls due on the way happens in its order and at its
   * time: leases, cron jobs, time limits, expiry. The time of the machine and of clients stays.
   */
  advance(duration: number | string): Promise<void>
}

export interface TestFaults {
  /** Adds a fault; calling the result takes it away. The first fault that is for a request and strikes is the one that counts. */
  add(fault: Fault): () => void
  clear(): void
  /** From here on the same requests in the same order are struck by the same faults. Default: 1. */
  seed(seed: number): void
  /** How many requests or events each fault was for, and how many it struck. */
  report(): FaultReport[]
}

/** Which requests a fault is for, how often it strikes, and what happens then. */
export interface Fault extends FaultEffect {
  readonly verb?: string | readonly string[]
  /** `pods`, or `deployments.apps`. */
  readonly resource?: string
  /** `Pod`, or `Deployment`. */
  readonly kind?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly user?: string
  /** How likely it strikes. Default: 1. */
  readonly probability?: number
  /** How often it strikes at most. */
  readonly times?: number
  /** How many are spared at first. */
  readonly skip?: number
}

export interface FaultEffect {
  /** The request is handled that much later. */
  readonly delayMs?: number
  /** It is answered with an error: 409, 410, 429, 500, 503, 504 as Kubernetes has them, or another. It changes nothing. */
  readonly status?: number
  readonly message?: string
  readonly retryAfterSeconds?: number
  /** The connection ends without an answer, and the request changes nothing. */
  readonly disconnect?: boolean
  /** The request takes effect, and the connection ends without an answer. */
  readonly loseAnswer?: boolean
  /**
   * The server restarts before the request takes effect, or after, and does not answer it. All connections are cut, and watches can be
   * resumed only from what is stored then (410). Other requests under way have happened or have not.
   */
  readonly restart?: 'before' | 'after'
  /** How long new connections are cut, too. Default: as long as it takes. */
  readonly downMs?: number
  /** The answer comes that slowly. */
  readonly bytesPerSecond?: number
  /** A get or list answers with what was stored so many revisions ago. */
  readonly staleBy?: number
  /** An event of a watch is lost, is late, or the watch ends: with 410 (`gone`), or cleanly. */
  readonly events?: 'drop' | 'gone' | 'end' | { readonly delayMs: number }
}

export interface FaultReport {
  readonly id: string
  readonly fault: Fault
  readonly seen: number
  readonly hits: number
}

export interface FetchInit {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Taken for JSON unless a header says otherwise. */
  readonly body?: string | Uint8Array
  readonly signal?: FetchSignal
}

/** Every option has the default of the flag of `keelson serve`, except where it says otherwise. */
export interface StartOptions {
  /**
   * `memory` is gone when the server is closed; `etcd` is a cluster that other servers may use at the same time. Default:
   * `embedded` if there is a data directory, else `memory`.
   */
  readonly store?: 'embedded' | 'memory' | 'etcd'
  /** URLs of members of the etcd cluster, such as `http://127.0.0.1:2379`. */
  readonly etcdServers?: readonly string[]
  /** PEM file of the CA that verifies the certificates of etcd. Default: those of Node. */
  readonly etcdCafile?: string | undefined
  /** PEM files of the client certificate for etcd, and of its key. */
  readonly etcdCertfile?: string | undefined
  readonly etcdKeyfile?: string | undefined
  /** Prefix of all keys in etcd. Default: `/registry`. */
  readonly etcdPrefix?: string
  /** Directory for data and keys. Default: none, with the store `memory`. */
  readonly dataDir?: string
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string
  /** Port to serve HTTPS on; 0 picks a free one. Default: 0. */
  readonly port?: number
  /** Address at which others reach this server. Default: detected from where it listens. */
  readonly advertiseAddress?: string | undefined
  /** Additional names and addresses for the server certificate. */
  readonly tlsSans?: readonly string[]
  /** Kubeconfig file that the admin's context is written to. Default: none is written. */
  readonly kubeconfig?: string | undefined
  /** Name of context, cluster and user in kubeconfigs of this server. Default: keelson. */
  readonly contextName?: string
  /** CSV file of token,user,uid,"group1,group2": users with bearer tokens. */
  readonly tokenAuthFile?: string | undefined
  /** PEM file of additional CAs of client certificates. */
  readonly clientCaFile?: string | undefined
  /** PEM file of the CAs of authenticating proxies, which name users in headers. */
  readonly requestheaderClientCaFile?: string | undefined
  /** Common names that client certificates of such proxies may have. Default: any. */
  readonly requestheaderAllowedNames?: readonly string[]
  /** Headers with the user name, such as X-Remote-User. */
  readonly requestheaderUsernameHeaders?: readonly string[]
  /** Headers with the uid of the user, such as X-Remote-Uid. */
  readonly requestheaderUidHeaders?: readonly string[]
  /** Headers with groups of the user, such as X-Remote-Group. */
  readonly requestheaderGroupHeaders?: readonly string[]
  /** Prefixes of headers with extra attributes of the user, such as X-Remote-Extra-. */
  readonly requestheaderExtraHeadersPrefix?: readonly string[]
  /** File with an AuthenticationConfiguration: token issuers and anonymous access; changes of the issuers take effect at once. */
  readonly authenticationConfig?: string | undefined
  /** Kubeconfig file of a webhook that authenticates bearer tokens. */
  readonly authenticationTokenWebhookConfigFile?: string | undefined
  /** Version of the TokenReviews for that webhook. Default: v1beta1. */
  readonly authenticationTokenWebhookVersion?: 'v1' | 'v1beta1'
  /** How long its answers are cached, in milliseconds. Default: 120,000. */
  readonly authenticationTokenWebhookCacheMs?: number
  /** PEM file of the key that signs service account tokens. Default: a generated one. */
  readonly serviceAccountSigningKeyFile?: string | undefined
  /** PEM files of additional keys that verify service account tokens. */
  readonly serviceAccountKeyFiles?: readonly string[]
  /** Issuer of tokens of service accounts, and after it further issuers that are accepted. */
  readonly serviceAccountIssuers?: readonly string[]
  /** Longest validity of service account tokens, in milliseconds: an hour to 2^32 seconds, or 0 for as long as is requested. Default: 0. */
  readonly serviceAccountMaxTokenExpirationMs?: number
  /** Whether tokens that pods get by default hold for a year. Default: true. */
  readonly serviceAccountExtendTokenExpiration?: boolean
  /** Audiences of which a token must name one. Default: the issuer. */
  readonly apiAudiences?: readonly string[]
  /** OpenID provider whose ID tokens are accepted. */
  readonly oidc?: OidcOptions
  /** PEM file of the server certificate. Default: a generated one. */
  readonly tlsCertFile?: string | undefined
  /** PEM file of the key of `tlsCertFile`. */
  readonly tlsPrivateKeyFile?: string | undefined
  /** Domain of API groups and well-known names. Default: k8s.io. */
  readonly groupDomain?: string
  /** Feature gates of Kubernetes, as `A=true,B=false`. */
  readonly featureGates?: string
  /** Controllers to run: `*` for all, names, `-name` for all but one, `none`. Default: all. */
  readonly controllers?: readonly string[]
  /** Simulated nodes, on which pods run without containers; none with the controllers `none`. Default: 1. */
  readonly nodes?: number
  /** Capacity of each simulated node, in addition to `{ cpu: '16', memory: '64Gi', 'ephemeral-storage': '200Gi', pods: '110' }` or instead. */
  readonly nodeCapacity?: Readonly<Record<string, string>>
  /** How often HorizontalPodAutoscalers are evaluated, in milliseconds. */
  readonly horizontalPodAutoscalerSyncMs?: number
  /** How long fewer replicas must have been recommended before a workload is scaled down, in milliseconds. */
  readonly horizontalPodAutoscalerDownscaleStabilizationMs?: number
  /** Time after the start of a pod in which its CPU usage may be ignored, in milliseconds. */
  readonly horizontalPodAutoscalerCpuInitializationMs?: number
  /** Time after the start of a pod in which changes of readiness count as the initial readiness, in milliseconds. */
  readonly horizontalPodAutoscalerInitialReadinessMs?: number
  /** Relative difference from the target that causes no scaling, unless the autoscaler has a tolerance of its own. */
  readonly horizontalPodAutoscalerTolerance?: number
  /** How many HorizontalPodAutoscalers are evaluated concurrently. */
  readonly concurrentHorizontalPodAutoscalerSyncs?: number
  /** Devices of each simulated node, by driver, such as `gpu.example.com=8,model=A100,capacity.memory=80Gi`. Default: none. */
  readonly nodeDevices?: readonly string[]
  /** Milliseconds that a kubelet may send no heartbeat before its node is unhealthy. Default: 50,000. */
  readonly nodeMonitorGraceMs?: number
  /** The same for a kubelet that has not sent a heartbeat yet. Default: 60,000. */
  readonly nodeStartupGraceMs?: number
  /** PEM file of the CA of kubelet certificates. Default: they are not verified. */
  readonly kubeletCertificateAuthority?: string | undefined
  /** PEM file of the client certificate for kubelets. Default: one of the user `kube-apiserver-kubelet-client`, which has no rights in this API. */
  readonly kubeletClientCertificate?: string | undefined
  /** PEM file of the key of `kubeletClientCertificate`. */
  readonly kubeletClientKey?: string | undefined
  /** PEM file of the client certificate for aggregated API servers. Default: one of the generated front-proxy CA. */
  readonly proxyClientCertFile?: string | undefined
  /** PEM file of the key of `proxyClientCertFile`. */
  readonly proxyClientKeyFile?: string | undefined
  /**
   * Networks, such as `127.0.0.0/8`, in which nodes, pods and endpoints are connected to even if their addresses are loopback, link-local
   * or otherwise special. Default: none.
   */
  readonly proxyAllowedNetworks?: readonly string[]
  /** Types of node addresses to connect to kubelets, in order of preference. */
  readonly kubeletPreferredAddressTypes?: readonly string[]
  /** PEM file of the CA that issues certificates for requests. Default: that of the server. */
  readonly clusterSigningCertFile?: string | undefined
  /** PEM file of the key of `clusterSigningCertFile`. */
  readonly clusterSigningKeyFile?: string | undefined
  /** PEM file of the CA for the signer kubernetes.io/kubelet-serving. With one of these, signers without one sign nothing. */
  readonly clusterSigningKubeletServingCertFile?: string | undefined
  /** PEM file of its key. */
  readonly clusterSigningKubeletServingKeyFile?: string | undefined
  /** PEM file of the CA for the signer kubernetes.io/kube-apiserver-client-kubelet. With one of these, signers without one sign nothing. */
  readonly clusterSigningKubeletClientCertFile?: string | undefined
  /** PEM file of its key. */
  readonly clusterSigningKubeletClientKeyFile?: string | undefined
  /** PEM file of the CA for the signer kubernetes.io/kube-apiserver-client. With one of these, signers without one sign nothing. */
  readonly clusterSigningKubeApiserverClientCertFile?: string | undefined
  /** PEM file of its key. */
  readonly clusterSigningKubeApiserverClientKeyFile?: string | undefined
  /** PEM file of the CA for the signer kubernetes.io/legacy-unknown. With one of these, signers without one sign nothing. */
  readonly clusterSigningLegacyUnknownCertFile?: string | undefined
  /** PEM file of its key. */
  readonly clusterSigningLegacyUnknownKeyFile?: string | undefined
  /** Maximum validity of issued certificates, in milliseconds. Default: a year of 365 days. */
  readonly clusterSigningDurationMs?: number
  /** Accept bootstrap tokens, which are Secrets in kube-system. Default: false. */
  readonly enableBootstrapTokenAuth?: boolean
  /** Give every node a block of `clusterCidr` for its pods. Default: false; simulated nodes then choose blocks themselves. */
  readonly allocateNodeCidrs?: boolean
  /** CIDR of pods, or one of each family, for `allocateNodeCidrs`. */
  readonly clusterCidr?: readonly string[]
  /** Prefix length of the block of a node, with one family of addresses. Default: 24 for IPv4, 64 for IPv6. */
  readonly nodeCidrMaskSize?: number | undefined
  /** Prefix length of the IPv4 block of a node. Default: 24. */
  readonly nodeCidrMaskSizeIpv4?: number | undefined
  /** Prefix length of the IPv6 block of a node. Default: 64. */
  readonly nodeCidrMaskSizeIpv6?: number | undefined
  /** Admission plugins to enable in addition to the default ones. */
  readonly enableAdmissionPlugins?: readonly string[]
  /** Admission plugins to disable. */
  readonly disableAdmissionPlugins?: readonly string[]
  /** File with an AdmissionConfiguration, which configures admission plugins. */
  readonly admissionControlConfigFile?: string | undefined
  /** Default `tolerationSeconds` of pods for nodes that are not ready. Default: 300. */
  readonly defaultNotReadyTolerationSeconds?: number
  /** Default `tolerationSeconds` of pods for nodes that are unreachable. Default: 300. */
  readonly defaultUnreachableTolerationSeconds?: number
  /** Range of cluster IPs, or one of each family. Default: 10.0.0.0/24. */
  readonly serviceClusterIpRange?: readonly string[]
  /** Range of node ports, both ends included. Default: 30000 to 32767. */
  readonly serviceNodePortRange?: { readonly from: number; readonly to: number }
  /** Accept requests without credentials as those of system:anonymous. Default: true. */
  readonly anonymousAuth?: boolean | undefined
  /** Authorizers, in order: RBAC, Node, Webhook, AlwaysAllow, AlwaysDeny. Default: RBAC. */
  readonly authorizationMode?: readonly string[]
  /** File with an AuthorizationConfiguration, instead of `authorizationMode`; changes of it take effect at once. */
  readonly authorizationConfig?: string | undefined
  /** Kubeconfig file of the webhook of the mode Webhook. */
  readonly authorizationWebhookConfigFile?: string | undefined
  /** Version of the SubjectAccessReviews for that webhook. Default: v1beta1. */
  readonly authorizationWebhookVersion?: 'v1' | 'v1beta1'
  /** How long answers of the webhook that allow are cached, in milliseconds. Default: 300,000. */
  readonly authorizationWebhookCacheAuthorizedMs?: number
  /** How long its other answers are cached, in milliseconds. Default: 30,000. */
  readonly authorizationWebhookCacheUnauthorizedMs?: number
  /** Serve `/keelson/faults`, where administrators add faults over HTTP. Default: false. */
  readonly enableFaultInjection?: boolean
  /** What is logged to standard error. Default: warn. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** How lines of the log are written. Default: text on a terminal, JSON elsewhere. */
  readonly loggingFormat?: 'json' | 'text' | undefined
  /** How long `close` goes on serving, unready, so that balancers notice, in milliseconds. Default: 0. */
  readonly shutdownDelayMs?: number
  /** How long `close` waits for requests under way, in milliseconds. Default: 10,000. */
  readonly drainMs?: number
  /** How far back watches can start and pages can be continued, in milliseconds. Default: 480,000. */
  readonly historyMs?: number
  /** How many bytes the store may use before it takes deletions only; negative for no limit. Default: a quarter of the memory there is. */
  readonly quotaBackendBytes?: number | undefined
  /** How often watches that allow bookmarks get one, in milliseconds. Default: 30,000. */
  readonly bookmarkMs?: number
  /** With the next option: the seats that priority levels share; both 0 for no limit. Default: 400. */
  readonly maxRequestsInflight?: number
  /** Added to `maxRequestsInflight`. Default: 200. */
  readonly maxMutatingRequestsInflight?: number
}

/** `issuerUrl` and `clientId` belong together; without them no ID tokens are accepted. */
export interface OidcOptions {
  /** URL of the provider, as tokens name it. */
  readonly issuerUrl?: string
  /** Client ID that tokens must be issued for. */
  readonly clientId?: string
  /** Claim that names the user. Default: sub. */
  readonly usernameClaim?: string
  /** Prefix of user names; `-` for none. Default: the issuer and #, but none for e-mail addresses. */
  readonly usernamePrefix?: string
  /** Claim with the groups of the user. */
  readonly groupsClaim?: string
  /** Prefix of group names. */
  readonly groupsPrefix?: string
  /** PEM file of the CAs of the provider. Default: those of Node. */
  readonly caFile?: string
  /** Claims that tokens must have, with their values. */
  readonly requiredClaims?: Readonly<Record<string, string>>
  /** Algorithms that the provider may sign with. Default: RS256. */
  readonly signingAlgorithms?: readonly string[]
}

/** The Response of the global fetch; where its type is not known, what is used of it most. */
export type FetchResponse = typeof globalThis extends { Response: { prototype: infer R } } ? R : PlainResponse

export interface PlainResponse {
  readonly ok: boolean
  readonly status: number
  readonly headers: { get(name: string): string | null; has(name: string): boolean }
  text(): Promise<string>
  json(): Promise<any>
  arrayBuffer(): Promise<ArrayBuffer>
}

/** An AbortSignal, where its type is known. */
export type FetchSignal = typeof globalThis extends { AbortSignal: { prototype: infer S } } ? S : object

/** `await using server = await start()`, where the types of TypeScript know of it. */
export type AsyncDisposal = typeof Symbol extends { readonly asyncDispose: infer S extends symbol }
  ? { readonly [K in S]: () => Promise<void> }
  : object
