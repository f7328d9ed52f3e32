/**
 * The library: everything that `import 'keelson'` and `require('keelson')` export. The package ships this file as its types, so it imports
 * nothing, and compiles without the types of Node.
 *
 *     import { start } from 'keelson'
 *     const server = await start()
 *     await server.fetch('/api/v1/namespaces')
 *     await server.close()
 */

/** Starts a server. By default it keeps everything in memory and picks a free port. Throws ConfigError. */
export function start(options?: StartOptions): Promise<RunningServer>

/** An unknown option or an invalid value; the message names the option. */
export class ConfigError extends Error {}

/** A data directory that cannot be opened: another server uses it, or it is damaged. */
export class StoreUnavailable extends Error {
  /** The error, without file names. */
  readonly problem: string
  constructor(message: string, options?: { cause?: unknown; problem?: string })
}

/** The version of this package. */
export const VERSION: string

/** A response of the API with an error; the message says which request and why. */
export class ApiError extends Error {
  /** The status of HTTP, such as 404. */
  readonly status: number
  /** The reason of the API, such as `NotFound`, `Conflict` or `Invalid`; empty if there is none. */
  readonly reason: string
  /** The Status object, unless the response was another text. */
  readonly body: ApiStatus | undefined
  constructor(request: string, status: number, text: string)
}

/** The server, with the access of its admin. */
export interface RunningServer extends UserAccess, AsyncDisposal {
  /** `https://HOST:PORT`. */
  readonly url: string
  /** Ends watches, lets requests finish, closes the store. */
  close(): Promise<void>
  /**
   * Creates or updates objects, files and folders of YAML or JSON, as `kubectl apply --server-side` does. Namespaces and
   * CustomResourceDefinitions come first, and custom kinds are waited for. Resolves with the stored objects.
   */
  apply(...sources: readonly (string | object)[]): Promise<StoredObject[]>
  /** Restores the state after the start. Clears faults and recordings, too. */
  reset(): Promise<void>
  /** Saves everything that is currently stored. */
  snapshot(): Promise<Snapshot>
  /**
   * Makes an isolated server at the path `/workspaces/NAME` of this one, with objects, kinds, roles and revisions of its own, in
   * milliseconds; or returns the one of that name, if there are no options. Needs the option `workspaces`.
   */
  workspace(name: string, options?: WorkspaceOptions): Promise<Workspace>
  /** Restores a saved state, or that of a file. Revisions continue, and watches receive the changes. */
  restore(snapshot: Snapshot | string): Promise<void>
  /** Access to the server as another user. */
  as(user: string, groups?: readonly string[]): UserAccess
  /** The kubeconfig of another user, as YAML. */
  kubeconfigFor(user: string, groups?: readonly string[]): string
  /**
   * Waits until an object `exists` or is `deleted`, has a condition (`Available`, `Ready=False`), or a function of it returns true. The
   * object is named as `deployment/web`, or by an object with apiVersion, kind and name. Rejects immediately if no such kind is served, and
   * with the current object after the timeout, ten seconds by default. Resolves with the object.
   */
  waitFor(
    object: ObjectName | ObjectReference,
    condition?: WaitCondition | ((object: any) => unknown),
    options?: {
      readonly timeoutMs?: number
      /** The namespace of the object. Default: that of the reference, or `default`. */
      readonly namespace?: string
    },
  ): Promise<any>
  /** Resolves when the server's own controllers have no work except for timers. */
  settled(): Promise<void>
  /** The requests that clients have sent since the start or the last reset, oldest first; at least the last 10,000. */
  requests(): readonly RecordedRequest[]
  /** The changes since then, by clients and by the server. */
  changes(): readonly RecordedChange[]
  /** The permissions that clients needed since the start, resets included. */
  accessUsage(): readonly AccessUse[]
  /** The audit events since then, as Events of audit.k8s.io/v1, oldest first; the last 10,000 at least. There are none without `audit.policy`. */
  audit(): readonly any[]
  /** The server's clock. */
  readonly clock: TestClock
  /** Fault injection. */
  readonly faults: TestFaults
}

/** The hooks of a test runner. */
export interface RunnerHooks {
  readonly beforeAll: (run: () => Promise<void>) => unknown
  readonly afterAll: (run: () => Promise<void>) => unknown
  readonly beforeEach: (run: () => Promise<void>) => unknown
  readonly afterEach: (run: () => Promise<void>) => unknown
}

/** Creates `useKeelson` for a test runner; `keelson/vitest`, `keelson/jest` and `keelson/node-test` export theirs. */
export function fixtureFor(hooks: RunnerHooks): (options?: FixtureOptions) => KeelsonFixture

/**
 * Finds bugs that stale caches, missed events, crashes, conflicts and timeouts cause. Runs a workload beside a program once undisturbed, and
 * then again with one perturbation at a time, each on a server of its own. A final state that differs from the undisturbed one is a finding,
 * and so is a broken invariant. Throws TypeError for invalid options, and Error if the undisturbed run fails.
 */
export function explore(workload: (server: RunningServer) => Promise<unknown>, options: ExploreOptions): Promise<ExploreReport>

/** `stale`: after a restart, reads show an older state. `unobserved`: an event and its opposite are not seen. `intermediate`: killed between two writes. */
export type PerturbationKind = 'stale' | 'unobserved' | 'intermediate' | 'conflict' | 'timeout'

export interface ExploreOptions {
  /**
   * The program under test. It runs until the signal is aborted; from then on, its requests have no effect. Without it, nothing is killed,
   * and `user` or `userAgent` say which requests are those of the program.
   */
  readonly program?: (access: UserAccess, signal: FetchSignal) => Promise<unknown>
  /** The user of the program, with the rights that roles give. Default: `program`, who may do everything. */
  readonly user?: string
  /** Only requests with this text in their User-Agent are those of the program. */
  readonly userAgent?: string
  /** Whether the program is started again when it ends: always, after a failure, or never, and then it is not killed. Default: on-failure. */
  readonly restart?: 'always' | 'on-failure' | 'never'
  /** Options of the server of each run. */
  readonly server?: StartOptions
  /** The perturbations to try. Default: all. */
  readonly perturbations?: readonly PerturbationKind[]
  /** Conditions on every final state, beside that it is as without a perturbation. A function is broken when it throws. */
  readonly invariants?: readonly (ExploreInvariant | ((server: RunningServer) => unknown))[]
  /** Differences that do not matter: `KIND`, or `KIND:FIELD.PATH`, such as `Widget:status.attempts`. */
  readonly ignore?: readonly string[]
  /** Decides in which order perturbations are tried. Default: 1. */
  readonly seed?: number
  /** When no further perturbation is begun: milliseconds, or a duration such as `5m`. Default: 5m. */
  readonly budget?: number | string
  /** Tries this perturbation alone: the `id` of a finding. */
  readonly only?: string
  /** A run is over when nothing has happened for this time. Default: 100. */
  readonly quietMs?: number
  /** How long nothing must happen before a difference is a finding. Default: 2000. */
  readonly patienceMs?: number
}

/** A condition on the final state: exactly one of its fields but the selecting ones. */
export interface ExploreInvariant {
  /** Which objects; `kind` alone may be left out, for all kinds. */
  readonly kind?: string
  readonly namespace?: string
  /** Labels that they have. */
  readonly labels?: Readonly<Record<string, string>>
  /** How many there are: a number, or bounds. `{ kind: 'Secret', count: 0 }`: no secret is left. */
  readonly count?: number | { readonly min?: number; readonly max?: number }
  /** Every owner that they name exists. */
  readonly noOrphans?: true
  /** No two of them have the same value of a field, such as `spec.claimName`; `owner` is their controller. */
  readonly noDuplicatesBy?: string
  /** Each has this condition: `Ready`, or `Ready=False`. */
  readonly condition?: string
}

export interface ExploreReport {
  readonly seed: number
  /** How many perturbations there are, how many were tried, and how many of these did not come to pass. */
  readonly planned: number
  readonly tried: number
  readonly unreached: number
  readonly findings: readonly ExploreFinding[]
  /** Remarks: objects and fields that differ without a perturbation, and perturbations that cannot be tried. */
  readonly notes: readonly string[]
}

export interface ExploreFinding {
  /** Names the perturbation, for `only`. */
  readonly id: string
  readonly kind: PerturbationKind
  /** The perturbation, in words. */
  readonly perturbation: string
  /** The differences and broken invariants. */
  readonly problems: readonly string[]
  /** The smallest run with these problems: requests that concern them, and the perturbation, in order. */
  readonly trace: readonly string[]
  /** Other perturbations with the same problems. */
  readonly others: readonly string[]
}

/** Options of a server for tests, including those of `start`. */
export interface FixtureOptions extends StartOptions {
  /** Whether each file has its own server, or all files of a worker share one, which is reset between them. Default: file. */
  readonly per?: 'file' | 'worker'
}

export interface KeelsonFixture {
  readonly server: RunningServer
  /** The namespace of the current test; it is deleted afterwards. */
  readonly namespace: string
}

/** A stored object. */
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
  /** The default namespace is `default`. */
  readonly metadata: { readonly name: string; readonly namespace?: string }
}

/** A saved state; for `restore`. */
export interface Snapshot {
  readonly objects: number
  /** Writes it to a file, which `restore` of another server and `keelson snapshot status` read. Secrets are in it: its mode is 0600. */
  save(file: string): Promise<void>
}

/** An isolated server at a path of another one. Its user is an administrator in it, and nobody elsewhere. */
export interface Workspace extends UserAccess {
  readonly name: string
  /** `https://HOST:PORT/workspaces/NAME`. */
  readonly url: string
  /** Resolves when its controllers have nothing to do but to wait for a time to pass. */
  settled(): Promise<void>
  /** Deletes it with everything in it. Its watches end. */
  delete(): Promise<void>
}

export interface WorkspaceOptions {
  /** The state to begin with: a snapshot, or another workspace, by its name, as it is now. Default: that of a new server. */
  readonly from?: Snapshot | string
  /** Its controllers, as in the options of a server. Default: none. */
  readonly controllers?: readonly string[]
  /** Its simulated nodes. Default: 0. */
  readonly nodes?: number
  /** Its built-in kinds. Default: those of the server. */
  readonly api?: 'none' | 'minimal' | 'all'
}

/** The API as one user. */
export interface UserAccess extends ObjectAccess {
  /** Sends a request. Paths are those of the API: `/api/v1/namespaces`. Resolves whatever the status is. */
  readonly fetch: (path: string, init?: FetchInit) => Promise<FetchResponse>
  /** The kubeconfig, as YAML: write it to a file, or pass it to a client library. */
  readonly kubeconfig: string
  /** The same for `new KubeConfig().loadFromOptions(…)` of @kubernetes/client-node. */
  readonly kubeConfig: ClientConfig
}

/**
 * Reads and writes objects over HTTP. A kind is named by its plural, singular or short name or its kind, with its group if necessary
 * (`deployments.apps`), an object by its kind and name: `deployment/web`. Every method rejects with ApiError where the API refuses, and with
 * TypeError where no such kind is served.
 */
export interface ObjectAccess {
  get<T = StoredObject>(object: ObjectName | ObjectReference, options?: GetOptions): Promise<T>
  /** The objects of all namespaces, unless the options name one. */
  list<T = StoredObject>(kind: KindName, options?: ListOptions): Promise<T[]>
  create<T = StoredObject>(object: ObjectToWrite, options?: WriteOptions): Promise<T>
  /** Replaces an object. With the resourceVersion of a read it is refused if somebody else has written since. */
  update<T = StoredObject>(object: ObjectToWrite, options?: WriteOptions): Promise<T>
  /** Changes a part of an object; by a merge patch unless the options name another type. */
  patch<T = StoredObject>(object: ObjectName | ObjectReference, patch: object, options?: PatchOptions): Promise<T>
  delete(object: ObjectName | ObjectReference, options?: DeleteOptions): Promise<void>
  /**
   * The changes of a kind: first all present objects as ADDED, unless the options name a resourceVersion. Leave the loop to end it; it ends
   * by itself when the server ends the watch, after half an hour or more.
   */
  watch<T = StoredObject>(kind: KindName, options?: WatchOptions): AsyncGenerator<WatchEvent<T>, void, void>
  /** The log of a container of a pod: `web`, or `pod/web`. */
  logs(pod: string, options?: LogOptions): Promise<string>
}

/** An object to create or to replace. */
export interface ObjectToWrite {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata?: { readonly name?: string; readonly generateName?: string; readonly namespace?: string; readonly [field: string]: any }
  readonly [field: string]: any
}

export interface InNamespace {
  /** Default: that of the object, or `default`. */
  readonly namespace?: string
}

export interface GetOptions extends InNamespace {
  /** Such as `status` or `scale`. */
  readonly subresource?: string
  readonly resourceVersion?: string
}

export interface ListOptions {
  readonly namespace?: string
  /** Such as `app=web,tier!=test`. */
  readonly labelSelector?: string
  /** Such as `status.phase=Running`. */
  readonly fieldSelector?: string
  readonly resourceVersion?: string
}

export interface WriteOptions extends InNamespace {
  readonly subresource?: string
  readonly fieldManager?: string
  /** Checks everything and stores nothing. */
  readonly dryRun?: boolean
  /** For unknown and duplicate fields. Default: Warn. */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict'
}

export type PatchType = 'merge' | 'strategic' | 'json' | 'apply'

export interface PatchOptions extends WriteOptions {
  readonly type?: PatchType
  /** With `apply`: takes over the fields of other managers. */
  readonly force?: boolean
}

export interface DeleteOptions extends InNamespace {
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  readonly gracePeriodSeconds?: number
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly dryRun?: boolean
}

export interface WatchOptions extends ListOptions {
  readonly allowWatchBookmarks?: boolean
  readonly signal?: FetchSignal
}

export interface WatchEvent<T = StoredObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: T
}

export interface LogOptions extends InNamespace {
  readonly container?: string
  readonly previous?: boolean
  readonly tailLines?: number
  readonly sinceSeconds?: number
  readonly timestamps?: boolean
}

/** The Status object of an error. */
export interface ApiStatus {
  readonly kind: 'Status'
  readonly message: string
  readonly reason?: string
  readonly code?: number
  readonly details?: {
    readonly name?: string
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[]
    readonly [field: string]: any
  }
}

/** Certificates are PEM in base64. */
export interface ClientConfig {
  readonly clusters: { name: string; server: string; caData: string; skipTLSVerify: boolean }[]
  readonly users: { name: string; certData?: string; keyData?: string; token?: string }[]
  readonly contexts: { name: string; cluster: string; user: string }[]
  readonly currentContext: string
}

/** Any text; editors complete the known ones. */
type OrText<Known extends string> = Known | (string & Record<never, never>)

/** The verbs of the API; other paths have the method in lower case. */
export type Verb = OrText<'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'>

/** `exists`, `deleted`, a condition that must be True, or one with a status: `Ready=False`. */
export type WaitCondition = OrText<
  | 'exists'
  | 'deleted'
  | 'Available'
  | 'Progressing'
  | 'Ready'
  | 'PodScheduled'
  | 'Initialized'
  | 'ContainersReady'
  | 'Complete'
  | 'Failed'
  | 'Established'
  | 'Approved'
  | 'Ready=False'
>

/** A kind: the name of a built-in one, or any other. */
export type KindName = OrText<BuiltInKind>

/** `KIND/NAME`, such as `deployment/web`. */
export type ObjectName = OrText<`${BuiltInKind}/`>

/** The singular names of the kinds that every server has. */
export type BuiltInKind =
  | 'apiservice'
  | 'binding'
  | 'certificatesigningrequest'
  | 'clusterrole'
  | 'clusterrolebinding'
  | 'clustertrustbundle'
  | 'componentstatus'
  | 'configmap'
  | 'controllerrevision'
  | 'cronjob'
  | 'csidriver'
  | 'csinode'
  | 'csistoragecapacity'
  | 'customresourcedefinition'
  | 'daemonset'
  | 'deployment'
  | 'deviceclass'
  | 'devicetaintrule'
  | 'endpoints'
  | 'endpointslice'
  | 'event'
  | 'flowschema'
  | 'horizontalpodautoscaler'
  | 'ingress'
  | 'ingressclass'
  | 'ipaddress'
  | 'job'
  | 'lease'
  | 'limitrange'
  | 'localsubjectaccessreview'
  | 'mutatingadmissionpolicy'
  | 'mutatingadmissionpolicybinding'
  | 'mutatingwebhookconfiguration'
  | 'namespace'
  | 'networkpolicy'
  | 'node'
  | 'persistentvolume'
  | 'persistentvolumeclaim'
  | 'pod'
  | 'podcertificaterequest'
  | 'poddisruptionbudget'
  | 'podtemplate'
  | 'priorityclass'
  | 'prioritylevelconfiguration'
  | 'replicaset'
  | 'replicationcontroller'
  | 'resourceclaim'
  | 'resourceclaimtemplate'
  | 'resourcepoolstatusrequest'
  | 'resourcequota'
  | 'resourceslice'
  | 'role'
  | 'rolebinding'
  | 'runtimeclass'
  | 'secret'
  | 'selfsubjectaccessreview'
  | 'selfsubjectreview'
  | 'selfsubjectrulesreview'
  | 'service'
  | 'serviceaccount'
  | 'servicecidr'
  | 'statefulset'
  | 'storageclass'
  | 'storageversionmigration'
  | 'subjectaccessreview'
  | 'tokenreview'
  | 'validatingadmissionpolicy'
  | 'validatingadmissionpolicybinding'
  | 'validatingwebhookconfiguration'
  | 'volumeattachment'
  | 'volumeattributesclass'

export interface RecordedRequest {
  readonly at: Date
  readonly method: string
  /** Path and query, as sent. */
  readonly path: string
  readonly verb: Verb
  readonly group: string
  readonly version: string
  /** Such as `deployments`; empty for other paths. */
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
  readonly user: string
  readonly userAgent: string
  /** 0 until there is a response. */
  readonly status: number
  /** As a string, unless it is larger than 64 KiB. */
  readonly body: string | undefined
}

/** A permission that requests of one user needed. */
export interface AccessUse {
  readonly user: string
  readonly groups: readonly string[]
  readonly verb: Verb
  readonly group: string
  /** Empty for other paths. */
  readonly resource: string
  readonly subresource: string
  /** Empty for cluster-scoped objects, and for all namespaces at once. */
  readonly namespace: string
  /** Names of objects; the first ones. */
  readonly names: readonly string[]
  /** The path of a request that names no resource, else empty. */
  readonly path: string
  readonly allowed: number
  readonly refused: number
}

export interface RecordedChange {
  readonly at: Date
  readonly type: 'added' | 'updated' | 'deleted'
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly revision: string
  /** For a deletion: the last state. */
  readonly object: any
  /** The state before, if it is known. */
  readonly previous: any
}

export interface TestClock {
  /** The current time of the server. */
  now(): Date
  /**
   * Advances the time by milliseconds or by a duration such as `1h30m`. Timers on the way fire in order and at their time: leases, cron
   * jobs, time limits, expiry. The time of the machine and of clients does not change.
   */
  advance(duration: number | string): Promise<void>
  /** Stops the time until `resume` or a reset: it moves by `advance` alone. */
  freeze(): void
  /** Lets the time go on from where it stands. */
  resume(): void
}

export interface TestFaults {
  /** Adds a fault; the returned function removes it. The first fault that matches a request and strikes is applied. */
  add(fault: Fault): () => void
  clear(): void
  /** Seeds the random numbers: from here on the same requests in the same order get the same faults. Default: 1. */
  seed(seed: number): void
  /** The number of requests or events that each fault matched, and the number it was applied to. */
  report(): FaultReport[]
}

/** The requests that a fault matches, its frequency, and its effect. */
export interface Fault extends FaultEffect {
  readonly verb?: Verb | readonly Verb[]
  /** `pods`, or `deployments.apps`. */
  readonly resource?: string
  /** `Pod`, or `Deployment`. */
  readonly kind?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly user?: string
  /** The probability that it is applied. Default: 1. */
  readonly probability?: number
  /** The maximum number of times that it is applied. */
  readonly times?: number
  /** The number of matches to skip first. */
  readonly skip?: number
}

export interface FaultEffect {
  /** Delays the request. */
  readonly delayMs?: number
  /** Responds with an error: 409, 410, 429, 500, 503, 504 as in Kubernetes, or another. The request changes nothing. */
  readonly status?: number
  readonly message?: string
  readonly retryAfterSeconds?: number
  /** Closes the connection without a response, and the request changes nothing. */
  readonly disconnect?: boolean
  /** The request takes effect, but the connection closes without a response. */
  readonly loseAnswer?: boolean
  /**
   * The server restarts before or after the request takes effect, and does not respond. All connections are cut, and watches can only be
   * resumed from the state stored then (410). Other requests in flight have taken effect or have not.
   */
  readonly restart?: 'before' | 'after'
  /** How long new connections are cut, too. Default: until the restart is complete. */
  readonly downMs?: number
  /** Limits the speed of the response. */
  readonly bytesPerSecond?: number
  /** A get or list returns the state of that many revisions ago. */
  readonly staleBy?: number
  /** A watch event is lost, is delayed, or the watch ends: with 410 (`gone`), or cleanly. */
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
  /** JSON by default, unless a header says otherwise. */
  readonly body?: string | Uint8Array
  readonly signal?: FetchSignal
}

export interface StartOptions extends ServerOptions {
  /** Manifests to apply at the start: objects, files and folders. They belong to the state that `reset` restores. */
  readonly apply?: readonly (string | object)[]
  /** Whether the server keeps the process alive until it is closed. Default: false with the store `memory`, else true. */
  readonly keepAlive?: boolean
}

/** Every option has the default of the flag of `keelson serve`, except where noted. */
export interface ServerOptions {
  /**
   * `memory` is lost when the server is closed; `etcd` is a cluster that other servers may use at the same time. Default: `embedded` if
   * there is a data directory, else `memory`.
   */
  readonly store?: 'embedded' | 'memory' | 'etcd'
  /** URLs of members of the etcd cluster, such as `http://127.0.0.1:2379`. */
  readonly etcdServers?: readonly string[]
  /** PEM file of the CA that verifies the certificates of etcd. Default: those of Node. */
  readonly etcdCafile?: string | undefined
  /** PEM file of the client certificate for etcd. */
  readonly etcdCertfile?: string | undefined
  /** PEM file of the key of `etcdCertfile`. */
  readonly etcdKeyfile?: string | undefined
  /** Prefix of all keys in etcd. Default: `/registry`. */
  readonly etcdPrefix?: string
  /**
   * File with an EncryptionConfiguration of `apiserver.config.k8s.io`: how records are encrypted at rest. Default: Secrets with a key of the
   * data directory.
   */
  readonly encryptionProviderConfig?: string | undefined
  /** Read `encryptionProviderConfig` again when it changes. Default: false. */
  readonly encryptionProviderConfigAutomaticReload?: boolean
  /** Directory for data and keys. Default: none, with the store `memory`. */
  readonly dataDir?: string
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string
  /** Port to serve HTTPS on; 0 picks a free one. Default: 0. */
  readonly port?: number
  /** Address at which others reach this server. Default: detected from the listening address. */
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
  /** How long its responses are cached, in milliseconds. Default: 120,000. */
  readonly authenticationTokenWebhookCacheMs?: number
  /** PEM file of the key that signs service account tokens. Default: a generated one. */
  readonly serviceAccountSigningKeyFile?: string | undefined
  /** Unix socket of an external signer of service account tokens (v1.ExternalJWTSigner), instead of keys. */
  readonly serviceAccountSigningEndpoint?: string | undefined
  /** PEM files of additional keys that verify service account tokens. */
  readonly serviceAccountKeyFiles?: readonly string[]
  /** Issuer of tokens of service accounts, and after it further issuers that are accepted. */
  readonly serviceAccountIssuers?: readonly string[]
  /** Maximum validity of service account tokens, in milliseconds: an hour to 2^32 seconds, or 0 for the requested time. Default: 0. */
  readonly serviceAccountMaxTokenExpirationMs?: number
  /** Whether default tokens of pods are valid for a year. Default: true. */
  readonly serviceAccountExtendTokenExpiration?: boolean
  /** Audiences, one of which a token must have. Default: the issuer. */
  readonly apiAudiences?: readonly string[]
  /** OpenID provider whose ID tokens are accepted. */
  readonly oidc?: OidcOptions
  /** PEM file of the server certificate. Default: a generated one. */
  readonly tlsCertFile?: string | undefined
  /** PEM file of the key of `tlsCertFile`. */
  readonly tlsPrivateKeyFile?: string | undefined
  /** Cipher suites before TLS 1.3, under Go's names, such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256. Default: those of Node. */
  readonly tlsCipherSuites?: readonly string[]
  /** The oldest version of TLS: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13. Default: VersionTLS12. */
  readonly tlsMinVersion?: string
  /** Certificates for certain names of the server, each as `CERT,KEY` or `CERT,KEY:NAME,NAME`: PEM files, and the names they are for. */
  readonly tlsSniCertKeys?: readonly string[]
  /** Regular expressions of the origins whose pages may use the API in a browser, such as `^https://example\.com$`. Default: none. */
  readonly corsAllowedOrigins?: readonly string[]
  /** Domain of API groups and well-known names. Default: k8s.io. */
  readonly groupDomain?: string
  /** Feature gates of Kubernetes, as `A=true,B=false`. */
  readonly featureGates?: string
  /**
   * The built-in kinds to serve: `all`, `minimal` for kinds of your own with service accounts, admission and quotas, or `none` for only
   * those that no server can leave out. `runtimeConfig` adds others by name. Default: all.
   */
  readonly api?: 'none' | 'minimal' | 'all'
  /**
   * Versions and resources of the API to turn on or off, as `resource.k8s.io/v1beta1=true,apps/v1/daemonsets=false`; `api/all`, `api/ga`,
   * `api/beta` and `api/alpha` stand for all versions of that stage. Default: the stable versions.
   */
  readonly runtimeConfig?: string
  /** The release of Kubernetes whose versions and feature gates are served, 1.34 to 1.37. Default: 1.37. */
  readonly emulatedVersion?: string
  /** The oldest release of Kubernetes that must be able to read the records. Default: the one before the emulated release. */
  readonly minCompatibilityVersion?: string
  /** Serve, of an emulated release, also the newer versions of its resources. Default: false. */
  readonly emulationForwardCompatible?: boolean
  /** Serve, of an emulated release, also newer versions that `runtimeConfig` names. Default: false. */
  readonly runtimeConfigEmulationForwardCompatible?: boolean
  /** Controllers to run: `*` for all, names, `-name` for all but one, `none`. Default: all. */
  readonly controllers?: readonly string[]
  /** Simulated nodes, on which pods run without containers; none with the controllers `none`. Default: 1. */
  readonly nodes?: number
  /** Capacity of each simulated node, in addition to `{ cpu: '16', memory: '64Gi', 'ephemeral-storage': '200Gi', pods: '110' }` or instead. */
  readonly nodeCapacity?: Readonly<Record<string, string>>
  /** How often HorizontalPodAutoscalers are evaluated, in milliseconds. Default: 15,000. */
  readonly horizontalPodAutoscalerSyncMs?: number
  /** How long fewer replicas must have been recommended before a workload is scaled down, in milliseconds. Default: 300,000. */
  readonly horizontalPodAutoscalerDownscaleStabilizationMs?: number
  /** Time after the start of a pod in which its CPU usage may be ignored, in milliseconds. Default: 300,000. */
  readonly horizontalPodAutoscalerCpuInitializationMs?: number
  /** Time after the start of a pod in which changes of readiness count as the initial readiness, in milliseconds. Default: 30,000. */
  readonly horizontalPodAutoscalerInitialReadinessMs?: number
  /** Relative difference from the target that causes no scaling, unless the autoscaler has a tolerance of its own. Default: 0.1. */
  readonly horizontalPodAutoscalerTolerance?: number
  /** How many HorizontalPodAutoscalers are evaluated concurrently. Default: 5. */
  readonly concurrentHorizontalPodAutoscalerSyncs?: number
  /** Devices of each simulated node, by driver, such as `gpu.example.com=8,model=A100,capacity.memory=80Gi`. Default: none. */
  readonly nodeDevices?: readonly string[]
  /**
   * Images whose containers run as processes of this machine, with the rights of this process, such as
   * `example.com/manager=./bin/manager`. Default: none.
   */
  readonly localImages?: readonly string[]
  /** Directory in which plugins of kubelets, such as CSI drivers, have their sockets; simulated nodes register them. Default: none. */
  readonly nodePlugins?: string | undefined
  /** Milliseconds that a kubelet may send no heartbeat before its node is unhealthy. Default: 50,000. */
  readonly nodeMonitorGraceMs?: number
  /** As `nodeMonitorGraceMs`, for a kubelet that has not sent a heartbeat yet. Default: 60,000. */
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
   * PEM file of the CA of other servers over the same etcd. With it, requests for resources that this server does not serve are passed on to
   * one that does. Default: they are not.
   */
  readonly peerCaFile?: string | undefined
  /** IP address at which other servers over the same etcd reach this one. Default: that of the server. */
  readonly peerAdvertiseIp?: string | undefined
  /** The port to `peerAdvertiseIp`. */
  readonly peerAdvertisePort?: number | undefined
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
  /** Maximum validity of issued certificates, in milliseconds. Default: 365 days. */
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
  /** File with a KubeSchedulerConfiguration, which configures the scheduler. */
  readonly schedulerConfigFile?: string | undefined
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
  /** Authorizers, in order: RBAC, Node, Webhook, ABAC, AlwaysAllow, AlwaysDeny. Default: RBAC. */
  readonly authorizationMode?: readonly string[]
  /** File with an AuthorizationConfiguration, instead of `authorizationMode`; changes of it take effect at once. */
  readonly authorizationConfig?: string | undefined
  /** EgressSelectorConfiguration file: proxies through which the server connects to the cluster, the control plane and etcd. */
  readonly egressSelectorConfigFile?: string | undefined
  /** File with the policies of the mode ABAC, one JSON object a line. */
  readonly authorizationPolicyFile?: string | undefined
  /** Kubeconfig file of the webhook of the mode Webhook. */
  readonly authorizationWebhookConfigFile?: string | undefined
  /** Version of the SubjectAccessReviews for that webhook. Default: v1beta1. */
  readonly authorizationWebhookVersion?: 'v1' | 'v1beta1'
  /** How long responses of the webhook that allow are cached, in milliseconds. Default: 300,000. */
  readonly authorizationWebhookCacheAuthorizedMs?: number
  /** How long its other responses are cached, in milliseconds. Default: 30,000. */
  readonly authorizationWebhookCacheUnauthorizedMs?: number
  /** The audit: which requests are recorded, and where. Without a policy none is. */
  readonly audit?: AuditOptions
  /** Serve `/keelson/profile`, where administrators get profiles of processor time and of the heap. Default: false. */
  readonly profiling?: boolean
  /** File with a TracingConfiguration of apiserver.config.k8s.io: where traces of requests are sent. Default: none is made. */
  readonly tracingConfigFile?: string | undefined
  /** Serve the console, a user interface for browsers, at `/console/`. Default: false. */
  readonly console?: boolean
  /** Serve `/keelson/faults`, where administrators add faults over HTTP. Default: false. */
  readonly enableFaultInjection?: boolean
  /**
   * Serve `/keelson/v1/…`, where administrators save, restore and reset the state and set the clock over HTTP, for tests in other
   * languages. Default: false.
   */
  readonly testEndpoints?: boolean
  /** Allow isolated servers below the path `/workspaces/NAME`, made by `workspace()` or over HTTP. Default: false. */
  readonly workspaces?: boolean
  /** The lowest level that is logged to standard error. Default: warn. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** The format of log lines. Default: text on a terminal, JSON elsewhere. */
  readonly loggingFormat?: 'json' | 'text' | undefined
  /** How long `close` continues to serve, unready, so that load balancers notice, in milliseconds. Default: 0. */
  readonly shutdownDelayMs?: number
  /** How long `close` waits for requests in flight, in milliseconds. Default: 10,000. */
  readonly drainMs?: number
  /**
   * How far back watches can start, pages can be continued and earlier states can be read, in milliseconds. Default: 1,800,000 (with etcd
   * 480,000), and 480,000 for pages.
   */
  readonly historyMs?: number | undefined
  /**
   * How many bytes the store may use before it accepts only deletions; negative for no limit. Default: a quarter of the available memory.
   */
  readonly quotaBackendBytes?: number | undefined
  /** How often watches that allow bookmarks get one, in milliseconds. Default: 30,000. */
  readonly bookmarkMs?: number
  /** Together with the next option: the seats that priority levels share; both 0 for no limit. Default: 400. */
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

/** The audit log and webhook, as kube-apiserver's `--audit-…` flags have them. */
export interface AuditOptions {
  /** File with a Policy of audit.k8s.io/v1. */
  readonly policyFile?: string | undefined
  /** The policy itself, instead of a file. */
  readonly policy?: object | undefined
  /** The log. Its mode is `blocking` unless told otherwise. */
  readonly log?: AuditLogOptions
  /** The webhook. Its mode is `batch` unless told otherwise. */
  readonly webhook?: AuditWebhookOptions
}

/** How events are passed on to the log or the webhook. */
export interface AuditBackendOptions {
  /** Whether requests wait until their events are written, and whether they fail where that fails. */
  readonly mode?: 'batch' | 'blocking' | 'blocking-strict'
  /** API version of events. Default: audit.k8s.io/v1. */
  readonly version?: string
  /** In batch mode: events that may wait. Default: 10,000. */
  readonly batchBufferSize?: number
  /** In batch mode: events of a batch. Default: 1 for the log, 400 for the webhook. */
  readonly batchMaxSize?: number
  /** In batch mode: how long a batch waits for more events, in milliseconds. Default: 0 for the log, 30,000 for the webhook. */
  readonly batchMaxWaitMs?: number
  /** In batch mode: whether the number of batches in a second is limited. Default: false for the log, true for the webhook. */
  readonly batchThrottleEnable?: boolean
  /** Batches in a second. Default: 0 for the log, 10 for the webhook. */
  readonly batchThrottleQps?: number
  /** Batches at once after a pause. Default: 0 for the log, 15 for the webhook. */
  readonly batchThrottleBurst?: number
  /** Whether large events lose their bodies and large batches are split. Default: false. */
  readonly truncateEnabled?: boolean
  /** Bytes of a batch. Default: 10,485,760. */
  readonly truncateMaxBatchSize?: number
  /** Bytes of an event. Default: 102,400. */
  readonly truncateMaxEventSize?: number
}

export interface AuditLogOptions extends AuditBackendOptions {
  /** File that events are appended to; `-` for standard output. */
  readonly path?: string | undefined
  /** `json`, or `legacy` for a line of text. Default: json. */
  readonly format?: 'json' | 'legacy'
  /** Days that rotated files are kept; 0 for ever. Default: 366. */
  readonly maxAge?: number
  /** Rotated files that are kept; 0 for all. Default: 100. */
  readonly maxBackup?: number
  /** Megabytes after which the file is rotated; 0 for never. Default: 100. */
  readonly maxSize?: number
  /** Whether rotated files are compressed. Default: false. */
  readonly compress?: boolean
}

export interface AuditWebhookOptions extends AuditBackendOptions {
  /** Kubeconfig file that says where the webhook is. */
  readonly configFile?: string | undefined
  /** The pause after the first failed call, in milliseconds. Default: 10,000. */
  readonly initialBackoffMs?: number
}

/** The Response of the global fetch; its most used members where its type is not known. */
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

/** `await using server = await start()`, where TypeScript's libraries have it. */
export type AsyncDisposal = typeof Symbol extends { readonly asyncDispose: infer S extends symbol }
  ? { readonly [K in S]: () => Promise<void> }
  : object
