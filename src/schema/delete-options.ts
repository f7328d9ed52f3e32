/** DeleteOptions, the body of a delete request. */
import { atomic, bool, int64, message, string } from './types.ts'

const Preconditions = message('Preconditions', {
  uid: [1, string.optional(), 'The object must have this uid.'],
  resourceVersion: [2, string.optional(), 'The object must be at this version.'],
})

export const DeleteOptionsType = message('DeleteOptions', {
  kind: [0, string, 'DeleteOptions.'],
  apiVersion: [0, string, 'The version it is written in.'],
  gracePeriodSeconds: [1, int64.optional(), 'Seconds until the object goes; 0 means at once, absent the default of its kind.'],
  preconditions: [2, Preconditions, 'The conditions that must hold for the deletion.'],
  orphanDependents: [3, bool.optional(), 'Deprecated form of propagationPolicy.'],
  propagationPolicy: [4, string.optional(), 'The treatment of dependents: Orphan, Background or Foreground.'],
  dryRun: [5, atomic(string), 'All: nothing is changed.'],
  ignoreStoreReadErrorWithClusterBreakingPotential: [6, bool.optional(), 'Throws away an object that cannot be read.'],
})
