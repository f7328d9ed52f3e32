/** The place of a request in a distributed trace, as W3C's Trace Context writes it into headers. */
import { randomFillSync } from 'node:crypto'

export type TraceContext = {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  /** Whether the spans of the trace are recorded. */
  readonly isSampled: boolean
  /** State of other tracing systems, passed on unchanged. */
  readonly state?: string | undefined
}

const PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const MAX_STATE_LENGTH = 512

/** Reads the headers `traceparent` and `tracestate`; undefined where they name no trace. */
export function readTraceContext(parent: string | undefined, state?: string): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = PARENT.exec(parent ?? '') ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1
  return { traceId, spanId, isSampled, ...(state !== undefined && state.length <= MAX_STATE_LENGTH && { state }) }
}

/** The header `traceparent`. */
export const traceParent = ({ traceId, spanId, isSampled }: TraceContext): string => `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`

const pool = Buffer.alloc(4096)
let unused = 0

/** Random hexadecimal digits, two for each byte; not all are zero. */
export function randomId(bytes: 8 | 16): string {
  if (unused < bytes) {
    randomFillSync(pool)
    unused = pool.length
  }
  unused -= bytes
  const id = pool.toString('hex', unused, unused + bytes)
  return /^0+$/.test(id) ? randomId(bytes) : id
}
