/**
 * Events about objects, as kube-controller-manager records them: the same event again counts up the first one, many that differ
 * in their message alone are combined, and a source with too many events about one object is throttled.
 *
 *     recorder.event(object, 'Warning', 'FailedCreate', 'the quota is used up')
 */
import { chance } from '../lib/environment.ts'
import { timestampOf } from '../lib/time.ts'
import type { Envelope } from '../schema/object-meta.ts'
import { EventBacklog } from './event-backlog.ts'

export type EventType = 'Normal' | 'Warning'

/** The content of an event that has not been recorded yet. */
export type Notice = { readonly type: EventType; readonly reason: string; readonly message: string }

/** The object that an event is about, where the object itself is not at hand. */
export type Involved = (
  | Envelope
  | {
      readonly apiVersion: string
      readonly kind: string
      readonly metadata: Pick<Envelope['metadata'], 'namespace' | 'name' | 'uid' | 'resourceVersion'>
    }
) & {
  /** The part of the object, such as `spec.containers{web}`. */
  readonly fieldPath?: string
}

export interface EventRecorder {
  /** Records an event. It is written in the background; that it fails, or is lost because too many wait, is only logged. */
  event(object: Involved, type: EventType, reason: string, message: string): void
  /** Resolves when all that was recorded is written. */
  flushed(): Promise<void>
}

/** Records all notices about an object. */
export function recordAll(recorder: EventRecorder, object: Involved, notices: Iterable<Notice>): void {
  for (const { type, reason, message } of notices) recorder.event(object, type, reason, message)
}

/** Writes events. */
export type EventWriter = {
  now(): Date
  create(event: EventDraft): Promise<void>
  /** Changes an event by a strategic merge patch. False when it is gone. */
  patch(metadata: EventDraft['metadata'], patch: Partial<EventDraft>): Promise<boolean>
}

/** An event of the core group, as it is sent. */
export type EventDraft = {
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly involvedObject: Readonly<Record<string, string>>
  readonly reason: string
  readonly message: string
  readonly source: { readonly component: string; readonly host?: string }
  readonly firstTimestamp: string
  readonly lastTimestamp: string
  readonly count: number
  readonly type: EventType
  readonly reportingComponent?: string
  readonly reportingInstance?: string
}

export type RecorderOptions = {
  readonly events: EventWriter
  /** The name of the reporting component, such as `garbage-collector-controller`. */
  readonly component: string
  /** The node on which it does. */
  readonly host?: string
  readonly onError: (error: unknown) => void
}

/** From this many different messages in a window on, events are combined. */
const COMBINED_FROM = 10
const COMBINED_WINDOW_MS = 600_000
/** How many events about one object are written at once, and after how long there may be another. */
const BURST = 25
const REFILL_MS = 300_000
const REMEMBERED = 4096

type Seen = { readonly name: string; count: number; readonly first: string }
type Similar = { readonly messages: Set<string>; last: number }
type Budget = { tokens: number; at: number }

export function eventRecorder({ events, component, host = '', onError }: RecorderOptions): EventRecorder {
  const seen = new Recent<Seen>()
  const similar = new Recent<Similar>()
  const budgets = new Recent<Budget>()
  const backlog = new EventBacklog({ concurrency: 1, onError })
  const nameFor = eventNames()

  function record(object: Involved, type: EventType, reason: string, message: string): void {
    const { apiVersion, kind, metadata, fieldPath = '' } = object
    const { namespace = '', name = '', uid = '', resourceVersion } = metadata
    const now = events.now().getTime()
    const about = [kind, namespace, name, uid, apiVersion, type].join('\n')
    if (!withinBudget(about, now)) return
    const group = `${about}\n${reason}`
    const isCombined = combines(group, message, now)
    const text = isCombined ? `(combined from similar events): ${message}` : message
    const key = isCombined ? group : `${group}\n${fieldPath}\n${message}`
    const time = timestampOf(now)
    const known = seen.get(key)
    const observed: Seen = known ?? { name: nameFor(name, now), count: 0, first: time }
    observed.count++
    seen.set(key, observed)
    const event: EventDraft = {
      metadata: { name: observed.name, namespace: namespace || 'default' },
      involvedObject: {
        kind,
        ...(namespace && { namespace }),
        name,
        uid,
        apiVersion,
        ...(resourceVersion && { resourceVersion }),
        ...(fieldPath && { fieldPath }),
      },
      reason,
      message: text,
      source: { component, ...(host && { host }) },
      firstTimestamp: observed.first,
      lastTimestamp: time,
      count: observed.count,
      type,
      ...(!isCombined && { reportingComponent: component, ...(host && { reportingInstance: host }) }),
    }
    void backlog.add(() => write(event, known !== undefined))
  }

  async function write(event: EventDraft, isKnown: boolean): Promise<void> {
    const { metadata, count, lastTimestamp, message } = event
    if (!(isKnown && (await events.patch(metadata, { count, lastTimestamp, message })))) await events.create(event)
  }

  function combines(group: string, message: string, now: number): boolean {
    const found = similar.get(group)
    const record = found && now - found.last <= COMBINED_WINDOW_MS ? found : { messages: new Set<string>(), last: now }
    record.messages.add(message)
    record.last = now
    similar.set(group, record)
    if (record.messages.size < COMBINED_FROM) return false
    record.messages.delete(record.messages.keys().next().value!)
    return true
  }

  function withinBudget(about: string, now: number): boolean {
    const { tokens, at } = budgets.get(about) ?? { tokens: BURST, at: now }
    const filled = Math.min(BURST, tokens + (now - at) / REFILL_MS)
    budgets.set(about, { tokens: filled >= 1 ? filled - 1 : filled, at: now })
    return filled >= 1
  }

  return { event: record, flushed: () => backlog.flushed() }
}

/**
 * Names of events: that of the object and the nanoseconds of the time. The clock counts milliseconds only, and components write about one
 * object in the same one: the rest is random, as the second event of a name would be lost.
 */
export function eventNames(): (object: string, ms: number) => string {
  let last = 0n
  return (object, ms) => {
    const nanoseconds = BigInt(ms) * 1_000_000n + BigInt(Math.floor(chance() * 1e6))
    last = nanoseconds > last ? nanoseconds : last + 1n
    return `${object.slice(0, MAX_NAME_LENGTH)}.${last.toString(16)}`
  }
}

const MAX_NAME_LENGTH = 253 - 1 - 16

/** A map of the entries that were used last. */
export class Recent<V> {
  readonly #entries = new Map<string, V>()

  get(key: string): V | undefined {
    return this.#entries.get(key)
  }

  set(key: string, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size > REMEMBERED) this.#entries.delete(this.#entries.keys().next().value!)
  }
}
