/** The data of a server: the configured store, measured and compacted, and the caches that follow it. */
import { join } from 'node:path'
import { Caches } from '../../cache/caches.ts'
import type { KmsTimes } from '../../encryption/kms/plugin-health.ts'
import { failureText } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import type { Clock } from '../../lib/clock.ts'
import { monotonicMs } from '../../lib/environment.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { Assertions } from '../../schema/assertions.ts'
import { type CompactionPolicy, type RunningCompaction, startCompaction } from '../../storage/compaction.ts'
import { type EmbeddedOptions, openEmbeddedStore } from '../../storage/embedded/embedded.ts'
import { Holds } from '../../storage/holds.ts'
import { MemoryStore } from '../../storage/memory.ts'
import type { Machine } from '../../storage/processes/machine.ts'
import type { ProcessStoreOptions } from '../../storage/processes/process-store.ts'
import type { Store } from '../../storage/store.ts'
import type { Config } from '../config.ts'
import type { Egress } from '../egress.ts'
import type { OwnFiles } from '../files/own-files.ts'
import type { Siblings } from '../processes/siblings.ts'
import { claimData } from './data-identity.ts'
import { historyAge } from './history-window.ts'
import { historyLimits, objectBytes, storeLimits } from './memory-budget.ts'
import { ObservedStore } from './observed-store.ts'
import type { DataEncryption, EncryptionParts } from './open-encryption.ts'

export type DataParts = {
  /** The store to use, instead of the configured one. It is not closed: others may use it, too. */
  readonly given: Store | undefined
  /** The other processes of this server, which use the same store. */
  readonly siblings: Siblings | undefined
  /** Where the store of all processes is, if not on this machine. */
  readonly machine?: Machine | undefined
  readonly files: OwnFiles
  readonly egress: Egress
  readonly catalog: Catalog
  readonly log: Log
  readonly clock: Clock
  readonly gate: (name: string) => boolean
  /** Other times of KMS plugins than the usual ones, for tests. */
  readonly kmsTimes?: KmsTimes | undefined
  /** Gets the function that compacts the store, instead of a timer. */
  readonly onCompaction?: ((compact: () => void) => void) | undefined
  /** Bytes of available memory. */
  readonly memory: number
  /** Registers a function that closes a part; the last part is closed first. */
  readonly onClose: (close: () => Promise<void>) => void
}

export type Data = {
  readonly observed: ObservedStore
  readonly store: Store
  /** Revisions that are being read, and not compacted while there is space. */
  readonly holds: Holds
  readonly caches: Caches
  /** Undefined where nothing is at rest, or the store was given. */
  readonly encryption: DataEncryption | undefined
  /** Resolves when the store is durably marked with the group domain. */
  readonly claimed: Promise<unknown>
  /** Resolves with the reason when the server can no longer work. */
  readonly failed: Promise<unknown>
  readonly fail: (reason: unknown) => void
  /** Why the server cannot work, now or any more. */
  problem(): string | undefined
}

export async function openData(config: Config, { given, onClose, ...parts }: DataParts): Promise<Data> {
  const isAtRest = !given && !parts.machine && config.store !== 'memory'
  const encryption = isAtRest ? await encryptionOf(config, { ...parts, onClose }) : undefined
  const { observed, compact } = given ? observe(given, parts.log) : await openStore(config, { ...parts, encryption })
  const { catalog, log, siblings } = parts
  // Each process has its own caches.
  const memory = parts.memory / (siblings?.count ?? 1)
  const { store } = observed
  if (!given) onClose(() => store.close())
  const { claimed } = await claimData(store, config)
  let fail: (reason: unknown) => void = () => {}
  let problem: string | undefined
  const failed = new Promise<unknown>(resolve => (fail = resolve))
  failed.then(reason => (problem = String(reason)))
  const caches = await Caches.open({
    store,
    resources: catalog.storedResources(),
    onFailure: fail,
    history: historyLimits(config, memory),
    objectBytes: objectBytes(memory),
    bookmarkMs: config.bookmarkMs,
    agesOnDemand: parts.onCompaction !== undefined,
    onLoaded: logLoading(log),
    assertions: new Assertions((assertion, problem) => log.error({ assertion, problem }, 'an assertion failed')),
  })
  onClose(() => caches[Symbol.asyncDispose]())
  encryption?.onReadable(() => {
    caches.retryUnreadable().catch(error => log.warn({ error: failureText(error) }, 'objects could not be read again'))
  })
  const holds = siblings ? sharedHolds(siblings, parts.clock) : new Holds()
  const compaction = compact(config, {
    held: () => holds.oldest,
    onError: error => log.warn({ error: failureText(error) }, 'compaction failed; it will be tried again'),
    onCompact: before => caches.forgetBefore(before),
    ...(parts.onCompaction && { everyMs: Number.POSITIVE_INFINITY }),
  })
  parts.onCompaction?.(() => {
    caches.dropOld()
    compaction.hurry?.()
  })
  onClose(async () => compaction[Symbol.asyncDispose]())
  const currentProblem = () => problem ?? (caches.isReloading ? WENT_BACK : undefined)
  return { observed, store, holds, caches, encryption, claimed, failed, fail, problem: currentProblem }
}

/** The process that owns the store leaves the revisions that any of them reads. */
function sharedHolds(siblings: Siblings, clock: Clock): Holds {
  const holds = new Holds({ clock, tell: oldest => siblings.ask(HELD, JSON.stringify({ process: siblings.number, oldest })) })
  siblings.answer(HELD, body => {
    const { process, oldest } = JSON.parse(body) as { readonly process: number; readonly oldest?: number }
    holds.heldBy(process, oldest)
    return ''
  })
  return holds
}
const HELD = 'held revision'

const WENT_BACK = 'the store has gone back to an earlier state, and everything is being read again'

/** Loaded when it is needed: a store in memory has nothing at rest. */
async function encryptionOf(config: Config, parts: EncryptionParts): Promise<DataEncryption> {
  const { openEncryption } = await import('./open-encryption.ts')
  return openEncryption(config, parts)
}

type OpenedStore = {
  readonly observed: ObservedStore
  /** Compacts from time to time until disposed. */
  readonly compact: (
    config: Config,
    policy: CompactionPolicy & { readonly onError: (error: unknown) => void },
  ) => AsyncDisposable & Partial<RunningCompaction>
}

type StoreParts = Omit<DataParts, 'given' | 'onClose'> & { readonly encryption: DataEncryption | undefined }

async function openStore(
  config: Config,
  { siblings, machine, files, egress, catalog, log, clock, gate, memory, encryption }: StoreParts,
): Promise<OpenedStore> {
  if (config.store === 'memory') return observe(new MemoryStore({ clock, ...storeLimits(config, memory) }), log)
  if (config.store === 'etcd') {
    const { openEtcd, compactEtcd } = await import('./open-etcd.ts')
    const store = await openEtcd(config, { files, egress, catalog, transformer: encryption!.transformer, log, clock, gate })
    return { observed: new ObservedStore(store, { log }), compact: (config, { onError }) => compactEtcd(store, config, onError) }
  }
  const options = {
    dir: join(config.dataDir, 'store'),
    clock,
    ...(encryption && { transformer: encryption.transformer }),
    ...storeLimits(config, memory),
  }
  if (siblings) return openWithSiblings({ ...options, ...(machine && { machine }) }, { siblings, log })
  const store = await openEmbeddedStore({ ...options, onCommit: ms => observed.committed(ms) })
  const observed = new ObservedStore(store, { log, freePages: () => store.size().freePages })
  return { observed, compact: compactAlone(observed) }
}

/** Opens the store in a folder that several processes use. The one that owns it compacts it. */
async function openWithSiblings(
  options: EmbeddedOptions & Pick<ProcessStoreOptions, 'machine'>,
  { siblings, log }: { readonly siblings: Siblings; readonly log: Log },
): Promise<OpenedStore> {
  const { openProcessStore } = await import('../../storage/processes/process-store.ts')
  let startCompacting = () => {}
  const store = await openProcessStore({
    ...options,
    family: siblings.store,
    onCommit: ms => observed.committed(ms),
    onPrimary() {
      siblings.becamePrimary()
      startCompacting()
    },
    onStuck: pid => siblings.reportStuck(pid),
  })
  const observed: ObservedStore = new ObservedStore(store, { log, freePages: () => store.size().freePages })
  return {
    observed,
    compact(config, policy) {
      let compaction: AsyncDisposable | undefined
      startCompacting = () => {
        compaction ??= compactAlone(observed)(config, policy)
      }
      if (store.role === 'primary') startCompacting()
      return {
        async [Symbol.asyncDispose]() {
          startCompacting = () => {}
          await compaction?.[Symbol.asyncDispose]()
        },
      }
    },
  }
}

function observe(store: Store, log: Log): OpenedStore {
  const observed = new ObservedStore(store, { log })
  return { observed, compact: compactAlone(observed) }
}

/** Compacts a store that no other server compacts. */
const compactAlone =
  (observed: ObservedStore): OpenedStore['compact'] =>
  (config, policy) => {
    const { store } = observed
    const compaction = startCompaction(store, { ...policy, maxAgeMs: historyAge(config), isPressed: () => isPressed(store) })
    observed.onFull = () => compaction.hurry()
    return compaction
  }

/** Whether history has to be given up early: little space is left, or it takes much memory. */
function isPressed(store: Store): boolean {
  const size = store.size?.()
  if (!size) return false
  const { usedBytes, historyBytes = 0, quotaBytes, isFull } = size
  return isFull || usedBytes > quotaBytes * (7 / 8) || historyBytes > quotaBytes / 4
}

/** Logs the number of loaded objects now and then, to explain a slow start. */
function logLoading(log: Log): (objects: number) => void {
  let [objects, logged] = [0, monotonicMs()]
  return more => {
    objects += more
    if (monotonicMs() - logged < LOADING_LOG_MS) return
    logged = monotonicMs()
    log.warn({ objects }, 'still reading objects before the server is ready')
  }
}

const LOADING_LOG_MS = 1_000
