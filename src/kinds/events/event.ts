/** Event in the events group: the same objects as in the core group, under stricter rules. */
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { validateFinalizerDomains } from '../../schema/meta-rules.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import { type FieldError, invalidEach, type Ref } from '../../schema/refs.ts'
import { int32, message, microTime, string, time } from '../../schema/types.ts'
import { Event as CoreEvent } from '../core/event.ts'
import { validateEvent, validateStrictChange, validateStrictEvent } from '../core/event-rules.ts'
import { EventSource } from '../core/event-shapes.ts'
import { ObjectReference } from '../rules/references.ts'

type Stored = CoreEvent

const EventSeries = message('EventSeries', {
  count: [1, int32.always(), 'How often it has happened until the last time it was observed.'],
  lastObservedTime: [2, microTime.always().expected(), 'When it was last observed.'],
})

export const Event = defineKind({
  group: 'events.{group_domain}',
  version: 'v1',
  kind: 'Event',
  scope: 'Namespaced',
  names: CoreEvent.def.names,
  doc: 'Reports something that happened to an object.',
  fields: {
    eventTime: [2, microTime.always().expected(), 'When it was first observed.'],
    series: [3, EventSeries, 'The series of repeated occurrences, if any.'],
    reportingController: [4, string, 'The controller that reported it, as a qualified name.'],
    reportingInstance: [5, string, 'Which instance of the controller that was.'],
    action: [6, string, 'The action that was taken or failed.'],
    reason: [7, string, 'A short CamelCase reason.'],
    regarding: [8, ObjectReference.orEmpty(), 'The object that the event is about.'],
    related: [9, ObjectReference, 'Another object that has to do with it.'],
    note: [10, string, 'The same for people.'],
    type: [11, string, 'Normal or Warning.'],
    deprecatedSource: [12, EventSource.orEmpty(), 'The reporting component, in events of the old style.'],
    deprecatedFirstTimestamp: [13, time.always(), 'When it first happened, in events of the old style.'],
    deprecatedLastTimestamp: [14, time.always(), 'When it last happened, in events of the old style.'],
    deprecatedCount: [15, int32, 'How often it happened, in events of the old style.'],
  },

  conversion: {
    storedVersion: CoreEvent,
    toStored: ({
      kind: _,
      apiVersion: __,
      regarding: involvedObject,
      note: message,
      deprecatedSource: source,
      deprecatedFirstTimestamp: firstTimestamp,
      deprecatedLastTimestamp: lastTimestamp,
      deprecatedCount: count,
      reportingController: reportingComponent = '',
      reportingInstance = '',
      ...same
    }) => ({
      ...same,
      involvedObject,
      source,
      firstTimestamp,
      lastTimestamp,
      reportingComponent,
      reportingInstance,
      ...(message !== undefined && { message }),
      ...(count !== undefined && { count }),
    }),
    fromStored: ({
      kind: _,
      apiVersion: __,
      involvedObject: regarding,
      message: note,
      source: deprecatedSource,
      firstTimestamp: deprecatedFirstTimestamp,
      lastTimestamp: deprecatedLastTimestamp,
      count: deprecatedCount,
      reportingComponent: reportingController,
      series,
      ...same
    }: Stored) => ({
      ...same,
      regarding,
      deprecatedSource,
      deprecatedFirstTimestamp,
      deprecatedLastTimestamp,
      reportingController,
      ...(series && { series: { ...series, count: series.count ?? 0 } }),
      ...(note !== undefined && { note }),
      ...(deprecatedCount !== undefined && { deprecatedCount }),
    }),
    *validate(o: Stored, at: Ref<Stored>, { old }) {
      yield* validateEvent(o, at, 'reportingController')
      yield* validateFinalizerDomains(o.metadata.finalizers, at.metadata.finalizers)
      if (old) yield* validateStrictChange(o, old, at)
      else yield* [...validateNames(o.metadata, at.metadata), ...validateStrictEvent(o, at)]
    },
    selectable: {
      reason: 'reason',
      type: 'type',
      reportingController: 'reportingComponent',
      'regarding.kind': 'involvedObject.kind',
      'regarding.namespace': 'involvedObject.namespace',
      'regarding.name': 'involvedObject.name',
      'regarding.uid': 'involvedObject.uid',
      'regarding.apiVersion': 'involvedObject.apiVersion',
      'regarding.resourceVersion': 'involvedObject.resourceVersion',
      'regarding.fieldPath': 'involvedObject.fieldPath',
    },
  },
})

/** An object of the kind Event. */
export type Event = ObjectOf<typeof Event>

/** Names of events are subdomains in this group, whatever the core group accepts. */
function* validateNames({ name, generateName }: ObjectMeta, at: Ref<ObjectMeta>): Iterable<FieldError> {
  if (generateName) yield* invalidEach(at.generateName, nameIsDNSSubdomain(generateName, 'prefix'))
  if (name) yield* invalidEach(at.name, nameIsDNSSubdomain(name))
}
