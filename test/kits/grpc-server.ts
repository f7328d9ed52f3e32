/** A small gRPC server: a function answers each method. */
import { once } from 'node:events'
import { createServer, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { Writer } from '../../src/transport/grpc/wire.ts'

/** Writes the answer to a message; throws an error with a `code` of gRPC for a failure. */
export type GrpcMethods = Readonly<Record<string, (message: Buffer, answer: Writer) => void>>

export type GrpcServer = {
  /** 0 on a Unix socket. */
  readonly port: number
  stop(): Promise<void>
}

const UNIMPLEMENTED = 12

/** Listens on a Unix socket, or on a free port of this machine. */
export async function grpcServer(methods: GrpcMethods, path?: string): Promise<GrpcServer> {
  const server = createServer()
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', session => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session)).on('error', () => {})
  })
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const answer = new Writer({ reserve: 5 })
      const head = { ':status': 200, 'content-type': 'application/grpc' }
      try {
        const method = methods[String(headers[':path'])]
        if (!method) throw Object.assign(new Error('unknown method'), { code: UNIMPLEMENTED })
        method(Buffer.concat(chunks).subarray(5), answer)
      } catch (error) {
        const { code = 2, message } = error as Error & { code?: number }
        stream.respond({ ...head, 'grpc-status': String(code), 'grpc-message': encodeURIComponent(message) }, { endStream: true })
        return
      }
      const bytes = answer.finish()
      bytes.writeUInt32BE(bytes.length - 5, 1)
      bytes[0] = 0
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.respond(head, { waitForTrailers: true })
      stream.end(bytes)
    })
  })
  if (path === undefined) server.listen(0, '127.0.0.1')
  else server.listen(path)
  await once(server, 'listening')
  return {
    port: path === undefined ? (server.address() as AddressInfo).port : 0,
    async stop() {
      for (const session of sessions) session.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
