/** Who uses claims, volumes and classes of their attributes. */
import type { AnyObject } from '../../schema/object-meta.ts'

/** Pods that a node has or had to mount the claim for. One that is not scheduled will not start with a claim that is to go. */
export const isClaimUsed = (claim: AnyObject, pods: Iterable<AnyObject>): boolean => {
  for (const pod of pods) if (mounts(pod, claim)) return true
  return false
}

function mounts(pod: AnyObject, claim: AnyObject): boolean {
  const { nodeName, volumes = [] } = pod['spec']
  if (!nodeName) return false
  const { name } = claim.metadata
  return (volumes as Volume[]).some(
    volume =>
      volume.persistentVolumeClaim?.claimName === name ||
      (volume.ephemeral !== undefined && `${pod.metadata.name}-${volume.name}` === name && isControlledBy(claim, pod) && !isShutDown(pod)),
  )
}
type Volume = { readonly name: string; readonly persistentVolumeClaim?: { readonly claimName: string }; readonly ephemeral?: object }

const isControlledBy = (claim: AnyObject, pod: AnyObject): boolean =>
  (claim.metadata.ownerReferences ?? []).some(({ controller, uid }) => controller === true && uid === pod.metadata.uid)

/** The kubelet is done with it, or it was deleted without asking one. */
const isShutDown = ({ metadata: { deletionTimestamp, deletionGracePeriodSeconds } }: AnyObject): boolean =>
  deletionTimestamp !== undefined && deletionGracePeriodSeconds !== undefined && Number(deletionGracePeriodSeconds) === 0

/** A volume is used while it is bound to a claim. */
export const isVolumeUsed = ({ status }: AnyObject): boolean => status?.phase === 'Bound'

/** A class is used by claims that have it, want it or are on their way to it, and by volumes that have it. */
export function isClassUsed({ metadata: { name } }: AnyObject, volumes: Iterable<AnyObject>, claims: Iterable<AnyObject>): boolean {
  for (const { spec } of volumes) if (spec.volumeAttributesClassName === name) return true
  for (const { spec, status = {} } of claims) {
    const names = [
      spec.volumeAttributesClassName,
      status.currentVolumeAttributesClassName,
      status.modifyVolumeStatus?.targetVolumeAttributesClassName,
    ]
    if (names.includes(name)) return true
  }
  return false
}
