/** The rules of events: lenient ones for all, strict ones for those written through the events group. */
import { deepEqual } from '../../lib/json-value.ts'
import { isQualifiedName } from '../../lib/names.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { type FieldError, invalid, invalidEach, type Ref, refTo, required, withValue } from '../../schema/refs.ts'
import type { EventFields } from './event-shapes.ts'

type Event = EventFields & { metadata: ObjectMeta }

const MAX_NAME_BYTES = 128
const MAX_MESSAGE_BYTES = 1024

/** Rules for every event. `reporter` is the name of the reporting controller's field in the served version. */
export function* validateEvent(
  event: Event,
  at: Ref<Event>,
  reporter: 'reportingComponent' | 'reportingController' = 'reportingComponent',
): Iterable<FieldError> {
  const { metadata, involvedObject } = event
  const [own, theirs] = [metadata.namespace ?? '', involvedObject.namespace ?? '']
  const mismatch = invalid(at.involvedObject.namespace, 'does not match event.namespace')
  if (!event.eventTime) {
    // Old clients put events about cluster-scoped objects into the default namespace.
    if (theirs === '' ? own !== '' && own !== 'default' : own !== theirs) yield mismatch
    return
  }
  if (theirs === '' && own !== 'default' && own !== 'kube-system') yield mismatch
  const controller = refTo(event.reportingComponent, reporter)
  if (!event.reportingComponent) yield required(controller)
  yield* invalidEach(controller, isQualifiedName(event.reportingComponent))
  for (const field of ['reportingInstance', 'action', 'reason'] as const) {
    if (!event[field]) yield required(at[field])
    yield* validateLength(event[field], at[field], MAX_NAME_BYTES)
  }
  yield* validateLength(event.message, at.message, MAX_MESSAGE_BYTES)
}

/** Further rules for an event created through the events group. */
export function* validateStrictEvent(event: Event, at: Ref<Event>): Iterable<FieldError> {
  yield* validateSeries(event)
  if (!event.eventTime) yield required(at.eventTime)
  if (event.type !== 'Normal' && event.type !== 'Warning') yield invalid(withValue(at.type, ''), `has invalid value: ${event.type ?? ''}`)
  for (const field of ['firstTimestamp', 'lastTimestamp', 'count'] as const)
    if (event[field]) yield invalid(withValue(at[field], ''), 'needs to be unset')
  if (event.source.component || event.source.host) yield invalid(withValue(at.source, ''), 'needs to be unset')
}

/** Further rules for a change of an event through the events group: only the series may change. */
export function* validateStrictChange(event: Event, old: Event, at: Ref<Event>): Iterable<FieldError> {
  if (!deepEqual(event.series, old.series)) yield* validateSeries(event)
  for (const field of FIXED)
    if (!deepEqual(event[field], old[field]))
      yield invalid(field === 'reportingComponent' ? refTo(event[field], 'reportingController') : at[field], 'field is immutable')
}

const FIXED = [
  'involvedObject',
  'reason',
  'message',
  'source',
  'firstTimestamp',
  'lastTimestamp',
  'count',
  'type',
  'eventTime',
  'action',
  'related',
  'reportingComponent',
  'reportingInstance',
] as const

function* validateSeries({ series }: Event): Iterable<FieldError> {
  if (!series) return
  if ((series.count ?? 0) < 2) yield invalid(refTo('', 'series.count'), 'should be at least 2')
  if (!series.lastObservedTime) yield required(refTo('', 'series.lastObservedTime'))
}

function* validateLength(text: string | undefined, at: Ref<string>, max: number): Iterable<FieldError> {
  if (Buffer.byteLength(text ?? '') > max) yield invalid(withValue(at, ''), `can have at most ${max} characters`)
}
