/** What a node is made of: what is asked of it, and what it reports about itself. */
import { atomic, bool, int32, int64, keyed, mapOf, message, quantity, type Static, set, string, time } from '../../schema/types.ts'
import { Taint } from '../shapes/taints.ts'

const ConfigMapNodeConfigSource = message('ConfigMapNodeConfigSource', {
  namespace: [1, string.always(), 'Namespace of the ConfigMap.'],
  name: [2, string.always(), 'Name of the ConfigMap.'],
  uid: [3, string, 'UID of the ConfigMap.'],
  resourceVersion: [4, string, 'The version that was used.'],
  kubeletConfigKey: [5, string.always(), 'The key under which the configuration is.'],
})

const NodeConfigSource = message('NodeConfigSource', {
  configMap: [2, ConfigMapNodeConfigSource, 'A ConfigMap.'],
})

const NodePodPreemptionPolicy = message('NodePodPreemptionPolicy', {
  disableResizePreemption: [1, set(string), 'Resources whose resize does not preempt pods.'],
})

export const NodeSpec = message('NodeSpec', {
  podCIDR: [1, string, 'The block from which its pods get addresses: the first of podCIDRs.'],
  podCIDRs: [7, set(string).mergedBy(), 'Such blocks, at most one of each address family. Cannot change once set.'],
  providerID: [3, string, 'What the cloud calls the machine. Cannot change once set.'],
  unschedulable: [4, bool, 'Whether new pods stay away.'],
  taints: [5, atomic(Taint), 'Marks that keep pods away unless they tolerate them.'],
  configSource: [6, NodeConfigSource, 'Removed; never kept.'],
  externalID: [2, string, 'Deprecated; has no effect.'],
  podPreemptionPolicy: [8, NodePodPreemptionPolicy, 'When pods are preempted on this node.'],
})
export type NodeSpec = Static<typeof NodeSpec>

const NodeCondition = message('NodeCondition', {
  type: [1, string.always(), 'What the condition is about.'],
  status: [2, string.always(), 'Whether it holds: True, False or Unknown.'],
  lastHeartbeatTime: [3, time.always(), 'When it was last looked at.'],
  lastTransitionTime: [4, time.always(), 'When the status last changed.'],
  reason: [5, string, 'A short word for why.'],
  message: [6, string, 'The same for people.'],
})

const NodeAddress = message('NodeAddress', {
  type: [1, string.always(), 'Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.'],
  address: [2, string.always(), 'The address.'],
})

const DaemonEndpoint = message('DaemonEndpoint', {
  Port: [1, int32.always(), 'Number of the port.'],
})

const NodeDaemonEndpoints = message('NodeDaemonEndpoints', {
  kubeletEndpoint: [1, DaemonEndpoint.orEmpty(), 'Where the kubelet listens.'],
})

const NodeSwapStatus = message('NodeSwapStatus', {
  capacity: [1, int64.optional(), 'Bytes of swap space.'],
})

const NodeSystemInfo = message('NodeSystemInfo', {
  machineID: [1, string.always(), 'The id of the machine within its cluster.'],
  systemUUID: [2, string.always(), 'The UUID that the hardware reports.'],
  bootID: [3, string.always(), 'Changes at every boot.'],
  kernelVersion: [4, string.always(), 'Version of the kernel.'],
  osImage: [5, string.always(), 'The operating system, for people.'],
  containerRuntimeVersion: [6, string.always(), 'Name and version of the container runtime.'],
  kubeletVersion: [7, string.always(), 'Version of the kubelet.'],
  kubeProxyVersion: [8, string.always(), 'Deprecated; version of the proxy.'],
  operatingSystem: [9, string.always(), 'linux or windows.'],
  architecture: [10, string.always(), 'The architecture, as Go names it.'],
  swap: [11, NodeSwapStatus, 'What is known about swap space.'],
  runningInUserNamespace: [12, bool.optional(), 'Whether the kubelet runs without being root outside.'],
})

const ContainerImage = message('ContainerImage', {
  names: [1, atomic(string).always().omittable(), 'Names by which the image is known.'],
  sizeBytes: [2, int64, 'Bytes it takes.'],
})

const AttachedVolume = message('AttachedVolume', {
  name: [1, string.always(), 'Name of the volume.'],
  devicePath: [2, string.always(), 'Path of its device.'],
})

const NodeConfigStatus = message('NodeConfigStatus', {
  assigned: [1, NodeConfigSource, 'The configuration to try.'],
  active: [2, NodeConfigSource, 'The configuration in use.'],
  lastKnownGood: [3, NodeConfigSource, 'The configuration to fall back to.'],
  error: [4, string, 'What went wrong.'],
})

const NodeRuntimeHandlerFeatures = message('NodeRuntimeHandlerFeatures', {
  recursiveReadOnlyMounts: [1, bool.optional(), 'Whether it can make mounts read-only all the way down.'],
  userNamespaces: [2, bool.optional(), 'Whether it can use user namespaces.'],
})

const NodeRuntimeHandler = message('NodeRuntimeHandler', {
  name: [1, string.always().omittable(), 'Name of the handler; empty for the default one.'],
  features: [2, NodeRuntimeHandlerFeatures, 'What it can do.'],
})

const NodeFeatures = message('NodeFeatures', {
  supplementalGroupsPolicy: [1, bool.optional(), 'Whether the runtime heeds the policy on supplemental groups.'],
})

export const NodeStatus = message(
  'NodeStatus',
  {
    capacity: [1, mapOf(quantity), 'All resources of the node.'],
    allocatable: [2, mapOf(quantity), 'What pods may have of them.'],
    phase: [3, string, 'Deprecated; unused.'],
    conditions: [4, keyed(NodeCondition, 'type').mergedBy('type'), 'Latest observations.'],
    addresses: [5, keyed(NodeAddress, 'type').mergedBy('type'), 'Where the node can be reached.'],
    daemonEndpoints: [6, NodeDaemonEndpoints.orEmpty(), 'Where its daemons listen.'],
    nodeInfo: [7, NodeSystemInfo.orEmpty(), 'The machine and its software.'],
    images: [8, atomic(ContainerImage), 'Images that are there already.'],
    volumesInUse: [9, atomic(string), 'Volumes that are mounted.'],
    volumesAttached: [10, atomic(AttachedVolume), 'Volumes that are attached.'],
    config: [11, NodeConfigStatus, 'Removed; never kept.'],
    runtimeHandlers: [12, atomic(NodeRuntimeHandler), 'Ways to run containers.'],
    features: [13, NodeFeatures, 'What its runtime can do.'],
    declaredFeatures: [14, atomic(string), 'Features that pods can rely on, sorted.'],
  },
  {
    defaults(status) {
      if (status.capacity && !status.allocatable) status.allocatable = structuredClone(status.capacity)
    },
  },
)
export type NodeStatus = Static<typeof NodeStatus>
