/** Saves all records of a cluster at one revision, while writes go on. */
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { draftOf } from '../../lib/private-files.ts'
import { everyEntry } from '../../storage/every-entry.ts'
import { MAGIC, SnapshotError, type SnapshotRecord } from '../../storage/snapshot/format.ts'
import { readSnapshot } from '../../storage/snapshot/read.ts'
import { SnapshotFailed, writeSnapshot } from '../../storage/snapshot/write.ts'
import { Compacted, type Revision, type Store, StoreUnavailable } from '../../storage/store.ts'
import { ConfigError } from '../config.ts'
import { APART, isApart } from './cluster-records.ts'
import { DATA_IDENTITY } from './data-identity.ts'

/** A store, or the part of it that reads. */
export type RecordSource = Pick<Store, 'get' | 'list' | 'fresh'>

export type SnapshotParts = {
  readonly source: RecordSource
  readonly now: () => Date
  /** `keelson 0.1.0`. */
  readonly writtenBy: string
  /** Keeps a revision from being compacted until it is disposed of. */
  readonly hold?: (revision: Revision) => MaybePromise<Disposable>
}

/** Progress is reported each time that so many records have been written. */
const REPORTED = 500

/** The file of a snapshot, in chunks that are made as they are taken. */
export async function* snapshotOf(parts: SnapshotParts): AsyncGenerator<Uint8Array> {
  const { source, now, writtenBy, hold = () => ({ [Symbol.dispose]: () => {} }) } = parts
  const revision = await source.fresh()
  using _held = await hold(revision)
  const time = now().toISOString()
  const [records, cluster, groupDomain] = await Promise.all([
    countAt(source, revision),
    uidOf(source, revision),
    domainOf(source, revision),
  ])
  yield* writeSnapshot({ revision, time, writtenBy, cluster, groupDomain, records }, recordsAt(source, revision))
}

async function* recordsAt(source: RecordSource, at: Revision): AsyncGenerator<SnapshotRecord> {
  try {
    for await (const { key, value, created, modified, fault } of everyEntry(source, '/', { at, asStored: true })) {
      if (isApart(key)) continue
      // A snapshot that leaves something out would be found incomplete when it is needed.
      if (fault !== undefined) throw new SnapshotFailed(`${key} cannot be read: ${fault}; keelson doctor --fix removes such records`)
      yield { key, value, created, modified }
    }
  } catch (error) {
    if (error instanceof Compacted)
      throw new SnapshotFailed('the store is so short of space that it had to forget the revision that was being saved; try again')
    if (error instanceof StoreUnavailable) throw new SnapshotFailed(error.problem)
    throw error
  }
}

/** The number of records of the cluster. */
async function countAt(source: RecordSource, at: Revision): Promise<number> {
  const count = async (prefix: string) => (await source.list(prefix, { at, limit: 0 })).remaining
  const apart = await Promise.all(APART.map(count))
  return (await count('/')) - apart.reduce((sum, each) => sum + each, 0)
}

/** The uid of kube-system identifies a cluster; empty where it cannot be read. */
async function uidOf(source: RecordSource, at: Revision): Promise<string> {
  const { entry } = await source.get('/core/namespaces/kube-system', at)
  return jsonIn<{ metadata?: { uid?: string } }>(entry)?.metadata?.uid ?? ''
}

async function domainOf(source: RecordSource, at: Revision): Promise<string> {
  const { entry } = await source.get(DATA_IDENTITY, at)
  return jsonIn<{ groupDomain?: string }>(entry)?.groupDomain ?? ''
}

function jsonIn<T>(entry: { readonly value: Uint8Array } | undefined): T | undefined {
  try {
    return entry && (JSON.parse(Buffer.from(entry.value).toString()) as T)
  } catch {
    return undefined
  }
}

export type Saved = { readonly revision: Revision; readonly records: number; readonly bytes: number; readonly hash: string }

export type SaveOptions = {
  readonly file: string
  readonly onProgress: (done: number, total: number) => void
}

/**
 * Writes a snapshot to a file, which only its owner can read. It is checked on its way, and appears under its name when it is whole and on
 * disk. Another snapshot of that name is replaced; whatever else has the name is left alone. Throws ConfigError.
 */
export async function saveTo(chunks: AsyncIterable<Uint8Array>, { file, onProgress }: SaveOptions): Promise<Saved> {
  await refuseOtherFile(file)
  const draft = draftOf(file)
  const handle = await open(draft, 'wx', 0o600).catch((error: Error) => {
    throw new ConfigError(`cannot write to ${file}: ${error.message}`)
  })
  try {
    let saved: Saved | undefined
    try {
      saved = await checkWhile(chunks, chunk => handle.writeFile(chunk), onProgress)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
    await syncFolder(dirname(file))
    return saved
  } catch (error) {
    await rm(draft, { force: true })
    if (error instanceof SnapshotError) throw new ConfigError(`the snapshot ${error.message}; ${file} was not written`)
    throw (error as NodeJS.ErrnoException).code === 'ENOSPC' ? new ConfigError(`there is no space for ${file}; it was not written`) : error
  }
}

async function checkWhile(
  chunks: AsyncIterable<Uint8Array>,
  write: (chunk: Uint8Array) => Promise<unknown>,
  onProgress: SaveOptions['onProgress'],
): Promise<Saved> {
  async function* written(): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      await write(chunk)
      yield chunk
    }
  }
  let revision = 0
  let [done, total] = [0, 0]
  for await (const part of readSnapshot(written())) {
    if (part.type === 'header') {
      revision = part.header.revision
      total = part.header.records
    } else if (part.type === 'record') {
      if (++done % REPORTED === 0) onProgress(done, total)
    } else {
      onProgress(total, total)
      return { revision, records: total, bytes: part.bytes, hash: part.hash }
    }
  }
  throw new SnapshotError('is cut short')
}

/** A name that was mistyped must not cost a file. */
async function refuseOtherFile(file: string): Promise<void> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new ConfigError(`cannot write to ${file}: ${error.message}`)
  })
  if (!handle) return
  try {
    const isFile = (await handle.stat()).isFile()
    const start = isFile ? (await handle.read(Buffer.alloc(MAGIC.length), 0, MAGIC.length, 0)).buffer : undefined
    if (!start?.equals(MAGIC)) throw new ConfigError(`${file} is no snapshot, and was left as it is; choose another name`)
  } finally {
    await handle.close()
  }
}

/** A new name is there after a power cut only if its folder was synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  // Some file systems cannot sync a folder and have no need to.
  await handle?.sync().catch(() => {})
  await handle?.close()
}
