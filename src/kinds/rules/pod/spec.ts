/** The spec of a pod: containers, volumes, scheduling and identity. */
import { ObjectMeta } from '../../../schema/object-meta.ts'
import { atomic, bool, int32, int64, keyed, mapOf, message, quantity, type Static, string } from '../../../schema/types.ts'
import { LocalObjectReference } from '../references.ts'
import { Container, EphemeralContainer } from './containers/container.ts'
import { ResourceRequirements, roundAmounts } from './resources/resources.ts'
import { Affinity, Toleration, TopologySpreadConstraint } from './scheduling/affinity.ts'
import { PodSecurityContext } from './security/security.ts'
import { Volume } from './volumes/volumes.ts'

export const HostAlias = message('HostAlias', {
  ip: [1, string.always(), 'The address.'],
  hostnames: [2, atomic(string), 'Names of the address.'],
})
export type HostAlias = Static<typeof HostAlias>

const PodDNSConfigOption = message('PodDNSConfigOption', {
  name: [1, string, 'Name of the option.'],
  value: [2, string.optional(), 'Its value.'],
})

export const PodDNSConfig = message('PodDNSConfig', {
  nameservers: [1, atomic(string), 'Addresses of name servers, added to those of the policy.'],
  searches: [2, atomic(string), 'Search domains, added to those of the policy.'],
  options: [3, atomic(PodDNSConfigOption), 'Resolver options, merged with those of the policy.'],
})
export type PodDNSConfig = Static<typeof PodDNSConfig>

const PodReadinessGate = message('PodReadinessGate', {
  conditionType: [1, string.always(), 'The condition of the pod that must be True.'],
})

export const PodOS = message('PodOS', {
  name: [1, string.always(), 'linux or windows.'],
})
export type PodOS = Static<typeof PodOS>

const PodSchedulingGate = message('PodSchedulingGate', {
  name: [1, string.always(), 'The name of the gate.'],
})

export const PodResourceClaim = message('PodResourceClaim', {
  name: [1, string.always(), 'Name by which containers refer to the claim.'],
  resourceClaimName: [3, string.optional(), 'An existing claim.'],
  resourceClaimTemplateName: [4, string.optional(), 'A template from which a claim is made for the pod.'],
})
export type PodResourceClaim = Static<typeof PodResourceClaim>

const PodSchedulingGroup = message(
  'PodSchedulingGroup',
  {
    podGroupName: [1, string.optional(), 'The pod group of the pod.'],
  },
  { union: {} },
)

export const EvictionResponder = message('EvictionResponder', {
  name: [1, string.always(), 'The responder, as a domain-prefixed key.'],
  priority: [2, int32.always().openapiDefault(), 'Higher priorities are called first.'],
}).atomic()
export type EvictionResponder = Static<typeof EvictionResponder>

/** The two names of the service account are kept equal; the newer field wins. */
function fillPodSpec(spec: { serviceAccountName?: string; serviceAccount?: string; overhead?: Record<string, string> }): void {
  const account = spec.serviceAccountName || spec.serviceAccount
  if (account) Object.assign(spec, { serviceAccountName: account, serviceAccount: account })
  roundAmounts(spec.overhead)
}

export const PodSpec = message(
  'PodSpec',
  {
    volumes: [1, keyed(Volume, 'name').mergedBy('name').retainingKeys(), 'Volumes that containers may mount.'],
    initContainers: [20, keyed(Container, 'name').mergedBy('name'), 'Run to their end, one after another, before the containers start.'],
    containers: [2, keyed(Container, 'name').mergedBy('name').always(), 'The containers of the pod.'],
    ephemeralContainers: [34, keyed(EphemeralContainer, 'name').mergedBy('name'), 'Containers added to a running pod, for debugging.'],
    restartPolicy: [
      3,
      string.listed('Always', 'Never', 'OnFailure').default('Always'),
      'Whether containers are restarted: Always, OnFailure or Never.',
    ],
    terminationGracePeriodSeconds: [4, int64.optional().default(30), 'Seconds from asking processes to stop until they are killed.'],
    activeDeadlineSeconds: [5, int64.optional(), 'Seconds after which the pod is failed.'],
    dnsPolicy: [
      6,
      string.listed('ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None').default('ClusterFirst'),
      'ClusterFirst, ClusterFirstWithHostNet, Default or None.',
    ],
    nodeSelector: [7, mapOf(string).atomic(), 'Labels the node must have.'],
    serviceAccountName: [8, string, 'The service account the pod runs as.'],
    serviceAccount: [9, string, 'Old name of serviceAccountName, always equal to it.'],
    automountServiceAccountToken: [21, bool.optional(), 'Whether the token of the service account is mounted.'],
    nodeName: [10, string, 'The node the pod is bound to.'],
    hostNetwork: [11, bool, 'Whether the pod shares the network of the node.'],
    hostPID: [12, bool, 'Whether the pod shares the process namespace of the node.'],
    hostIPC: [13, bool, 'Whether the pod shares the IPC namespace of the node.'],
    shareProcessNamespace: [27, bool.optional(), 'Whether the containers see the processes of one another.'],
    securityContext: [14, PodSecurityContext.default({}), 'Identity and rights for the whole pod.'],
    imagePullSecrets: [15, keyed(LocalObjectReference, 'name').mergedBy('name'), 'Secrets with which images are pulled.'],
    hostname: [16, string, 'Host name of the pod; its own name when empty.'],
    subdomain: [17, string, 'Middle part of the full host name.'],
    affinity: [18, Affinity, 'Scheduling constraints of the pod.'],
    schedulerName: [19, string.default('default-scheduler'), 'The scheduler that schedules the pod.'],
    tolerations: [22, atomic(Toleration), 'Taints of nodes that the pod accepts.'],
    hostAliases: [23, keyed(HostAlias, 'ip').mergedBy('ip'), 'Lines added to the hosts file.'],
    priorityClassName: [24, string, 'The class of its priority.'],
    priority: [25, int32.optional(), 'Its priority; set from the class.'],
    dnsConfig: [26, PodDNSConfig, 'DNS settings, merged with those of the policy.'],
    readinessGates: [28, atomic(PodReadinessGate), 'Further conditions the pod needs to be ready.'],
    runtimeClassName: [29, string.optional(), 'The runtime class the pod runs with.'],
    enableServiceLinks: [30, bool.optional(), 'Whether services of the namespace appear as environment variables.'],
    preemptionPolicy: [
      31,
      string.listed('Never', 'PreemptLowerPriority').optional(),
      'Whether it may push out pods of lower priority: PreemptLowerPriority or Never.',
    ],
    overhead: [32, mapOf(quantity), 'The resources that the pod needs beside its containers; set from the runtime class.'],
    topologySpreadConstraints: [
      33,
      keyed(TopologySpreadConstraint, 'topologyKey', 'whenUnsatisfiable').mergedBy('topologyKey'),
      'How pods are spread over topology domains.',
    ],
    setHostnameAsFQDN: [35, bool.optional(), 'Whether the host name is the full one.'],
    os: [36, PodOS, 'The operating system the pod is for.'],
    hostUsers: [37, bool.optional(), 'Whether the pod shares the user namespace of the node; false gives it its own.'],
    schedulingGates: [38, keyed(PodSchedulingGate, 'name').mergedBy('name'), 'The pod is placed only when none are left.'],
    resourceClaims: [
      39,
      keyed(PodResourceClaim, 'name').mergedBy('name').retainingKeys(),
      'Device claims that must be there before the pod starts.',
    ],
    resources: [40, ResourceRequirements, 'Resources of the whole pod.'],
    hostnameOverride: [41, string.optional(), 'Host name inside the pod only, overrides every other.'],
    schedulingGroup: [43, PodSchedulingGroup, 'The group with which the pod is scheduled.'],
    evictionResponders: [44, keyed(EvictionResponder, 'name').mergedBy('name'), 'The responders that take part in an eviction of the pod.'],
  },
  { defaults: fillPodSpec },
)
export type PodSpec = Static<typeof PodSpec>

export const PodTemplateSpec = message('PodTemplateSpec', {
  metadata: [1, ObjectMeta.orEmpty(), 'Labels and annotations of the pods.'],
  spec: [2, PodSpec.orEmpty(), 'The spec of the pods.'],
})
export type PodTemplateSpec = Static<typeof PodTemplateSpec>
