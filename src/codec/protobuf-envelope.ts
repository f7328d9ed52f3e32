/**
 * The envelope of a protobuf message on the wire of Kubernetes: four bytes of magic and an `Unknown` message that names kind and
 * version, because the message itself does not; frames around the events of a watch; the message of a list around its items.
 */
import { DELIMITED, ProtobufError, ProtobufReader } from './protobuf-reader.ts'

export const PROTOBUF = 'application/vnd.kubernetes.protobuf'
export const PROTOBUF_STREAM = `${PROTOBUF};stream=watch`

/** A message with its kind and version. */
export type Enveloped = {
  readonly kind: string
  readonly apiVersion: string
  readonly raw: Uint8Array
  /** The media type of `raw`, where it is not protobuf. */
  readonly contentType: string
}

const MAGIC = Buffer.from('k8s\0')
/** An empty contentEncoding and an empty contentType, which kube-apiserver always writes. */
const TAIL = Buffer.from([0x1a, 0, 0x22, 0])

/** Whether bytes begin as an envelope does. */
export const isEnveloped = (bytes: Uint8Array) => bytes.length >= 4 && MAGIC.equals(bytes.subarray(0, 4))

/** The message in an envelope; throws ProtobufError. */
export function openEnvelope(bytes: Uint8Array): Enveloped {
  if (bytes.length === 0) throw new ProtobufError('empty data')
  if (!isEnveloped(bytes))
    throw new ProtobufError(`provided data does not appear to be a protobuf message, expected prefix [${MAGIC.join(' ')}]`)
  if (bytes.length === MAGIC.length) throw new ProtobufError('empty body')
  const reader = new ProtobufReader(bytes.subarray(MAGIC.length))
  const found: { -readonly [K in keyof Enveloped]: Enveloped[K] } = { kind: '', apiVersion: '', raw: new Uint8Array(), contentType: '' }
  for (let number = reader.next('Unknown'); number !== 0; number = reader.next('Unknown')) {
    if (number > 4) {
      reader.skip()
      continue
    }
    reader.expect(DELIMITED, UNKNOWN[number]!)
    if (number === 1) readTypeMeta(reader, found)
    else if (number === 2) found.raw = reader.bytes()
    else if (number === 3) reader.skip()
    else found.contentType = reader.string()
  }
  return found
}
const UNKNOWN = ['', 'typeMeta', 'raw', 'contentEncoding', 'contentType']

function readTypeMeta(reader: ProtobufReader, found: { kind: string; apiVersion: string }): void {
  const outer = reader.enter()
  for (let number = reader.next('TypeMeta'); number !== 0; number = reader.next('TypeMeta')) {
    if (number > 2) {
      reader.skip()
      continue
    }
    reader.expect(DELIMITED, number === 1 ? 'APIVersion' : 'Kind')
    if (number === 1) found.apiVersion = reader.string()
    else found.kind = reader.string()
  }
  reader.leave(outer)
}

/** Names a kind. */
export type TypeMeta = { readonly kind: string; readonly apiVersion: string }

/** A message in its envelope. */
export function envelope(meta: TypeMeta, raw: Uint8Array): Buffer {
  const [head, tail] = envelopeAround(meta, raw.byteLength)
  return Buffer.concat([head, raw, tail])
}

/** The bytes before and after a message of some length that make an envelope around it. */
export function envelopeAround({ kind, apiVersion }: TypeMeta, rawLength: number): [head: Buffer, tail: Buffer] {
  const version = Buffer.from(apiVersion)
  const name = Buffer.from(kind)
  const meta = Buffer.concat([fieldHead(1, version.length), version, fieldHead(2, name.length), name])
  return [Buffer.concat([MAGIC, fieldHead(1, meta.length), meta, fieldHead(2, rawLength)]), TAIL]
}

/** An event of a watch in its frame; `object` is an envelope. */
export function watchFrame(type: string, object: Uint8Array): Buffer {
  const name = Buffer.from(type)
  const raw = fieldHead(1, object.byteLength)
  const parts = [fieldHead(1, name.length), name, fieldHead(2, raw.length + object.byteLength), raw, object]
  const length = Buffer.alloc(4)
  length.writeUInt32BE(parts.reduce((sum, part) => sum + part.byteLength, 0))
  return Buffer.concat([length, ...parts])
}

/** The header of a length-delimited field with a number below 16. */
export function fieldHead(number: number, length: number): Buffer {
  const bytes = [number * 8 + DELIMITED]
  let rest = length
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  bytes.push(rest)
  return Buffer.from(bytes)
}
