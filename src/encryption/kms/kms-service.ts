/** Calls a KMS plugin: the service v2.KeyManagementService over gRPC on a Unix socket. */
import type { Method } from '../../transport/grpc/connection.ts'
import { PluginConnection } from '../../transport/grpc/plugin-connection.ts'
import { readFields, Writer } from '../../transport/grpc/wire.ts'
import type { TransformationMetrics } from '../metrics.ts'

export type Annotations = Readonly<Record<string, Uint8Array>>
export type KmsStatus = { readonly version: string; readonly healthz: string; readonly keyId: string }
export type KmsEncrypted = { readonly ciphertext: Uint8Array; readonly keyId: string; readonly annotations: Annotations }
export type DecryptRequest = KmsEncrypted & { readonly uid: string }

export interface KmsService {
  status(): Promise<KmsStatus>
  encrypt(uid: string, plaintext: Uint8Array): Promise<KmsEncrypted>
  decrypt(request: DecryptRequest): Promise<Uint8Array>
  close(): void
}

export type KmsServiceOptions = {
  readonly name: string
  /** `unix:///PATH` */
  readonly endpoint: string
  readonly timeoutMs: number
  readonly metrics: TransformationMetrics
}

export class GrpcKmsService implements KmsService {
  readonly #connection: PluginConnection

  constructor({ name, endpoint, timeoutMs, metrics }: KmsServiceOptions) {
    this.#connection = new PluginConnection({
      name: 'the KMS plugin',
      endpoint,
      timeoutMs,
      called: (path, began, failure) => metrics.called(name, path, began, failure),
    })
  }

  status(): Promise<KmsStatus> {
    return this.#connection.call(STATUS, undefined)
  }

  encrypt(uid: string, plaintext: Uint8Array): Promise<KmsEncrypted> {
    return this.#connection.call(ENCRYPT, { uid, plaintext })
  }

  decrypt(request: DecryptRequest): Promise<Uint8Array> {
    return this.#connection.call(DECRYPT, request)
  }

  close(): void {
    this.#connection.close()
  }
}

// Messages. Room for the header of a frame is left before each.

const writer = () => new Writer({ reserve: 5 })

const STATUS: Method<undefined, KmsStatus> = {
  path: '/v2.KeyManagementService/Status',
  write: writer,
  read(message) {
    let [version, healthz, keyId] = ['', '', '']
    readFields(message, ({ field, bytes }) => {
      if (field === 1) version = bytes.toString()
      else if (field === 2) healthz = bytes.toString()
      else if (field === 3) keyId = bytes.toString()
    })
    return { version, healthz, keyId }
  },
}

const ENCRYPT: Method<{ readonly uid: string; readonly plaintext: Uint8Array }, KmsEncrypted> = {
  path: '/v2.KeyManagementService/Encrypt',
  write: ({ uid, plaintext }) => writer().bytes(1, plaintext).text(2, uid),
  read(message) {
    let ciphertext: Buffer = Buffer.alloc(0)
    let keyId = ''
    const annotations = new AnnotationsReader()
    readFields(message, ({ field, bytes }) => {
      if (field === 1) ciphertext = Buffer.from(bytes)
      else if (field === 2) keyId = bytes.toString()
      else if (field === 3) annotations.take(bytes)
    })
    return { ciphertext, keyId, annotations: annotations.all }
  },
}

const DECRYPT: Method<DecryptRequest, Uint8Array> = {
  path: '/v2.KeyManagementService/Decrypt',
  write: ({ ciphertext, uid, keyId, annotations }) =>
    writeAnnotations(writer().bytes(1, ciphertext).text(2, uid).text(3, keyId), 4, annotations),
  read(message) {
    let plaintext: Buffer = Buffer.alloc(0)
    readFields(message, ({ field, bytes }) => {
      if (field === 1) plaintext = Buffer.from(bytes)
    })
    return plaintext
  },
}

/** Collects the entries of a map from names to bytes. */
export class AnnotationsReader {
  readonly #all = new Map<string, Uint8Array>()

  take(entry: Buffer): void {
    let [key, value] = ['', Buffer.alloc(0) as Buffer]
    readFields(entry, ({ field, bytes }) => {
      if (field === 1) key = bytes.toString()
      else if (field === 2) value = Buffer.from(bytes)
    })
    this.#all.set(key, value)
  }

  get all(): Annotations {
    return Object.fromEntries(this.#all)
  }
}

/** In the order of keys, so that the same annotations are always the same bytes. */
export function writeAnnotations(to: Writer, field: number, annotations: Annotations): Writer {
  for (const key of Object.keys(annotations).sort()) to.begin(field).text(1, key).bytes(2, annotations[key]!).end()
  return to
}
