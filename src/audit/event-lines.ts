/**
 * Lines of events that are collected until they are written with one call.
 *
 * Requests of a client are alike: the lines of those for one resource in one namespace differ in their id, their address, the name of the
 * object and their times. So the texts around those are kept as a template, and a line is joined from a few parts. Templates are few, so that
 * they stay in the caches of the processor, whichever objects are asked for. Lines are encoded when they are written, all at once.
 */
import { formatMicroTime } from '../lib/time.ts'
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
  /** Lines of ASCII that follow the bytes; they are encoded with one call. */
  #text = ''

  get byteLength(): number {
    return this.#length + this.#text.length
  }

  /** The lines so far; they hold until more are added. */
  get bytes(): Uint8Array {
    this.#encode()
    return this.#bytes.subarray(0, this.#length)
  }

  /** Adds a line, without its end. */
  add(line: string): void {
    this.#encode()
    this.#reserve(line.length * MAX_CHARACTER_BYTES + 1)
    this.#length += this.#bytes.write(line, this.#length, 'utf8')
    this.#bytes[this.#length++] = NEWLINE
  }

  /** Adds an event as a line of JSON. */
  addJson(event: AuditEvent): void {
    const line = this.#lineOf(event)
    if (line === undefined) this.add(eventJson(event))
    else this.#text += line
  }

  clear(): void {
    this.#length = 0
    this.#text = ''
    if (this.#bytes.byteLength > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  /** A line from a template; undefined where there is none, or a text needs other escapes than those that addresses have. */
  #lineOf(event: AuditEvent): string | undefined {
    const template = this.#templates.of(event)
    if (!template) return undefined
    const name = event.objectRef?.name ?? ''
    const address = escapedAddress(event.requestURI)
    if (address === undefined || !isPlain(name)) return undefined
    const received = formatMicroTime(event.requestReceivedTimestamp)
    const reached = event.stageTimestamp === event.requestReceivedTimestamp ? received : formatMicroTime(event.stageTimestamp)
    const { beforeId, beforeAddress, beforeName, beforeReceived, beforeReached, rest } = template
    return `${beforeId}${event.auditID}${beforeAddress}${address}${beforeName}${name}${beforeReceived}${received}${beforeReached}${reached}${rest}`
  }

  #encode(): void {
    const text = this.#text
    if (text === '') return
    this.#text = ''
    this.#reserve(text.length)
    this.#length += this.#bytes.write(text, this.#length, 'latin1')
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

/** The parts of a line around its id, its address, the name of its object and its times, all of ASCII. */
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
  readonly beforeId: string
  readonly beforeAddress: string
  /** Empty, as the name, where the object has none. */
  readonly beforeName: string
  readonly beforeReceived: string
  readonly beforeReached: string
  readonly rest: string
}

const MAX_TEMPLATE_LENGTH = 4000
const UUID_LENGTH = 36
/** Templates are sorted into sets by a hash, and each set has few. */
const SETS = 256
const MAX_OF_SET = 4

class Templates {
  readonly #sets: Template[][] = Array.from({ length: SETS }, () => [])
  /** The hash of the last event of a set without a template: one is made for the second, as many events do not come again. */
  readonly #seen = new Int32Array(SETS)
  #replaced = 0

  /** The template for an event, if there is one. */
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
const TIMES = ['"requestReceivedTimestamp":"', '"stageTimestamp":"'] as const

function templateOf(event: AuditEvent): Template | undefined {
  const { level, stage, verb, user, sourceIPs, userAgent, objectRef, annotations } = event
  const hasName = Boolean(objectRef?.name)
  const json = eventJson({
    ...event,
    auditID: MARK,
    requestURI: MARK,
    ...(hasName && { objectRef: { ...objectRef, name: MARK } }),
  })
  const parts = `${json}\n`.split(MARK)
  // There are more where another text has the mark as well.
  if (parts.length !== (hasName ? 4 : 3) || json.length > MAX_TEMPLATE_LENGTH || !parts.every(isAscii)) return undefined
  const [beforeId, beforeAddress, third, fourth] = parts as [string, string, string, string | undefined]
  const [beforeName, last] = fourth === undefined ? ['', third] : [third, fourth]
  // Quotes within texts are escaped, so that the first such text is the name of the field.
  const [receivedAt, reachedAt] = TIMES.map(name => last.indexOf(name) + name.length) as [number, number]
  const afterTime = (at: number) => last.indexOf('"', at)
  return {
    ...{ level, stage, verb, user, sourceIP: sourceIPs[0], userAgent, objectRef, hasName, code: codeOf(event), annotations },
    ...{ beforeId, beforeAddress, beforeName },
    beforeReceived: last.slice(0, receivedAt),
    beforeReached: last.slice(afterTime(receivedAt), reachedAt),
    rest: last.slice(afterTime(reachedAt)),
  }
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length
