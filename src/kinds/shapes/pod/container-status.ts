/** What is observed of one container of a pod. */
import { atomic, bool, int32, int64, keyed, mapOf, message, quantity, type Static, string, time } from '../../../schema/types.ts'
import { ResourceRequirements } from './resources.ts'

export const ContainerStateWaiting = message('ContainerStateWaiting', {
  reason: [1, string, ''],
  message: [2, string, ''],
})
export type ContainerStateWaiting = Static<typeof ContainerStateWaiting>

export const ContainerStateRunning = message('ContainerStateRunning', {
  startedAt: [1, time.always(), ''],
})
export type ContainerStateRunning = Static<typeof ContainerStateRunning>

export const ContainerStateTerminated = message('ContainerStateTerminated', {
  exitCode: [1, int32.always(), ''],
  signal: [2, int32, ''],
  reason: [3, string, ''],
  message: [4, string, ''],
  startedAt: [5, time.always(), ''],
  finishedAt: [6, time.always(), ''],
  containerID: [7, string, ''],
})
export type ContainerStateTerminated = Static<typeof ContainerStateTerminated>

export const ContainerState = message('ContainerState', {
  waiting: [1, ContainerStateWaiting, ''],
  running: [2, ContainerStateRunning, ''],
  terminated: [3, ContainerStateTerminated, ''],
})
export type ContainerState = Static<typeof ContainerState>

export const ImageVolumeStatus = message('ImageVolumeStatus', {
  imageRef: [1, string, ''],
})
export type ImageVolumeStatus = Static<typeof ImageVolumeStatus>

export const VolumeStatus = message('VolumeStatus', {
  image: [1, ImageVolumeStatus, ''],
})
export type VolumeStatus = Static<typeof VolumeStatus>

export const VolumeMountStatus = message('VolumeMountStatus', {
  name: [1, string.always(), ''],
  mountPath: [2, string.always(), ''],
  readOnly: [3, bool, ''],
  recursiveReadOnly: [4, string.optional(), ''],
  volumeStatus: [5, VolumeStatus, ''],
})
export type VolumeMountStatus = Static<typeof VolumeMountStatus>

export const LinuxContainerUser = message('LinuxContainerUser', {
  uid: [1, int64.always(), ''],
  gid: [2, int64.always(), ''],
  supplementalGroups: [3, atomic(int64), ''],
})
export type LinuxContainerUser = Static<typeof LinuxContainerUser>

export const ContainerUser = message('ContainerUser', {
  linux: [1, LinuxContainerUser, ''],
})
export type ContainerUser = Static<typeof ContainerUser>

export const ResourceHealth = message('ResourceHealth', {
  resourceID: [1, string.always(), ''],
  health: [2, string, ''],
  message: [6, string.optional(), ''],
})
export type ResourceHealth = Static<typeof ResourceHealth>

export const ResourceStatus = message('ResourceStatus', {
  name: [1, string.always(), ''],
  resources: [2, keyed(ResourceHealth, 'resourceID'), ''],
})
export type ResourceStatus = Static<typeof ResourceStatus>

export const ContainerStatus = message('ContainerStatus', {
  name: [1, string.always(), ''],
  state: [2, ContainerState.orEmpty(), ''],
  lastState: [3, ContainerState.orEmpty(), ''],
  ready: [4, bool.always(), ''],
  restartCount: [5, int32.always(), ''],
  image: [6, string.always(), ''],
  imageID: [7, string.always(), ''],
  containerID: [8, string, ''],
  started: [9, bool.optional(), ''],
  allocatedResources: [10, mapOf(quantity), ''],
  resources: [11, ResourceRequirements, ''],
  volumeMounts: [12, keyed(VolumeMountStatus, 'mountPath').mergedBy('mountPath'), ''],
  user: [13, ContainerUser, ''],
  allocatedResourcesStatus: [14, keyed(ResourceStatus, 'name').mergedBy('name'), ''],
  stopSignal: [15, string.optional(), ''],
})
export type ContainerStatus = Static<typeof ContainerStatus>
