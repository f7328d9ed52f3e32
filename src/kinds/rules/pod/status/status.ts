/** The status of a pod. */
import { atomic, int64, keyed, mapOf, message, quantity, type Static, set, string, time } from '../../../../schema/types.ts'
import { ResourceRequirements, roundAmounts } from '../resources/resources.ts'
import { ContainerStatus } from './container-status.ts'

export const PodCondition = message('PodCondition', {
  type: [1, string.always(), 'The type of the condition.'],
  observedGeneration: [7, int64, 'The generation of the pod that was looked at.'],
  status: [2, string.always(), 'Whether it holds: True, False or Unknown.'],
  lastProbeTime: [3, time.always(), 'When it was last looked at.'],
  lastTransitionTime: [4, time.always(), 'When the status last changed.'],
  reason: [5, string, 'A CamelCase reason for the last transition.'],
  message: [6, string, 'The same for people.'],
})
export type PodCondition = Static<typeof PodCondition>

const HostIP = message('HostIP', {
  ip: [1, string.always(), 'The address.'],
})

export const PodIP = message('PodIP', {
  ip: [1, string.always(), 'The address.'],
})
export type PodIP = Static<typeof PodIP>

export const PodResourceClaimStatus = message('PodResourceClaimStatus', {
  name: [1, string.always(), 'The claim in the spec.'],
  resourceClaimName: [2, string.optional(), 'The claim that was made for it.'],
})
export type PodResourceClaimStatus = Static<typeof PodResourceClaimStatus>

const ContainerExtendedResourceRequest = message('ContainerExtendedResourceRequest', {
  containerName: [1, string.always(), 'The container of the request.'],
  resourceName: [2, string.always(), 'The extended resource requested.'],
  requestName: [3, string.always(), 'The request of the claim that answers it.'],
})

export const PodExtendedResourceClaimStatus = message('PodExtendedResourceClaimStatus', {
  requestMappings: [1, atomic(ContainerExtendedResourceRequest).always(), 'Which request of the claim is for which extended resource.'],
  resourceClaimName: [2, string.always(), 'The claim made for the pod.'],
})
export type PodExtendedResourceClaimStatus = Static<typeof PodExtendedResourceClaimStatus>

const NodeAllocatableMappedResources = message('NodeAllocatableMappedResources', {
  name: [1, string.always(), 'Name of the resource.'],
  quantity: [2, quantity.always(), 'How much of it the claim holds.'],
})

const NodeAllocatableOverheadResources = message('NodeAllocatableOverheadResources', {
  name: [1, string.always(), 'Name of the resource.'],
  perPod: [2, quantity.optional(), 'Overhead for the pod.'],
  perContainer: [3, quantity.optional(), 'Overhead for each container that uses the claim.'],
})

export const NodeAllocatableResourceClaimStatus = message('NodeAllocatableResourceClaimStatus', {
  resourceClaimName: [1, string.always(), 'The claim.'],
  containers: [2, set(string), 'Containers that use the claim.'],
  mapping: [4, keyed(NodeAllocatableMappedResources, 'name').mergedBy('name'), 'Resources that the devices map to.'],
  overhead: [5, keyed(NodeAllocatableOverheadResources, 'name').mergedBy('name'), 'Resources that the devices cost beside.'],
})
export type NodeAllocatableResourceClaimStatus = Static<typeof NodeAllocatableResourceClaimStatus>

export const VolumeHealthCondition = message('VolumeHealthCondition', {
  status: [1, string.always(), 'Inaccessible, DataLoss or Degraded.'],
  reason: [2, string.always(), 'A CamelCase reason for the status.'],
  message: [3, string, 'The same for people.'],
})
export type VolumeHealthCondition = Static<typeof VolumeHealthCondition>

export const PodVolumeHealth = message('PodVolumeHealth', {
  name: [1, string.always(), 'Name of the volume.'],
  healthConditions: [2, keyed(VolumeHealthCondition, 'status', 'reason').mergedBy('status'), 'Problems of the volume.'],
  lastTransitionTime: [3, time.always(), 'When that last changed.'],
})
export type PodVolumeHealth = Static<typeof PodVolumeHealth>

/** podIP and the first of podIPs are kept equal; where they differ, podIP wins. */
function fillPodStatus(status: { podIP?: string; podIPs?: PodIP[]; allocatedResources?: Record<string, string> }): void {
  const first = status.podIPs?.[0]?.ip
  if (!status.podIP) {
    if (first) status.podIP = first
  } else if (first !== status.podIP) status.podIPs = [{ ip: status.podIP }]
  roundAmounts(status.allocatedResources)
}

export const PodStatus = message(
  'PodStatus',
  {
    observedGeneration: [17, int64, 'The generation this status describes.'],
    phase: [1, string.listed('Failed', 'Pending', 'Running', 'Succeeded', 'Unknown'), 'Pending, Running, Succeeded, Failed or Unknown.'],
    conditions: [2, keyed(PodCondition, 'type').mergedBy('type'), 'Latest observations.'],
    message: [3, string, 'Why the pod is in this state, for people.'],
    reason: [4, string, 'A CamelCase reason for the state of the pod.'],
    nominatedNodeName: [11, string, 'The node on which other pods are preempted for it.'],
    hostIP: [5, string, 'Address of the node.'],
    hostIPs: [16, atomic(HostIP).mergedBy('ip'), 'All addresses of the node, hostIP first.'],
    podIP: [6, string, 'Address of the pod.'],
    podIPs: [12, keyed(PodIP, 'ip').mergedBy('ip'), 'All addresses of the pod, podIP first.'],
    startTime: [7, time.optional(), 'When the node took the pod on.'],
    initContainerStatuses: [10, atomic(ContainerStatus), 'How each init container is.'],
    containerStatuses: [8, atomic(ContainerStatus), 'How each container is.'],
    qosClass: [9, string.listed('BestEffort', 'Burstable', 'Guaranteed'), 'Guaranteed, Burstable or BestEffort, from requests and limits.'],
    ephemeralContainerStatuses: [13, atomic(ContainerStatus), 'How each ephemeral container is.'],
    resize: [14, string, 'State of a resize; deprecated in favour of conditions.'],
    resourceClaimStatuses: [15, keyed(PodResourceClaimStatus, 'name').mergedBy('name').retainingKeys(), 'Claims made for the pod.'],
    extendedResourceClaimStatus: [18, PodExtendedResourceClaimStatus, 'The claim for extended resources.'],
    allocatedResources: [19, mapOf(quantity), 'Resources the node has set aside for the whole pod.'],
    resources: [20, ResourceRequirements, 'Resources in force for the whole pod.'],
    nodeAllocatableResourceClaimStatuses: [
      21,
      keyed(NodeAllocatableResourceClaimStatus, 'resourceClaimName').mergedBy('resourceClaimName'),
      'Node resources that come with device claims.',
    ],
    volumeHealth: [22, keyed(PodVolumeHealth, 'name'), 'Volumes that are unwell.'],
  },
  { defaults: fillPodStatus },
)
export type PodStatus = Static<typeof PodStatus>
