/** What to do about the finalizer of an object that must stay while it is in use. */
import type { ObjectMeta } from '../../schema/object-meta.ts'

export type Step = 'protect' | 'release' | 'wait'

/** The next step; undefined when the object is as it should be. */
export function nextStep({ deletionTimestamp, finalizers = [] }: ObjectMeta, finalizer: string, isUsed: () => boolean): Step | undefined {
  const isProtected = finalizers.includes(finalizer)
  if (deletionTimestamp === undefined) return isProtected ? undefined : 'protect'
  if (!isProtected) return undefined
  return isUsed() ? 'wait' : 'release'
}
