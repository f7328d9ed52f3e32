/** Node is a machine that runs pods. */
import { warningsForCIDR } from '../../lib/ip.ts'
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { validateNode, validateNodeChange, validateNodeStatus } from './node-rules.ts'
import { NodeSpec, NodeStatus } from './node-shapes.ts'

const PREEMPTION = 'InPlacePodVerticalScalingSchedulerPreemption'

export const Node = defineKind({
  group: '',
  version: 'v1',
  kind: 'Node',
  scope: 'Cluster',
  names: { plural: 'nodes', short: ['no'] },
  doc: 'A machine that runs pods.',
  spec: NodeSpec,
  status: NodeStatus,
  keepsStatusOnCreate: true,

  defaults({ spec }) {
    // The field for one block came first and wins where the two disagree.
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
  validate: (o, at) => validateNode(o, at),
  validateUpdate: (o, old, at) => validateNodeChange(o, old, at),
  *warn({ spec }) {
    if (spec.externalID) yield 'spec.externalID: this field is deprecated, and is unused by Kubernetes'
    for (const [i, block] of (spec.podCIDRs ?? []).entries()) yield* warningsForCIDR(`spec.podCIDRs[${i}]`, block)
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
    connect: { proxy: { kind: 'NodeProxyOptions', verbs: ['create', 'delete', 'get', 'patch', 'update'] } },
  },

  selectable: { 'spec.unschedulable': o => o.spec.unschedulable ?? false },

  columns: {
    Status: ['string', o => formatStatus(o), 'The status of the node'],
    Roles: ['string', o => formatRoles(o.metadata.labels), 'The roles of the node'],
    Age: age,
    Version: ['string', o => o.status.nodeInfo.kubeletVersion, 'Version of the kubelet.'],
    'Internal-IP': ['string', o => addressOf(o.status, 'InternalIP'), 'The address inside the cluster.', 'wide'],
    'External-IP': ['string', o => addressOf(o.status, 'ExternalIP'), 'The address outside the cluster.', 'wide'],
    'OS-Image': ['string', o => o.status.nodeInfo.osImage || UNKNOWN, 'The operating system.', 'wide'],
    'Kernel-Version': ['string', o => formatKernel(o.status), 'Version of the kernel, and the architecture.', 'wide'],
    'Container-Runtime': ['string', o => o.status.nodeInfo.containerRuntimeVersion || UNKNOWN, 'The container runtime.', 'wide'],
  },
})

const UNKNOWN = '<unknown>'

function formatStatus({ spec, status }: { spec: NodeSpec; status: NodeStatus }): string {
  const ready = status.conditions?.findLast(({ type }) => type === 'Ready')
  const state = ready ? (ready.status === 'True' ? 'Ready' : 'NotReady') : 'Unknown'
  return spec.unschedulable ? `${state},SchedulingDisabled` : state
}

const ROLE_PREFIX = 'node-role.kubernetes.io/'

/** Roles are told by labels, in either of two forms. */
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
