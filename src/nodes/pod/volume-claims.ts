/** Checks the claims of a pod as a kubelet does: bound, and with their volume attached. */
import { attachmentName } from '../../controllers/attachdetach/reconcile.ts'
import type { Claim, Volume } from '../../kinds/rules/persistent-volume/binding.ts'
import type { Missing } from './references.ts'

export type ClaimReader = {
  readonly claim: (name: string) => Claim | undefined
  readonly volume: (name: string) => Volume | undefined
  /** Whether the volumes of a driver have to be attached before they can be mounted. */
  readonly isAttached: (driver: string, attachment: string) => boolean
  readonly namespace: string
  readonly node: string
}

/** Why a claim cannot be mounted. An attachment that is only a matter of time has no message. */
export function claimProblem(volume: string, name: string, reader: ClaimReader): Missing | undefined {
  const { namespace, node } = reader
  const waits = [{ plural: 'persistentvolumeclaims' as const, name }]
  const claim = reader.claim(name)
  if (!claim) return { message: `persistentvolumeclaim "${name}" not found`, objects: waits }
  const found = claim.spec.volumeName ? reader.volume(claim.spec.volumeName) : undefined
  if (claim.status.phase !== 'Bound' || !found)
    return {
      message: `Unable to attach or mount volumes: unmounted volumes=[${volume}], unattached volumes=[${volume}], failed to process volumes=[${volume}]: error processing PVC ${namespace}/${name}: PVC is not bound`,
      objects: waits,
    }
  const { csi } = found.spec
  if (!csi) return undefined
  const attachment = attachmentName(csi.volumeHandle, csi.driver, node)
  if (reader.isAttached(csi.driver, attachment)) return undefined
  return { message: '', objects: [{ plural: 'volumeattachments', name: attachment }] }
}
