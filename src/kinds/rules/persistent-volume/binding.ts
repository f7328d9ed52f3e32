/**
 * Binding of claims and volumes: which volume matches a claim, and the fields and annotations that record the binding. The scheduler and
 * the volume controller agree on it.
 */
import { getOwn } from '../../../lib/json-value.ts'
import { compareQuantity, integerValue, parseQuantity, type Quantity } from '../../../lib/quantity.ts'
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import { matchesLabelTerms } from '../../../schema/selectors.ts'
import { labelTermsOf } from '../meta.ts'
import { type NodeTest, nodesSelectedBy } from '../pod/scheduling/node-match.ts'
import { classOf, formatAccessModes } from '../storage-class.ts'
import type { PersistentVolumeClaimSpec } from './claim.ts'
import type { PersistentVolumeClaimStatus } from './claim-status.ts'
import type { PersistentVolumeSpec } from './volume.ts'

/** On claims whose binding has been completed once. */
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed'
/** On claims and volumes that the server has bound itself: a reference written by a user is kept. */
export const BOUND_BY_CONTROLLER = 'pv.kubernetes.io/bound-by-controller'
/** On claims: the node for which a volume is to be provisioned. */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
/** On volumes: their provisioner. */
export const PROVISIONED_BY = 'pv.kubernetes.io/provisioned-by'
/** The provisioner of classes without dynamic provisioning. */
export const NO_PROVISIONER = 'kubernetes.io/no-provisioner'

export type Volume = {
  readonly metadata: ObjectMeta
  readonly spec: PersistentVolumeSpec
  readonly status: { readonly phase?: string }
}
export type Claim = {
  readonly metadata: ObjectMeta
  readonly spec: PersistentVolumeClaimSpec
  readonly status: PersistentVolumeClaimStatus
}

export const hasAnnotation = ({ metadata }: { readonly metadata: ObjectMeta }, key: string): boolean =>
  Object.hasOwn(metadata.annotations ?? {}, key)

export const annotationOf = ({ metadata }: { readonly metadata: ObjectMeta }, key: string): string | undefined =>
  getOwn(metadata.annotations ?? {}, key)

const storageOf = (amounts: Readonly<Record<string, string>> | undefined): Quantity =>
  parseQuantity(getOwn(amounts ?? {}, 'storage') ?? '0')
export const requestOf = ({ spec }: Pick<Claim, 'spec'>): Quantity => storageOf(spec.resources?.requests)
export const capacityOf = ({ spec }: Pick<Volume, 'spec'>): Quantity => storageOf(spec.capacity)

/** Whether a volume is bound to a claim or reserved for it. A reservation without a uid is for any claim of that name. */
export function isBoundTo({ spec: { claimRef } }: Pick<Volume, 'spec'>, { metadata }: Pick<Claim, 'metadata'>): boolean {
  if (!claimRef || claimRef.name !== metadata.name || (claimRef.namespace ?? '') !== (metadata.namespace ?? '')) return false
  return !claimRef.uid || claimRef.uid === metadata.uid
}

/** Whether both sides are written, and the binding is complete. */
export const isFullyBound = (claim: Claim): boolean => Boolean(claim.spec.volumeName) && hasAnnotation(claim, BIND_COMPLETED)

/** Whether a volume has all access modes that a claim requests. */
export const hasModes = ({ spec }: Claim, volume: Volume): boolean =>
  (spec.accessModes ?? []).every(mode => volume.spec.accessModes?.includes(mode))
export const sameVolumeMode = ({ spec }: Claim, volume: Volume): boolean =>
  (spec.volumeMode ?? 'Filesystem') === (volume.spec.volumeMode ?? 'Filesystem')
const sameAttributes = ({ spec }: Claim, volume: Volume): boolean =>
  (spec.volumeAttributesClassName ?? '') === (volume.spec.volumeAttributesClassName ?? '')

/** The nodes that can use a volume; undefined when all can. */
export const nodesReaching = ({ spec: { nodeAffinity } }: Pick<Volume, 'spec'>): NodeTest | undefined =>
  nodeAffinity?.required && nodesSelectedBy(nodeAffinity.required)

/** Why a claim cannot be bound to the volume that it names; undefined when it can. */
export function mismatchOf(claim: Claim, volume: Volume): string | undefined {
  if (volume.metadata.deletionTimestamp) return `the volume is marked for deletion "${volume.metadata.name}"`
  if (integerValue(capacityOf(volume)) < integerValue(requestOf(claim))) return 'requested PV is too small'
  if ((classOf(volume) ?? '') !== (classOf(claim) ?? '')) return 'storageClassName does not match'
  if (!sameAttributes(claim, volume)) return 'volumeAttributesClassName does not match'
  if (!sameVolumeMode(claim, volume)) return 'incompatible volumeMode'
  if (!hasModes(claim, volume)) return 'incompatible accessMode'
  return undefined
}

export type Candidates<V extends Volume> = {
  /** The volume that is bound to the claim or reserved for it. */
  readonly meant: V | undefined
  /** The volumes that are available to any claim of this class. */
  readonly free: readonly Candidate<V>[]
}
export type Candidate<V extends Volume = Volume> = { readonly volume: V; readonly capacity: Quantity }

/** The volumes that are large enough for a claim and have its volume mode, class and labels, whatever their access modes. */
export function candidatesFor<V extends Volume>(claim: Claim, volumes: Iterable<V>): Candidates<V> {
  const request = requestOf(claim)
  const wanted = classOf(claim) ?? ''
  const terms = claim.spec.selector && labelTermsOf(claim.spec.selector)
  const free: Candidate<V>[] = []
  for (const volume of volumes) {
    const { metadata, spec, status } = volume
    const isMeant = isBoundTo(volume, claim)
    if (spec.claimRef && !isMeant) continue
    const capacity = capacityOf(volume)
    if (compareQuantity(capacity, request) < 0 || !sameVolumeMode(claim, volume) || !sameAttributes(claim, volume)) continue
    if (metadata.deletionTimestamp) continue
    if (isMeant) return { meant: volume, free: [] }
    if (status.phase !== 'Available' || (classOf(volume) ?? '') !== wanted) continue
    if (claim.spec.selector && !(terms && matchesLabelTerms(terms, metadata.labels))) continue
    free.push({ volume, capacity })
  }
  return { meant: undefined, free }
}

/** Smaller volumes first, equally large ones by name. */
export const bySize = (a: Candidate, b: Candidate): number =>
  compareQuantity(a.capacity, b.capacity) || ((a.volume.metadata.name ?? '') < (b.volume.metadata.name ?? '') ? -1 : 1)

/** With `waits`, binding is delayed until there is a consumer: only a volume reserved for the claim counts. */
export type MatchOptions = { readonly waits?: boolean }

/** The volume reserved for a claim, or else the smallest that matches. */
export function matchingVolume(claim: Claim, volumes: Iterable<Volume>, { waits = false }: MatchOptions = {}): Volume | undefined {
  const { meant, free } = candidatesFor(claim, volumes)
  if (meant || waits) return meant
  let best: Candidate | undefined
  for (const each of free) if (!best || bySize(each, best) < 0) best = each
  return best?.volume
}

/** As matchingVolume, over volumes of any access modes: those with the fewest additional modes come first. */
export function bestVolume(claim: Claim, volumes: Iterable<Volume>, options: MatchOptions = {}): Volume | undefined {
  const byModes = new Map<string, Volume[]>()
  for (const volume of volumes) {
    if (!hasModes(claim, volume)) continue
    const modes = formatAccessModes(volume.spec.accessModes)
    const same = byModes.get(modes)
    if (same) same.push(volume)
    else byModes.set(modes, [volume])
  }
  const fewestFirst = [...byModes].sort(([a], [b]) => a.split(',').length - b.split(',').length || (a < b ? -1 : 1))
  for (const [, same] of fewestFirst) {
    const found = matchingVolume(claim, same, options)
    if (found) return found
  }
  return undefined
}

/** The volume after binding to a claim; undefined when nothing changes. */
export function volumeBoundTo<V extends Volume>(volume: V, { metadata }: Pick<Claim, 'metadata'>): V | undefined {
  const isOurs = isBoundTo(volume, { metadata })
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = metadata
  const isComplete = isOurs && volume.spec.claimRef?.uid === uid
  const isMarked = isOurs || hasAnnotation(volume, BOUND_BY_CONTROLLER)
  if (isComplete && isMarked) return undefined
  const claimRef = isComplete
    ? volume.spec.claimRef
    : { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name, namespace, uid, resourceVersion }
  return { ...(isMarked ? volume : annotated(volume, { [BOUND_BY_CONTROLLER]: 'yes' })), spec: { ...volume.spec, claimRef } }
}

/** The object with more annotations. */
export const annotated = <O extends { readonly metadata: ObjectMeta }>(object: O, annotations: Readonly<Record<string, string>>): O => ({
  ...object,
  metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } },
})
