/** Expansion and modification of volumes: first the volume itself, then the file system on its node. */
import type { Notice } from '../../client/event-recorder.ts'
import { type Claim, capacityOf, requestOf, type Volume } from '../../kinds/rules/persistent-volume/binding.ts'
import type { PersistentVolumeClaimStatus } from '../../kinds/rules/persistent-volume/claim-status.ts'
import { getOwn } from '../../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import { DRIVER } from './driver.ts'
import type { AttributesClass } from './provision.ts'

export type ResizeStep = {
  readonly spec?: Partial<Volume['spec']>
  readonly status: PersistentVolumeClaimStatus
  readonly notices: readonly Notice[]
}

const normal = (reason: string, message: string): Notice => ({ type: 'Normal', reason, message })
const storageOf = (amounts: Readonly<Record<string, string>> | undefined) => getOwn(amounts ?? {}, 'storage')

/** The next step to the requested size; undefined when the claim has it, or the node has to go on. */
export function resizeStep(claim: Claim, volume: Volume, now: string): ResizeStep | undefined {
  const requested = storageOf(claim.spec.resources.requests)
  if (claim.status.phase !== 'Bound' || requested === undefined) return undefined
  const held = storageOf(claim.status.capacity)
  if (held !== undefined && compareQuantity(requestOf(claim), parseQuantity(held)) <= 0) return undefined
  const state = getOwn(claim.status.allocatedResourceStatuses ?? {}, 'storage')
  const isGrown = compareQuantity(capacityOf(volume), requestOf(claim)) >= 0
  if (isGrown && state === 'NodeResizePending') return undefined
  const isFirst = state !== 'ControllerResizeInProgress'
  const began = isFirst && !isGrown ? [normal('Resizing', `External resizer is resizing volume ${volume.metadata.name}`)] : []
  const status = (phase: string, condition: string, message?: string): PersistentVolumeClaimStatus => ({
    ...claim.status,
    allocatedResources: { ...claim.status.allocatedResources, storage: requested },
    allocatedResourceStatuses: { ...claim.status.allocatedResourceStatuses, storage: phase },
    conditions: withCondition(claim.status, condition, { now, ...(message !== undefined && { message }) }),
  })
  // The status announces the expansion before the volume changes, so that it is known after a restart.
  if (isFirst && !isGrown) return { status: status('ControllerResizeInProgress', 'Resizing'), notices: began }
  const spec = isGrown ? {} : { spec: { capacity: { ...volume.spec.capacity, storage: requested } } }
  if (volume.spec.volumeMode === 'Block')
    return { ...spec, status: resized(claim, requested), notices: [normal('VolumeResizeSuccessful', 'Resize volume succeeded')] }
  const message = 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.'
  return {
    ...spec,
    status: status('NodeResizePending', 'FileSystemResizePending', message),
    notices: [normal('FileSystemResizeRequired', 'Require file system resize of volume on node')],
  }
}

/** The status of a claim after its node has expanded the file system; undefined when no expansion is pending. */
export function fileSystemResized(claim: Claim): PersistentVolumeClaimStatus | undefined {
  const state = getOwn(claim.status.allocatedResourceStatuses ?? {}, 'storage')
  const size = storageOf(claim.status.allocatedResources)
  return state === 'NodeResizePending' && size !== undefined ? resized(claim, size) : undefined
}

function resized({ status }: Claim, size: string): PersistentVolumeClaimStatus {
  const { allocatedResourceStatuses: states = {}, conditions = [], ...rest } = status
  const { storage: _, ...others } = states
  const left = conditions.filter(({ type }) => !RESIZES.has(type))
  return {
    ...rest,
    capacity: { ...status.capacity, storage: size },
    ...(Object.keys(others).length > 0 && { allocatedResourceStatuses: others }),
    ...(left.length > 0 && { conditions: left }),
  }
}
const RESIZES: ReadonlySet<string> = new Set(['Resizing', 'FileSystemResizePending'])

function withCondition(
  { conditions = [] }: PersistentVolumeClaimStatus,
  type: string,
  { now, message }: { now: string; message?: string },
) {
  const others = conditions.filter(each => !RESIZES.has(each.type))
  const condition = {
    type,
    status: 'True',
    lastProbeTime: null as never,
    lastTransitionTime: now,
    ...(message !== undefined && { message }),
  }
  return [...others, condition]
}

/** The next step to the requested attributes. */
export function modifyStep(claim: Claim, attributesClass: (name: string) => AttributesClass | undefined): ResizeStep | undefined {
  const requested = claim.spec.volumeAttributesClassName
  const { status } = claim
  if (status.phase !== 'Bound' || !requested || requested === status.currentVolumeAttributesClassName) return undefined
  const volume = claim.spec.volumeName
  const found = attributesClass(requested)
  const modifying = (state: string) => ({ ...status, modifyVolumeStatus: { targetVolumeAttributesClassName: requested, status: state } })
  const { modifyVolumeStatus } = status
  const isRecorded = (state: string) =>
    modifyVolumeStatus?.status === state && modifyVolumeStatus.targetVolumeAttributesClassName === requested
  if (!found || found.driverName !== DRIVER) {
    const state = found ? 'Infeasible' : 'Pending'
    const why = found ? `VAC ${requested} is for driver ${found.driverName}, not for ${DRIVER}` : `VAC ${requested} does not exist.`
    return isRecorded(state)
      ? undefined
      : { status: modifying(state), notices: [{ type: 'Warning', reason: 'VolumeModifyFailed', message: why }] }
  }
  if (!isRecorded('InProgress'))
    return {
      status: modifying('InProgress'),
      notices: [normal('VolumeModify', `external resizer is modifying volume ${volume} with vac ${requested}`)],
    }
  const { modifyVolumeStatus: _, ...rest } = status
  return {
    spec: { volumeAttributesClassName: requested },
    status: { ...rest, currentVolumeAttributesClassName: requested },
    notices: [normal('VolumeModifySuccessful', `external resizer modified volume ${volume} with vac ${requested} successfully`)],
  }
}
