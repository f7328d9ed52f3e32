/**
 * Which objects a workload controls. An object without a controller that its selector matches is adopted; one that it controls and
 * that its selector no longer matches is released; objects of other controllers are left alone.
 */

import { queueKey } from '../../client/change.ts'
import type { ResourceClient } from '../../client/client.ts'
import { OWNER_INDEX, UID_INDEX } from '../../client/informer.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { Kind, ObjectOf } from '../../schema/kind.ts'
import type { Envelope, OwnerReference } from '../../schema/object-meta.ts'
import type { ObjectRevision } from '../../schema/object-revision.ts'
import { type LabelTerms, matchesLabelTerms } from '../../schema/selectors.ts'
import { StatusError } from '../../schema/status-error.ts'
import { type Watch, watch } from '../controller.ts'
import { controllerReference } from './pod-template.ts'

/** The owner that manages an object. */
export const controllerOf = ({ metadata }: Pick<Envelope, 'metadata'>): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true)

export const isControlledBy = (object: Pick<Envelope, 'metadata'>, owner: Pick<Envelope, 'metadata'>): boolean =>
  controllerOf(object)?.uid === owner.metadata.uid

/** The step of a workload for an object, given whether its selector matches it. */
export function claimOn(owner: Envelope, object: Envelope, isMatching: boolean): 'keep' | 'adopt' | 'release' | 'ignore' {
  const controller = controllerOf(object)
  const isEnding = Boolean(owner.metadata.deletionTimestamp)
  if (controller) {
    if (controller.uid !== owner.metadata.uid) return 'ignore'
    return isMatching ? 'keep' : isEnding ? 'ignore' : 'release'
  }
  if (!isMatching || isEnding || object.metadata.deletionTimestamp) return 'ignore'
  return owner.metadata.namespace === object.metadata.namespace ? 'adopt' : 'ignore'
}

export type Claim<O extends Envelope> = {
  readonly owner: Envelope
  /** Where the owner is read again before the first adoption: one that is being deleted adopts nothing. */
  readonly owners: ResourceClient<any>
  readonly objects: ResourceClient<O>
  readonly candidates: Iterable<O>
  readonly matches: (object: O) => boolean
  /** Finalizers that come with adoption and go with release. */
  readonly finalizers?: readonly string[]
}

/** Adopts and releases, and returns what the owner controls then. Objects that were adopted are returned as they are afterwards. */
export async function claimObjects<O extends Envelope>({ owner, owners, objects, candidates, ...claim }: Claim<O>): Promise<O[]> {
  const claimed: O[] = []
  const errors: unknown[] = []
  for (const object of candidates)
    try {
      const step = claimOn(owner, object, claim.matches(object))
      if (step === 'keep') claimed.push(object)
      else if (step === 'release') await release(objects, object, owner, claim.finalizers)
      else if (step === 'adopt' && canAdopt(owners, owner)) {
        const adopted = await adopt(objects, object, owner, claim.finalizers)
        if (adopted) claimed.push(adopted)
      }
    } catch (error) {
      errors.push(error)
    }
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateError(errors, errors.map(String).join(', '))
  return claimed
}

/** Claims the objects that a selector matches. */
export function claimSelected<O extends Envelope>(claim: Omit<Claim<O>, 'candidates' | 'matches'>, terms: LabelTerms): Promise<O[]> {
  const matches = ({ metadata }: O) => matchesLabelTerms(terms, metadata.labels)
  return claimObjects({ ...claim, candidates: candidatesFor(claim.objects, claim.owner, terms), matches })
}

function canAdopt(owners: ResourceClient<any>, owner: Envelope): boolean {
  const current = owners.revision(owner.metadata)
  return current !== undefined && current.uid === owner.metadata.uid && !current.terminating
}

/** Undefined when the object is gone. Throws when another became its controller first, or another object has its name. */
async function adopt<O extends Envelope>(objects: ResourceClient<O>, { metadata }: O, owner: Envelope, finalizers: readonly string[] = []) {
  const { uid } = metadata
  const patch = { metadata: { uid, ownerReferences: [controllerReference(owner)], ...(finalizers.length > 0 && { finalizers }) } }
  return (await objects.patch(metadata, patch, { type: 'strategic' }))?.object
}

async function release<O extends Envelope>(
  objects: ResourceClient<O>,
  { metadata }: O,
  owner: Envelope,
  finalizers: readonly string[] = [],
) {
  const ownerReferences = [{ $patch: 'delete', uid: owner.metadata.uid }]
  const patch = {
    metadata: { uid: metadata.uid, ownerReferences, ...(finalizers.length > 0 && { '$deleteFromPrimitiveList/finalizers': finalizers }) },
  }
  try {
    await objects.patch(metadata, patch, { type: 'strategic' })
  } catch (error) {
    // It has no such owner any more, or it is another object of the same name.
    if (!(error instanceof StatusError && error.reason === 'Invalid')) throw error
  }
}

/** The objects that a workload may control: those that name it as an owner, and those of its namespace that its selector matches. */
export function* candidatesFor<O extends Envelope>(objects: ResourceClient<O>, { metadata }: Envelope, terms: LabelTerms): Iterable<O> {
  const { uid = '', namespace = '' } = metadata
  const owned = [...objects.informer.byIndex(OWNER_INDEX, uid)]
  const keys = new Set(owned.map(({ key }) => key))
  for (const { object } of owned) if (object) yield object
  for (const { key, object } of [...objects.revisions({ namespace, labels: terms })]) if (!keys.has(key) && object) yield object
}

/** The objects that a workload controls, whatever their labels. */
export function* controlledBy<O extends Envelope>(objects: ResourceClient<O>, owner: Envelope): Iterable<O> {
  for (const object of objects.byIndex(OWNER_INDEX, owner.metadata.uid ?? '')) if (isControlledBy(object, owner)) yield object
}

export type Owners<O extends Envelope> = {
  readonly owners: ResourceClient<O>
  /** The label selector of an owner; undefined when it selects nothing. */
  readonly selectorOf: (owner: O) => LabelTerms | undefined
  /** Whether an owner is left alone when an object of its own is created. */
  readonly ignoresOwnCreation?: true
}

/** Turns a change of a dependent object into the keys of the owners that it has or had, and of those that may adopt it. */
export function watchDependents<K extends Kind<any>, O extends Envelope>(
  kind: K,
  { owners, selectorOf, ignoresOwnCreation }: Owners<O>,
): Watch {
  return watch(kind, ({ type, current, previous }) => {
    const keys = new Set<string>()
    const add = (revision: ObjectRevision<ObjectOf<K>>) => {
      for (const uid of revision.owners) for (const owner of owners.informer.byIndex(UID_INDEX, uid)) keys.add(queueKey(owner))
    }
    add(current)
    const isOwned = keys.size > 0
    if (isOwned && ignoresOwnCreation && type === 'added') return []
    if (previous && previous.owners !== current.owners) add(previous)
    if (isOwned || type === 'deleted' || current.terminating) return keys
    const isRelevant = !previous || !deepEqual(previous.labels, current.labels) || !deepEqual(previous.owners, current.owners)
    if (isRelevant) for (const key of adopters(owners, selectorOf, current as ObjectRevision<Envelope>)) keys.add(key)
    return keys
  })
}

function adopters<O extends Envelope>(
  owners: ResourceClient<O>,
  selectorOf: Owners<O>['selectorOf'],
  { namespace, labels, owners: owned, object }: ObjectRevision<Envelope>,
): string[] {
  if (Object.keys(labels).length === 0 || (owned.length > 0 && (!object || controllerOf(object)))) return []
  const matching: string[] = []
  for (const owner of owners.list({ namespace })) {
    const terms = selectorOf(owner)
    if (terms && terms.length > 0 && matchesLabelTerms(terms, labels)) matching.push(queueKey(owner.metadata))
  }
  return matching
}
