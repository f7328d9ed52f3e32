/**
 * The last line of audit events of one kind, as bytes. The next line is made by putting its own texts over those of the last, most of which
 * are as long and stand at the same place; then it is copied as a whole.
 */
import { timestampOf } from '../lib/time.ts'
import type { Annotations } from './annotations.ts'
import { isPlain } from './escaped-json.ts'
import { type AuditEvent, eventJson, eventsOf } from './event.ts'
import type { Stage } from './policy.ts'

const MAX_TEMPLATE_LENGTH = 8000
/** An address as it is in JSON, where nothing but the `&` of its query has to be escaped. */
function escapedAddress(address: string): string | undefined {
  if (isPlain(address)) return address
  return isPlain(address.replaceAll('&', '')) ? address.replaceAll('&', '\\u0026') : undefined
}

/** Texts of a line that differ from request to request: they stand where a character of their own stands in its pattern. */
const MARKS = { id: '\ue000', address: '\ue001', name: '\ue002', received: '\ue003', reached: '\ue004' } as const
type Slot = keyof typeof MARKS
const ANY_MARK = /([\ue000-\ue004])/

/** The last line of its kind, over which the next one is put. An event that comes with another has two lines, which are one here. */
export class LineTemplate {
  readonly #stage: Stage
  /** The status code; 0 before there is a response. */
  readonly #code: number
  readonly #annotations: Annotations
  readonly #receivedWith: Annotations | undefined
  /** Constant texts, with a mark between two of them. */
  readonly #pattern: readonly string[]
  #line = NO_LINE
  /** The texts that the line has, no address where it is not whole; the address may be longer in the line. */
  #address: string | undefined
  #addressLength = 0
  #name = ''
  #ids: readonly number[] = []
  #addresses: readonly number[] = []
  #names: readonly number[] = []
  readonly #received = new TimeInLine()
  readonly #reached = new TimeInLine()

  constructor(event: AuditEvent, pattern: readonly string[]) {
    this.#stage = event.stage
    this.#code = codeOf(event)
    this.#annotations = event.annotations
    this.#receivedWith = event.receivedWith
    this.#pattern = pattern
  }

  /** Whether it has the line of an event, which must be of a request of the same form. */
  isFor(event: AuditEvent): boolean {
    return (
      this.#stage === event.stage &&
      this.#code === codeOf(event) &&
      this.#annotations === event.annotations &&
      this.#receivedWith === event.receivedWith
    )
  }

  /** The line of an event, which holds until the next; undefined where a text or a time is unusual. */
  lineOf({ request, objectRef, reachedAt }: AuditEvent): Uint8Array | undefined {
    const name = objectRef?.name ?? ''
    if ((request.requestURI !== this.#address || name !== this.#name) && !this.#turnTo(request.requestURI, name)) return undefined
    const line = this.#line
    if (!putEverywhere(line, this.#ids, request.auditID)) return undefined
    return this.#received.put(line, request.receivedAt) && this.#reached.put(line, reachedAt) ? line : undefined
  }

  #turnTo(address: string, name: string): boolean {
    const fits = this.#address !== undefined && address.length === this.#addressLength && name.length === this.#name.length
    // The line is not whole until all are there.
    this.#address = undefined
    const isPut = fits && putEverywhere(this.#line, this.#addresses, address) && putEverywhere(this.#line, this.#names, name)
    if (!isPut && !this.#make(address, name)) return false
    this.#address = address
    this.#name = name
    return true
  }

  /** Makes the line anew, with room for its id and its times. */
  #make(address: string, name: string): boolean {
    const escaped = isPlain(name) ? escapedAddress(address) : undefined
    if (escaped === undefined) return false
    const texts: Readonly<Record<Slot, string>> = { id: EMPTY_ID, address: escaped, name, received: EMPTY_TIME, reached: EMPTY_TIME }
    const places: Record<Slot, number[]> = { id: [], address: [], name: [], received: [], reached: [] }
    let text = ''
    for (const piece of this.#pattern) {
      const slot = SLOTS.find(each => MARKS[each] === piece)
      if (slot) places[slot].push(text.length)
      text += slot ? texts[slot] : piece
    }
    this.#ids = places.id
    this.#addresses = places.address
    this.#names = places.name
    this.#received.places = places.received
    this.#reached.places = places.reached
    this.#addressLength = escaped.length
    this.#line = Buffer.from(text, 'latin1')
    return true
  }
}

const SLOTS = Object.keys(MARKS) as Slot[]
const NO_LINE = new Uint8Array(0)
/** The length of an id for which lines have room. */
export const UUID_LENGTH = 36
const EMPTY_ID = ' '.repeat(UUID_LENGTH)
const EMPTY_TIME = '2006-01-02T15:04:05.000000Z'
const SECONDS_LENGTH = '2006-01-02T15:04:05'.length
const MICROS_LENGTH = '000000'.length

/** A time in microseconds at some places of a line. It mostly is of the same second as the last. */
class TimeInLine {
  #places: readonly number[] = []
  #second = Number.NaN

  set places(places: readonly number[]) {
    this.#places = places
    this.#second = Number.NaN
  }

  /** Puts a time there, in milliseconds since the epoch. False for one that takes more characters. */
  put(line: Uint8Array, time: number): boolean {
    const second = Math.floor(time / 1000)
    const micros = Math.floor(Math.round((time - second * 1000) * 1e6) / 1000)
    if (micros >= 1_000_000 || (second !== this.#second && !this.#putSecond(line, second))) return false
    putMicros(line, this.#places, micros)
    return true
  }

  #putSecond(line: Uint8Array, second: number): boolean {
    const text = timestampOf(second * 1000)
    if (text.length !== SECONDS_LENGTH + 1) return false
    putEverywhere(line, this.#places, text.slice(0, SECONDS_LENGTH))
    this.#second = second
    return true
  }
}

function putMicros(line: Uint8Array, places: readonly number[], micros: number): void {
  let rest = micros | 0
  const first = places[0]! + SECONDS_LENGTH + 1
  for (let at = first + MICROS_LENGTH - 1; at >= first; at--) {
    const next = (rest / 10) | 0
    line[at] = ZERO + rest - next * 10
    rest = next
  }
  for (let i = 1; i < places.length; i++) copy(line, { from: first, to: places[i]! + SECONDS_LENGTH + 1, length: MICROS_LENGTH })
}

const ZERO = 0x30

/**
 * Puts a text at some places, up to its first character that has to be escaped; whether there is none. Loops are faster than calls of the
 * engine for texts of this length, and bytes are read faster than characters.
 */
function putEverywhere(line: Uint8Array, places: readonly number[], text: string): boolean {
  const { length } = text
  if (places.length === 0) return true
  const first = places[0]!
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code >= PLAIN_CODES.length || PLAIN_CODES[code] === 0) return false
    line[first + i] = code
  }
  for (let i = 1; i < places.length; i++) copy(line, { from: first, to: places[i]!, length })
  return true
}

function copy(line: Uint8Array, { from, to, length }: { readonly from: number; readonly to: number; readonly length: number }): void {
  for (let i = 0; i < length; i++) line[to + i] = line[from + i]!
}

/** 1 for each character of ASCII that stands for itself. */
const PLAIN_CODES = Uint8Array.from({ length: 128 }, (_, code) => Number(isPlain(String.fromCharCode(code))))

const codeOf = ({ responseStatus }: AuditEvent): number => responseStatus?.code ?? 0

/** Both times of a line. Quotes within texts are escaped, so that the first such text is the name of the field. */
const TIMES = /("requestReceivedTimestamp":")[^"]*(".*?"stageTimestamp":")[^"]*/

/** The template for events like this one; undefined where a constant text is not of ASCII or too long. */
export function templateOf(event: AuditEvent): LineTemplate | undefined {
  const { request, objectRef } = event
  const hasName = Boolean(objectRef?.name)
  const { level, verb, user, sourceIPs, userAgent, receivedAt } = request
  const lines = eventsOf({
    ...event,
    request: { level, verb, user, sourceIPs, userAgent, receivedAt, auditID: MARKS.id, requestURI: MARKS.address },
    ...(hasName && { objectRef: { ...objectRef, name: MARKS.name } }),
  }).map((each, i, all) => {
    // Where it comes with another event, the stage was reached when the request was received.
    const reached = i === all.length - 1 ? MARKS.reached : MARKS.received
    return `${eventJson(each).replace(TIMES, `$1${MARKS.received}$2${reached}`)}\n`
  })
  const pattern = lines.join('').split(ANY_MARK)
  const constant = pattern.filter((_, i) => i % 2 === 0)
  // There are more where another text has a mark as well.
  const marks = lines.length * (hasName ? 5 : 4)
  if (pattern.length !== 2 * marks + 1 || pattern.join('').length > MAX_TEMPLATE_LENGTH || !constant.every(isAscii)) return undefined
  return new LineTemplate(event, pattern)
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length
