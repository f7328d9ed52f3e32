/** A saved state as a file, in the format of `keelson snapshot save`, and back. */
import { encryptionOf } from '../server/data/encrypted-record.ts'
import { SnapshotError, type SnapshotRecord } from '../storage/snapshot/format.ts'
import { readSnapshot } from '../storage/snapshot/read.ts'
import { writeSnapshot } from '../storage/snapshot/write.ts'
import { VERSION } from '../version.ts'
import type { SavedRecord, SavedState } from './state.ts'

export type FileOptions = { readonly groupDomain: string; readonly now: Date }

export async function fileOf({ revision, records }: SavedState, { groupDomain, now }: FileOptions): Promise<Buffer> {
  const header = { revision, time: now.toISOString(), writtenBy: `keelson ${VERSION}`, cluster: '', groupDomain, records: records.size }
  async function* inOrder(): AsyncGenerator<SnapshotRecord> {
    for (const [key, record] of records) yield { key, ...record }
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of writeSnapshot(header, inOrder())) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Reads a file to its end. Throws SnapshotError for one that this server cannot restore. */
export async function stateIn(file: Uint8Array, { groupDomain }: Pick<FileOptions, 'groupDomain'>): Promise<SavedState> {
  const records = new Map<string, SavedRecord>()
  let [revision, bytes] = [0, 0]
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield file
  }
  for await (const part of readSnapshot(whole())) {
    if (part.type === 'header') {
      revision = part.header.revision
      if (part.header.groupDomain !== '' && part.header.groupDomain !== groupDomain)
        throw new SnapshotError(`is of a server with --group-domain ${part.header.groupDomain}; this one has ${groupDomain}`)
    }
    if (part.type !== 'record') continue
    const { key, value, created, modified } = part.record
    if (encryptionOf(value)) throw new SnapshotError(`holds the encrypted record ${key}, which needs the keys of the server that wrote it`)
    // The reader's buffers are larger than the record.
    records.set(key, { value: Uint8Array.from(value), created, modified })
    bytes += key.length + value.length
  }
  return { revision, records, bytes }
}
