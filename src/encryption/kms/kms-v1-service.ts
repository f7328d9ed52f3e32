/** Calls a KMS plugin of the first version: the service v1beta1.KeyManagementService over gRPC on a Unix socket. */
import type { Method } from '../../transport/grpc/connection.ts'
import { PluginConnection, type PluginConnectionOptions } from '../../transport/grpc/plugin-connection.ts'
import { readFields, Writer } from '../../transport/grpc/wire.ts'

export interface KmsV1Service {
  encrypt(plain: Uint8Array): Promise<Uint8Array>
  decrypt(cipher: Uint8Array): Promise<Uint8Array>
  close(): void
}

const VERSION = 'v1beta1'

export class GrpcKmsV1Service implements KmsV1Service {
  readonly #connection: PluginConnection
  /** The plugin has been asked for its version, once for all calls. */
  #checked: Promise<void> | undefined

  constructor(options: Omit<PluginConnectionOptions, 'name'>) {
    this.#connection = new PluginConnection({ name: 'the KMS plugin', ...options })
  }

  async encrypt(plain: Uint8Array): Promise<Uint8Array> {
    await this.#checkVersion()
    return this.#connection.call(ENCRYPT, plain)
  }

  async decrypt(cipher: Uint8Array): Promise<Uint8Array> {
    await this.#checkVersion()
    return this.#connection.call(DECRYPT, cipher)
  }

  close(): void {
    this.#connection.close()
  }

  #checkVersion(): Promise<void> {
    if (this.#checked) return this.#checked
    const checking = this.#connection.call(GET_VERSION, undefined).then(
      version => {
        if (version !== VERSION) throw new Error(`KMS provider api version ${version} is not supported, only ${VERSION} is supported now`)
      },
      error => {
        throw new Error(`failed get version from remote KMS provider: ${(error as Error).message}`, { cause: error })
      },
    )
    this.#checked = checking
    checking.catch(() => {
      this.#checked = undefined
    })
    return checking
  }
}

// Messages. Room for the header of a frame is left before each. Each request begins with the version.

const request = () => new Writer({ reserve: 5 }).text(1, VERSION)

/** The first field of a message. */
function firstField(message: Buffer): Buffer {
  let first: Buffer = Buffer.alloc(0)
  readFields(message, ({ field, bytes }) => {
    if (field === 1) first = Buffer.from(bytes)
  })
  return first
}

const GET_VERSION: Method<undefined, string> = {
  path: '/v1beta1.KeyManagementService/Version',
  write: request,
  read: message => firstField(message).toString(),
}
const ENCRYPT: Method<Uint8Array, Uint8Array> = {
  path: '/v1beta1.KeyManagementService/Encrypt',
  write: plain => request().bytes(2, plain),
  read: firstField,
}
const DECRYPT: Method<Uint8Array, Uint8Array> = {
  path: '/v1beta1.KeyManagementService/Decrypt',
  write: cipher => request().bytes(2, cipher),
  read: firstField,
}
