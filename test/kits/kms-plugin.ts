/**
 * A small KMS plugin: v2.KeyManagementService and v1beta1.KeyManagementService over gRPC on a Unix socket. It keeps its keys in memory, and
 * fails when told to.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { AnnotationsReader, writeAnnotations } from '../../src/encryption/kms/kms-service.ts'
import { readFields, Writer } from '../../src/transport/grpc/wire.ts'

/** Kubernetes' own test plugin has the same annotation. */
const ANNOTATION = 'local-kek.kms.kubernetes.io'
const FAILED_PRECONDITION = 9
const INVALID_ARGUMENT = 3

class Refused extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export class KmsPlugin {
  readonly path: string
  /** Reported by Status and used by Encrypt. Records of former ids can be decrypted. */
  keyId = '1'
  healthz = 'ok'
  version = 'v2'
  /** Reported to clients of the first version. */
  firstVersion = 'v1beta1'
  isFailing = false
  readonly calls: { Version?: number; Status: number; Encrypt: number; Decrypt: number } = { Status: 0, Encrypt: 0, Decrypt: 0 }
  readonly #server: Http2Server
  readonly #sessions = new Set<ServerHttp2Session>()

  private constructor(path: string) {
    this.path = path
    this.#server = createServer()
    this.#server.on('session', session => {
      this.#sessions.add(session)
      session.on('close', () => this.#sessions.delete(session))
      session.on('error', () => {})
    })
    this.#server.on('stream', (stream, headers) => this.#serve(stream, String(headers[':path'])))
  }

  static async start(path: string): Promise<KmsPlugin> {
    const plugin = new KmsPlugin(path)
    plugin.#server.listen(path)
    await once(plugin.#server, 'listening')
    return plugin
  }

  get endpoint(): string {
    return `unix://${this.path}`
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy()
    await new Promise(resolve => this.#server.close(resolve))
    rmSync(this.path, { force: true })
  }

  #serve(stream: ServerHttp2Stream, path: string): void {
    const chunks: Buffer[] = []
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const message = Buffer.concat(chunks).subarray(5)
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      try {
        const answer = this.#answer(path, message).finish()
        answer.writeUInt32BE(answer.length - 5, 1)
        answer[0] = 0
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
        stream.end(answer)
      } catch (error) {
        const { code = 2, message } = error as Refused
        stream.removeAllListeners('wantTrailers')
        stream.respond(
          { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': String(code), 'grpc-message': encodeURIComponent(message) },
          { endStream: true },
        )
      }
    })
  }

  #answer(path: string, message: Buffer): Writer {
    const [, service, name] = path.split('/')
    const method = name as keyof KmsPlugin['calls']
    this.calls[method] = (this.calls[method] ?? 0) + 1
    if (this.isFailing) throw new Refused(FAILED_PRECONDITION, 'failed precondition - key disabled')
    return service === 'v1beta1.KeyManagementService' ? this.#answerFirst(method, message) : this.#answerSecond(method, message)
  }

  #answerSecond(method: keyof KmsPlugin['calls'], message: Buffer): Writer {
    const answer = new Writer({ reserve: 5 })
    if (method === 'Status') return answer.text(1, this.version).text(2, this.healthz).text(3, this.keyId)
    const sent = requestOf(method as 'Encrypt' | 'Decrypt', message)
    if (sent.uid === '') throw new Refused(INVALID_ARGUMENT, 'uid is required')
    if (method === 'Encrypt') {
      const annotations = { [ANNOTATION]: Buffer.from(`kek of ${this.keyId}`) }
      return writeAnnotations(answer.bytes(1, encrypt(this.keyId, sent.bytes)).text(2, this.keyId), 3, annotations)
    }
    if (Buffer.from(sent.annotations[ANNOTATION] ?? []).toString() !== `kek of ${sent.keyId}`)
      throw new Refused(INVALID_ARGUMENT, 'the annotation is missing')
    return answer.bytes(1, decrypt(sent.keyId, sent.bytes))
  }

  /** The first version has no key ids: the ciphertext names its key. */
  #answerFirst(method: keyof KmsPlugin['calls'], message: Buffer): Writer {
    const answer = new Writer({ reserve: 5 })
    if (method === 'Version') return answer.text(1, this.firstVersion).text(2, 'test').text(3, '0.0.1')
    let bytes: Buffer = Buffer.alloc(0)
    readFields(message, field => {
      if (field.field === 2) bytes = field.bytes
    })
    if (method === 'Encrypt') return answer.bytes(1, Buffer.concat([Buffer.from(`${this.keyId}:`), encrypt(this.keyId, bytes)]))
    const colon = bytes.indexOf(':')
    return answer.bytes(1, decrypt(bytes.subarray(0, colon).toString(), bytes.subarray(colon + 1)))
  }
}

function requestOf(method: 'Encrypt' | 'Decrypt', message: Buffer) {
  let [uid, keyId] = ['', '']
  let bytes: Buffer = Buffer.alloc(0)
  const annotations = new AnnotationsReader()
  readFields(message, field => {
    if (field.field === 1) bytes = field.bytes
    else if (field.field === 2) uid = field.bytes.toString()
    else if (method === 'Decrypt' && field.field === 3) keyId = field.bytes.toString()
    else if (method === 'Decrypt' && field.field === 4) annotations.take(field.bytes)
  })
  return { uid, keyId, bytes, annotations: annotations.all }
}

/** The key of an id is a hash of it, so that another process of the plugin has the same. */
const keyOf = (keyId: string) => createHash('sha256').update(`key ${keyId}`).digest()

function encrypt(keyId: string, plain: Buffer): Buffer {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keyOf(keyId), nonce)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function decrypt(keyId: string, stored: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', keyOf(keyId), stored.subarray(0, 12)).setAuthTag(stored.subarray(-16))
  return Buffer.concat([decipher.update(stored.subarray(12, -16)), decipher.final()])
}
