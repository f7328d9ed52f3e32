/** Event records an occurrence about an object; it expires after a while. */
import { nameIsPathSegment } from '../../lib/names.ts'
import { type CellContext, NAME_DOC, since } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { validateEvent } from './event-rules.ts'
import { type EventFields, eventFields } from './event-shapes.ts'

export const Event = defineKind({
  group: '',
  version: 'v1',
  kind: 'Event',
  scope: 'Namespaced',
  names: { plural: 'events', short: ['ev'] },
  doc: 'Reports something that happened to an object.',
  unqualifiedFinalizers: true,
  fields: eventFields,
  expectsMetadata: true,
  name: nameIsPathSegment,
  allowCreateOnUpdate: true,
  ttlSeconds: 3600,

  validate: (o, at) => validateEvent(o, at),

  deletion: { propagation: 'Unsupported' },

  selectable: {
    'involvedObject.kind': o => o.involvedObject.kind,
    'involvedObject.namespace': o => o.involvedObject.namespace,
    'involvedObject.name': o => o.involvedObject.name,
    'involvedObject.uid': o => o.involvedObject.uid,
    'involvedObject.apiVersion': o => o.involvedObject.apiVersion,
    'involvedObject.resourceVersion': o => o.involvedObject.resourceVersion,
    'involvedObject.fieldPath': o => o.involvedObject.fieldPath,
    reason: o => o.reason,
    reportingComponent: o => o.reportingComponent,
    source: o => o.source.component || o.reportingComponent,
    type: o => o.type,
  },

  columns: {
    'Last Seen': ['string', lastSeen, 'The time at which the most recent occurrence of this event was recorded.'],
    Type: ['string', o => o.type ?? '', 'Type of this event (Normal, Warning), new types could be added in the future'],
    Reason: [
      'string',
      o => o.reason ?? '',
      "This should be a short, machine understandable string that gives the reason for the transition into the object's current status.",
    ],
    Object: ['string', formatObject, 'The object that this event is about.'],
    Subobject: [
      'string',
      o => o.involvedObject.fieldPath ?? '',
      'If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2]. For example, if the object reference is to a container within a pod, this would take on a value like: "spec.containers{name}" (where "name" refers to the name of the container that triggered the event) or if no container name is specified "spec.containers[2]" (container with index 2 in this pod). This syntax is chosen only to have some well-defined way of referencing a part of an object.',
      'wide',
    ],
    Source: ['string', formatSource, 'The component reporting this event. Should be a short machine understandable string.', 'wide'],
    Message: ['string', o => (o.message ?? '').trim(), 'A human-readable description of the status of this operation.'],
    'First Seen': ['string', firstSeen, 'The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)', 'wide'],
    Count: ['string', o => o.series?.count ?? (o.series ? 0 : o.count || 1), 'The number of times this event has occurred.', 'wide'],
    Name: ['string', o => o.metadata.name, NAME_DOC, { wide: true, format: 'name' }],
  },
})

/** An object of the kind Event. */
export type Event = ObjectOf<typeof Event>

function firstSeen({ firstTimestamp, eventTime }: EventFields, ctx: CellContext): string {
  return since(firstTimestamp || eventTime, ctx)
}

function lastSeen(o: EventFields, ctx: CellContext): string {
  if (o.series) return since(o.series.lastObservedTime, ctx)
  return o.lastTimestamp ? since(o.lastTimestamp, ctx) : firstSeen(o, ctx)
}

function formatObject({ involvedObject: { kind = '', name } }: EventFields): string {
  return name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase()
}

function formatSource({ source, reportingComponent, reportingInstance }: EventFields): string {
  const [component, instance] = [source.component || reportingComponent, source.host || reportingInstance]
  return instance ? `${component}, ${instance}` : component
}
