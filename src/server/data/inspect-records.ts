/** Reads records as they are stored, from a data directory, a snapshot or etcd, and decodes them. */
import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { isSelfDescribed } from '../../codec/cbor.ts'
import { parseJson } from '../../codec/json.ts'
import { kubernetesFormat } from '../../etcd-format/kubernetes-format.ts'
import { createLog } from '../../http/observability/log.ts'
import { everyKind } from '../../kinds/every.ts'
import { crc32 } from '../../lib/crc32.ts'
import type { Json } from '../../lib/json-value.ts'
import { Catalog } from '../../registry/catalog.ts'
import { type Resource, resourcesOf } from '../../schema/resource.ts'
import { openEmbeddedReader } from '../../storage/embedded/reader.ts'
import { openEtcdStore } from '../../storage/etcd/etcd.ts'
import type { RecordFormat } from '../../storage/etcd/record-format.ts'
import { everyEntry } from '../../storage/every-entry.ts'
import { SnapshotError } from '../../storage/snapshot/format.ts'
import { readSnapshot } from '../../storage/snapshot/read.ts'
import type { Entry, Store } from '../../storage/store.ts'
import { type Config, ConfigError, checkConfig } from '../config.ts'
import { readOwnFiles } from '../files/own-files.ts'
import { type Encryption, encryptionOf } from './encrypted-record.ts'
import { type KeySelector, keySelectorOf } from './record-keys.ts'

/** Where records are read from. */
export type RecordsPlace =
  | { readonly kind: 'folder'; readonly dir: string }
  | { readonly kind: 'snapshot'; readonly file: string }
  | { readonly kind: 'etcd'; readonly servers: readonly string[] }

type Encoding = 'json' | 'protobuf' | 'cbor' | 'other'

export type FoundRecord = {
  readonly key: string
  /** Its key in the etcd of a kube-apiserver. */
  readonly etcdKey: string
  readonly modified: number
  readonly created: number
  readonly bytes: number
  readonly encoding: Encoding | 'encrypted'
  readonly encryption?: Encryption
  /** The CRC-32 of the stored value; of one whose checksum was wrong there is none. */
  readonly crc32?: string
  /** Whether the record was compared with a checksum that was stored with it. */
  readonly isChecked: boolean
  /** The time of expiry, in milliseconds since the epoch. */
  readonly expires?: number
  /** Why it cannot be read. */
  readonly fault?: string
  readonly value: Uint8Array
  /** The object in it, where that could be decoded. */
  readonly object?: Json
}

/** Reads the value of an encrypted record; undefined where its key is not at hand. */
export type Decrypt = (record: { readonly key: string; readonly place: string }, stored: Uint8Array) => Promise<Uint8Array | undefined>

/** The records of one place. */
export class Records {
  readonly #place: RecordsPlace
  readonly #config: Config
  readonly #resources: readonly Resource[]
  readonly #format: RecordFormat
  readonly #decrypt: Decrypt | undefined

  /** The settings are those of the connection to etcd, and the group domain. */
  constructor(place: RecordsPlace, config: Config, decrypt?: Decrypt) {
    this.#place = place
    this.#config = place.kind === 'etcd' ? checkConfig({ ...config, store: 'etcd', etcdServers: place.servers }) : checkConfig(config)
    const { groupDomain } = config
    this.#resources = new Catalog(resourcesOf(everyKind, groupDomain)).storedResources()
    this.#format = kubernetesFormat({ resources: this.#resources, groupDomain, now: () => new Date() })
    this.#decrypt = decrypt
  }

  /** The key or prefix that a text names. Throws ConfigError. */
  selectorOf(text: string): KeySelector {
    return keySelectorOf(text, { resources: this.#resources, format: this.#format, etcdPrefix: this.#config.etcdPrefix })
  }

  /** The records that are wanted, in the order of their keys. Throws ConfigError and StoreUnavailable. */
  async *find(wanted: readonly KeySelector[]): AsyncGenerator<FoundRecord> {
    const place = this.#place
    if (place.kind === 'snapshot') return yield* this.#inSnapshot(place.file, wanted)
    if (place.kind === 'folder') {
      if (!existsSync(join(place.dir, 'store')))
        throw new ConfigError(
          `there is no data in ${place.dir}: it has no folder store; name another --data-dir, a --snapshot or --etcd-servers`,
        )
      await using reader = await openEmbeddedReader(join(place.dir, 'store'))
      for await (const entry of entriesIn(reader, wanted)) {
        const expires = reader.deadline(entry.key)
        yield { ...(await this.#found(entry, true)), ...(expires !== undefined && { expires }) }
      }
      return
    }
    const store = await this.#openEtcd()
    try {
      for await (const entry of entriesIn(store, wanted)) yield await this.#found(entry, false)
    } finally {
      await store.close()
    }
  }

  async *#inSnapshot(file: string, wanted: readonly KeySelector[]): AsyncGenerator<FoundRecord> {
    try {
      for await (const part of readSnapshot(createReadStream(file, { highWaterMark: 256 << 10 })))
        if (part.type === 'record' && wanted.some(each => isSelected(part.record.key, each))) yield await this.#found(part.record, true)
    } catch (error) {
      if (error instanceof SnapshotError) throw new ConfigError(`${file} ${error.message}`)
      if ((error as NodeJS.ErrnoException).code !== undefined) throw new ConfigError(`cannot read ${file}: ${(error as Error).message}`)
      throw error
    }
  }

  /** The bytes of records, as etcd holds them. */
  async #openEtcd(): Promise<Store> {
    const { etcdServers: endpoints, etcdPrefix: prefix } = this.#config
    const asStored: RecordFormat = { ...this.#format, decode: records => records.map(({ stored }) => ({ value: Buffer.from(stored) })) }
    return await openEtcdStore({
      endpoints,
      tls: readOwnFiles(this.#config).etcd,
      prefix,
      format: asStored,
      onChange: message => createLog('warn').warn({}, message),
    })
  }

  async #found(entry: Entry, isChecked: boolean): Promise<FoundRecord> {
    const { key, value, created, modified, fault } = entry
    const place = this.#placeOf(key)
    const encryption = encryptionOf(value)
    const about = {
      key,
      etcdKey: place === undefined ? '' : `${this.#config.etcdPrefix}${place}`,
      modified,
      created,
      bytes: value.length,
      value,
      isChecked,
      encoding: encryption ? 'encrypted' : encodingOf(value),
      ...(encryption && { encryption }),
      ...(fault === undefined && { crc32: crc32(value).toString(16).padStart(8, '0') }),
    } as const
    if (fault !== undefined) return { ...about, fault }
    const plain = encryption ? await this.#decrypt?.({ key, place: place ?? key }, value) : value
    if (plain === undefined)
      return { ...about, fault: `it is encrypted with ${encryption!.provider}, and the key ${encryption!.key} is not at hand` }
    return { ...about, ...(await this.#decoded(key, plain)) }
  }

  #placeOf(key: string): string | undefined {
    try {
      return this.#format.placeOf(key)
    } catch {
      return undefined
    }
  }

  async #decoded(key: string, value: Uint8Array): Promise<{ object?: Json; fault?: string }> {
    const encoding = encodingOf(value)
    if (encoding === 'protobuf' || encoding === 'cbor') {
      const [decoded] = await this.#format.decode([{ key, stored: value }])
      return decoded?.fault === undefined ? { object: parseJson(decoded!.value).value } : { fault: decoded.fault }
    }
    if (encoding !== 'json') return {}
    try {
      return { object: parseJson(value).value }
    } catch (error) {
      return { fault: (error as Error).message }
    }
  }
}

/** The encoding that the first bytes show. */
export function encodingOf(value: Uint8Array): Encoding {
  if (value[0] === 0x7b || value[0] === 0x5b) return 'json'
  if (isSelfDescribed(value)) return 'cbor'
  return Buffer.from(value.subarray(0, ENVELOPE.length)).equals(ENVELOPE) ? 'protobuf' : 'other'
}
const ENVELOPE = Buffer.from('k8s\0')

const isSelected = (key: string, wanted: KeySelector) => ('key' in wanted ? key === wanted.key : key.startsWith(wanted.prefix))

async function* entriesIn(source: Pick<Store, 'get' | 'list' | 'fresh'>, wanted: readonly KeySelector[]): AsyncGenerator<Entry> {
  const at = await source.fresh()
  for (const each of wanted) {
    if ('key' in each) {
      const { entry } = await source.get(each.key)
      if (entry) yield entry
      continue
    }
    yield* everyEntry(source, each.prefix, { at, asStored: true })
  }
}
