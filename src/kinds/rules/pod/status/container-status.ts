/** The status of one container of a pod. */
import { atomic, bool, int32, int64, keyed, mapOf, message, quantity, type Static, string, time } from '../../../../schema/types.ts'
import { STOP_SIGNALS } from '../containers/probes.ts'
import { ResourceRequirements, roundAmounts } from '../resources/resources.ts'

const ContainerStateWaiting = message('ContainerStateWaiting', {
  reason: [1, string, 'A CamelCase reason why it is not running yet.'],
  message: [2, string, 'The same for people.'],
})

const ContainerStateRunning = message('ContainerStateRunning', {
  startedAt: [1, time.always(), 'When it was last started.'],
})

export const ContainerStateTerminated = message('ContainerStateTerminated', {
  exitCode: [1, int32.always(), 'The exit code of the process.'],
  signal: [2, int32, 'The signal that ended it.'],
  reason: [3, string, 'A CamelCase reason why it terminated.'],
  message: [4, string, 'The termination message, for people.'],
  startedAt: [5, time.always(), 'When it had started.'],
  finishedAt: [6, time.always(), 'When it ended.'],
  containerID: [7, string, 'The container that ended, as `type://id`.'],
})
export type ContainerStateTerminated = Static<typeof ContainerStateTerminated>

const ContainerState = message('ContainerState', {
  waiting: [1, ContainerStateWaiting, 'Set while the container waits to start.'],
  running: [2, ContainerStateRunning, 'Set while the container runs.'],
  terminated: [3, ContainerStateTerminated, 'Set once the container has ended.'],
})

const ImageVolumeStatus = message('ImageVolumeStatus', {
  imageRef: [1, string.expected(), 'The exact image that is mounted.'],
})

const VolumeStatus = message('VolumeStatus', {
  image: [1, ImageVolumeStatus, 'The image of an image volume.'],
})

export const VolumeMountStatus = message('VolumeMountStatus', {
  name: [1, string.always(), 'The volume.'],
  mountPath: [2, string.always(), 'Where it is mounted.'],
  readOnly: [3, bool, 'Whether it may only be read.'],
  recursiveReadOnly: [4, string.optional(), 'Whether mounts below are read-only too.'],
  volumeStatus: [5, VolumeStatus, 'The status of the volume itself.'],
})
export type VolumeMountStatus = Static<typeof VolumeMountStatus>

export const LinuxContainerUser = message('LinuxContainerUser', {
  uid: [1, int64.always(), 'User.'],
  gid: [2, int64.always(), 'Primary group.'],
  supplementalGroups: [3, atomic(int64), 'Further groups.'],
})
export type LinuxContainerUser = Static<typeof LinuxContainerUser>

const ContainerUser = message('ContainerUser', {
  linux: [1, LinuxContainerUser, 'The identity on Linux.'],
})

export const ResourceHealth = message('ResourceHealth', {
  resourceID: [1, string.always(), 'The device.'],
  health: [2, string, 'Healthy, Unhealthy or Unknown.'],
  message: [6, string.optional(), 'The same for people.'],
})
export type ResourceHealth = Static<typeof ResourceHealth>

const ResourceStatus = message('ResourceStatus', {
  name: [1, string.always(), 'Name of the resource.'],
  resources: [2, keyed(ResourceHealth, 'resourceID'), 'Health of each device.'],
})

export const ContainerStatus = message(
  'ContainerStatus',
  {
    name: [1, string.always(), 'Name of the container.'],
    state: [2, ContainerState.orEmpty(), 'How the container is now.'],
    lastState: [3, ContainerState.orEmpty(), 'How the container ended before.'],
    ready: [4, bool.always(), 'Whether it passes its readiness probe.'],
    restartCount: [5, int32.always(), 'How often it has been restarted.'],
    image: [6, string.always(), 'The image that runs.'],
    imageID: [7, string.always(), 'The exact image that runs, as the runtime names it.'],
    containerID: [8, string, 'The container, as `type://id`.'],
    started: [9, bool.optional(), 'Whether it has started and passed its startup probe.'],
    allocatedResources: [10, mapOf(quantity), 'Resources the node has set aside for the container.'],
    resources: [11, ResourceRequirements, 'Resources in force for the running container.'],
    volumeMounts: [12, keyed(VolumeMountStatus, 'mountPath').mergedBy('mountPath'), 'How its volumes are mounted.'],
    user: [13, ContainerUser, 'The identity its first process started with.'],
    allocatedResourcesStatus: [14, keyed(ResourceStatus, 'name').mergedBy('name'), 'Health of the devices given to the container.'],
    stopSignal: [15, string.listed(...STOP_SIGNALS).optional(), 'The signal that is sent to stop it.'],
  },
  { defaults: status => roundAmounts(status.allocatedResources) },
)
export type ContainerStatus = Static<typeof ContainerStatus>
