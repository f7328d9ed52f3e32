/** What is observed of a pod. */
import { atomic, int64, keyed, mapOf, message, quantity, type Static, set, string, time } from '../../../schema/types.ts'
import { ContainerStatus } from './container-status.ts'
import { ResourceRequirements } from './resources.ts'

export const PodCondition = message('PodCondition', {
  type: [1, string.always(), ''],
  observedGeneration: [7, int64, ''],
  status: [2, string.always(), ''],
  lastProbeTime: [3, time.always(), ''],
  lastTransitionTime: [4, time.always(), ''],
  reason: [5, string, ''],
  message: [6, string, ''],
})
export type PodCondition = Static<typeof PodCondition>

export const HostIP = message('HostIP', {
  ip: [1, string.always(), ''],
})
export type HostIP = Static<typeof HostIP>

export const PodIP = message('PodIP', {
  ip: [1, string.always(), ''],
})
export type PodIP = Static<typeof PodIP>

export const PodResourceClaimStatus = message('PodResourceClaimStatus', {
  name: [1, string.always(), ''],
  resourceClaimName: [2, string.optional(), ''],
})
export type PodResourceClaimStatus = Static<typeof PodResourceClaimStatus>

export const ContainerExtendedResourceRequest = message('ContainerExtendedResourceRequest', {
  containerName: [1, string.always(), ''],
  resourceName: [2, string.always(), ''],
  requestName: [3, string.always(), ''],
})
export type ContainerExtendedResourceRequest = Static<typeof ContainerExtendedResourceRequest>

export const PodExtendedResourceClaimStatus = message('PodExtendedResourceClaimStatus', {
  requestMappings: [1, atomic(ContainerExtendedResourceRequest).always(), ''],
  resourceClaimName: [2, string.always(), ''],
})
export type PodExtendedResourceClaimStatus = Static<typeof PodExtendedResourceClaimStatus>

export const NodeAllocatableMappedResources = message('NodeAllocatableMappedResources', {
  name: [1, string.always(), ''],
  quantity: [2, quantity.always(), ''],
})
export type NodeAllocatableMappedResources = Static<typeof NodeAllocatableMappedResources>

export const NodeAllocatableOverheadResources = message('NodeAllocatableOverheadResources', {
  name: [1, string.always(), ''],
  perPod: [2, quantity.optional(), ''],
  perContainer: [3, quantity.optional(), ''],
})
export type NodeAllocatableOverheadResources = Static<typeof NodeAllocatableOverheadResources>

export const NodeAllocatableResourceClaimStatus = message('NodeAllocatableResourceClaimStatus', {
  resourceClaimName: [1, string.always(), ''],
  containers: [2, set(string), ''],
  mapping: [4, keyed(NodeAllocatableMappedResources, 'name').mergedBy('name'), ''],
  overhead: [5, keyed(NodeAllocatableOverheadResources, 'name').mergedBy('name'), ''],
})
export type NodeAllocatableResourceClaimStatus = Static<typeof NodeAllocatableResourceClaimStatus>

export const VolumeHealthCondition = message('VolumeHealthCondition', {
  status: [1, string.always(), ''],
  reason: [2, string.always(), ''],
  message: [3, string, ''],
})
export type VolumeHealthCondition = Static<typeof VolumeHealthCondition>

export const PodVolumeHealth = message('PodVolumeHealth', {
  name: [1, string.always(), ''],
  healthConditions: [2, keyed(VolumeHealthCondition, 'status', 'reason').mergedBy('status'), ''],
  lastTransitionTime: [3, time.always(), ''],
})
export type PodVolumeHealth = Static<typeof PodVolumeHealth>

export const PodStatus = message('PodStatus', {
  observedGeneration: [17, int64, ''],
  phase: [1, string, ''],
  conditions: [2, keyed(PodCondition, 'type').mergedBy('type'), ''],
  message: [3, string, ''],
  reason: [4, string, ''],
  nominatedNodeName: [11, string, ''],
  hostIP: [5, string, ''],
  hostIPs: [16, atomic(HostIP).mergedBy('ip'), ''],
  podIP: [6, string, ''],
  podIPs: [12, keyed(PodIP, 'ip').mergedBy('ip'), ''],
  startTime: [7, time.optional(), ''],
  initContainerStatuses: [10, atomic(ContainerStatus), ''],
  containerStatuses: [8, atomic(ContainerStatus), ''],
  qosClass: [9, string, ''],
  ephemeralContainerStatuses: [13, atomic(ContainerStatus), ''],
  resize: [14, string, ''],
  resourceClaimStatuses: [15, keyed(PodResourceClaimStatus, 'name').mergedBy('name').retainingKeys(), ''],
  extendedResourceClaimStatus: [18, PodExtendedResourceClaimStatus, ''],
  allocatedResources: [19, mapOf(quantity), ''],
  resources: [20, ResourceRequirements, ''],
  nodeAllocatableResourceClaimStatuses: [
    21,
    keyed(NodeAllocatableResourceClaimStatus, 'resourceClaimName').mergedBy('resourceClaimName'),
    '',
  ],
  volumeHealth: [22, keyed(PodVolumeHealth, 'name'), ''],
})
export type PodStatus = Static<typeof PodStatus>
