/** Node is a machine that runs pods. */

import { JsonError, parseJson } from '../../codec/json.ts'
import { goQuote } from '../../lib/go-text.ts'
import { parseInterfaceAddress, warningsForCIDR } from '../../lib/ip.ts'
import { copyJson, isObject, type Json } from '../../lib/json-value.ts'
import { DNS1123_SUBDOMAIN_MAX_LENGTH } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import type { ObjectMeta } from '../../schema/object-meta.ts'
import {
  duplicate,
  type FieldError,
  forbidden,
  internal,
  invalid,
  invalidEach,
  type Ref,
  refTo,
  required,
  withValue,
} from '../../schema/refs.ts'
import { atomic, bool, int32, int64, keyed, mapOf, message, quantity, type Static, set, string, time } from '../../schema/types.ts'
import { type AddressRules, addressRules } from '../rules/address-rules.ts'
import { validateResourceQuantity } from '../rules/pod/resources/resource-rules.ts'
import { Taint, validateTaints } from '../rules/taints.ts'

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

const NodeSpec = message('NodeSpec', {
  podCIDR: [1, string, 'The block from which its pods get addresses: the first of podCIDRs.'],
  podCIDRs: [7, set(string).mergedBy(), 'Such blocks, at most one of each address family. Cannot change once set.'],
  providerID: [3, string, 'The name that the cloud provider has for the machine. Cannot change once set.'],
  unschedulable: [4, bool, 'Whether new pods stay away.'],
  taints: [5, atomic(Taint), 'Marks that keep pods away unless they tolerate them.'],
  configSource: [6, NodeConfigSource, 'Removed; never kept.'],
  externalID: [2, string, 'Deprecated; has no effect.'],
  podPreemptionPolicy: [8, NodePodPreemptionPolicy, 'When pods are preempted on this node.'],
})
type NodeSpec = Static<typeof NodeSpec>

const NodeCondition = message('NodeCondition', {
  type: [1, string.always(), 'The type of the condition.'],
  status: [2, string.always(), 'Whether it holds: True, False or Unknown.'],
  lastHeartbeatTime: [3, time.always(), 'When it was last looked at.'],
  lastTransitionTime: [4, time.always(), 'When the status last changed.'],
  reason: [5, string, 'A CamelCase reason for the last transition.'],
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
  swap: [11, NodeSwapStatus, 'The state of swap space.'],
  runningInUserNamespace: [12, bool.optional(), 'Whether the kubelet runs without being root outside.'],
})

const ContainerImage = message('ContainerImage', {
  names: [1, atomic(string).always().omittable(), 'Names of the image.'],
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
  error: [4, string, 'The error message.'],
})

const NodeRuntimeHandlerFeatures = message('NodeRuntimeHandlerFeatures', {
  recursiveReadOnlyMounts: [1, bool.optional(), 'Whether recursive read-only mounts are supported.'],
  userNamespaces: [2, bool.optional(), 'Whether it can use user namespaces.'],
})

const NodeRuntimeHandler = message('NodeRuntimeHandler', {
  name: [1, string.always().omittable(), 'Name of the handler; empty for the default one.'],
  features: [2, NodeRuntimeHandlerFeatures, 'The features of the handler.'],
})

const NodeFeatures = message('NodeFeatures', {
  supplementalGroupsPolicy: [1, bool.optional(), 'Whether the runtime heeds the policy on supplemental groups.'],
})

const NodeStatus = message(
  'NodeStatus',
  {
    capacity: [1, mapOf(quantity), 'All resources of the node.'],
    allocatable: [2, mapOf(quantity), 'The amounts that are available to pods.'],
    phase: [3, string.listed('Pending', 'Running', 'Terminated'), 'Deprecated; unused.'],
    conditions: [4, keyed(NodeCondition, 'type').mergedBy('type'), 'Latest observations.'],
    addresses: [5, keyed(NodeAddress, 'type').mergedBy('type'), 'Where the node can be reached.'],
    daemonEndpoints: [6, NodeDaemonEndpoints.orEmpty(), 'Where its daemons listen.'],
    nodeInfo: [7, NodeSystemInfo.orEmpty(), 'The machine and its software.'],
    images: [8, atomic(ContainerImage), 'Images that are there already.'],
    volumesInUse: [9, atomic(string), 'Volumes that are mounted.'],
    volumesAttached: [10, atomic(AttachedVolume), 'Volumes that are attached.'],
    config: [11, NodeConfigStatus, 'Removed; never kept.'],
    runtimeHandlers: [12, atomic(NodeRuntimeHandler), 'Ways to run containers.'],
    features: [13, NodeFeatures, 'The features of its container runtime.'],
    declaredFeatures: [14, atomic(string), 'Features that pods can rely on, sorted.'],
  },
  {
    defaults(status) {
      if (status.capacity && !status.allocatable) status.allocatable = copyJson(status.capacity)
    },
  },
)
type NodeStatus = Static<typeof NodeStatus>

const PREEMPTION = 'InPlacePodVerticalScalingSchedulerPreemption'

export const Node = defineKind({
  group: '',
  version: 'v1',
  kind: 'Node',
  scope: 'Cluster',
  names: { plural: 'nodes', short: ['no'] },
  keptUnder: 'minions',
  doc: 'A machine that runs pods.',
  spec: NodeSpec,
  status: NodeStatus,
  keepsStatusOnCreate: true,

  defaults({ spec }) {
    // The field for one block came first and takes precedence.
    if (spec.podCIDR && spec.podCIDR !== spec.podCIDRs?.[0]) spec.podCIDRs = [spec.podCIDR]
    else if (spec.podCIDRs?.[0]) spec.podCIDR = spec.podCIDRs[0]
  },
  prepareForCreate({ spec, status }, ctx) {
    delete spec.configSource
    delete status.config
    if (!ctx.gate(PREEMPTION)) delete spec.podPreemptionPolicy
  },
  prepareForUpdate({ spec }, old, ctx) {
    if (!old.spec.configSource) delete spec.configSource
    if (!ctx.gate(PREEMPTION) && !old.spec.podPreemptionPolicy) delete spec.podPreemptionPolicy
  },
  validate: (o, at, { gate }) => validateNode(o, at, addressRules(gate)),
  validateUpdate: (o, old, at) => validateNodeChange(o, old, at),
  *warn({ spec }) {
    if (spec.externalID) yield 'spec.externalID: this field is deprecated, and is unused by Kubernetes'
    for (const [i, block] of (spec.podCIDRs ?? []).entries()) yield* warningsForCIDR(() => `spec.podCIDRs[${i}]`, block)
  },

  subresources: {
    status: {
      prepareForUpdate({ status }, old, ctx) {
        if (!old.status.config) delete status.config
        if (!ctx.gate('KubeletInUserNamespace') && old.status.nodeInfo.runningInUserNamespace === undefined)
          delete status.nodeInfo.runningInUserNamespace
      },
      validate: ({ status }, { status: at }) => validateNodeStatus(status, at),
    },
    connect: {
      proxy: {
        kind: 'NodeProxyOptions',
        verbs: ['create', 'delete', 'get', 'patch', 'update'],
        options: { path: [1, string, 'The path that is asked for.'] },
        isAddressed: true,
      },
    },
  },

  selectable: { 'spec.unschedulable': o => o.spec.unschedulable ?? false },

  columns: {
    Status: ['string', o => formatStatus(o), 'The status of the node'],
    Roles: ['string', o => formatRoles(o.metadata.labels), 'The roles of the node'],
    Age: age,
    Version: ['string', o => o.status.nodeInfo.kubeletVersion, 'Kubelet Version reported by the node.'],
    'Internal-IP': [
      'string',
      o => addressOf(o.status, 'InternalIP'),
      "List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).",
      'wide',
    ],
    'External-IP': [
      'string',
      o => addressOf(o.status, 'ExternalIP'),
      "List of addresses reachable to the node. Queried from cloud provider, if available. More info: https://kubernetes.io/docs/reference/node/node-status/#addresses Note: This field is declared as mergeable, but the merge key is not sufficiently unique, which can cause data corruption when it is merged. Callers should instead use a full-replacement patch. See https://pr.k8s.io/79391 for an example. Consumers should assume that addresses can change during the lifetime of a Node. However, there are some exceptions where this may not be possible, such as Pods that inherit a Node's address in its own status or consumers of the downward API (status.hostIP).",
      'wide',
    ],
    'OS-Image': [
      'string',
      o => o.status.nodeInfo.osImage || UNKNOWN,
      'OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).',
      'wide',
    ],
    'Kernel-Version': [
      'string',
      o => formatKernel(o.status),
      "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).",
      'wide',
    ],
    'Container-Runtime': [
      'string',
      o => o.status.nodeInfo.containerRuntimeVersion || UNKNOWN,
      'ContainerRuntime Version reported by the node through runtime remote API (e.g. containerd://1.4.2).',
      'wide',
    ],
  },
})

/** An object of the kind Node. */
export type Node = ObjectOf<typeof Node>

const UNKNOWN = '<unknown>'

function formatStatus({ spec, status }: { spec: NodeSpec; status: NodeStatus }): string {
  const ready = status.conditions?.findLast(({ type }) => type === 'Ready')
  const state = ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown'
  return spec.unschedulable ? `${state},SchedulingDisabled` : state
}

const ROLE_PREFIX = 'node-role.kubernetes.io/'

/** Roles are labels, in either of two formats. */
function formatRoles(labels: Record<string, string> = {}): string {
  const roles = Object.entries(labels).map(([key, value]) =>
    key.startsWith(ROLE_PREFIX) ? key.slice(ROLE_PREFIX.length) : key === 'kubernetes.io/role' ? value : '',
  )
  return (
    [...new Set(roles)]
      .filter(role => role !== '')
      .sort()
      .join(',') || '<none>'
  )
}

function addressOf({ addresses = [] }: NodeStatus, type: string): string {
  return addresses.find(address => address.type === type)?.address ?? '<none>'
}

function formatKernel({ nodeInfo: { kernelVersion, architecture } }: NodeStatus): string {
  return `${kernelVersion || UNKNOWN}${architecture ? ` (${architecture})` : ''}`
}

/** The parts of a node with rules. */
type NodeParts = { metadata: ObjectMeta; spec: NodeSpec; status: NodeStatus }

const TAINTS_ANNOTATION = 'scheduler.alpha.kubernetes.io/taints'
const AVOID_PODS_ANNOTATION = 'scheduler.alpha.kubernetes.io/preferAvoidPods'

/** Rules for a whole node. Some paths begin in metadata although the fields are in spec, as in kube-apiserver. */
function* validateNode({ metadata, spec, status }: NodeParts, at: Ref<NodeParts>, rules: AddressRules): Iterable<FieldError> {
  yield* validateAnnotations(metadata.annotations, at.metadata.annotations)
  yield* validateTaints(spec.taints ?? [], refTo(spec.taints ?? [], 'metadata.taints'))
  const swap = status.nodeInfo.swap?.capacity
  if (swap !== undefined && swap <= 0) yield invalid(refTo(swap, 'metadata.nodeSwapStatus.capacity'), 'must be greater than zero')
  yield* validatePodCIDRs(spec.podCIDRs ?? [], at.spec.podCIDRs, rules)
  yield* validateNodeStatus(status, at.status)
}

/** Rules for a node's status. */
function* validateNodeStatus(status: NodeStatus, at: Ref<NodeStatus>): Iterable<FieldError> {
  for (const part of ['capacity', 'allocatable'] as const)
    for (const [name, amount] of Object.entries(status[part] ?? {}))
      yield* validateResourceQuantity(name, amount, refTo(amount, `status.${part}.${name}`))
  yield* validateDeclaredFeatures(status.declaredFeatures ?? [], at.declaredFeatures)
}

/** Rules for a change of a node. */
function* validateNodeChange({ spec, status }: NodeParts, old: NodeParts, at: Ref<NodeParts>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, { type, address }] of (status.addresses ?? []).entries()) {
    const key = `${type} ${address}`
    if (seen.has(key)) yield duplicate(withValue(at.status.addresses[i]!, { Type: type, Address: address }))
    seen.add(key)
  }
  const [blocks, oldBlocks] = [spec.podCIDRs ?? [], old.spec.podCIDRs ?? []]
  if (oldBlocks.length > 0 && (blocks.length !== oldBlocks.length || oldBlocks.some((block, i) => block !== blocks[i])))
    yield forbidden(at.spec.podCIDRs, 'node updates may not change podCIDR except from "" to valid')
  if (old.spec.providerID && spec.providerID !== old.spec.providerID)
    yield invalid(withValue(at.spec.providerID, null), `field cannot be ${spec.providerID ? 'modified' : 'cleared'} once set`)
  if ((spec.externalID ?? '') !== (old.spec.externalID ?? '')) yield forbidden(at.spec.externalID, 'may not be updated')
}

function* validatePodCIDRs(blocks: readonly string[], at: Ref<string[]>, rules: AddressRules): Iterable<FieldError> {
  for (const [i, block] of blocks.entries()) yield* invalidEach(at[i]!, rules.cidr(block))
  if (blocks.length < 2) return
  const families = blocks.map(block => parseInterfaceAddress(block)?.address.family)
  const bad = blocks[families.indexOf(undefined)]
  if (families.includes(undefined))
    yield internal(at, `invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR address: ${bad}`)
  if (blocks.length > 2 || families.includes(undefined) || families[0] === families[1])
    yield invalid(at, 'may specify no more than one CIDR for each IP family')
}

const FEATURE_NAME = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/

function* validateDeclaredFeatures(features: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  for (const [i, feature] of features.entries()) {
    const name = `invalid feature name ${goQuote(feature)}`
    if (Buffer.byteLength(feature) > DNS1123_SUBDOMAIN_MAX_LENGTH)
      yield invalid(at[i]!, `${name}: must be no more than ${DNS1123_SUBDOMAIN_MAX_LENGTH} characters`)
    else if (!FEATURE_NAME.test(feature))
      yield invalid(
        at[i]!,
        `${name}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      )
    const next = features[i + 1]
    if (next === undefined) continue
    if (next === feature) yield duplicate(at[i + 1]!)
    else if (feature > next) yield invalid(at[i + 1]!, 'list must be sorted alphabetically')
  }
}

/** Taints and avoided pods were annotations before they were fields; those annotations are still validated. */
function* validateAnnotations(annotations: Record<string, string> | undefined, at: Ref<Record<string, string>>): Iterable<FieldError> {
  const taints = annotations?.[TAINTS_ANNOTATION]
  if (taints) {
    const read = readJson(taints)
    if ('problem' in read) yield invalid(withValue(at, TAINTS_ANNOTATION), read.problem)
    else {
      const list = (Array.isArray(read.value) ? read.value : []).filter(isObject).map(taint => ({ key: '', effect: '', ...taint }) as Taint)
      yield* validateTaints(list, refTo(list, `metadata.annotations.${TAINTS_ANNOTATION}`))
    }
  }
  const avoided = annotations?.[AVOID_PODS_ANNOTATION]
  if (!avoided) return
  const read = readJson(avoided)
  if ('problem' in read) yield invalid(refTo(AVOID_PODS_ANNOTATION, 'metadata.annotations.AvoidPods'), read.problem)
  else yield* validateAvoidedPods(read.value)
}

function* validateAvoidedPods(value: Json): Iterable<FieldError> {
  const entries = isObject(value) && Array.isArray(value['preferAvoidPods']) ? value['preferAvoidPods'] : []
  for (const [i, each] of entries.entries()) {
    const path = `metadata.annotations.${AVOID_PODS_ANNOTATION}[${i}].PodSignature`
    const signature = isObject(each) ? each['podSignature'] : undefined
    const controller = isObject(signature) ? signature['podController'] : undefined
    if (!isObject(controller)) yield required(refTo('', path))
    else if (controller['controller'] !== true)
      yield invalid(refTo(false, `${path}.PodController.Controller`), 'must point to a controller')
  }
}

function readJson(text: string): { readonly value: Json } | { readonly problem: string } {
  try {
    return { value: parseJson(text).value }
  } catch (error) {
    if (error instanceof JsonError) return { problem: error.message }
    throw error
  }
}
