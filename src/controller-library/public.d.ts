/**
 * The library for controllers: everything that `keelson/controller` exports. It runs against any Kubernetes API server. The package ships
 * this file as its types, so it imports nothing, and compiles without the types of Node.
 *
 *     const api = connect(kubeConfig)
 *     const widgets = api.of<Widget>({ apiVersion: 'example.com/v1', kind: 'Widget', plural: 'widgets' })
 *     const cached = informer(widgets, { signal, onError })
 *     const queue = workQueue<string>({ name: 'widgets', reconcile, signal, onError })
 *     cached.onChange(({ object }) => queue.add(queueKey(object.metadata)))
 */

/** Connects to an API server: with a KubeConfig of @kubernetes/client-node, or a function such as `server.fetch` of the library. */
export function connect(access: KubeConfigLike | FetchLike, options?: ConnectOptions): Api

/** The part of a KubeConfig that is used. It is asked before each request, so that tokens can be renewed. */
export interface KubeConfigLike {
  getCurrentCluster(): { readonly server: string } | null
  applyToHTTPSOptions(options: any): Promise<void>
}

/** A function that sends a request to a path of the API, and resolves with the Response of the global fetch, or one like it. */
export type FetchLike = (path: string, init?: RequestSettings) => Promise<ResponseLike>

export interface RequestSettings {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: Signal
}

export interface ResponseLike {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  /** A stream of bytes, as of fetch or of Node. Optional only because types without those of Node or of a browser do not name it. */
  readonly body?: any
  text(): Promise<string>
}

export interface ConnectOptions {
  /** The field manager of writes. Default: the User-Agent. */
  readonly fieldManager?: string
  /** Default: keelson-controller. */
  readonly userAgent?: string
  /** How long a request other than a watch may take, response included, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number
  /** The domain of the server's own groups, as of `--group-domain`. Default: k8s.io. */
  readonly groupDomain?: string
}

export interface Api {
  /** The objects of a resource. */
  of<T extends ApiObject = ApiObject>(resource: ResourceName): ResourceClient<T>
  readonly groupDomain: string
}

export interface ResourceName {
  /** `GROUP/VERSION`, or `v1`. */
  readonly apiVersion: string
  readonly kind: string
  /** As in paths: `widgets`. */
  readonly plural: string
  /** Default: true. */
  readonly namespaced?: boolean
}

/** An object of the API. */
export interface ApiObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMetadata
}

export interface ObjectMetadata {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

/** The name of an object inside its resource. */
export interface Named {
  readonly namespace?: string
  readonly name?: string
}

/** An object as it is sent: absent fields get their defaults. */
export type Draft<T> = T extends readonly (infer E)[]
  ? readonly Draft<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Draft<T[K]> }
    : T

/** One resource. Methods reject with ApiError, also for conflicts; outcomes that callers must expect are results. */
export interface ResourceClient<T extends ApiObject> {
  readonly resource: ResourceName
  /** Undefined when there is no such object. */
  get(named: Named): Promise<T | undefined>
  /** All objects, or those of a namespace or with certain labels or fields. */
  list(options?: ListOptions): Promise<T[]>
  /** Undefined when the name is taken. */
  create(object: Draft<T>): Promise<T | undefined>
  /** Undefined when it is gone. Rejects with a conflict when it has changed since it was read. */
  update(object: T): Promise<T | undefined>
  /** The same for the status alone. */
  updateStatus(object: T): Promise<T | undefined>
  /** Undefined when there is no such object. */
  patch(named: Named, patch: object, options?: PatchOptions): Promise<T | undefined>
  /** Sets the fields of the draft and owns them; creates the object if necessary. Takes fields over from other managers unless `force` is false. */
  apply(draft: Draft<T>, options?: ApplyOptions): Promise<T>
  /** Deletes exactly this object. False when it is gone already, or another has its name. */
  delete(object: { readonly metadata: ObjectMetadata }, options?: DeleteOptions): Promise<boolean>
}

export interface ListOptions {
  readonly namespace?: string
  /** Such as `app=web,tier!=test`. */
  readonly labelSelector?: string
  /** Such as `status.phase=Running`. */
  readonly fieldSelector?: string
}

export interface PatchOptions {
  /** Default: merge. */
  readonly type?: 'merge' | 'strategic' | 'json'
  /** Such as `status`. */
  readonly subresource?: string
}

export interface ApplyOptions {
  readonly fieldManager?: string
  readonly subresource?: string
  /** Default: true. */
  readonly force?: boolean
}

export interface DeleteOptions {
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  readonly gracePeriodSeconds?: number
}

/**
 * Keeps a copy of the objects of a resource, and delivers their changes. It lists and watches, continues after errors with growing pauses,
 * lists again after 410, and ends with the signal.
 */
export function informer<T extends ApiObject>(client: ResourceClient<T>, options: InformerOptions): Informer<T>

export interface InformerOptions extends ListOptions {
  /** Ends it. */
  readonly signal: Signal
  /** Told of failed requests, which are repeated, and of errors of handlers. */
  readonly onError: (error: unknown) => void
  /** Delivers every object again as `updated` after so many milliseconds. Default: never. */
  readonly resyncMs?: number
}

export interface Informer<T extends ApiObject> {
  /** Resolves when the first list is complete and was delivered, or the signal ended it before. */
  readonly synced: Promise<void>
  /** Delivers the known objects as `added`, then every change. Handlers must be quick: they put keys into a work queue. */
  onChange(handler: (change: Change<T>) => void): void
  /** Objects are shared: do not change them. */
  get(named: Named): T | undefined
  list(options?: { readonly namespace?: string }): T[]
  /**
   * Takes in an object that a write returned, so that the next reads see it. Without this they see it when its event arrives, which may be
   * after the next reconcile.
   */
  saw(object: T): void
  /** The objects that have a value in an index, which is made at the first question. */
  byIndex(index: Index<T>, value: string): T[]
}

/** `previous` is the object that the informer had before. An object that was replaced by another of its name is `deleted` and then `added`. */
export interface Change<T> {
  readonly type: 'added' | 'updated' | 'deleted'
  readonly object: T
  readonly previous: T | undefined
}

export interface Index<T> {
  readonly name: string
  readonly valuesOf: (object: T) => readonly string[]
}

/** An index by the uid of each owner. */
export const OWNER_INDEX: Index<ApiObject>

/** `NAMESPACE/NAME`, or `NAME` for objects of the cluster: the usual key of a work queue. */
export function queueKey(named: Named): string
/** The name that `queueKey` wrote. */
export function namedBy(key: string): { readonly namespace: string; readonly name: string }

/**
 * A queue of keys to reconcile. However often a key is added before a worker takes it, it is reconciled once; added while it is being
 * reconciled, it is reconciled again afterwards, never twice at once.
 */
export function workQueue<K>(options: WorkQueueOptions<K>): WorkQueue<K>

export interface WorkQueueOptions<K> {
  readonly name: string
  /** Brings one object up to date. A number it resolves with says in how many milliseconds it wants to be called again. */
  readonly reconcile: (key: K) => Promise<number | undefined | void>
  /** Told of every failure; the key is tried again after 5 ms, 10 ms, 20 ms and so on. The first five conflicts in a row are repeated at once and not told. */
  readonly onError: (error: unknown, key: K) => void
  /** Ends the queue: no further reconcile begins, and none is interrupted. */
  readonly signal: Signal
  /** How many keys are reconciled at the same time. Default: 1. */
  readonly workers?: number
  readonly backOff?: BackOff
}

/** How long a key waits after failures in a row, and how many retries the queue begins altogether. */
export interface BackOff {
  /** Default: 5. */
  readonly firstMs: number
  /** Default: 1,000,000. */
  readonly lastMs: number
  /** Default: 10. */
  readonly perSecond: number
  /** Default: 100. */
  readonly burst: number
}

export interface WorkQueue<K> {
  add(key: K): void
  addAll(keys: Iterable<K>): void
  /** Adds a key after a while, or earlier if it was to be added earlier already. */
  addAfter(key: K, ms: number): void
  /** Resolves when nothing waits but for a time to pass, and nothing is under way. After the end of the queue: when the last one is done. */
  idle(): Promise<void>
}

/**
 * Takes part in an election by a Lease, as client-go does it: of all participants one leads, and another takes over when it is gone.
 * Resolves when the signal has ended the participation.
 */
export function leaderElection(options: LeaderElectionOptions): Promise<void>

export interface LeaderElectionOptions {
  readonly api: Api
  readonly namespace: string
  /** The name of the Lease. */
  readonly name: string
  /** Names this participant, and no other that ever was or will be. Default: the name of the machine and a random one. */
  readonly holder?: string
  /** How long others wait after the last renewal that they saw. Default: 15,000. */
  readonly leaseMs?: number
  /** How long the leader goes on after the last renewal that succeeded; shorter than `leaseMs`. Default: 10,000. */
  readonly renewMs?: number
  /** How often it is renewed, or looked at. Default: 2,000. */
  readonly retryMs?: number
  /** Ends the participation; the lease is given back. */
  readonly signal: Signal
  readonly onError: (error: unknown) => void
  /** Called when another participant was found to lead. */
  readonly onOther?: () => void
  /**
   * Called when this participant has become the leader. Resolves when all is stopped, after the signal of the term was aborted. When it
   * rejects the lease is given back, and another participant, or the same, tries.
   */
  readonly lead: (term: Term) => Promise<void>
}

export interface Term {
  /** Aborted when it ends. */
  readonly signal: Signal
  /** Whether the term still lasts, even if timers of this process are late: nothing may be written when it does not. */
  readonly mayWrite: () => boolean
}

/**
 * Records events as kube-controller-manager does: the same event again counts up the first one, many that differ in their message alone
 * are combined, and a source with too many events about one object is throttled.
 */
export function eventRecorder(options: EventRecorderOptions): EventRecorder

export interface EventRecorderOptions {
  readonly api: Api
  /** The name of the controller. */
  readonly component: string
  /** The machine it runs on. */
  readonly host?: string
  /** Told of events that could not be written. */
  readonly onError: (error: unknown) => void
}

export interface EventRecorder {
  /** Records an event. It is written in the background; events for which 10,000 others wait are lost. */
  event(object: InvolvedObject, type: 'Normal' | 'Warning', reason: string, message: string): void
  /** Resolves when all that was recorded is written. */
  flushed(): Promise<void>
}

/** The object that an event is about. */
export interface InvolvedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMetadata
}

/** A response of the API with an error; the message says which request and why. */
export class ApiError extends Error {
  /** The status of HTTP, such as 404. */
  readonly status: number
  /** The reason of the API, such as `NotFound`, `Conflict` or `Invalid`; empty if there is none. */
  readonly reason: string
  constructor(request: string, status: number, text: string)
}

/** An AbortSignal, where its type is known. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer S } } ? S : object
