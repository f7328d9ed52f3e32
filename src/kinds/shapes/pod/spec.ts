/** What a pod is to be: its containers, volumes, place and identity. */
import { ObjectMeta } from '../../../schema/object-meta.ts'
import { atomic, bool, int32, int64, keyed, mapOf, message, quantity, type Static, string } from '../../../schema/types.ts'
import { Affinity, Toleration, TopologySpreadConstraint } from './affinity.ts'
import { Container, EphemeralContainer } from './container.ts'
import { LocalObjectReference } from './references.ts'
import { ResourceRequirements } from './resources.ts'
import { PodSecurityContext } from './security.ts'
import { Volume } from './volumes.ts'

export const HostAlias = message('HostAlias', {
  ip: [1, string.always(), ''],
  hostnames: [2, atomic(string), ''],
})
export type HostAlias = Static<typeof HostAlias>

export const PodDNSConfigOption = message('PodDNSConfigOption', {
  name: [1, string, ''],
  value: [2, string.optional(), ''],
})
export type PodDNSConfigOption = Static<typeof PodDNSConfigOption>

export const PodDNSConfig = message('PodDNSConfig', {
  nameservers: [1, atomic(string), ''],
  searches: [2, atomic(string), ''],
  options: [3, atomic(PodDNSConfigOption), ''],
})
export type PodDNSConfig = Static<typeof PodDNSConfig>

export const PodReadinessGate = message('PodReadinessGate', {
  conditionType: [1, string.always(), ''],
})
export type PodReadinessGate = Static<typeof PodReadinessGate>

export const PodOS = message('PodOS', {
  name: [1, string.always(), ''],
})
export type PodOS = Static<typeof PodOS>

export const PodSchedulingGate = message('PodSchedulingGate', {
  name: [1, string.always(), ''],
})
export type PodSchedulingGate = Static<typeof PodSchedulingGate>

export const PodResourceClaim = message('PodResourceClaim', {
  name: [1, string.always(), ''],
  resourceClaimName: [3, string.optional(), ''],
  resourceClaimTemplateName: [4, string.optional(), ''],
})
export type PodResourceClaim = Static<typeof PodResourceClaim>

export const PodSchedulingGroup = message('PodSchedulingGroup', {
  podGroupName: [1, string.optional(), ''],
})
export type PodSchedulingGroup = Static<typeof PodSchedulingGroup>

export const EvictionResponder = message('EvictionResponder', {
  name: [1, string.always(), ''],
  priority: [2, int32.always(), ''],
}).atomic()
export type EvictionResponder = Static<typeof EvictionResponder>

export const PodSpec = message('PodSpec', {
  volumes: [1, keyed(Volume, 'name').mergedBy('name').retainingKeys(), ''],
  initContainers: [20, keyed(Container, 'name').mergedBy('name'), ''],
  containers: [2, keyed(Container, 'name').mergedBy('name').always(), ''],
  ephemeralContainers: [34, keyed(EphemeralContainer, 'name').mergedBy('name'), ''],
  restartPolicy: [3, string.default('Always'), ''],
  terminationGracePeriodSeconds: [4, int64.optional().default(30), ''],
  activeDeadlineSeconds: [5, int64.optional(), ''],
  dnsPolicy: [6, string.default('ClusterFirst'), ''],
  nodeSelector: [7, mapOf(string).atomic(), ''],
  serviceAccountName: [8, string, ''],
  serviceAccount: [9, string, ''],
  automountServiceAccountToken: [21, bool.optional(), ''],
  nodeName: [10, string, ''],
  hostNetwork: [11, bool, ''],
  hostPID: [12, bool, ''],
  hostIPC: [13, bool, ''],
  shareProcessNamespace: [27, bool.optional(), ''],
  securityContext: [14, PodSecurityContext.default({}), ''],
  imagePullSecrets: [15, keyed(LocalObjectReference, 'name').mergedBy('name'), ''],
  hostname: [16, string, ''],
  subdomain: [17, string, ''],
  affinity: [18, Affinity, ''],
  schedulerName: [19, string.default('default-scheduler'), ''],
  tolerations: [22, atomic(Toleration), ''],
  hostAliases: [23, keyed(HostAlias, 'ip').mergedBy('ip'), ''],
  priorityClassName: [24, string, ''],
  priority: [25, int32.optional(), ''],
  dnsConfig: [26, PodDNSConfig, ''],
  readinessGates: [28, atomic(PodReadinessGate), ''],
  runtimeClassName: [29, string.optional(), ''],
  enableServiceLinks: [30, bool.optional(), ''],
  preemptionPolicy: [31, string.optional(), ''],
  overhead: [32, mapOf(quantity), ''],
  topologySpreadConstraints: [33, keyed(TopologySpreadConstraint, 'topologyKey', 'whenUnsatisfiable').mergedBy('topologyKey'), ''],
  setHostnameAsFQDN: [35, bool.optional(), ''],
  os: [36, PodOS, ''],
  hostUsers: [37, bool.optional(), ''],
  schedulingGates: [38, keyed(PodSchedulingGate, 'name').mergedBy('name'), ''],
  resourceClaims: [39, keyed(PodResourceClaim, 'name').mergedBy('name').retainingKeys(), ''],
  resources: [40, ResourceRequirements, ''],
  hostnameOverride: [41, string.optional(), ''],
  schedulingGroup: [43, PodSchedulingGroup, ''],
  evictionResponders: [44, keyed(EvictionResponder, 'name').mergedBy('name'), ''],
})
export type PodSpec = Static<typeof PodSpec>

export const PodTemplateSpec = message('PodTemplateSpec', {
  metadata: [1, ObjectMeta.orEmpty(), ''],
  spec: [2, PodSpec.orEmpty(), ''],
})
export type PodTemplateSpec = Static<typeof PodTemplateSpec>
