/**
 * Copies a cluster from one store to another: objects with their uids, times and owned fields, and the shared keys.
 *
 * The target records that a copy is under way, and from which cluster. So an interrupted copy is resumed, no server
 * starts on half of a cluster, and existing data is never overwritten:
 *
 *     target                     action
 *     empty                      /keelson/migration is written, then all records, then it is removed
 *     under way, same cluster    missing or different records are written, those that the source no longer has are removed
 *     under way, another one     refused
 *     anything else              refused
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLog } from '../../http/observability/log.ts'
import { everyKind } from '../../kinds/every.ts'
import { systemClock } from '../../lib/clock.ts'
import { makeFolders } from '../../lib/folders.ts'
import { writePrivateFile } from '../../lib/private-files.ts'
import { Catalog } from '../../registry/catalog.ts'
import { resourcesOf } from '../../schema/resource.ts'
import { openEmbeddedStore } from '../../storage/embedded/embedded.ts'
import { everyEntry } from '../../storage/every-entry.ts'
import { resourceOf } from '../../storage/resource-prefix.ts'
import { Compacted, type Entry, type Revision, type Store } from '../../storage/store.ts'
import { type Config, ConfigError, checkConfig } from '../config.ts'
import { SHARED_KEYS } from '../credentials/pki.ts'
import { SHARED_KEYS_PREFIX } from '../credentials/shared-keys.ts'
import { readOwnFiles } from '../files/own-files.ts'
import { prepareDataFolder } from '../files/trusted-files.ts'
import { isApart, SERVER_ADDRESSES } from './cluster-records.ts'
import { DATA_IDENTITY, MIGRATION } from './data-identity.ts'
import { ensureFolderKey, openFolderEncryption } from './folder-encryption.ts'

/** The place of a cluster: a data directory, or etcd. */
export type Location = { readonly kind: 'embedded'; readonly dir: string } | { readonly kind: 'etcd'; readonly servers: readonly string[] }

export type MigrationOptions = {
  readonly from: Location
  readonly to: Location
  /** The connection settings of etcd, and the group domain. */
  readonly config: Config
  /** Skips unreadable records, instead of stopping there. */
  readonly skipUnreadable: boolean
  readonly onProgress: (done: number, total: number) => void
}

export type Migrated = {
  /** The number of objects of each resource in the target. */
  readonly counts: ReadonlyMap<string, number>
  /** Whether an earlier run had begun the copy. */
  readonly resumed: boolean
  /** Keys of skipped records. */
  readonly unreadable: readonly string[]
  /** Names of copied keys and authorities. */
  readonly keys: readonly string[]
}

/** Progress is reported each time that so many records have been copied. */
const REPORTED = 500
/** Enough to fill a commit. */
const MAX_CONCURRENT_WRITES = 128
const NAMED = 10

/** Throws ConfigError when it refuses, and StoreUnavailable when a store cannot be used. */
export async function migrate(options: MigrationOptions): Promise<Migrated> {
  const { from, to, config } = options
  const catalog = new Catalog(resourcesOf(everyKind, config.groupDomain))
  const closers: (() => Promise<void>)[] = []
  const onClose = (close: () => Promise<void>) => void closers.push(close)
  const { store: source, missingKey } = await openLocation(from, { config, catalog, mustExist: true, onClose })
  try {
    await checkDomain(source, from, config)
    await checkStopped(source, from)
    const { store: target } = await openLocation(to, { config, catalog, mustExist: false, onClose })
    try {
      await checkStopped(target, to)
      return await new Copy(source, target, { ...options, catalog, missingKey }).run()
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
    for (const close of closers) await close()
  }
}

/** The name of a location in messages. */
export const locationName = (location: Location): string =>
  location.kind === 'embedded' ? location.dir : `etcd at ${location.servers.join(',')}`

type Opening = {
  readonly config: Config
  readonly catalog: Catalog
  readonly mustExist: boolean
  readonly onClose: (close: () => Promise<void>) => void
}

type Opened = {
  readonly store: Store
  /** The key that records may need, where there is none. */
  readonly missingKey?: string | undefined
}

async function openLocation(location: Location, { config, catalog, mustExist, onClose }: Opening): Promise<Opened> {
  if (location.kind === 'embedded') {
    const dir = join(location.dir, 'store')
    if (mustExist && !existsSync(dir)) throw new ConfigError(`there is no data in ${location.dir}: it has no folder store`)
    prepareDataFolder(location.dir, message => createLog(config.logLevel).warn({}, message))
    // A new directory gets the key that its server would make.
    if (!mustExist) await ensureFolderKey(location.dir, config.groupDomain)
    const { transformer, missing, close } = await openFolderEncryption(location.dir, { groupDomain: config.groupDomain })
    onClose(async () => close())
    return { store: await openEmbeddedStore({ dir, transformer }), missingKey: missing }
  }
  const reaching = checkConfig({ ...config, store: 'etcd', etcdServers: location.servers })
  const { openEtcd } = await import('./open-etcd.ts')
  const log = createLog('warn')
  const { openEncryption } = await import('./open-encryption.ts')
  const { transformer } = await openEncryption(reaching, { gate: () => false, log, onClose })
  return { store: await openEtcd(reaching, { files: readOwnFiles(reaching), catalog, transformer, log, clock: systemClock }) }
}

async function checkDomain(store: Store, location: Location, { groupDomain }: Config): Promise<void> {
  const { entry } = await store.get(DATA_IDENTITY)
  const written = entry && (JSON.parse(textOf(entry)) as { groupDomain: string }).groupDomain
  if (written !== undefined && written !== groupDomain)
    throw new ConfigError(`the data in ${locationName(location)} was written with --group-domain ${written}; say so here, too`)
}

/** Servers over etcd, kube-apiservers included, announce themselves; a data directory is locked by its server. */
async function checkStopped(store: Store, location: Location): Promise<void> {
  const { entries } = await store.list(SERVER_ADDRESSES)
  if (entries.length === 0) return
  const addresses = entries.map(({ key }) => key.slice(SERVER_ADDRESSES.length))
  throw new ConfigError(
    `servers are running on ${locationName(location)}, at ${addresses.join(', ')}; stop them first (one that was killed is forgotten after 15 seconds)`,
  )
}

type CopyOptions = MigrationOptions & { readonly catalog: Catalog } & Pick<Opened, 'missingKey'>

class Copy {
  readonly #source: Store
  readonly #target: Store
  readonly #options: MigrationOptions
  readonly #missingKey: string | undefined
  readonly #ttls: ReadonlyMap<string, number>
  readonly #counts = new Map<string, number>()
  readonly #unreadable: string[] = []

  constructor(source: Store, target: Store, { catalog, missingKey, ...options }: CopyOptions) {
    this.#source = source
    this.#target = target
    this.#options = options
    this.#missingKey = missingKey
    const expiring = catalog.storedResources().filter(({ def }) => def.ttlSeconds !== undefined)
    this.#ttls = new Map(expiring.map(({ prefix, def }) => [prefix, def.ttlSeconds!]))
  }

  async run(): Promise<Migrated> {
    const resumed = await this.#begin()
    await this.#copyAll()
    if (resumed) await this.#removeOthers()
    const keys = await this.#copyKeys()
    await this.#verify()
    const { entry } = await this.#target.get(MIGRATION)
    await this.#target.swap(MIGRATION, { expect: entry!.modified, value: null })
    return { counts: this.#counts, resumed, unreadable: this.#unreadable, keys }
  }

  /** Marks the target; returns whether an earlier run did. Refuses a target that holds anything else. */
  async #begin(): Promise<boolean> {
    const { from, to } = this.#options
    const where = locationName(to)
    const value = Buffer.from(JSON.stringify({ cluster: await this.#cluster() }))
    const { entry } = await this.#target.get(MIGRATION)
    if (entry) {
      if (textOf(entry) === value.toString()) return true
      throw new ConfigError(`${where} holds a part of another cluster than ${locationName(from)}, whose migration was not finished`)
    }
    const { entries } = await this.#target.list('/', { limit: 1 })
    const hasKeys = to.kind === 'embedded' && [...SHARED_KEYS.keys()].some(name => existsSync(keyFile(to.dir, name)))
    if (entries.length > 0 || hasKeys)
      throw new ConfigError(
        `${where} is not empty (${entries[0]?.key ?? 'there are keys in its folder pki'}); nothing is written over: name an empty ${to.kind === 'etcd' ? 'etcd, or another --etcd-prefix' : 'directory'}`,
      )
    const swap = await this.#target.swap(MIGRATION, { expect: 0, value })
    if (!swap.ok) throw new ConfigError(`somebody else has begun to migrate to ${where}`)
    return false
  }

  /** The identity of the cluster in the source. */
  async #cluster(): Promise<string> {
    const { entry } = await this.#source.get('/core/namespaces/kube-system')
    if (entry && entry.fault === undefined) return (JSON.parse(textOf(entry)) as { metadata: { uid: string } }).metadata.uid
    const { entries } = await this.#source.list('/', { limit: 1 })
    if (entries.length === 0) throw new ConfigError(`there is nothing in ${locationName(this.#options.from)}`)
    return ''
  }

  async #copyAll(): Promise<void> {
    for (;;) {
      const at = await this.#source.fresh()
      try {
        return await this.#copyAt(at)
      } catch (error) {
        // Servers of the source compact it while they run: start again at the current revision.
        if (!(error instanceof Compacted)) throw error
        this.#counts.clear()
        this.#unreadable.length = 0
      }
    }
  }

  async #copyAt(at: Revision): Promise<void> {
    const { onProgress } = this.#options
    const { remaining: total } = await this.#source.list('/', { at, limit: 0 })
    const writing = new Set<Promise<void>>()
    let failure: { readonly error: unknown } | undefined
    let done = 0
    for await (const entry of allIn(this.#source, at)) {
      if (failure) break
      done++
      if (isApart(entry.key)) continue
      if (entry.fault !== undefined) this.#leaveBehind(entry)
      else {
        const write: Promise<void> = this.#put(entry)
          .catch(error => {
            failure ??= { error }
          })
          .finally(() => writing.delete(write))
        writing.add(write)
        this.#count(entry.key)
      }
      if (writing.size >= MAX_CONCURRENT_WRITES) await Promise.race(writing)
      if (done % REPORTED === 0) onProgress(done, Math.max(done, total))
    }
    await Promise.all(writing)
    if (failure) throw failure.error
    onProgress(done, done)
  }

  #leaveBehind({ key, fault }: Entry): void {
    const { from, skipUnreadable } = this.#options
    if (!skipUnreadable)
      throw new ConfigError(
        `${key} in ${locationName(from)} cannot be read: ${[fault, this.#missingKey].filter(Boolean).join('; ')}; --skip-unreadable leaves such records behind`,
      )
    this.#unreadable.push(key)
  }

  #count(key: string): void {
    const resource = resourceOf(key)
    this.#counts.set(resource, (this.#counts.get(resource) ?? 0) + 1)
  }

  async #put({ key, value, object }: Entry): Promise<void> {
    const ttlSeconds = this.#ttls.get(resourceOf(key))
    const change = { value, ...(object !== undefined && { object }), ...(ttlSeconds !== undefined && { ttlSeconds }) }
    let expect = 0
    for (;;) {
      const swap = await this.#target.swap(key, { expect, ...change })
      if (swap.ok) return
      // An earlier run wrote it. Changed records are written again.
      if (swap.current && Buffer.from(swap.current.value).equals(value)) return
      expect = swap.current?.modified ?? 0
    }
  }

  /** Removes records of an earlier run that the source no longer has. */
  async #removeOthers(): Promise<void> {
    for await (const { key, modified } of allIn(this.#target, await this.#target.fresh())) {
      if (isApart(key) || (await this.#source.get(key)).entry) continue
      await this.#target.swap(key, { expect: modified, value: null })
    }
  }

  async #copyKeys(): Promise<string[]> {
    const { from, to } = this.#options
    const found: string[] = []
    for (const name of SHARED_KEYS.keys()) {
      const text = await readKey(from, this.#source, name)
      if (text === undefined) continue
      await writeKey(to, this.#target, { name, text })
      found.push(name)
    }
    return found
  }

  /** Records with a lease may have expired meanwhile; the counts of all others must match. */
  async #verify(): Promise<void> {
    const found = new Map<string, number>()
    for await (const { key } of allIn(this.#target, await this.#target.fresh()))
      if (!isApart(key)) found.set(resourceOf(key), (found.get(resourceOf(key)) ?? 0) + 1)
    const wrong = [...new Set([...this.#counts.keys(), ...found.keys()])].filter(
      resource => !this.#ttls.has(resource) && (found.get(resource) ?? 0) !== (this.#counts.get(resource) ?? 0),
    )
    if (wrong.length === 0) return
    const differences = wrong
      .slice(0, NAMED)
      .map(resource => `${resource} ${found.get(resource) ?? 0} of ${this.#counts.get(resource) ?? 0}`)
    throw new ConfigError(`the copy is not complete (${differences.join(', ')}); run the command again`)
  }
}

/** Every entry of a store at a revision. */
const allIn = (store: Store, at: Revision) => everyEntry(store, '/', { at })

const textOf = ({ value }: Entry): string => Buffer.from(value).toString()

const keyFile = (dir: string, name: string) => join(dir, 'pki', `${name}.pem`)

/** A shared key is a file in a data directory, and a record in etcd. */
async function readKey(location: Location, store: Store, name: string): Promise<string | undefined> {
  if (location.kind === 'embedded')
    return existsSync(keyFile(location.dir, name)) ? readFileSync(keyFile(location.dir, name), 'utf8') : undefined
  const { entry } = await store.get(SHARED_KEYS_PREFIX + name)
  return entry && textOf(entry)
}

async function writeKey(location: Location, store: Store, { name, text }: { readonly name: string; readonly text: string }): Promise<void> {
  if (location.kind === 'embedded') {
    makeFolders(join(location.dir, 'pki'), 0o700)
    return writePrivateFile(keyFile(location.dir, name), text)
  }
  const key = SHARED_KEYS_PREFIX + name
  const { entry } = await store.get(key)
  await store.swap(key, { expect: entry?.modified ?? 0, value: Buffer.from(text) })
}
