/** The labels, addresses, capacity and conditions of a simulated node, as the kubelet of a small Linux machine reports them. */
import { createHash } from 'node:crypto'
import type { Node } from '../../kinds/core/node.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import { SCRIPT_DOMAIN } from '../script/script.ts'
import { isSimulated, RUNTIME, SIMULATED_LABEL } from './is-simulated.ts'

type NodeStatus = Node['status']
type NodeCondition = NonNullable<NodeStatus['conditions']>[number]

/** `true`: the node is dead. It reports nothing, and its pods stay as they are. */
export const FAILURE_ANNOTATION = `${SCRIPT_DOMAIN}/failure`
/** Conditions that the node reports instead of its usual ones, such as `Ready=False,DiskPressure=True`. */
export const CONDITIONS_ANNOTATION = `${SCRIPT_DOMAIN}/conditions`

export const DEFAULT_CAPACITY: Readonly<Record<string, string>> = {
  cpu: '16',
  'ephemeral-storage': '200Gi',
  memory: '64Gi',
  pods: '110',
}

/** The name of the node with a number; the first is number 1. */
export const nodeName = (number: number) => `simulated-${number}`

/** Whether a node works: a dead one does nothing. */
export const isAlive = (node: Node | undefined): boolean => isSimulated(node) && node?.metadata.annotations?.[FAILURE_ANNOTATION] !== 'true'

export const internalIPs = ({ status }: Node): string[] =>
  (status.addresses ?? []).filter(({ type }) => type === 'InternalIP').map(({ address }) => address)

export const labelsOf = (name: string): Record<string, string> => ({
  'beta.kubernetes.io/arch': 'amd64',
  'beta.kubernetes.io/os': 'linux',
  [SIMULATED_LABEL]: 'true',
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/hostname': name,
  'kubernetes.io/os': 'linux',
})

export type NodeParts = {
  /** Whether a user created the Node: its capacity is then kept. */
  readonly isGiven: boolean
  readonly capacity: Readonly<Record<string, string>>
  /** The Kubernetes version that the kubelet reports. */
  readonly kubeletVersion: string
  readonly runtimeVersion: string
  /** Whether a feature is on. */
  readonly gate: (name: string) => boolean
  readonly now: number
}

/** The port of the kubelet. Only the API server answers for it; nobody can connect. */
const KUBELET_PORT = 10250

/** The declared features of a node that simulated pods implement. */
const FEATURES = [
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
]

/** The same for features that a gate turns on. */
const GATED_FEATURES = ['DRANodeAllocatableResources']

/** Interval after which unchanged conditions get a new heartbeat. */
export const HEARTBEAT_MS = 300_000

/** The status of a node with these addresses. Others may add resources, as on every node. */
export function nodeStatus(node: Node, addresses: readonly string[], parts: NodeParts): NodeStatus {
  const { isGiven, kubeletVersion, runtimeVersion, gate, now } = parts
  const { name = '' } = node.metadata
  const { status: old } = node
  const usual = { ...DEFAULT_CAPACITY, ...parts.capacity }
  const capacity = isGiven ? { ...usual, ...old.capacity } : { ...old.capacity, ...usual }
  return {
    ...old,
    capacity,
    allocatable: isGiven ? { ...capacity, ...old.allocatable } : capacity,
    conditions: nodeConditions(node, now),
    declaredFeatures: featuresOf(old.declaredFeatures ?? FEATURES, gate),
    addresses: [...addresses.map(address => ({ type: 'InternalIP', address })), { type: 'Hostname', address: name }],
    daemonEndpoints: { kubeletEndpoint: { Port: KUBELET_PORT } },
    nodeInfo: {
      machineID: idOf('machine', name).replaceAll('-', ''),
      systemUUID: idOf('system', name),
      bootID: idOf('boot', name),
      kernelVersion: RUNTIME,
      osImage: 'Keelson simulated node',
      containerRuntimeVersion: `${RUNTIME}://${runtimeVersion}`,
      kubeletVersion,
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
  }
}

/** Sorted, as the API requires. */
function featuresOf(declared: readonly string[], gate: NodeParts['gate']): string[] {
  const more = GATED_FEATURES.filter(name => gate(name) && !declared.includes(name))
  return more.length === 0 ? [...declared] : [...declared, ...more].sort()
}

const READY = { True: ['KubeletReady', 'kubelet is posting ready status'], False: ['KubeletNotReady', 'an annotation of the node says so'] }
const PRESSURES = {
  MemoryPressure: {
    True: ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
    False: ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  },
  DiskPressure: {
    True: ['KubeletHasDiskPressure', 'kubelet has disk pressure'],
    False: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  },
  PIDPressure: {
    True: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
    False: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  },
}

const OWN_CONDITIONS = { ...PRESSURES, Ready: READY }

/** When the first of the conditions that the node reports needs a new heartbeat, in milliseconds since the epoch. */
export const heartbeatDueAt = ({ status }: Node): number =>
  Math.min(
    ...(status.conditions ?? [])
      .filter(({ type }) => Object.hasOwn(OWN_CONDITIONS, type))
      .map(({ lastHeartbeatTime }) => (lastHeartbeatTime ? millisecondsAt(lastHeartbeatTime) + HEARTBEAT_MS : 0)),
  )

/** Conditions of other components stay as they are. */
function nodeConditions({ metadata, status }: Node, now: number): NodeCondition[] {
  const old = status.conditions ?? []
  const time = timestampOf(now)
  const scripted = new Map(
    (metadata.annotations?.[CONDITIONS_ANNOTATION] ?? '').split(',').map(each => each.trim().split('=') as [string, string]),
  )
  const own = Object.entries(OWN_CONDITIONS).map(([type, words]): NodeCondition => {
    const usual = type === 'Ready' ? 'True' : 'False'
    const scriptedState = scripted.get(type)
    const state = scriptedState === 'True' || scriptedState === 'False' ? scriptedState : usual
    const before = old.find(each => each.type === type)
    const [reason = '', message = ''] = words[state]
    const isSame = before?.status === state && before.reason === reason
    const { lastHeartbeatTime: heartbeat } = before ?? {}
    const isFresh = isSame && heartbeat && now - millisecondsAt(heartbeat) < HEARTBEAT_MS
    return {
      type,
      status: state,
      lastHeartbeatTime: isFresh ? heartbeat : time,
      lastTransitionTime: before?.status === state ? before.lastTransitionTime : time,
      reason,
      message,
    }
  })
  return [...old.filter(({ type }) => !own.some(each => each.type === type)), ...own]
}

/** A string in the form of a UUID, always the same for a node. */
function idOf(purpose: string, name: string): string {
  const hex = createHash('sha256').update(`${purpose}/${name}`).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}
