/** A collector of OpenTelemetry traces, over gRPC or HTTP, with a reader of protobuf that shares no code with the server. */
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:http2'
import type { AddressInfo, Server } from 'node:net'
import type { Scope } from '../kit.ts'

export type ReceivedSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string
  readonly name: string
  readonly kind: number
  readonly start: bigint
  readonly end: bigint
  readonly attributes: Readonly<Record<string, string | number>>
  readonly link: string | undefined
  readonly isError: boolean
  readonly service: string
}

export type Collector = { readonly port: number; readonly spans: ReceivedSpan[] }

type Fields = ReadonlyMap<number, readonly (Buffer | bigint)[]>

function fieldsOf(bytes: Buffer): Fields {
  const fields = new Map<number, (Buffer | bigint)[]>()
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    let value: Buffer | bigint
    if (tag % 8 === 0) value = varint()
    else {
      const length = tag % 8 === 1 ? 8 : Number(varint())
      value = bytes.subarray(at, (at += length))
      if (tag % 8 === 1) value = value.readBigUInt64LE()
    }
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value])
  }
  return fields
}

const messages = (fields: Fields, number: number) => (fields.get(number) ?? []).map(bytes => fieldsOf(bytes as Buffer))
const text = (fields: Fields | undefined, number: number) => (fields?.get(number)?.[0] as Buffer | undefined)?.toString() ?? ''
const hex = (fields: Fields | undefined, number: number) => (fields?.get(number)?.[0] as Buffer | undefined)?.toString('hex') ?? ''

function attributesOf(fields: Fields, number: number): Record<string, string | number> {
  return Object.fromEntries(
    messages(fields, number).map(each => {
      const [value] = messages(each, 2)
      return [text(each, 1), value!.has(3) ? Number(value!.get(3)![0]) : text(value, 1)]
    }),
  )
}

/** The spans of an ExportTraceServiceRequest. */
function spansIn(request: Buffer): ReceivedSpan[] {
  return messages(fieldsOf(request), 1).flatMap(resourceSpans => {
    const [resource] = messages(resourceSpans, 1)
    const service = String(attributesOf(resource!, 1)['service.name'])
    return messages(resourceSpans, 2)
      .flatMap(scope => messages(scope, 2))
      .map(span => ({
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentId: hex(span, 4),
        name: text(span, 5),
        kind: Number(span.get(6)![0]),
        start: span.get(7)![0] as bigint,
        end: span.get(8)![0] as bigint,
        attributes: attributesOf(span, 9),
        link: messages(span, 13).map(link => hex(link, 1))[0],
        isError: messages(span, 15).some(status => status.get(3)?.[0] === 2n),
        service,
      }))
  })
}

/** Starts a collector on a free port of this machine or on a socket, closed with the test. */
export async function startCollector(t: Scope, protocol: 'grpc' | 'http', socket?: string): Promise<Collector> {
  const spans: ReceivedSpan[] = []
  const server: Server = protocol === 'grpc' ? grpcServer(spans) : httpServer(spans)
  await new Promise<void>(resolve => (socket === undefined ? server.listen(0, '127.0.0.1', resolve) : server.listen(socket, resolve)))
  t.after(() => server.close())
  return { port: socket === undefined ? (server.address() as AddressInfo).port : 0, spans }
}

function grpcServer(spans: ReceivedSpan[]): Server {
  const server = createServer()
  server.on('stream', (stream, headers) => {
    const parts: Buffer[] = []
    stream.on('data', (part: Buffer) => parts.push(part))
    stream.on('end', () => {
      const isExport = headers[':path'] === '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
      if (isExport && headers['content-type'] === 'application/grpc') spans.push(...spansIn(Buffer.concat(parts).subarray(5)))
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': isExport ? '0' : '12' }))
      stream.end(Buffer.alloc(5))
    })
  })
  return server
}

function httpServer(spans: ReceivedSpan[]): Server {
  return createHttpServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', part => parts.push(part))
    request.on('end', () => {
      const isExport = request.url === '/v1/traces' && request.headers['content-type'] === 'application/x-protobuf'
      if (isExport) spans.push(...spansIn(Buffer.concat(parts)))
      response.writeHead(isExport ? 200 : 404).end()
    })
  })
}
