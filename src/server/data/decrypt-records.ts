/** Decrypts records of a data directory, a snapshot or etcd with the keys that are at hand, for commands. */
import type { RecordTransformer } from '../../storage/record-transformer.ts'
import type { Config } from '../config.ts'
import { openFolderEncryption } from './folder-encryption.ts'
import type { Decrypt, RecordsPlace } from './inspect-records.ts'

export type Decrypting = { readonly decrypt: Decrypt; close(): void }

/** The keys are those of the directory, and those of --encryption-provider-config. Throws ConfigError when these cannot be used. */
export async function openDecrypting(
  place: RecordsPlace,
  { encryptionProviderConfig: configFile, groupDomain, etcdPrefix }: Config,
): Promise<Decrypting> {
  const folder = place.kind === 'folder' ? place.dir : undefined
  const { transformer, close } = await openFolderEncryption(folder, { configFile, groupDomain })
  // Records of a data directory are bound to their keys, those in etcd to the keys of etcd.
  const placeOf = (key: string, at: string) => (place.kind === 'etcd' ? etcdPrefix + at : key)
  return { decrypt: ({ key, place }, stored) => opened(transformer, { key, place: placeOf(key, place) }, stored), close }
}

async function opened(
  transformer: RecordTransformer,
  record: { readonly key: string; readonly place: string },
  stored: Uint8Array,
): Promise<Uint8Array | undefined> {
  const read = await transformer.fromStorage(record, stored)
  return read.fault === undefined ? read.value : undefined
}
