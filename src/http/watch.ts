/** Watch streams: events are encoded once for all watchers of an encoding, written as lines or frames, and ended cleanly. */

import { constants, gzipSync } from 'node:zlib'
import type { EventType, WatchEvent, WatchSink, WatchStream } from '../cache/watch-stream.ts'
import { CBOR, CBOR_SEQUENCE } from '../codec/cbor.ts'
import { encodeCbor } from '../codec/cbor-encode.ts'
import { stringifyJson } from '../codec/json.ts'
import { metadataOnly } from '../codec/metadata-only.ts'
import { PROTOBUF, PROTOBUF_STREAM, watchFrame } from '../codec/protobuf-envelope.ts'
import { singleTableMetadata, tableOf } from '../codec/table.ts'
import { crc32 } from '../lib/crc32.ts'
import { nextIteration, startTimer, stopTimer, wallMs } from '../lib/environment.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { StatusError } from '../schema/status-error.ts'
import { cborEvent, cborFrame } from './encode-cbor.ts'
import { protobufFrame } from './encode-protobuf.ts'
import { protobufStatusOf, statusOf } from './error.ts'
import type { EventObserver, Outlet, Response } from './message.ts'
import type { Format, Representation } from './negotiate.ts'

/** The response to a watch. */
export function watchResponse(
  { stream, isList = false }: { readonly stream: WatchStream; readonly isList?: boolean },
  { mediaType, representation, messages }: Omit<Format, 'pretty'>,
): Response {
  const plain =
    mediaType === PROTOBUF
      ? protobufEncoding(representation)
      : mediaType === CBOR
        ? cborEncoding(representation)
        : jsonEncoding(representation)
  const encoding = messages ? messageEncoding(plain) : plain
  const startWith = (encoding: WatchEncoding) => (outlet: Outlet, observer?: EventObserver) =>
    new WatchWriter(stream, encoding, observer).start(outlet)
  const compressed = isList && !messages && { startCompressed: startWith(compressing(encoding)) }
  return {
    status: 200,
    headers: { 'content-type': encoding.mediaType },
    body: { type: 'stream', start: startWith(encoding), ...compressed },
  }
}

type Encoder = (event: WatchEvent) => Uint8Array
/** The encoding of a watch. */
type WatchEncoding = {
  readonly mediaType: string
  readonly event: Encoder
  /** Compresses the bytes of one write; those of a single event once for all watchers. */
  readonly compress?: (bytes: Uint8Array, only: WatchEvent | undefined) => Uint8Array
  readonly error: (status: JsonObject) => Uint8Array
  /** Bytes of the length prefix of each event. */
  readonly lengthBytes: number
  /** Whether each event is a message of its own (WebSocket), instead of part of a stream of bytes. */
  readonly messages?: true
}

/** Events as lines of JSON, frames of protobuf or items of CBOR. All events of one iteration of the event loop are sent in one write. */
class WatchWriter implements WatchSink {
  readonly #stream: WatchStream
  readonly #encoding: WatchEncoding
  readonly #observer: EventObserver | undefined
  #outlet!: Outlet
  /** The data to send at the end of the iteration: mostly one line. Nothing is kept after that, see CONTRIBUTING.md on garbage. */
  #line: Uint8Array | undefined
  #lineOf: WatchEvent | undefined
  #more: Uint8Array[] | undefined
  #pendingBytes = 0
  #open = true

  constructor(stream: WatchStream, encoding: WatchEncoding, observer: EventObserver | undefined) {
    this.#stream = stream
    this.#encoding = encoding
    this.#observer = observer
  }

  start(outlet: Outlet): void {
    this.#outlet = outlet
    outlet.once('close', () => {
      if (this.#open) this.#stream.close()
      this.#open = false
    })
    this.#stream.open(this)
  }

  get backlog(): number {
    return this.#pendingBytes + this.#outlet.writableLength
  }

  event(event: WatchEvent): void {
    if (!this.#open) return
    const line = this.#encoding.event(event)
    this.#observer?.sent(line.byteLength)
    this.#push(line, event)
  }

  end(error?: StatusError): void {
    if (!this.#open) return
    if (error !== undefined) this.#push(this.#encoding.error(statusOf(error)))
    this.#close()
  }

  onDrain(resume: () => void): void {
    this.#flush()
    if (this.#outlet.writableNeedDrain) this.#outlet.once('drain', resume)
    else nextIteration(resume)
  }

  #push(line: Uint8Array, event?: WatchEvent): void {
    this.#pendingBytes += line.byteLength
    if (this.#line !== undefined) {
      this.#more ??= []
      this.#more.push(line)
    } else {
      this.#line = line
      this.#lineOf = event
      process.nextTick(this.#flush)
    }
  }

  #flush = (): void => {
    const line = this.#line
    if (line === undefined) return
    const more = this.#more
    const { messages, compress } = this.#encoding
    if (more === undefined || !messages) {
      const bytes = more ? Buffer.concat([line, ...more], this.#pendingBytes) : line
      this.#outlet.write(compress ? compress(bytes, more ? undefined : this.#lineOf) : bytes)
    } else {
      this.#outlet.write(line)
      for (const next of more) this.#outlet.write(next)
    }
    this.#line = this.#lineOf = this.#more = undefined
    this.#pendingBytes = 0
  }

  #close(): void {
    this.#open = false
    this.#flush()
    this.#outlet.end()
    // The server does not wait for a client that does not read the end.
    const timer = startTimer(() => this.#outlet.destroy(), LIMITS.stallMs)
    timer.unref()
    this.#outlet.once('close', () => stopTimer(timer))
  }
}

/** Each write is a whole file of gzip, as kube-apiserver sends it: readers continue with the next one, and no state is kept between. */
const compressing = (encoding: WatchEncoding): WatchEncoding => ({
  ...encoding,
  compress: (bytes, only) => (only ? only.compressed(bytes, zip) : zip(bytes)),
})

/**
 * A file of gzip whose data ends before its last block. Go's reader looks for the next file before it hands out data that comes with the
 * last block, so clients would get every write with the next one. The lowest level gives nearly the best size for JSON, at a fraction of
 * the time.
 */
function zip(bytes: Uint8Array): Uint8Array {
  const data = gzipSync(bytes, { level: 1, finishFlush: constants.Z_SYNC_FLUSH })
  const end = Buffer.alloc(8)
  end.writeUInt32LE(crc32(bytes), 0)
  end.writeUInt32LE(bytes.byteLength, 4)
  return Buffer.concat([data, EMPTY_LAST_BLOCK, end])
}
const EMPTY_LAST_BLOCK = Buffer.from([3, 0])

/** Messages have a length of their own, so events need no prefix. */
function messageEncoding({ lengthBytes, event, error, ...encoding }: WatchEncoding): WatchEncoding {
  const withoutLength = (bytes: Uint8Array) => bytes.subarray(lengthBytes)
  return { ...encoding, messages: true, lengthBytes: 0, event: e => withoutLength(event(e)), error: status => withoutLength(error(status)) }
}

function protobufEncoding(representation: Representation | undefined): WatchEncoding {
  const key = representation === undefined ? 'protobuf' : `protobuf metadata ${representation.apiVersion}`
  return {
    mediaType: PROTOBUF_STREAM,
    lengthBytes: 4,
    event: event => event.encoded(key, e => protobufFrame(e, representation)),
    error: status => watchFrame('ERROR', protobufStatusOf(status)),
  }
}

/** Data items one after the other, which need no separators. */
function cborEncoding(representation: Representation | undefined): WatchEncoding {
  const key = representation === undefined ? 'cbor' : `cbor metadata ${representation.apiVersion}`
  return {
    mediaType: CBOR_SEQUENCE,
    lengthBytes: 0,
    event: event => event.encoded(key, e => cborEvent(e, representation)),
    error: status => cborFrame('ERROR', encodeCbor(status)),
  }
}

function jsonEncoding(representation: Representation | undefined): WatchEncoding {
  return {
    mediaType: 'application/json',
    lengthBytes: 0,
    event: lineEncoder(representation),
    error: status => lineOf('ERROR', Buffer.from(stringifyJson(status))),
  }
}

/** The first event of a table includes the columns, so it is encoded separately. */
function lineEncoder(representation: Representation | undefined): Encoder {
  if (representation === undefined) return event => event.encoded('json', e => lineOf(e.type, e.json))
  if (representation.as !== 'Table') {
    const key = `metadata ${representation.apiVersion}`
    return event => event.encoded(key, e => lineOf(e.type, metadataOnly(e.resource, e.json, representation.apiVersion)))
  }
  const key = `table ${representation.apiVersion} ${representation.includeObject}`
  let columns = true
  return event => {
    const withColumns = columns
    columns = false
    return event.encoded(withColumns ? `${key} columns` : key, e => tableLine(e, representation, withColumns))
  }
}

function tableLine({ type, resource, json }: WatchEvent, { apiVersion, includeObject }: Representation, columns: boolean): Buffer {
  // An annotation marks the end of the initial objects, also for tables without objects.
  const shown = includeObject === 'None' && type === 'BOOKMARK' && Buffer.from(json).includes(INITIAL_END) ? 'Metadata' : includeObject
  const options = { apiVersion, includeObject: shown, columns, now: new Date(wallMs()) }
  return lineOf(type, Buffer.from(tableOf(resource, [json], singleTableMetadata(json), options)))
}

const INITIAL_END = '/initial-events-end":"true"'

const HEADS: Readonly<Record<EventType | 'ERROR', Buffer>> = {
  ADDED: Buffer.from('{"type":"ADDED","object":'),
  MODIFIED: Buffer.from('{"type":"MODIFIED","object":'),
  DELETED: Buffer.from('{"type":"DELETED","object":'),
  BOOKMARK: Buffer.from('{"type":"BOOKMARK","object":'),
  ERROR: Buffer.from('{"type":"ERROR","object":'),
}
const TAIL = Buffer.from('}\n')

const lineOf = (type: EventType | 'ERROR', json: Uint8Array): Buffer => Buffer.concat([HEADS[type], json, TAIL])
