/** The audit of one request: everything known about it so far, written to the sink at each stage. */
import { parseJson, stringifyJson } from '../codec/json.ts'
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import type { Stopwatch } from '../lib/stopwatch.ts'
import type { Attributes } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import { Annotations } from './annotations.ts'
import { type AuditEvent, type AuditedRequest, eventsOf, type Impersonated, type ObjectReference, type ResponseStatus } from './event.ts'
import { LEVELS, type Level, type RequestRule, type Stage } from './policy.ts'
import type { AuditSink } from './sink.ts'

/** The facts about a request that its first line, its headers and its sender give. */
export type RequestFacts = Omit<AuditedRequest, 'level' | 'verb' | 'receivedAt'> & {
  /** Started when it was received. */
  readonly stopwatch: Pick<Stopwatch, 'began' | 'total'>
}

/** Takes the body of a request. */
export type SentBody = { object(object: Referred, json: () => string): void; other(json: () => string): void }

/** The fields of an object by which an event refers to it. */
export type Referred = {
  readonly metadata?: { readonly namespace?: string; readonly name?: string; readonly uid?: string; readonly resourceVersion?: string }
}

export class RequestAudit implements AuditedRequest {
  readonly level: Level
  readonly auditID: string
  readonly requestURI: string
  readonly verb: string
  readonly user: User | undefined
  readonly sourceIPs: readonly string[]
  readonly userAgent: string
  readonly receivedAt: number
  readonly #stopwatch: RequestFacts['stopwatch']
  readonly #rule: RequestRule
  readonly #sink: AuditSink
  #annotations = Annotations.NONE
  #objectRef: ObjectReference | undefined
  #impersonated: Impersonated | undefined
  #status: ResponseStatus | undefined
  #requestObject: string | undefined
  #responseObject: string | undefined
  /** The annotations of the event of RequestReceived, which is written with the next. */
  #receivedWith: Annotations | undefined

  constructor(
    facts: RequestFacts,
    { verb, resource }: Attributes,
    { rule, receivedAt, sink }: { readonly rule: RequestRule; readonly receivedAt: number; readonly sink: AuditSink },
  ) {
    this.level = rule.level
    this.auditID = facts.auditID
    this.requestURI = facts.requestURI
    this.verb = verb
    this.user = facts.user
    this.sourceIPs = facts.sourceIPs
    this.userAgent = facts.userAgent
    this.receivedAt = receivedAt
    this.#stopwatch = facts.stopwatch
    this.#rule = rule
    this.#sink = sink
    this.#objectRef = resource && {
      resource: resource.plural,
      namespace: resource.namespace,
      name: resource.name,
      apiGroup: resource.group,
      apiVersion: resource.version,
      subresource: resource.subresource,
    }
  }

  /** Whether the request is recorded at a level that includes another. */
  includes(level: Level): boolean {
    return level === 'Metadata' || LEVELS.indexOf(this.level) >= LEVELS.indexOf(level)
  }

  /** Adds an annotation; the first value of a key stays. */
  annotate(key: string, value: string, level: Level = 'Metadata'): void {
    if (this.includes(level)) this.#annotations = this.#annotations.with(key, value)
  }

  /** The user as whom the request goes on, and the verb by which that was allowed if it was constrained. */
  impersonates(user: User, constraint: string | undefined): void {
    this.#impersonated = { user, constraint }
  }

  /** Takes the body of the request. An object completes the reference; bodies are recorded from the level Request on. */
  get sent(): SentBody {
    return {
      object: (object, json) => {
        this.#refer(object)
        if (this.includes('Request')) this.#requestObject = this.#withoutManagers(json())
      },
      other: json => {
        if (this.includes('Request')) this.#requestObject = json()
      },
    }
  }

  #refer({ metadata: { namespace, name, uid, resourceVersion } = {} }: Referred): void {
    const known = this.#objectRef
    // No spread: V8 takes microseconds to put in what follows one.
    this.#objectRef = {
      resource: known?.resource ?? '',
      namespace: known?.namespace || namespace || '',
      name: known?.name || name || '',
      uid: uid ?? '',
      apiGroup: known?.apiGroup ?? '',
      apiVersion: known?.apiVersion ?? '',
      resourceVersion: resourceVersion ?? '',
      subresource: known?.subresource ?? '',
    }
  }

  /** The outcome, where it is a `Status`. */
  answeredWith(status: ResponseStatus): void {
    this.#status = status
  }

  /** The status code that the client gets. */
  answered(code: number): void {
    this.#status = this.#status === undefined ? { code } : { ...this.#status, code }
  }

  /** The object that the client gets, as JSON. */
  responded(json: string): void {
    if (!this.includes('RequestResponse')) return
    this.#responseObject = this.#withoutManagers(json.trimEnd())
  }

  /** Writes the event of a stage, unless the policy omits it. False where the sink could not keep it. */
  stage(stage: Stage, elapsed?: number): boolean | Promise<boolean> {
    if (!this.#rule.omitStages.has(stage)) return this.#sink.write([this.#event(stage, elapsed)])
    return this.release()
  }

  /** Has the event of RequestReceived written with that of the next stage. Until then nothing must change but the outcome and annotations. */
  hold(): void {
    if (!this.#rule.omitStages.has('RequestReceived')) this.#receivedWith = this.#annotations
  }

  /** Writes the event that is held, if there is one: the next comes later. */
  release(): boolean | Promise<boolean> {
    if (this.#receivedWith === undefined) return true
    const [received] = eventsOf(this.#event('ResponseComplete'))
    return this.#sink.write([received!])
  }

  #event(stage: Stage, elapsed?: number): AuditEvent {
    const receivedWith = this.#receivedWith
    this.#receivedWith = undefined
    return {
      request: this,
      stage,
      reachedAt: stage === 'RequestReceived' ? this.receivedAt : this.receivedAt + (elapsed ?? this.#stopwatch.total),
      impersonated: this.#impersonated,
      objectRef: this.#objectRef,
      responseStatus: this.#status,
      requestObject: this.#requestObject,
      responseObject: this.#responseObject,
      annotations: this.#annotations,
      receivedWith,
    }
  }

  /** JSON without managed fields, where the policy omits them. */
  #withoutManagers(json: string): string {
    if (!this.#rule.omitManagedFields) return json
    return stringifyJson(withoutManagedFields(parseJson(Buffer.from(json), { trusted: true }).value))
  }
}

/** A copy of an object, a list or a table without the managed fields of its objects. */
function withoutManagedFields(value: Json): Json {
  if (!isObject(value)) return value
  const { metadata, items, rows } = value
  const copy: JsonObject = { ...value }
  if (isObject(metadata) && metadata['managedFields'] !== undefined) {
    const { managedFields: _, ...rest } = metadata
    copy['metadata'] = rest
  }
  if (Array.isArray(items)) copy['items'] = items.map(withoutManagedFields)
  if (Array.isArray(rows))
    copy['rows'] = rows.map(row =>
      isObject(row) && isObject(row['object']) ? { ...row, object: withoutManagedFields(row['object']) } : row,
    )
  return copy
}
