/** The status of an eviction: its requesters, and the responders that have their turns. */
import { int32, keyed, message, type Static, string, time } from '../../schema/types.ts'
import { EVICTION, progressFields, WITHDRAWN } from './eviction-shapes.ts'

export const STATES = ['Active', 'Canceled', 'Completed', 'Inactive', 'Interrupted'] as const

const Requester = message('Requester', {
  name: [1, string.always(), 'The requester, as DOMAIN/NAME.'],
  intent: [2, string.always().listed(EVICTION, WITHDRAWN), 'Eviction, or Withdrawn.'],
}).atomic()

export const TargetResponder = message('TargetResponder', {
  name: [1, string.always(), 'The responder, as DOMAIN/NAME.'],
  priority: [2, int32.optional().always(), 'Higher ones are asked first. Cannot change.'],
  state: [3, string.always().listed(...STATES), 'Whether it is its turn.'],
}).atomic()
export type TargetResponder = Static<typeof TargetResponder>

export const ResponderStatus = message('ResponderStatus', {
  name: [1, string.always(), 'The responder, as DOMAIN/NAME.'],
  startTime: [2, time.optional(), 'When its turn began.'],
  heartbeatTime: [3, time.optional(), 'When it last reported.'],
  expectedCompletionTime: [4, time.optional(), 'When it expects to be done.'],
  completionTime: [5, time.optional(), 'When it was done.'],
  message: [6, string.optional(), 'Details for people.'],
})
export type ResponderStatus = Static<typeof ResponderStatus>

export const EvictionStatus = message('EvictionStatus', {
  ...progressFields,
  requesters: [3, keyed(Requester, 'name').mergedBy('name'), 'The requesters of the eviction.'],
  targetResponders: [4, keyed(TargetResponder, 'name').mergedBy('name'), 'The responders, and whose turn it is.'],
  responders: [5, keyed(ResponderStatus, 'name').mergedBy('name'), 'Reports of the responders.'],
})
export type EvictionStatus = Static<typeof EvictionStatus>
