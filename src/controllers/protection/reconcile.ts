/** Objects that must stay while they are in use: their finalizer, and the condition of claims that says since when no pod needs them. */

import { timestampOf } from '../../lib/time.ts'
import { conditionOf, withCondition } from '../../schema/conditions.ts'
import type { AnyObject, ObjectMeta } from '../../schema/object-meta.ts'

export type Step = 'protect' | 'release' | 'wait'

/** The next step; undefined when the object is as it should be. */
export function nextStep({ deletionTimestamp, finalizers = [] }: ObjectMeta, finalizer: string, isUsed: () => boolean): Step | undefined {
  const isProtected = finalizers.includes(finalizer)
  if (deletionTimestamp === undefined) return isProtected ? undefined : 'protect'
  if (!isProtected) return undefined
  return isUsed() ? 'wait' : 'release'
}

type Condition = { readonly type: string; readonly status: string }

const IN_USE = { status: 'False', reason: 'PodUsingPVC', message: 'A pod is currently referencing this PVC' }
const UNUSED = { status: 'True', reason: 'NoPodsUsingPVC', message: 'No pods are currently referencing this PVC' }

/** The status of a bound claim with its condition; undefined when it is right already, or not yet the time for it. */
export function unusedStatus({ metadata, status }: AnyObject, isReferenced: () => boolean, now: Date): object | undefined {
  if (metadata.deletionTimestamp || status?.phase !== 'Bound') return undefined
  const conditions: readonly Condition[] = status.conditions ?? []
  const statement = isReferenced() ? IN_USE : UNUSED
  if (conditionOf(conditions, 'Unused')?.status === statement.status) return undefined
  const condition = { type: 'Unused', ...statement, lastProbeTime: null, lastTransitionTime: timestampOf(now) }
  return { ...status, conditions: withCondition(conditions, condition) }
}
