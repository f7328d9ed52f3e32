/** The two ways to a collector: OTLP over gRPC, and over HTTP. Connections are not encrypted, as those of kube-apiserver. */
import { request as httpRequest } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { connect as connectSocket, type Socket } from 'node:net'
import { SendError, type SpanSender } from './exporter.ts'

/** The address of a collector. */
export type Collector =
  | { readonly host: string; readonly port: number; readonly socket?: undefined }
  | { readonly socket: string; readonly host?: undefined; readonly port?: undefined }

const EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'

/** Codes of gRPC after which OTLP has clients send again: cancelled, deadline, exhausted, aborted, out of range, unavailable, data loss. */
const PASSING = new Set([1, 4, 8, 10, 11, 14, 15])
const MAX_ANSWER_BYTES = 64 * 1024

export function grpcSender(collector: Collector): SpanSender {
  let session: ClientHttp2Session | undefined
  const sessionTo = () => {
    if (session && !session.closed && !session.destroyed) return session
    const authority = collector.socket === undefined ? authorityOf(collector) : 'localhost'
    const opened = connect(`http://${authority}`, { createConnection: () => socketTo(collector) })
    opened.on('error', () => opened.destroy())
    session = opened
    return opened
  }
  return {
    send: (body, signal) => callGrpc(sessionTo(), body, signal),
    close: () => session?.destroy(),
  }
}

function callGrpc(session: ClientHttp2Session, body: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':method': 'POST', ':path': EXPORT, 'content-type': 'application/grpc', te: 'trailers' }, { signal })
    let status: string | undefined
    let message = ''
    const take = (headers: NodeJS.Dict<string | string[]>) => {
      status ??= headers['grpc-status'] as string | undefined
      message ||= decodeURIComponent(String(headers['grpc-message'] ?? ''))
    }
    stream.on('response', headers => {
      take(headers as NodeJS.Dict<string | string[]>)
      if (headers[':status'] !== 200) message ||= `HTTP status ${headers[':status']}`
    })
    stream.on('trailers', headers => take(headers as NodeJS.Dict<string | string[]>))
    stream.on('error', error => reject(new SendError(error.message, true)))
    stream.on('close', () => {
      if (status === '0') resolve()
      else reject(new SendError(message || `gRPC status ${status ?? 'unknown'}`, status === undefined || PASSING.has(Number(status))))
    })
    stream.resume()
    const frame = Buffer.alloc(5)
    frame.writeUInt32BE(body.length, 1)
    stream.end(Buffer.concat([frame, body]))
  })
}

export function httpSender(collector: Collector): SpanSender {
  return {
    send: (body, signal) => postHttp(collector, body, signal),
    close() {},
  }
}

function postHttp(collector: Collector, body: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const to = collector.socket === undefined ? { host: collector.host, port: collector.port } : { socketPath: collector.socket }
    const headers = { 'content-type': 'application/x-protobuf', 'content-length': body.length }
    const sent = httpRequest({ ...to, method: 'POST', path: '/v1/traces', headers, signal }, answer => {
      let size = 0
      answer.on('data', (part: Buffer) => {
        size += part.length
        if (size > MAX_ANSWER_BYTES) answer.destroy()
      })
      answer.on('close', () => {
        const code = answer.statusCode ?? 0
        if (code >= 200 && code < 300) resolve()
        else reject(new SendError(`HTTP status ${code}`, [429, 502, 503, 504].includes(code)))
      })
    })
    sent.on('error', error => reject(new SendError(error.message, true)))
    sent.end(body)
  })
}

const socketTo = (collector: Collector): Socket =>
  collector.socket === undefined ? connectSocket(collector.port, collector.host) : connectSocket(collector.socket)

const authorityOf = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`
