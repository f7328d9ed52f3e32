/** Decides the next step of claims and volumes: binding, provisioning, loss, release or reclaim. */
import type { Notice } from '../../client/event-recorder.ts'
import {
  annotated,
  annotationOf,
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  bestVolume,
  type Claim,
  hasAnnotation,
  isBoundTo,
  mismatchOf,
  PROVISIONED_BY,
  SELECTED_NODE,
  sameVolumeMode,
  type Volume,
} from '../../kinds/rules/persistent-volume/binding.ts'
import type { PersistentVolumeClaimStatus } from '../../kinds/rules/persistent-volume/claim-status.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import { deepEqual, getOwn } from '../../lib/json-value.ts'
import { compareQuantity, isQuantity, parseQuantity } from '../../lib/quantity.ts'
import { MIGRATED_TO, makerFor, OLD_PROVISIONER, PROVISIONER, removalOf } from './in-tree.ts'

/** Annotates volumes that were expanded before their file system with the capacity that the claim still has. */
export const PRE_RESIZE_CAPACITY = 'volume.alpha.kubernetes.io/pre-resize-capacity'

export type ClaimSurroundings = {
  /** The volumes that may suit it: those that name the claim, and the free ones of its class. */
  readonly volumes: () => Iterable<Volume>
  readonly volume: (name: string) => Volume | undefined
  readonly storageClass: (name: string) => { readonly provisioner: string; readonly volumeBindingMode: string } | undefined
  /** The class that claims get which name none. */
  readonly defaultClass: () => string | undefined
  /** The names of the pods that use the claim and have no node yet. */
  readonly waitingPods: () => readonly string[]
}

export type ClaimStep =
  | { readonly step: 'bind'; readonly volume: string }
  | { readonly step: 'class'; readonly name: string }
  | { readonly step: 'provision'; readonly provisioner: string; readonly notice: Notice }
  /** The claim is set to Pending. */
  | { readonly step: 'pending'; readonly notice?: Notice }
  /** Only an event is recorded. */
  | { readonly step: 'report'; readonly notice: Notice }
  | { readonly step: 'lose'; readonly notice: Notice }

export function nextClaimStep(claim: Claim, around: ClaimSurroundings): ClaimStep {
  return hasAnnotation(claim, BIND_COMPLETED) ? boundStep(claim, around) : unboundStep(claim, around)
}

function unboundStep(claim: Claim, around: ClaimSurroundings): ClaimStep {
  if (claim.spec.volumeName) return requestedStep(claim, claim.spec.volumeName, around)
  const className = classOf(claim)
  const storageClass = className ? around.storageClass(className) : undefined
  const waits = storageClass?.volumeBindingMode === 'WaitForFirstConsumer'
  const found = bestVolume(claim, around.volumes(), { waits })
  if (found) return { step: 'bind', volume: found.metadata.name! }
  if (className === undefined) {
    const name = around.defaultClass()
    if (name !== undefined) return { step: 'class', name }
  }
  if (waits && !hasAnnotation(claim, SELECTED_NODE)) return { step: 'pending', notice: waitNotice(around.waitingPods()) }
  if (!className)
    return {
      step: 'pending',
      notice: normal('FailedBinding', 'no persistent volumes available for this claim and no storage class is set'),
    }
  if (!storageClass)
    return { step: 'report', notice: warning('ProvisioningFailed', `storageclass.storage.k8s.io "${className}" not found`) }
  const maker = makerFor(storageClass.provisioner)
  if (maker.type === 'none') return { step: 'report', notice: warning('ProvisioningFailed', maker.why) }
  const notice = normal(
    'ExternalProvisioning',
    `Waiting for a volume to be created either by the external provisioner '${maker.name}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
  )
  return { step: 'provision', provisioner: maker.name, notice }
}

/** A claim that names its volume gets that one or none. */
function requestedStep(claim: Claim, name: string, { volume: volumeNamed }: ClaimSurroundings): ClaimStep {
  const volume = volumeNamed(name)
  if (!volume) return { step: 'pending' }
  if (volume.spec.claimRef) {
    if (isBoundTo(volume, claim)) return { step: 'bind', volume: name }
    const notice = warning('FailedBinding', `volume "${name}" already bound to a different claim.`)
    // Only the annotation that says that it was bound has been taken away by hand: its status stays.
    return hasAnnotation(claim, BOUND_BY_CONTROLLER) ? { step: 'report', notice } : { step: 'pending', notice }
  }
  const why = mismatchOf(claim, volume)
  if (why === undefined) return { step: 'bind', volume: name }
  return { step: 'pending', notice: warning('VolumeMismatch', `Cannot bind to requested volume "${name}": ${why}`) }
}

/** A claim that was bound once keeps its volume or is lost. */
function boundStep(claim: Claim, { volume: volumeNamed }: ClaimSurroundings): ClaimStep {
  const name = claim.spec.volumeName
  if (!name) return lose('ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!')
  const volume = volumeNamed(name)
  if (!volume) return lose('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!')
  if (!volume.spec.claimRef || volume.spec.claimRef.uid === claim.metadata.uid) return { step: 'bind', volume: name }
  return lose('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly')
}

const normal = (reason: string, message: string): Notice => ({ type: 'Normal', reason, message })
const warning = (reason: string, message: string): Notice => ({ type: 'Warning', reason, message })
const lose = (reason: string, message: string): ClaimStep => ({ step: 'lose', notice: warning(reason, message) })

function waitNotice(pods: readonly string[]): Notice {
  if (pods.length === 0) return normal('WaitForFirstConsumer', 'waiting for first consumer to be created before binding')
  return normal('WaitForPodScheduled', `waiting for ${pods.length > 1 ? 'pods' : 'pod'} ${pods.join(',')} to be scheduled`)
}

/** The claim with its volume; undefined when nothing changes. */
export function claimBoundTo<C extends Claim>(claim: C, volume: string): C | undefined {
  const isNamed = claim.spec.volumeName === volume
  if (isNamed && hasAnnotation(claim, BIND_COMPLETED)) return undefined
  const annotations = {
    [BIND_COMPLETED]: annotationOf(claim, BIND_COMPLETED) ?? 'yes',
    ...(!isNamed && { [BOUND_BY_CONTROLLER]: annotationOf(claim, BOUND_BY_CONTROLLER) ?? 'yes' }),
  }
  return { ...annotated(claim, annotations), spec: { ...claim.spec, volumeName: volume } }
}

/** Annotates a claim with its provisioner; undefined when nothing changes. */
export const claimToBeMadeBy = <C extends Claim>(claim: C, provisioner: string): C | undefined =>
  annotationOf(claim, PROVISIONER) === provisioner
    ? undefined
    : annotated(claim, { [PROVISIONER]: provisioner, [OLD_PROVISIONER]: provisioner })

/** The status of a claim in a phase, and with a volume; undefined when nothing changes. */
export function claimStatus(
  { status }: Claim,
  phase: 'Pending' | 'Bound' | 'Lost',
  volume?: Volume,
): PersistentVolumeClaimStatus | undefined {
  const { accessModes: _, capacity, currentVolumeAttributesClassName: current, ...others } = status
  const next: PersistentVolumeClaimStatus = { ...others, phase }
  if (volume) {
    const { accessModes, volumeAttributesClassName } = volume.spec
    if (accessModes) next.accessModes = accessModes
    const held = status.phase === phase ? capacity : capacityFor(volume, capacity)
    if (held) next.capacity = held
    // After the binding, the component that modifies volumes keeps this field.
    const attributes = status.phase === 'Pending' && phase === 'Bound' ? volumeAttributesClassName : current
    if (attributes !== undefined) next.currentVolumeAttributesClassName = attributes
  }
  return deepEqual(next, status) ? undefined : next
}

/** The capacity that a volume gives to its claim. The file system may still be smaller than the volume. */
function capacityFor(volume: Volume, had: Record<string, string> | undefined): Record<string, string> | undefined {
  const before = annotationOf(volume, PRE_RESIZE_CAPACITY)
  const all = volume.spec.capacity
  if (before !== undefined) return { ...had, storage: isQuantity(before) ? before : (getOwn(all ?? {}, 'storage') ?? '0') }
  const [now, then] = [getOwn(all ?? {}, 'storage'), getOwn(had ?? {}, 'storage')]
  if (now !== undefined && then !== undefined && compareQuantity(parseQuantity(now), parseQuantity(then)) === 0) return had
  return all
}

export type VolumeStep =
  | { readonly step: 'phase'; readonly phase: 'Available' | 'Bound' }
  /** The claim is looked at, which finishes the binding. */
  | { readonly step: 'claim' }
  | { readonly step: 'mismatch'; readonly ofVolume: Notice; readonly ofClaim: Notice }
  /** Its claim is gone or has another volume. */
  | { readonly step: 'reclaim' }
  | { readonly step: 'unbind' }

/** The next step for a volume, given the claim that has the name in its claimRef. */
export function nextVolumeStep(volume: Volume, named: Claim | undefined): VolumeStep {
  const { claimRef } = volume.spec
  if (!claimRef?.uid) return { step: 'phase', phase: 'Available' }
  const claim = named?.metadata.uid === claimRef.uid ? named : undefined
  if (!claim) return { step: 'reclaim' }
  if (claim.spec.volumeName === volume.metadata.name) return { step: 'phase', phase: 'Bound' }
  if (claim.spec.volumeName) return isMade(volume) ? { step: 'reclaim' } : { step: 'unbind' }
  if (sameVolumeMode(claim, volume)) return { step: 'claim' }
  const [volumeName, claimName] = [volume.metadata.name, claim.metadata.name]
  return {
    step: 'mismatch',
    ofVolume: warning(
      'VolumeMismatch',
      `Cannot bind PersistentVolume to requested PersistentVolumeClaim "${claimName}" due to incompatible volumeMode.`,
    ),
    ofClaim: warning(
      'VolumeMismatch',
      `Cannot bind PersistentVolume "${volumeName}" to requested PersistentVolumeClaim due to incompatible volumeMode.`,
    ),
  }
}

/** Provisioned for a claim that is bound to another volume by now, and to be deleted when released. */
const isMade = (volume: Volume): boolean => hasAnnotation(volume, PROVISIONED_BY) && volume.spec.persistentVolumeReclaimPolicy === 'Delete'

/** The volume after its release: available to all, or again reserved for the claim name it was created with. */
export function unboundVolume<V extends Volume>(volume: V): V {
  const { claimRef, ...spec } = volume.spec
  if (!hasAnnotation(volume, BOUND_BY_CONTROLLER)) {
    const { uid: _, ...reserved } = claimRef!
    return { ...volume, spec: { ...spec, claimRef: reserved } }
  }
  const { [BOUND_BY_CONTROLLER]: _, ...annotations } = volume.metadata.annotations!
  const { annotations: __, ...metadata } = volume.metadata
  return { ...volume, metadata: { ...metadata, ...(Object.keys(annotations).length > 0 && { annotations }) }, spec }
}

/** The treatment of a released volume, by its reclaim policy. */
export type Reclaim =
  | { readonly type: 'keep' }
  | { readonly type: 'delete' }
  | { readonly type: 'recycle' }
  | { readonly type: 'fail'; readonly notice: Notice }

export function reclaimOf(volume: Volume): Reclaim {
  if (annotationOf(volume, MIGRATED_TO)) return { type: 'keep' }
  const { persistentVolumeReclaimPolicy: policy, hostPath, nfs } = volume.spec
  if (policy === 'Retain') return { type: 'keep' }
  if (policy === 'Recycle')
    return hostPath || nfs
      ? { type: 'recycle' }
      : { type: 'fail', notice: warning('VolumeFailedRecycle', 'No recycler plugin found for the volume!') }
  if (policy !== 'Delete')
    return { type: 'fail', notice: warning('VolumeUnknownReclaimPolicy', 'Volume has unrecognized PersistentVolumeReclaimPolicy') }
  const removal = removalOf(volume)
  if (removal.type === 'fail') return { type: 'fail', notice: warning('VolumeFailedDelete', removal.why) }
  return removal.type === 'delete' ? { type: 'delete' } : { type: 'keep' }
}
