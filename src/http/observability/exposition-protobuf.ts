/**
 * Metrics in Prometheus' protobuf format: length-delimited `io.prometheus.client.MetricFamily` messages. Histograms have both types of
 * buckets.
 */
import { ProtobufWriter } from '../../codec/protobuf-writer.ts'
import { type Family, type Labels, NATIVE_SCHEMA, type Observations } from '../../lib/exposition.ts'

const TYPES = { counter: 0, gauge: 1, histogram: 4 } as const
/** The value field of a metric. */
const VALUES = { counter: 3, gauge: 2 } as const
const HISTOGRAM = 7
/** Observations up to this count as zero; the default of Prometheus' own libraries. */
const ZERO_THRESHOLD = 2 ** -128

/** Families as length-delimited messages, one after the other. */
export function protobufExposition(families: readonly Family[]): Uint8Array {
  const parts: Uint8Array[] = []
  const writer = new ProtobufWriter()
  for (const family of families) {
    if (family.samples.length === 0) continue
    writer.reset()
    writeFamily(writer, family)
    parts.push(varint(writer.length), writer.finish())
  }
  return Buffer.concat(parts)
}

// The writer writes from the end to the beginning, so the last field comes first.
function writeFamily(writer: ProtobufWriter, family: Family): void {
  if (family.type === 'histogram')
    for (const [labels, histogram] of [...family.samples].reverse())
      writer.message(4, () => {
        writer.message(HISTOGRAM, () => writeHistogram(writer, histogram))
        writeLabels(writer, labels)
      })
  else {
    const field = VALUES[family.type]
    for (const [labels, value] of [...family.samples].reverse())
      writer.message(4, () => {
        writer.message(field, () => writer.double(1, value))
        writeLabels(writer, labels)
      })
  }
  writer.varint(3, TYPES[family.type])
  writer.string(2, family.help)
  writer.string(1, family.name)
}

function writeLabels(writer: ProtobufWriter, labels: Labels): void {
  for (const [name, value] of Object.entries(labels).reverse())
    writer.message(1, () => {
      writer.string(2, value)
      writer.string(1, name)
    })
}

function writeHistogram(writer: ProtobufWriter, { bounds, counts, sum, count, native, zeros = 0 }: Observations): void {
  if (native) writeNative(writer, native, zeros)
  const upTo: number[] = []
  counts.reduce((seen, n) => {
    upTo.push(seen + n)
    return seen + n
  }, 0)
  for (let i = bounds.length - 1; i >= 0; i--)
    writer.message(3, () => {
      writer.double(2, bounds[i]!)
      writer.varint(1, upTo[i]!)
    })
  writer.double(2, sum)
  writer.varint(1, count)
}

function writeNative(writer: ProtobufWriter, native: ReadonlyMap<number, number>, zeros: number): void {
  const { spans, deltas } = sparse(native)
  for (const delta of [...deltas].reverse()) writer.varint(13, zigzag(delta))
  for (const { offset, length } of [...spans].reverse())
    writer.message(12, () => {
      writer.varint(2, length)
      writer.varint(1, zigzag(offset))
    })
  writer.varint(7, zeros)
  writer.double(6, ZERO_THRESHOLD)
  writer.varint(5, zigzag(NATIVE_SCHEMA))
}

/** Buckets as spans of neighbours and the differences of their counts: `{3: 5, 4: 2, 9: 1}` is `[3 +2] [+4 1]` and `5 -3 -1`. */
export function sparse(native: ReadonlyMap<number, number>): { spans: { offset: number; length: number }[]; deltas: number[] } {
  const spans: { offset: number; length: number }[] = []
  const deltas: number[] = []
  let next = 0
  let before = 0
  for (const [index, count] of [...native].sort(([a], [b]) => a - b)) {
    const last = spans.at(-1)
    if (last && index === next) last.length++
    else spans.push({ offset: last ? index - next : index, length: 1 })
    deltas.push(count - before)
    before = count
    next = index + 1
  }
  return { spans, deltas }
}

const zigzag = (value: number) => (value < 0 ? -2 * value - 1 : 2 * value)

function varint(value: number): Uint8Array {
  const bytes: number[] = []
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Uint8Array.from([...bytes, rest])
    bytes.push((rest % 128) + 128)
  }
}
