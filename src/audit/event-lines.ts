/**
 * Lines of events that are collected until they are written with one call.
 *
 * Requests of a client are alike: the lines of those for one resource in one namespace differ in their id, their address, the name of the
 * object and their times. Such requests are of one form, which has a template for each stage and outcome (`line-template.ts`). Templates
 * are few, so that they stay in the caches of the processor, whichever objects are asked for.
 */
import type { User } from '../schema/user.ts'
import { type AuditEvent, type AuditedRequest, eventJson, eventsOf, isCodeAlone, type ObjectReference } from './event.ts'
import { type LineTemplate, templateOf, UUID_LENGTH } from './line-template.ts'
import type { Level } from './policy.ts'

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
      if (!this.#form?.includes(request, objectRef)) this.#form = this.#forms.of(request, objectRef)
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
  readonly #templates: LineTemplate[] = []
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
  of(event: AuditEvent): LineTemplate | undefined {
    for (const template of this.#templates) if (template.isFor(event)) return template
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
