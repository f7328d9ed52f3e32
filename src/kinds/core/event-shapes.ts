/** The types of events. */
import { int32, type Message, message, microTime, string, time } from '../../schema/types.ts'
import { ObjectReference } from '../rules/references.ts'

const EventSeries = message('EventSeries', {
  count: [1, int32, 'How often it has happened until the last time it was observed.'],
  lastObservedTime: [2, microTime.always(), 'When it was last observed.'],
})

export const EventSource = message('EventSource', {
  component: [1, string, 'The program that reported it.'],
  host: [2, string, 'The node on which that program runs.'],
})

/** The fields of an event in the core group. */
export const eventFields = {
  involvedObject: [2, ObjectReference.orEmpty().expected(), 'The object that the event is about.'],
  reason: [3, string, 'A short CamelCase reason.'],
  message: [4, string, 'The same for people.'],
  source: [5, EventSource.orEmpty(), 'The reporting component, in events of the old style.'],
  firstTimestamp: [6, time.always(), 'When it first happened, in events of the old style.'],
  lastTimestamp: [7, time.always(), 'When it last happened, in events of the old style.'],
  count: [8, int32, 'How often it happened, in events of the old style.'],
  type: [9, string, 'Normal or Warning.'],
  eventTime: [10, microTime.always(), 'When it was first observed; marks an event of the new style.'],
  series: [11, EventSeries, 'The series of repeated occurrences, if any.'],
  action: [12, string, 'The action that was taken or failed.'],
  related: [13, ObjectReference, 'Another object that has to do with it.'],
  reportingComponent: [14, string.always().omittable(), 'The controller that reported it, as a qualified name.'],
  reportingInstance: [15, string.always().omittable(), 'Which instance of the controller that was.'],
} as const
export type EventFields = Message<typeof eventFields>
