/** Event records what happened to an object; it expires after a while. */
import { nameIsPathSegment } from '../../lib/names.ts'
import { type CellContext, NAME_DOC, since } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { validateEvent } from './event-rules.ts'
import { type EventFields, eventFields } from './event-shapes.ts'

export const Event = defineKind({
  group: '',
  version: 'v1',
  kind: 'Event',
  scope: 'Namespaced',
  names: { plural: 'events', short: ['ev'] },
  doc: 'What happened to an object.',
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
    'Last Seen': ['string', lastSeen, 'When it last happened.'],
    Type: ['string', o => o.type ?? '', 'Normal or Warning.'],
    Reason: ['string', o => o.reason ?? '', 'A short word for what happened.'],
    Object: ['string', formatObject, 'What it happened to.'],
    Subobject: ['string', o => o.involvedObject.fieldPath ?? '', 'The part of the object it happened to.', 'wide'],
    Source: ['string', formatSource, 'Who reported it.', 'wide'],
    Message: ['string', o => (o.message ?? '').trim(), 'The same for people.'],
    'First Seen': ['string', firstSeen, 'When it first happened.', 'wide'],
    Count: ['string', o => o.series?.count ?? (o.series ? 0 : o.count || 1), 'How often it happened.', 'wide'],
    Name: ['string', o => o.metadata.name, NAME_DOC, { wide: true, format: 'name' }],
  },
})

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
