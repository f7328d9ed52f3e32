/**
 * Lines of events that are collected as bytes, until they are written with one call.
 *
 * Requests of a client are alike: the lines of those for one resource in one namespace differ in their id, their address, the name of the
 * object and their times. So the bytes around those are kept as a template, and a line is copied from it; nothing is joined, encoded or left
 * to be collected as garbage. Templates are few, so that they stay in the caches of the processor, whichever objects are asked for.
 */
import { formatTime, type Instant } from '../lib/time.ts'
import type { User } from '../schema/user.ts'
import type { Annotations } from './annotations.ts'
import { isPlain } from './escaped-json.ts'
import { type AuditEvent, eventJson, isCodeAlone, type ObjectReference } from './event.ts'
import type { Level, Stage } from './policy.ts'

const FIRST_BYTES = 64 * 1024
/** More is given back when the lines are written. */
const MAX_KEPT_BYTES = 1024 * 1024
/** A character takes up to three bytes; one that takes four counts as two. */
const MAX_CHARACTER_BYTES = 3

export class EventLines {
  readonly #templates = new Templates()
  #bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #length = 0

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
    const areUsual = isUsualTime(event.requestReceivedTimestamp) && isUsualTime(event.stageTimestamp)
    const template = areUsual ? this.#templates.of(event) : undefined
    if (!template || !this.#addFrom(template, event)) this.add(eventJson(event))
  }

  clear(): void {
    this.#length = 0
    if (this.#bytes.byteLength > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  /** False, with nothing added, where a text needs other escapes than those that addresses have. */
  #addFrom(template: Template, { auditID, requestURI, objectRef, requestReceivedTimestamp, stageTimestamp }: AuditEvent): boolean {
    const name = objectRef?.name ?? ''
    const address = escapedAddress(requestURI)
    if (address === undefined || !isPlain(name)) return false
    this.#reserve(MAX_TEMPLATE_BYTES + auditID.length + address.length + name.length)
    this.#put(template.beforeId)
    this.#putText(auditID)
    this.#put(template.beforeAddress)
    this.#putText(address)
    this.#put(template.beforeName)
    this.#putText(name)
    const { receivedAt, reachedAt } = template
    if (template.second !== requestReceivedTimestamp.seconds) renew(template, requestReceivedTimestamp)
    const start = this.#length
    this.#put(template.rest)
    this.#putMicros(requestReceivedTimestamp, start + receivedAt)
    if (template.second !== stageTimestamp.seconds) this.#bytes.write(formatTime(stageTimestamp).slice(0, -1), start + reachedAt, 'latin1')
    this.#putMicros(stageTimestamp, start + reachedAt)
    return true
  }

  #put(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.byteLength
  }

  #putText(ascii: string): void {
    this.#length += this.#bytes.write(ascii, this.#length, 'latin1')
  }

  #putMicros({ nanos }: Instant, at: number): void {
    const bytes = this.#bytes
    let micros = Math.trunc(nanos / 1000)
    for (let i = at + MICROS_END; i > at + MICROS_END - 6; i--) {
      const rest = Math.trunc(micros / 10)
      bytes[i] = ZERO + micros - rest * 10
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

/** Whether the time has the usual length: its year has four digits. */
const isUsualTime = (instant: Instant): boolean => formatTime(instant).length === SECOND.length

/** An address as it is in JSON, where nothing but the `&` of its query has to be escaped. */
function escapedAddress(address: string): string | undefined {
  if (isPlain(address)) return address
  return isPlain(address.replaceAll('&', '')) ? address.replaceAll('&', '\\u0026') : undefined
}

/** The bytes of a line around its id, its address, the name of its object and its times. */
type Template = {
  readonly level: Level
  readonly stage: Stage
  readonly verb: string
  readonly user: User | undefined
  readonly sourceIP: string | undefined
  readonly userAgent: string
  /** Its name is not compared. */
  readonly objectRef: ObjectReference | undefined
  readonly hasName: boolean
  /** The status code; 0 before there is a response. */
  readonly code: number
  readonly annotations: Annotations
  readonly beforeId: Uint8Array
  readonly beforeAddress: Uint8Array
  readonly beforeName: Uint8Array
  readonly rest: Buffer
  /** The second that both times in the rest have, up to their fraction: it is that of almost all events. */
  second: number
  /** The positions of the times. */
  readonly receivedAt: number
  readonly reachedAt: number
}

const MAX_TEMPLATE_BYTES = 4000
const UUID_LENGTH = 36
/** Templates are sorted into sets by a hash, and each set has few. */
const SETS = 256
const MAX_OF_SET = 4

class Templates {
  readonly #sets: Template[][] = Array.from({ length: SETS }, () => [])
  /** The hash of the last event of a set without a template: one is made for the second, as many events do not come again. */
  readonly #seen = new Int32Array(SETS)
  #replaced = 0

  /** The template for an event whose times have the usual length, if there is one. */
  of(event: AuditEvent): Template | undefined {
    if (!isUsual(event)) return undefined
    const hash = hashOf(event)
    const index = hash & (SETS - 1)
    const set = this.#sets[index]!
    for (const template of set) if (isFor(template, event)) return template
    if (this.#seen[index] === hash) return this.#add(set, event)
    this.#seen[index] = hash
    return undefined
  }

  #add(set: Template[], event: AuditEvent): Template | undefined {
    const template = templateOf(event)
    if (!template) return undefined
    if (set.length < MAX_OF_SET) set.push(template)
    else set[this.#replaced++ % MAX_OF_SET] = template
    return template
  }
}

/** Whether everything that a template does not compare is absent. */
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

/** A hash of lengths and a few characters: it has to be cheap, and most events of a server differ in them. */
function hashOf(event: AuditEvent): number {
  const { stage, verb, user, userAgent, objectRef } = event
  let hash = stage.length * 31 + codeOf(event)
  hash = Math.imul(hash, 31) + ends(verb)
  hash = Math.imul(hash, 31) + (user === undefined ? 0 : ends(user.name))
  hash = Math.imul(hash, 31) + ends(userAgent)
  if (objectRef) hash = Math.imul(Math.imul(hash, 31) + ends(objectRef.resource ?? ''), 31) + ends(objectRef.namespace ?? '')
  return hash ^ (hash >>> 8) ^ (hash >>> 16)
}

/** A number for the length, the first and the last character. */
const ends = (text: string): number =>
  text === '' ? 0 : text.length + Math.imul(text.charCodeAt(0), 7) + Math.imul(text.charCodeAt(text.length - 1), 131)

function isFor(template: Template, event: AuditEvent): boolean {
  return (
    template.stage === event.stage &&
    template.code === codeOf(event) &&
    template.user === event.user &&
    template.annotations === event.annotations &&
    template.level === event.level &&
    template.verb === event.verb &&
    template.sourceIP === event.sourceIPs[0] &&
    template.userAgent === event.userAgent &&
    areAlike(template, event.objectRef)
  )
}

/** Whether references differ at most in the name. */
function areAlike({ objectRef: known, hasName }: Template, other: ObjectReference | undefined): boolean {
  if (!known || !other) return known === other
  return (
    known.resource === other.resource &&
    known.namespace === other.namespace &&
    known.apiGroup === other.apiGroup &&
    known.apiVersion === other.apiVersion &&
    known.subresource === other.subresource &&
    hasName === Boolean(other.name)
  )
}

/** Stands for a text that is replaced. */
const MARK = '\ue000'

function templateOf(event: AuditEvent): Template | undefined {
  const { level, stage, verb, user, sourceIPs, userAgent, objectRef, annotations } = event
  const hasName = Boolean(objectRef?.name)
  const json = eventJson({
    ...event,
    auditID: MARK,
    requestURI: MARK,
    ...(hasName && { objectRef: { ...objectRef, name: MARK } }),
  })
  const parts = `${json}\n`.split(MARK).map(part => Buffer.from(part))
  // There are more where another text has the mark as well.
  if (parts.length !== (hasName ? 4 : 3) || Buffer.byteLength(json) > MAX_TEMPLATE_BYTES) return undefined
  const [beforeId, beforeAddress, third, last] = parts as [Buffer, Buffer, Buffer, Buffer | undefined]
  const [beforeName, rest] = last ? [third, last] : [NOTHING, third]
  // Quotes within texts are escaped, so that the first such text is the name of the field.
  const after = (name: string) => rest.indexOf(name) + name.length
  return {
    ...{ level, stage, verb, user, sourceIP: sourceIPs[0], userAgent, objectRef, hasName, code: codeOf(event), annotations },
    ...{ beforeId, beforeAddress, beforeName, rest, second: Number.NaN },
    receivedAt: after('"requestReceivedTimestamp":"'),
    reachedAt: after('"stageTimestamp":"'),
  }
}

const NOTHING = new Uint8Array(0)

/** Puts another second into a template. */
function renew(template: Template, instant: Instant): void {
  const { rest, receivedAt, reachedAt } = template
  const text = formatTime(instant).slice(0, -1)
  for (const at of [receivedAt, reachedAt]) rest.write(text, at, 'latin1')
  template.second = instant.seconds
}
