/** The draft of a pod's next status: statuses of its containers, events, and the time of the next look. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Container, containersOf, isSidecar } from '../../kinds/rules/pod/containers/container.ts'
import type { ContainerStatus } from '../../kinds/rules/pod/status/container-status.ts'
import { LIMITS } from '../../lib/limits.ts'
import { truncate } from '../../lib/truncate.ts'
import { type CommandRequest, type Commands, collectRequests } from '../script/commands.ts'
import type { Rejection } from './admission.ts'
import type { ResizePending } from './conditions.ts'
import { waitingStatus } from './container-state.ts'
import type { LiveContainers, ProcessStop } from './live-containers.ts'
import type { Missing } from './references.ts'
import type { Gate } from './restart-policy.ts'

export type PodEvent = {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  /** The part of the pod that the event is about. */
  readonly fieldPath?: string
  /** Each look reports the event while it holds; it is recorded the first time only. */
  readonly repeats?: true
}

/** The state beside the pod that its next step depends on. Functions only read; they are functions where reading takes long. */
export type Surroundings = {
  readonly now: number
  readonly hostIPs: readonly string[]
  /** The addresses that a pod without any would get; none when the node has no more. */
  readonly freePodIPs: readonly string[]
  /** Why the node does not take a new pod. */
  readonly rejection: () => Rejection | undefined
  readonly missingForVolumes: readonly Missing[]
  /** The missing object that a container refers to. */
  readonly missingForContainer: (container: Container) => Missing | undefined
  /** Results of the commands of its containers. */
  readonly commands: Commands
  /** Its processes on this machine, and the results of probes that are really made. */
  readonly live: LiveContainers
  /** Why the node cannot give the pod the resources that its spec requests now. */
  readonly resizeProblem: () => ResizePending | undefined
  readonly gate: Gate
}

export type Role = 'init' | 'sidecar' | 'regular' | 'ephemeral'

/** A pod with its next status in the making. */
export type Draft = {
  readonly pod: Pod
  readonly world: Surroundings
  readonly stored: ReadonlyMap<string, ContainerStatus>
  readonly statuses: Map<string, ContainerStatus>
  readonly events: PodEvent[]
  readonly roles: ReadonlyMap<string, Role>
  /** Looks results up and adds to the requests. */
  readonly commands: Commands
  readonly requests: CommandRequest[]
  /** Processes that are to end. */
  readonly stops: ProcessStop[]
  /** Problems for which containers cannot be started. */
  readonly missing: Missing[]
  nextAt: number
  /** Whether a result has to be known before there is a next status. */
  isPending: boolean
  resizePending: ResizePending | undefined
}

export function draftOf(pod: Pod, world: Surroundings): Draft {
  const { spec, status } = pod
  const known = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])]
  const stored = new Map(known.map(each => [each.name, each]))
  const reason = spec.initContainers?.length ? 'PodInitializing' : 'ContainerCreating'
  const statuses = new Map(
    containersOf(spec).map(container => [container.name, stored.get(container.name) ?? waitingStatus(container, reason)]),
  )
  const requests: CommandRequest[] = []
  return {
    pod,
    world,
    stored,
    statuses,
    events: [],
    roles: rolesOf(pod),
    commands: collectRequests(world.commands, requests),
    requests,
    stops: [],
    missing: [],
    nextAt: Infinity,
    isPending: false,
    resizePending: undefined,
  }
}

export const hasRunning = ({ statuses }: Draft): boolean => [...statuses.values()].some(({ state }) => state.running)

export const RESTARTING_ALL = 'RestartingAllContainers'

/** Whether containers of the pod have been started; a restart of all containers begins anew. */
export function isInitialized({ pod, statuses }: Draft): boolean {
  const regular = (pod.spec.containers ?? []).map(({ name }) => statuses.get(name)!)
  if (regular.some(({ state, lastState }) => state.waiting && lastState.terminated?.reason === RESTARTING_ALL)) return false
  return regular.some(({ state, lastState }) => !state.waiting || lastState.terminated)
}

function rolesOf({ spec }: Pod): ReadonlyMap<string, Role> {
  const { initContainers, containers, ephemeralContainers } = spec
  return new Map<string, Role>([
    ...(ephemeralContainers ?? []).map(({ name }) => [name, 'ephemeral'] as const),
    ...(containers ?? []).map(({ name }) => [name, 'regular'] as const),
    ...(initContainers ?? []).map(each => [each.name, isSidecar(each) ? 'sidecar' : 'init'] as const),
  ])
}

const LISTS: Readonly<Record<Role, string>> = {
  init: 'initContainers',
  sidecar: 'initContainers',
  regular: 'containers',
  ephemeral: 'ephemeralContainers',
}

export const fieldPath = ({ name }: Container, role: Role) => `spec.${LISTS[role]}{${name}}`

export function kill(draft: Draft, container: Container, { role, why, repeats }: { role: Role; why: string; repeats?: true }): void {
  report(draft, 'Normal', 'Killing', why, { fieldPath: fieldPath(container, role), ...(repeats && { repeats }) })
}

export function report(
  { events }: Draft,
  type: PodEvent['type'],
  reason: string,
  message: string,
  more: Pick<PodEvent, 'fieldPath' | 'repeats'> = {},
): void {
  events.push({ type, reason, message: truncate(message, LIMITS.nodeMessageLength), ...more })
}

export function set({ statuses }: Draft, status: ContainerStatus): void {
  statuses.set(status.name, status)
}

export function plan(draft: Draft, at: number): void {
  draft.nextAt = Math.min(draft.nextAt, at)
}
