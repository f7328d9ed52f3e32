/** A small external signer of service account tokens: v1.ExternalJWTSigner over gRPC on a Unix socket. */
import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { readFields, Writer } from '../../src/transport/grpc/wire.ts'

type Key = { readonly id: string; readonly privateKey: KeyObject; readonly der: Buffer; isExcluded: boolean }

export class TokenSigner {
  readonly path: string
  /** The last one signs. */
  readonly keys: Key[] = []
  mostSeconds = 7200
  type = 'JWT'
  readonly #server: Http2Server = createServer()
  readonly #sessions = new Set<ServerHttp2Session>()

  private constructor(path: string) {
    this.path = path
    this.addKey('first')
    this.#server.on('session', session => {
      this.#sessions.add(session)
      session.on('error', () => {})
    })
    this.#server.on('stream', (stream, headers) => this.#serve(stream, String(headers[':path'])))
  }

  static async start(path: string): Promise<TokenSigner> {
    const signer = new TokenSigner(path)
    signer.#server.listen(path)
    await once(signer.#server, 'listening')
    return signer
  }

  addKey(id: string): Key {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const key = { id, privateKey, der: publicKey.export({ type: 'spki', format: 'der' }), isExcluded: false }
    this.keys.push(key)
    return key
  }

  async stop(): Promise<void> {
    for (const session of this.#sessions) session.destroy()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #serve(stream: ServerHttp2Stream, path: string): void {
    const chunks: Buffer[] = []
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const answer = this.#answer(path.split('/')[2]!, Buffer.concat(chunks).subarray(5)).finish()
      answer.writeUInt32BE(answer.length - 5, 1)
      answer[0] = 0
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.end(answer)
    })
  }

  #answer(method: string, message: Buffer): Writer {
    const answer = new Writer({ reserve: 5 })
    if (method === 'Metadata') return answer.number(1, this.mostSeconds)
    if (method === 'FetchKeys') {
      for (const { id, der, isExcluded } of this.keys) answer.begin(1).text(1, id).bytes(2, der).flag(3, isExcluded).end()
      return answer.begin(2).number(1, 1_700_000_000).end().number(3, 3600)
    }
    let claims = ''
    readFields(message, ({ field, bytes }) => {
      if (field === 1) claims = bytes.toString()
    })
    const { id, privateKey } = this.keys.at(-1)!
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: id, typ: this.type })).toString('base64url')
    const signature = createSign('RSA-SHA256').update(`${header}.${claims}`).sign(privateKey, 'base64url')
    return answer.text(1, header).text(2, signature)
  }
}
