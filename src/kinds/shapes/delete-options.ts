/** How an object is to be deleted, as messages carry it. */
import { atomic, bool, int64, message, type Static, string } from '../../schema/types.ts'

export const Preconditions = message('Preconditions', {
  uid: [1, string.optional(), 'Only an object with this UID.'],
  resourceVersion: [2, string.optional(), 'Only an object at this version.'],
})
export type Preconditions = Static<typeof Preconditions>

export const DeleteOptions = message('DeleteOptions', {
  gracePeriodSeconds: [1, int64.optional(), 'Seconds until the object is gone; 0 deletes it at once.'],
  preconditions: [2, Preconditions, 'What must be true of the object for it to be deleted.'],
  orphanDependents: [3, bool.optional(), 'Deprecated in favour of propagationPolicy.'],
  propagationPolicy: [4, string.optional(), 'What happens to dependents: Orphan, Background or Foreground.'],
  dryRun: [5, atomic(string), 'All for a deletion that is only tried.'],
  ignoreStoreReadErrorWithClusterBreakingPotential: [6, bool.optional(), 'Whether an object that cannot be read is deleted anyway.'],
})
export type DeleteOptions = Static<typeof DeleteOptions>
