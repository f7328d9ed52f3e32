/** Records requests of clients and changes of objects, for tests to inspect. */

import type { AuditEvent } from '../audit/event.ts'
import type { AuditSink } from '../audit/sink.ts'
import type { Change } from '../client/change.ts'
import type { Client } from '../client/client.ts'
import type { Exchange, Handler } from '../http/exchange.ts'
import { header } from '../http/message.ts'
import { whenDone } from '../lib/maybe-promise.ts'
import type { RecordedChange, RecordedRequest } from '../public.d.ts'
import type { Resource } from '../schema/resource.ts'
import { AccessUsage } from './access-usage.ts'

/** The oldest are dropped: a long-running server must not grow. */
const MAX_RECORDS = 10_000
const MAX_BODY_BYTES = 64 << 10

type Draft = { -readonly [K in keyof RecordedRequest]: RecordedRequest[K] }

export class Recorder {
  #requests: Draft[] = []
  #changes: RecordedChange[] = []
  #auditEvents: AuditEvent[] = []
  #isPaused = false
  /** Kept over resets: the tests of a run share it. */
  readonly accessUsage = new AccessUsage()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  get requests(): readonly RecordedRequest[] {
    return this.#requests
  }

  get changes(): readonly RecordedChange[] {
    return this.#changes
  }

  get auditEvents(): readonly AuditEvent[] {
    return this.#auditEvents
  }

  /** Takes the events of the audit. */
  readonly auditSink: AuditSink = {
    write: events => {
      this.#auditEvents.push(...events)
      if (this.#auditEvents.length > 2 * MAX_RECORDS) this.#auditEvents = this.#auditEvents.slice(-MAX_RECORDS)
      return true
    },
    async close() {},
  }

  clear(): void {
    this.#requests = []
    this.#auditEvents = []
    this.#changes = []
  }

  /** Runs a function without recording its changes. */
  async unrecorded(run: () => Promise<void>): Promise<void> {
    this.#isPaused = true
    try {
      await run()
    } finally {
      this.#isPaused = false
    }
  }

  /** Wraps the handling of every request. */
  readonly record = (next: Handler): Handler => {
    return exchange => {
      const draft = this.#begin(exchange)
      return whenDone(next(exchange), response => {
        draft.status = response.status
        draft.user = exchange.user?.name ?? ''
        this.accessUsage.note(draft, { groups: exchange.user?.groups ?? [], isForbidden: exchange.isForbidden === true })
        return response
      })
    }
  }

  #begin({ request, route: { attributes } }: Exchange): Draft {
    const { group = '', version = '', plural = '', subresource = '', namespace = '', name = '' } = attributes.resource ?? {}
    const draft: Draft = {
      at: new Date(this.#now()),
      method: request.method,
      path: request.target,
      verb: attributes.verb,
      group,
      version,
      resource: plural,
      subresource,
      namespace,
      name,
      user: '',
      userAgent: header(request.headers, 'user-agent') ?? '',
      status: 0,
      body: undefined,
    }
    const readBody = request.readBody.bind(request)
    request.readBody = async limit => {
      const bytes = await readBody(limit)
      if (bytes && bytes.byteLength > 0 && bytes.byteLength <= MAX_BODY_BYTES) draft.body = Buffer.from(bytes).toString('utf8')
      return bytes
    }
    keep(this.#requests, draft)
    return draft
  }

  /** Records stored changes. */
  follow(client: Client, signal: AbortSignal): void {
    client.watchAll(
      {
        changed: (resource, change) => {
          if (!this.#isPaused) keep(this.#changes, new Recorded(resource, change, new Date(this.#now())))
        },
        joined: () => {},
      },
      signal,
    )
  }
}

/** A change whose objects are decoded when they are read. */
class Recorded implements RecordedChange {
  readonly at: Date
  readonly type: RecordedChange['type']
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly revision: string
  readonly #change: Change

  constructor({ apiVersion, kind }: Resource, change: Change, at: Date) {
    const { namespace, name, revision } = change.current
    this.at = at
    this.type = change.type
    this.apiVersion = apiVersion
    this.kind = kind
    this.namespace = namespace
    this.name = name
    this.revision = String(revision)
    this.#change = change
  }

  get object(): any {
    return this.#change.current.object
  }

  get previous(): any {
    return this.#change.previous?.object
  }

  toJSON(): object {
    return { ...this, object: this.object, previous: this.previous }
  }
}

function keep<T>(list: T[], item: T): void {
  list.push(item)
  if (list.length > 2 * MAX_RECORDS) list.splice(0, MAX_RECORDS)
}
