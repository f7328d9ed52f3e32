/** Finds the users of claims, volumes, VolumeAttributesClasses and groups of pods. */

import { queueKey } from '../../client/change.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

type Volume = { readonly name: string; readonly persistentVolumeClaim?: { readonly claimName: string }; readonly ephemeral?: object }

/** The claims that a pod names or owns by its volumes, as queue keys. */
export function claimsOf({ metadata, spec }: AnyObject): string[] {
  const claims: string[] = []
  for (const { name, persistentVolumeClaim, ephemeral } of (spec?.volumes ?? []) as Volume[]) {
    const claim = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`)
    if (claim !== undefined) claims.push(queueKey({ namespace: metadata.namespace ?? '', name: claim }))
  }
  return claims
}

/** Pods by the claims that they name or own. */
export const CLAIM_INDEX: IndexDefinition<any> = { name: 'claims', valuesOf: ({ object }) => (object ? claimsOf(object as AnyObject) : []) }

/** Pods that a node has or had to mount the claim for. One that is not scheduled will not start with a claim that is being deleted. */
export const isClaimUsed = (claim: AnyObject, pods: Iterable<AnyObject>): boolean => {
  for (const pod of pods) if (mounts(pod, claim)) return true
  return false
}

function mounts(pod: AnyObject, claim: AnyObject): boolean {
  return Boolean(pod['spec'].nodeName) && volumesOf(pod, claim).some(({ ephemeral }) => !ephemeral || !isShutDown(pod))
}

/** Pods that name the claim or own it, wherever they are, and have not come to their end. */
export function isClaimReferenced(claim: AnyObject, pods: Iterable<AnyObject>): boolean {
  for (const pod of pods) if (!isOver(pod['status']?.phase) && volumesOf(pod, claim).length > 0) return true
  return false
}

export const isOver = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed'

/** The volumes of a pod that stand for a claim. */
function volumesOf(pod: AnyObject, claim: AnyObject): Volume[] {
  const { name } = claim.metadata
  const volumes = (pod['spec'].volumes ?? []) as Volume[]
  return volumes.filter(
    volume =>
      volume.persistentVolumeClaim?.claimName === name ||
      (volume.ephemeral !== undefined && `${pod.metadata.name}-${volume.name}` === name && isControlledBy(claim, pod)),
  )
}

const isControlledBy = (claim: AnyObject, pod: AnyObject): boolean =>
  (claim.metadata.ownerReferences ?? []).some(({ controller, uid }) => controller === true && uid === pod.metadata.uid)

/** The kubelet is done with it, or it was deleted without asking one. */
const isShutDown = ({ metadata: { deletionTimestamp, deletionGracePeriodSeconds } }: AnyObject): boolean =>
  deletionTimestamp !== undefined && deletionGracePeriodSeconds !== undefined && Number(deletionGracePeriodSeconds) === 0

/** A volume is used while it is bound to a claim. */
export const isVolumeUsed = ({ status }: AnyObject): boolean => status?.phase === 'Bound'

/** The classes that a claim has, wants or is changing to, or that a volume has. */
export function classesOf({ spec, status }: AnyObject): string[] {
  const names: (string | undefined)[] = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ]
  return names.filter(name => name !== undefined && name !== '') as string[]
}

/** A class is in use by claims that have it, request it or are changing to it, and by volumes that have it. */
export function isClassUsed({ metadata: { name = '' } }: AnyObject, volumes: Iterable<AnyObject>, claims: Iterable<AnyObject>): boolean {
  for (const users of [volumes, claims]) for (const user of users) if (classesOf(user).includes(name)) return true
  return false
}

/** Whether any pod of a group has not come to its end. */
export function isGroupUsed(pods: Iterable<AnyObject>): boolean {
  for (const pod of pods) if (!isOver(pod['status']?.phase)) return true
  return false
}
