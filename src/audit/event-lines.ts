/**
 * Lines of events that are collected until they are written with one call.
 *
 * Requests of a client are alike: the lines of those for one resource in one namespace differ in their id, their address, the name of the
 * object and their times. Such requests are of one form, which keeps the last line of each stage as a template, as bytes: the next line is
 * made by putting its own texts over those of the last, most of which are as long and stand at the same place, and by copying it as a whole.
 * Templates are few, so that they stay in the caches of the processor, whichever objects are asked for.
 */
import { timestampOf } from '../lib/time.ts'
import type { User } from '../schema/user.ts'
import type { Annotations } from './annotations.ts'
import { isPlain } from './escaped-json.ts'
import { type AuditEvent, type AuditedRequest, eventJson, eventsOf, isCodeAlone, type ObjectReference } from './event.ts'
import type { Level, Stage } from './policy.ts'

const FIRST_BYTES = 64 * 1024
/** More is given back when the lines are written. */
const MAX_KEPT_BYTES = 1024 * 1024
/** A character takes up to three bytes; one that takes four counts as two. */
const MAX_CHARACTER_BYTES = 3

export class EventLines {
  readonly #forms = new Forms()
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0
  /** The last request and object, and their form. */
  #request: AuditedRequest | undefined
  #objectRef: ObjectReference | undefined
  #form: Form | undefined

  get byteLength(): number {
    return this.#length
  }

  /** The lines so far; they hold until more are added. */
  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Adds a line, without its end. */
  add(line: string): void {
    this.#reserve(line.length * MAX_CHARACTER_BYTES + 1)
    this.#length += this.#bytes.write(line, this.#length, 'utf8')
    this.#bytes[this.#length++] = NEWLINE
  }

  /** Adds an event as a line of JSON, after the one that comes with it. */
  addJson(event: AuditEvent): void {
    const line = this.#lineOf(event)
    if (line) this.#append(line)
    else for (const each of eventsOf(event)) this.add(eventJson(each))
  }

  clear(): void {
    this.#length = 0
    // Neither the request nor its bodies are kept.
    this.#request = this.#objectRef = undefined
    if (this.#bytes.byteLength > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  /** A line from a template; undefined where there is none, or a text needs other escapes than those that addresses have. */
  #lineOf(event: AuditEvent): Uint8Array | undefined {
    if (!isUsual(event)) return undefined
    const { request, objectRef } = event
    // Most events come with another of their request, which differs in little.
    if (request !== this.#request || objectRef !== this.#objectRef) {
      this.#request = request
      this.#objectRef = objectRef
      this.#form = this.#forms.of(request, objectRef)
    }
    return this.#form?.of(event)?.lineOf(event)
  }

  #append(line: Uint8Array): void {
    this.#reserve(line.byteLength)
    this.#bytes.set(line, this.#length)
    this.#length += line.byteLength
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.byteLength) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.byteLength))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}

const NEWLINE = 0x0a

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
class Template {
  readonly stage: Stage
  /** The status code; 0 before there is a response. */
  readonly code: number
  readonly annotations: Annotations
  readonly receivedWith: Annotations | undefined
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
    this.stage = event.stage
    this.code = codeOf(event)
    this.annotations = event.annotations
    this.receivedWith = event.receivedWith
    this.#pattern = pattern
  }

  /** The line of an event, which holds until the next; undefined where a text or a time is unusual. */
  lineOf({ request, objectRef, reachedAt }: AuditEvent): Uint8Array | undefined {
    const name = objectRef?.name ?? ''
    if ((request.requestURI !== this.#address || name !== this.#name) && !this.#turnTo(request.requestURI, name)) return undefined
    const line = this.#line
    for (const at of this.#ids) put(line, at, request.auditID)
    return this.#received.put(line, request.receivedAt) && this.#reached.put(line, reachedAt) ? line : undefined
  }

  #turnTo(address: string, name: string): boolean {
    const fits = this.#address !== undefined && address.length === this.#addressLength && name.length === this.#name.length
    // The line is not whole until all are there.
    this.#address = undefined
    const isPut = fits && putPlain(this.#line, this.#addresses, address) && putPlain(this.#line, this.#names, name)
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
const UUID_LENGTH = 36
const EMPTY_ID = ' '.repeat(UUID_LENGTH)
const EMPTY_TIME = '2006-01-02T15:04:05.000000Z'
const SECONDS_LENGTH = '2006-01-02T15:04:05'.length

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
    for (const place of this.#places) putMicros(line, place, micros)
    return true
  }

  #putSecond(line: Uint8Array, second: number): boolean {
    const text = timestampOf(second * 1000)
    if (text.length !== SECONDS_LENGTH + 1) return false
    for (const place of this.#places) put(line, place, text.slice(0, SECONDS_LENGTH))
    this.#second = second
    return true
  }
}

function putMicros(line: Uint8Array, place: number, micros: number): void {
  let rest = micros
  for (let at = place + EMPTY_TIME.length - 2; at > place + SECONDS_LENGTH; at--) {
    const next = Math.trunc(rest / 10)
    line[at] = ZERO + (rest - next * 10)
    rest = next
  }
}

const ZERO = 0x30

/** Puts a text of ASCII there. A loop is faster than calls of the engine for texts of this length. */
function put(line: Uint8Array, at: number, text: string): void {
  for (let i = 0; i < text.length; i++) line[at + i] = text.charCodeAt(i)
}

/** Puts a text at some places up to the first character that has to be escaped; whether there is none. */
function putPlain(line: Uint8Array, places: readonly number[], text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code >= PLAIN_CODES.length || PLAIN_CODES[code] === 0) return false
    for (const place of places) line[place + i] = code
  }
  return true
}

/** 1 for each character of ASCII that stands for itself. */
const PLAIN_CODES = Uint8Array.from({ length: 128 }, (_, code) => Number(isPlain(String.fromCharCode(code))))

const MAX_TEMPLATE_LENGTH = 8000
/** Forms are sorted into sets by a hash, and each set has few. */
const SETS = 256
const MAX_OF_SET = 4
/** A request of one form has few stages and outcomes. */
const MAX_TEMPLATES = 8

/** Requests that are alike: they differ at most in their id, their address, the name of their object and their time. */
class Form {
  readonly #level: Level
  readonly #verb: string
  readonly #user: User | undefined
  readonly #sourceIP: string | undefined
  readonly #userAgent: string
  readonly #objectRef: ObjectReference | undefined
  readonly #hasName: boolean
  readonly #templates: Template[] = []
  #replaced = 0

  constructor({ level, verb, user, sourceIPs, userAgent }: AuditedRequest, objectRef: ObjectReference | undefined) {
    this.#level = level
    this.#verb = verb
    this.#user = user
    this.#sourceIP = sourceIPs[0]
    this.#userAgent = userAgent
    this.#objectRef = objectRef
    this.#hasName = Boolean(objectRef?.name)
  }

  /** The template for events of such a request; undefined where it cannot have one. */
  of(event: AuditEvent): Template | undefined {
    const code = codeOf(event)
    for (const template of this.#templates) if (hasOutcome(template, event, code)) return template
    const template = templateOf(event)
    if (!template) return undefined
    if (this.#templates.length < MAX_TEMPLATES) this.#templates.push(template)
    else this.#templates[this.#replaced++ % MAX_TEMPLATES] = template
    return template
  }

  includes(request: AuditedRequest, objectRef: ObjectReference | undefined): boolean {
    return (
      this.#user === request.user &&
      this.#level === request.level &&
      this.#verb === request.verb &&
      this.#sourceIP === request.sourceIPs[0] &&
      this.#userAgent === request.userAgent &&
      this.#refersAs(objectRef)
    )
  }

  /** Whether references differ at most in the name. */
  #refersAs(other: ObjectReference | undefined): boolean {
    const known = this.#objectRef
    if (!known || !other) return known === other
    return (
      known.resource === other.resource &&
      known.namespace === other.namespace &&
      known.apiGroup === other.apiGroup &&
      known.apiVersion === other.apiVersion &&
      known.subresource === other.subresource &&
      this.#hasName === Boolean(other.name)
    )
  }
}

class Forms {
  readonly #sets: Form[][] = Array.from({ length: SETS }, () => [])
  /** The hash of the last request of a set without a form: one is made for the second, as many requests do not come again. */
  readonly #seen = new Int32Array(SETS)
  #replaced = 0

  /** The form of a request about an object, if there is one. */
  of(request: AuditedRequest, objectRef: ObjectReference | undefined): Form | undefined {
    const hash = hashOf(request, objectRef)
    const index = hash & (SETS - 1)
    const set = this.#sets[index]!
    for (const form of set) if (form.includes(request, objectRef)) return form
    if (this.#seen[index] === hash) return this.#add(set, new Form(request, objectRef))
    this.#seen[index] = hash
    return undefined
  }

  #add(set: Form[], form: Form): Form {
    if (set.length < MAX_OF_SET) set.push(form)
    else set[this.#replaced++ % MAX_OF_SET] = form
    return form
  }
}

/** Whether everything that neither a form nor a template compares is absent. */
const isUsual = ({ request, impersonated, objectRef, responseStatus, requestObject, responseObject }: AuditEvent): boolean =>
  request.auditID.length === UUID_LENGTH &&
  impersonated === undefined &&
  request.sourceIPs.length < 2 &&
  !objectRef?.uid &&
  !objectRef?.resourceVersion &&
  (responseStatus === undefined || isCodeAlone(responseStatus)) &&
  requestObject === undefined &&
  responseObject === undefined

const hasOutcome = (template: Template, { stage, annotations, receivedWith }: AuditEvent, code: number): boolean =>
  template.stage === stage && template.code === code && template.annotations === annotations && template.receivedWith === receivedWith

const codeOf = ({ responseStatus }: AuditEvent): number => responseStatus?.code ?? 0

/** A hash of lengths and a few characters: it has to be cheap, and most forms of a server differ in them. */
function hashOf({ verb, user, userAgent }: AuditedRequest, objectRef: ObjectReference | undefined): number {
  let hash = ends(verb)
  hash = Math.imul(hash, 31) + (user === undefined ? 0 : ends(user.name))
  hash = Math.imul(hash, 31) + ends(userAgent)
  if (objectRef) hash = Math.imul(Math.imul(hash, 31) + ends(objectRef.resource ?? ''), 31) + ends(objectRef.namespace ?? '')
  return hash ^ (hash >>> 8) ^ (hash >>> 16)
}

/** A number for the length, the first and the last character. */
const ends = (text: string): number =>
  text === '' ? 0 : text.length + Math.imul(text.charCodeAt(0), 7) + Math.imul(text.charCodeAt(text.length - 1), 131)

/** Both times of a line. Quotes within texts are escaped, so that the first such text is the name of the field. */
const TIMES = /("requestReceivedTimestamp":")[^"]*(".*?"stageTimestamp":")[^"]*/

function templateOf(event: AuditEvent): Template | undefined {
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
  return new Template(event, pattern)
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length
