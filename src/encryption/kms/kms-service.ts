/** Calls a KMS plugin: the service v2.KeyManagementService over gRPC on a Unix socket. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, ConnectionLost, codeName, type Method, openConnection, RpcError } from '../../transport/grpc/connection.ts'
import { DeadlineExceeded } from '../../transport/grpc/http2-session.ts'
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

/** A call of a plugin that failed; the message is that of Go's gRPC. */
export class KmsError extends Error {
  readonly code: number

  constructor(cause: RpcError) {
    super(`rpc error: code = ${codeName(cause.code)} desc = ${cause.message}`, { cause })
    this.code = cause.code
  }
}

export type KmsServiceOptions = {
  readonly name: string
  /** `unix:///PATH` */
  readonly endpoint: string
  readonly timeoutMs: number
  readonly metrics: TransformationMetrics
}

const DEADLINE_EXCEEDED = 4
const UNAVAILABLE = 14
const PEER = { name: 'the KMS plugin', authority: 'localhost' }
/** How long a plugin that does not listen is waited for before it is tried again. */
const DIAL_AGAIN_MS = 100

/** The plugin need not run yet: each call waits for it until its time is over. */
export class GrpcKmsService implements KmsService {
  readonly #options: KmsServiceOptions
  readonly #closing = new AbortController()
  #connection: Connection | undefined
  #dialing: Promise<Connection> | undefined

  constructor(options: KmsServiceOptions) {
    this.#options = options
  }

  status(): Promise<KmsStatus> {
    return this.#call(STATUS, undefined)
  }

  encrypt(uid: string, plaintext: Uint8Array): Promise<KmsEncrypted> {
    return this.#call(ENCRYPT, { uid, plaintext })
  }

  decrypt(request: DecryptRequest): Promise<Uint8Array> {
    return this.#call(DECRYPT, request)
  }

  close(): void {
    this.#closing.abort(new Error('the KMS provider is closed'))
    this.#connection?.destroy()
  }

  async #call<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Response> {
    const { name, metrics } = this.#options
    const began = performance.now()
    try {
      const answer = await this.#attempts(method, request, began + this.#options.timeoutMs)
      metrics.called(name, method.path, began)
      return answer
    } catch (error) {
      const failure = new KmsError(error instanceof RpcError ? error : new RpcError(UNAVAILABLE, (error as Error).message))
      metrics.called(name, method.path, began, failure)
      throw failure
    }
  }

  async #attempts<Request, Response>(method: Method<Request, Response>, request: Request, until: number): Promise<Response> {
    let dialError: string | undefined
    for (;;) {
      const left = until - performance.now()
      if (left <= 0 || this.#closing.signal.aborted)
        throw new RpcError(DEADLINE_EXCEEDED, dialError === undefined ? TOO_LATE : `latest balancer error: ${dialError}`)
      let connection: Connection
      try {
        connection = await within(this.#connected(), left)
      } catch (error) {
        if (!(error instanceof DeadlineExceeded)) dialError = this.#explained(error)
        await sleep(Math.max(0, Math.min(DIAL_AGAIN_MS, until - performance.now())))
        continue
      }
      try {
        return await connection.call(method, request, Math.max(1, until - performance.now()))
      } catch (error) {
        if (error instanceof DeadlineExceeded) throw new RpcError(DEADLINE_EXCEEDED, TOO_LATE)
        if (!(error instanceof ConnectionLost)) throw error
        if (!error.neverSent) throw new RpcError(UNAVAILABLE, 'error reading from server: EOF')
      }
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#connection?.isUsable) return this.#connection
    this.#dialing ??= openConnection(this.#options.endpoint, { peer: PEER, signal: this.#closing.signal })
      .then(connection => {
        if (this.#closing.signal.aborted) connection.destroy()
        return (this.#connection = connection)
      })
      .finally(() => (this.#dialing = undefined))
    return this.#dialing
  }

  #explained(error: unknown): string {
    const { code, message } = error as NodeJS.ErrnoException
    const reason = (code !== undefined && SOCKET_ERRORS[code]) || message
    const path = new URL(this.#options.endpoint).pathname
    return `connection error: desc = "transport: Error while dialing: dial unix ${path}: connect: ${reason}"`
  }
}
const TOO_LATE = 'context deadline exceeded'
const SOCKET_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or directory',
  ECONNREFUSED: 'connection refused',
  EACCES: 'permission denied',
}

function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineExceeded(TOO_LATE)), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
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
