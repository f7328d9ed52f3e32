/** The next step for one object that has owners, or whose deletion waits for its dependents. */
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../../schema/meta-rules.ts'
import type { ObjectMeta, OwnerReference } from '../../schema/object-meta.ts'

/**
 * The state of an owner: its metadata; that it is absent; that it cannot be known, because its kind is not served or its
 * record cannot be read; or that it cannot be an owner at all, being in a namespace while the object is in none.
 */
export type Owner =
  | { readonly is: 'present'; readonly metadata: ObjectMeta }
  | { readonly is: 'absent' }
  | { readonly is: 'unknown' }
  | { readonly is: 'impossible' }

export type Around = {
  readonly ownerOf: (reference: OwnerReference) => Owner
  /** Those that refer to the object, and whether their own deletion waits for dependents. */
  readonly dependents: () => Iterable<{ readonly references: readonly OwnerReference[]; readonly isWaiting: boolean }>
}

export type Policy = 'Background' | 'Foreground' | 'Orphan'
export type Step =
  /** Delete it; `unblocks` when its references must stop blocking its owners first, because owners could form a cycle. */
  | { readonly step: 'delete'; readonly policy: Policy; readonly unblocks: boolean }
  /** Remove the references to these owners. */
  | { readonly step: 'disown'; readonly owners: readonly string[] }
  /** Remove the references of its dependents to it, then its finalizer. */
  | { readonly step: 'orphan' }
  /** Remove its finalizer: no dependent blocks its deletion any more. */
  | { readonly step: 'release' }
  /** Look at its dependents. */
  | { readonly step: 'await' }
  /** Nothing can be decided until another kind is served. */
  | { readonly step: 'unknown' }

/** The next step; undefined when there is nothing to do. */
export function nextStep(metadata: ObjectMeta, around: Around): Step | undefined {
  if (metadata.deletionTimestamp) return nextOfDeleted(metadata, around)
  const references = metadata.ownerReferences ?? []
  if (references.length === 0) return undefined
  const solid: OwnerReference[] = []
  const absent: OwnerReference[] = []
  const waiting: OwnerReference[] = []
  for (const reference of references) {
    const owner = around.ownerOf(reference)
    if (owner.is === 'impossible') return undefined
    if (owner.is === 'unknown') return { step: 'unknown' }
    const kind = owner.is !== 'present' ? absent : isWaiting(owner.metadata) ? waiting : solid
    kind.push(reference)
  }
  if (solid.length > 0) {
    // An owner that waits for its dependents does not wait for one that others own as well.
    const owners = [...absent, ...waiting].map(({ uid }) => uid)
    return owners.length > 0 ? { step: 'disown', owners } : undefined
  }
  const dependents = [...around.dependents()]
  if (waiting.length > 0 && dependents.length > 0)
    return { step: 'delete', policy: 'Foreground', unblocks: dependents.some(dependent => dependent.isWaiting) }
  return { step: 'delete', policy: policyOf(metadata), unblocks: false }
}

/** Whether an object's deletion waits for its dependents. */
export const isWaiting = ({ deletionTimestamp, finalizers }: ObjectMeta): boolean =>
  deletionTimestamp !== undefined && (finalizers?.includes(FOREGROUND_FINALIZER) ?? false)

/** Whether an object's deletion waits for one of the finalizers that the garbage collector removes. */
export const hasCollectorFinalizer = ({ deletionTimestamp, finalizers = [] }: ObjectMeta): boolean =>
  deletionTimestamp !== undefined && (finalizers.includes(FOREGROUND_FINALIZER) || finalizers.includes(ORPHAN_FINALIZER))

function nextOfDeleted({ uid, finalizers = [] }: ObjectMeta, { dependents }: Around): Step | undefined {
  if (finalizers.includes(ORPHAN_FINALIZER)) return { step: 'orphan' }
  if (!finalizers.includes(FOREGROUND_FINALIZER)) return undefined
  for (const { references } of dependents())
    if (references.some(reference => reference.uid === uid && reference.blockOwnerDeletion)) return { step: 'await' }
  return { step: 'release' }
}

function policyOf({ finalizers = [] }: ObjectMeta): Policy {
  if (finalizers.includes(ORPHAN_FINALIZER)) return 'Orphan'
  return finalizers.includes(FOREGROUND_FINALIZER) ? 'Foreground' : 'Background'
}
