/**
 * Events in the style of the events group, as kube-scheduler records them: the same thing that happens to the same revision of an
 * object again becomes a series, of which the second time is written, and later ones only now and then.
 */
import { Event } from '../kinds/events/event.ts'
import { microTimestampOf } from '../lib/time.ts'
import { isNamespaceGoing } from '../schema/status-error.ts'
import type { Client } from './client.ts'
import { EventBacklog } from './event-backlog.ts'
import { type EventType, eventNames, type Involved, Recent } from './event-recorder.ts'

export type SeriesEvent = {
  readonly type: EventType
  readonly reason: string
  readonly action: string
  readonly note: string
  /** Another object that has to do with it. */
  readonly related?: Involved
}

export interface SeriesRecorder {
  /** Records an event. It is written in the background; that it fails, or is lost because too many wait, is only logged. */
  event(regarding: Involved, event: SeriesEvent): void
  /** Resolves when all that was recorded is written. */
  flushed(): Promise<void>
}

export type SeriesRecorderOptions = {
  readonly client: Client
  /** The reporting component, such as `default-scheduler`, and its instance. */
  readonly controller: string
  readonly instance: string
  readonly onError: (error: unknown) => void
}

/** A series that goes on is written again after so long. */
const REWRITTEN_AFTER_MS = 360_000
const MAX_NOTE_BYTES = 1024
/** Events that are written at the same time: each waits for the disk, and they can do that together. */
const MAX_CONCURRENT_WRITES = 20

type Seen = {
  readonly metadata: { readonly name: string; readonly namespace: string }
  count: number
  writtenAt: number
  created: Promise<void>
}

export function seriesRecorder({ client, controller, instance, onError }: SeriesRecorderOptions): SeriesRecorder {
  const events = client.lowPriority.of(Event)
  const seen = new Recent<Seen>()
  const nameFor = eventNames()
  const backlog = new EventBacklog({
    concurrency: MAX_CONCURRENT_WRITES,
    // The events of a namespace are deleted with it.
    onError: error => void (isNamespaceGoing(error) || onError(error)),
  })

  function record(regarding: Involved, { type, reason, action, note, related }: SeriesEvent): void {
    const now = client.now.getTime()
    const time = microTimestampOf(now)
    const about = referenceTo(regarding)
    const other = related && referenceTo(related)
    const key = JSON.stringify([type, action, reason, about, other])
    const known = seen.get(key)
    if (known) {
      known.count++
      if (known.count > 2 && now - known.writtenAt < REWRITTEN_AFTER_MS) return
      known.writtenAt = now
      const { metadata, count } = known
      void backlog.add(async () => {
        await known.created
        await events.patch(metadata, { series: { count, lastObservedTime: time } }, { type: 'strategic' })
      })
      return
    }
    const metadata = { name: nameFor(about.name, now), namespace: about.namespace || 'default' }
    const created = backlog.add(async () => {
      await events.create({
        metadata,
        eventTime: time,
        reportingController: controller,
        reportingInstance: instance,
        action,
        reason,
        regarding: about,
        ...(other && { related: other }),
        note: cut(note),
        type,
      })
    })
    if (created) seen.set(key, { metadata, count: 1, writtenAt: now, created })
  }

  return { event: record, flushed: () => backlog.flushed() }
}

function referenceTo({ apiVersion, kind, metadata }: Involved) {
  const { namespace = '', name = '', uid = '', resourceVersion = '' } = metadata
  return { kind, ...(namespace && { namespace }), name, uid, apiVersion, ...(resourceVersion && { resourceVersion }) }
}

/** At most so many bytes, in whole characters. */
function cut(note: string): string {
  const bytes = Buffer.from(note)
  if (bytes.length <= MAX_NOTE_BYTES) return note
  return `${new TextDecoder().decode(bytes.subarray(0, MAX_NOTE_BYTES - 4), { stream: true })} ...`
}
