/**
 * Lines of events that are collected as bytes, until they are written with one call.
 *
 * Most clients send the same requests again and again: they poll, renew leases and update statuses. The lines of such requests differ in
 * their id and their times, which are always as long. So a line that came before is copied, and those three are put into the copy; nothing
 * is joined, encoded or left to be collected as garbage.
 */
import { formatTime, type Instant } from '../lib/time.ts'
import type { User } from '../schema/user.ts'
import type { Annotations } from './annotations.ts'
import { type AuditEvent, eventJson, isCodeAlone } from './event.ts'
import type { Level, Stage } from './policy.ts'

const FIRST_BYTES = 64 * 1024
/** More is given back when the lines are written. */
const MAX_KEPT_BYTES = 1024 * 1024
/** A character takes up to three bytes; one that takes four counts as two. */
const MAX_CHARACTER_BYTES = 3

export class EventLines {
  readonly #known = new KnownRequests()
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0
  /** A second and its text: almost all times are of the same one as the time before. */
  #second = Number.NaN
  readonly #secondText = new Uint8Array(SECOND.length)

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

  /** Adds an event as a line of JSON. */
  addJson(event: AuditEvent): void {
    const areUsual = this.#isUsual(event.requestReceivedTimestamp) && this.#isUsual(event.stageTimestamp)
    const line = areUsual ? this.#known.lineOf(event) : undefined
    if (line) this.#addLike(line, event)
    else this.add(eventJson(event))
  }

  clear(): void {
    this.#length = 0
    if (this.#bytes.byteLength > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  #addLike({ bytes, idAt, receivedAt, reachedAt }: KnownLine, event: AuditEvent): void {
    this.#reserve(bytes.byteLength)
    const start = this.#length
    this.#bytes.set(bytes, start)
    this.#bytes.write(event.auditID, start + idAt, 'latin1')
    this.#putTime(event.requestReceivedTimestamp, start + receivedAt)
    this.#putTime(event.stageTimestamp, start + reachedAt)
    this.#length = start + bytes.byteLength
  }

  /** Whether the time has the usual length: its year has four digits. Then its second is ready to be put. */
  #isUsual(instant: Instant): boolean {
    if (instant.seconds === this.#second) return true
    const text = formatTime(instant)
    if (text.length !== SECOND.length) return false
    this.#second = instant.seconds
    for (let i = 0; i < SECOND.length - 1; i++) this.#secondText[i] = text.charCodeAt(i)
    return true
  }

  #putTime(instant: Instant, at: number): void {
    if (instant.seconds !== this.#second) this.#isUsual(instant)
    const bytes = this.#bytes
    const second = this.#secondText
    for (let i = 0; i < SECOND.length - 1; i++) bytes[at + i] = second[i]!
    let micros = Math.floor(instant.nanos / 1000)
    for (let i = MICROS_END; i > MICROS_END - 6; i--) {
      const rest = Math.floor(micros / 10)
      bytes[at + i] = ZERO + micros - rest * 10
      micros = rest
    }
  }

  #reserve(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.byteLength) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.byteLength))
    larger.set(this.bytes)
    this.#bytes = larger
  }
}

const NEWLINE = 0x0a
const ZERO = 0x30
const SECOND = '2006-01-02T15:04:05Z'
const MICROS_END = '2006-01-02T15:04:05.00000'.length

/** A line that came before. */
type KnownLine = {
  readonly level: Level
  readonly stage: Stage
  /** The status code; 0 before there is a response. */
  readonly code: number
  readonly annotations: Annotations
  readonly bytes: Uint8Array
  /** The positions of its id and its times. */
  readonly idAt: number
  readonly receivedAt: number
  readonly reachedAt: number
}

/** A request that came before, except its address, by which it is found. */
type KnownRequest = {
  readonly verb: string
  readonly user: User | undefined
  readonly sourceIP: string | undefined
  readonly userAgent: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  /** Events about it. Lines of the first request are not kept, as many do not come again. */
  seen: number
  readonly lines: KnownLine[]
}

const MAX_REQUESTS = 2000
const MAX_LINES = 4
const MAX_LINE_BYTES = 2000
/** The events of one request. */
const SEEN_ONCE = 2
const UUID_LENGTH = 36

class KnownRequests {
  readonly #byAddress = new Map<string, KnownRequest>()

  /** A line like that of the event, if there is one. The times of the event have the usual length. */
  lineOf(event: AuditEvent): KnownLine | undefined {
    if (!isUsual(event)) return undefined
    const { verb, user, sourceIPs, userAgent, objectRef } = event
    const found = this.#byAddress.get(event.requestURI)
    const isKnown = found?.verb === verb && found.user === user && found.sourceIP === sourceIPs[0] && found.userAgent === userAgent
    if (!isKnown) return void this.#remember(event)
    // A create names its object later.
    if (found.namespace !== objectRef?.namespace || found.name !== objectRef?.name) return undefined
    if (found.seen < SEEN_ONCE) return void found.seen++
    return likeLine(found.lines, event) ?? newLine(found.lines, event)
  }

  #remember({ requestURI, verb, user, sourceIPs, userAgent, objectRef }: AuditEvent): void {
    if (requestURI.length > MAX_LINE_BYTES) return
    if (this.#byAddress.size >= MAX_REQUESTS) this.#byAddress.clear()
    const { namespace, name } = objectRef ?? {}
    this.#byAddress.set(requestURI, { verb, user, sourceIP: sourceIPs[0], userAgent, namespace, name, seen: 1, lines: [] })
  }
}

/** Whether everything that is not compared is absent. Ids have no character that JSON escapes (`http/exchange.ts`): a length is enough. */
const isUsual = ({ auditID, impersonatedUser, sourceIPs, objectRef, responseStatus, requestObject, responseObject }: AuditEvent): boolean =>
  auditID.length === UUID_LENGTH &&
  impersonatedUser === undefined &&
  sourceIPs.length < 2 &&
  !objectRef?.uid &&
  !objectRef?.resourceVersion &&
  (responseStatus === undefined || isCodeAlone(responseStatus)) &&
  requestObject === undefined &&
  responseObject === undefined

const codeOf = ({ responseStatus }: AuditEvent): number => responseStatus?.code ?? 0

function likeLine(lines: readonly KnownLine[], event: AuditEvent): KnownLine | undefined {
  const { level, stage, annotations } = event
  const code = codeOf(event)
  for (const line of lines)
    if (line.stage === stage && line.code === code && line.level === level && line.annotations === annotations) return line
  return undefined
}

function newLine(lines: KnownLine[], event: AuditEvent): KnownLine | undefined {
  const bytes = Buffer.from(`${eventJson(event)}\n`)
  if (bytes.byteLength > MAX_LINE_BYTES) return undefined
  const { level, stage, annotations } = event
  // Quotes within texts are escaped, so that the first such text is the name of the field.
  const after = (name: string) => bytes.indexOf(name) + name.length
  const line = {
    ...{ level, stage, code: codeOf(event), annotations, bytes },
    idAt: after('"auditID":"'),
    receivedAt: after('"requestReceivedTimestamp":"'),
    reachedAt: after('"stageTimestamp":"'),
  }
  if (lines.length >= MAX_LINES) lines.length = 0
  lines.push(line)
  return line
}
