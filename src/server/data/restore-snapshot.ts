/**
 * Makes a data directory of a snapshot. It is built beside its place and gets its name when it is whole, so a snapshot that is damaged
 * changes nothing.
 *
 * Revisions move forward: every resourceVersion is the one in the snapshot and a fixed number, and everything before the newest is
 * compacted. So a client that knows a later state than the snapshot, which is lost, finds its resourceVersion expired and lists again; none
 * goes back. The number grows with the time since the snapshot, so that two restores of one snapshot do not meet either.
 */
import { createReadStream, existsSync, readdirSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { everyKind } from '../../kinds/every.ts'
import { Catalog } from '../../registry/catalog.ts'
import { resourcesOf } from '../../schema/resource.ts'
import { buildEmbeddedStore, type GivenRecord } from '../../storage/embedded/build.ts'
import { ownerOf } from '../../storage/embedded/lock.ts'
import { resourceOf } from '../../storage/resource-prefix.ts'
import { SnapshotError, type SnapshotHeader, type SnapshotSummary } from '../../storage/snapshot/format.ts'
import { readSnapshot, type SnapshotPart } from '../../storage/snapshot/read.ts'
import { ConfigError } from '../config.ts'
import { prepareDataFolder, type Warn } from '../files/trusted-files.ts'
import { encryptionOf } from './encrypted-record.ts'

/** As the documents of etcd advise for `--bump-revision`. */
const MIN_BUMP = 1_000_000_000
/** More writes than a store makes in a millisecond. */
const BUMP_PER_MS = 1_000

export type SnapshotStatus = {
  readonly header: SnapshotHeader
  readonly summary: SnapshotSummary
  readonly hash: string
  readonly bytes: number
  /** The number of records by provider and key: `aesgcm:key1`. */
  readonly encrypted: ReadonlyMap<string, number>
}

/** Reads a snapshot to its end. Throws ConfigError where it is none, or is damaged. */
export async function snapshotStatus(file: string, onProgress: (done: number, total: number) => void = () => {}): Promise<SnapshotStatus> {
  let status: SnapshotStatus | undefined
  for await (const part of inspected(file, onProgress)) if (part.type === 'status') status = part.status
  return status!
}

export type RestoreOptions = {
  readonly file: string
  /** The data directory to make. */
  readonly dir: string
  /** How far revisions move; by default far enough. */
  readonly bump?: number
  readonly now: Date
  readonly warn: Warn
  readonly onProgress: (done: number, total: number) => void
}

export type Restored = SnapshotStatus & {
  readonly newest: number
  /** Whether the directory has keys, which the server will go on to use. */
  readonly hasKeys: boolean
}

/** Throws ConfigError when it refuses; nothing has changed then. */
export async function restoreSnapshot({ file, dir, bump, now, warn, onProgress }: RestoreOptions): Promise<Restored> {
  const { header } = await firstPart(file)
  const moved = bump ?? MIN_BUMP + Math.max(0, now.getTime() - Date.parse(header.time)) * BUMP_PER_MS
  const newest = header.revision + moved
  if (!Number.isSafeInteger(newest)) throw new ConfigError(`--bump-revision ${bump} is more than revisions can grow`)
  refuseUnlessEmpty(dir)
  const isNew = !existsSync(dir)
  prepareDataFolder(dir, warn)
  const draft = join(dir, DRAFT)
  await rm(draft, { recursive: true, force: true })
  let status: SnapshotStatus | undefined
  async function* records(): AsyncGenerator<GivenRecord> {
    const lives = timesToLive(header.groupDomain)
    for await (const part of inspected(file, onProgress)) {
      if (part.type === 'status') status = part.status
      if (part.type !== 'record') continue
      const { key, value, created, modified } = part.record
      const life = lives.get(resourceOf(key))
      yield {
        key,
        value,
        created: created + moved,
        modified: modified + moved,
        ...(life !== undefined && { deadline: now.getTime() + life * 1000 }),
      }
    }
  }
  try {
    await buildEmbeddedStore(draft, newest, records())
    await rename(draft, join(dir, STORE))
    const folder = await open(dir, 'r')
    // Some file systems cannot sync a folder and have no need to.
    await folder.sync().catch(() => {})
    await folder.close()
  } catch (error) {
    await rm(isNew ? dir : draft, { recursive: true, force: true })
    throw error
  }
  return { ...status!, newest, hasKeys: existsSync(join(dir, KEYS)) }
}

const STORE = 'store'
const KEYS = 'pki'
const DRAFT = 'store.restoring'

/** Keys may be there: those that the records and the clients of the cluster need. */
function refuseUnlessEmpty(dir: string): void {
  if (!existsSync(dir)) return
  const restoring = ownerOf(join(dir, DRAFT))
  if (restoring !== undefined) throw new ConfigError(`process ${restoring} is restoring to ${dir}`)
  const others = readdirSync(dir).filter(name => ![KEYS, DRAFT].includes(name))
  if (others.length > 0)
    throw new ConfigError(
      `${dir} is not empty (${others.sort().slice(0, 3).join(', ')}), and a restore writes over nothing: name a new directory, or move this one away first: mv ${dir} ${dir}.before`,
    )
}

/** The seconds that records of some resources live. The time begins again with a restore, as a lease of etcd does. */
function timesToLive(groupDomain: string): ReadonlyMap<string, number> {
  const catalog = new Catalog(resourcesOf(everyKind, groupDomain || 'k8s.io'))
  return new Map(catalog.storedResources().flatMap(({ prefix, def }) => (def.ttlSeconds ? [[prefix, def.ttlSeconds] as const] : [])))
}

async function firstPart(file: string): Promise<{ readonly header: SnapshotHeader }> {
  for await (const part of inspected(file, () => {})) if (part.type === 'header') return part
  throw new ConfigError(`${file} is cut short`)
}

type Inspected = SnapshotPart | { readonly type: 'status'; readonly status: SnapshotStatus }

/** The parts of a file, and at the end all that can be said of it. */
async function* inspected(file: string, onProgress: (done: number, total: number) => void): AsyncGenerator<Inspected> {
  const encrypted = new Map<string, number>()
  let header: SnapshotHeader | undefined
  let done = 0
  try {
    for await (const part of readSnapshot(createReadStream(file, { highWaterMark: 256 << 10 }))) {
      yield part
      if (part.type === 'header') header = part.header
      if (part.type === 'record') {
        const { provider, key } = encryptionOf(part.record.value) ?? {}
        if (provider !== undefined) encrypted.set(`${provider}:${key}`, (encrypted.get(`${provider}:${key}`) ?? 0) + 1)
        if (++done % 500 === 0) onProgress(done, header!.records)
      }
      if (part.type === 'end') {
        onProgress(done, done)
        yield { type: 'status', status: { header: header!, summary: part.summary, hash: part.hash, bytes: part.bytes, encrypted } }
      }
    }
  } catch (error) {
    if (error instanceof SnapshotError) throw new ConfigError(`${file} ${error.message}`)
    if ((error as NodeJS.ErrnoException).code !== undefined) throw new ConfigError(`cannot read ${file}: ${(error as Error).message}`)
    throw error
  }
}
