/** Spans in the protocol of OpenTelemetry (OTLP), as protobuf. */
import { ProtobufWriter } from '../../codec/protobuf-writer.ts'
import type { Span, SpanAttributes } from '../../lib/request-trace.ts'
import type { TraceContext } from '../../lib/trace-context.ts'

export type OtlpSource = {
  /** Attributes of the server that sends. */
  readonly resource: SpanAttributes
  /** Name and version of the code that made the spans. */
  readonly scope: { readonly name: string; readonly version: string }
}

const KINDS = { internal: 1, server: 2, client: 3 } as const
const FAILED = 2

/** An ExportTraceServiceRequest. The writer begins at the end, so fields are written last first. */
export function exportRequest(spans: readonly Span[], { resource, scope }: OtlpSource): Buffer {
  const writer = new ProtobufWriter()
  writer.message(1, () => {
    writer.message(2, () => {
      for (let i = spans.length - 1; i >= 0; i--) writer.message(2, () => writeSpan(writer, spans[i]!))
      writer.message(1, () => {
        writer.string(2, scope.version)
        writer.string(1, scope.name)
      })
    })
    writer.message(1, () => writeAttributes(writer, 1, resource))
  })
  return writer.finish()
}

function writeSpan(writer: ProtobufWriter, span: Span): void {
  const { context, parentId, link, error } = span
  if (error !== undefined)
    writer.message(15, () => {
      writer.varint(3, FAILED)
      if (error !== '') writer.string(2, error)
    })
  if (link) writer.message(13, () => writeContext(writer, link))
  writeAttributes(writer, 9, span.attributes)
  writer.fixed64(8, nanoseconds(span.end))
  writer.fixed64(7, nanoseconds(span.start))
  writer.varint(6, KINDS[span.kind])
  writer.string(5, span.name)
  if (parentId !== undefined) writer.bytes(4, Buffer.from(parentId, 'hex'))
  writeContext(writer, context)
}

function writeContext(writer: ProtobufWriter, { traceId, spanId, state }: TraceContext): void {
  if (state !== undefined) writer.string(3, state)
  writer.bytes(2, Buffer.from(spanId, 'hex'))
  writer.bytes(1, Buffer.from(traceId, 'hex'))
}

function writeAttributes(writer: ProtobufWriter, number: number, attributes: SpanAttributes): void {
  for (const [key, value] of Object.entries(attributes).reverse()) {
    if (value === undefined) continue
    writer.message(number, () => {
      writer.message(2, () => (typeof value === 'string' ? writer.string(1, value) : writer.integer(3, value)))
      writer.string(1, key)
    })
  }
}

/** Microseconds are as exact as the clock. */
const nanoseconds = (milliseconds: number): bigint => BigInt(Math.round(milliseconds * 1000)) * 1000n
