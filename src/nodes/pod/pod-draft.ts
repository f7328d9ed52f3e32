/** A pod on a simulated node while it is brought up to date: the statuses of its containers, events, and when to look again. */
import type { PodObject } from '../../kinds/core/pod/preparation.ts'
import { type Container, containersOf, isSidecar } from '../../kinds/shapes/pod/containers/container.ts'
import type { ContainerStatus } from '../../kinds/shapes/pod/status/container-status.ts'
import type { ContainerInputs } from '../container/container-inputs.ts'
import type { Rejection } from './admission.ts'
import type { ResizePending } from './conditions.ts'
import { waitingStatus } from './container-state.ts'
import type { Missing } from './references.ts'
import type { Gate } from './restart-policy.ts'

export type PodEvent = {
  readonly type: 'Normal' | 'Warning'
  readonly reason: string
  readonly message: string
  /** Which part of the pod it is about. */
  readonly fieldPath?: string
  /** Said again at every look while it holds, and recorded the first time only. */
  readonly repeats?: true
}

/** What the pod depends on beside itself. */
export type Surroundings = {
  readonly now: number
  readonly hostIPs: readonly string[]
  /** Addresses for a pod that has none; none when the node has no more. */
  readonly newPodIPs: () => readonly string[]
  /** Why the node does not take a new pod. */
  readonly rejection: () => Rejection | undefined
  readonly missingForVolumes: readonly Missing[]
  readonly missingForContainer: (container: Container) => Missing | undefined
  /** Variables and files of a container. */
  readonly inputsOf: (container: Container) => ContainerInputs
  /** Why the node cannot give the pod what its spec asks for now. */
  readonly resizeProblem: () => ResizePending | undefined
  readonly gate: Gate
}

export type Role = 'init' | 'sidecar' | 'regular' | 'ephemeral'

/** The pod while it is brought up to date. */
export type Draft = {
  readonly pod: PodObject
  readonly world: Surroundings
  readonly stored: ReadonlyMap<string, ContainerStatus>
  readonly statuses: Map<string, ContainerStatus>
  readonly events: PodEvent[]
  nextAt: number
  resizePending: ResizePending | undefined
}

export function draftOf(pod: PodObject, world: Surroundings): Draft {
  const { spec, status } = pod
  const known = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])]
  const stored = new Map(known.map(each => [each.name, each]))
  const reason = spec.initContainers?.length ? 'PodInitializing' : 'ContainerCreating'
  const statuses = new Map(
    containersOf(spec).map(container => [container.name, stored.get(container.name) ?? waitingStatus(container, reason)]),
  )
  return { pod, world, stored, statuses, events: [], nextAt: Infinity, resizePending: undefined }
}

export const hasRunning = ({ statuses }: Draft): boolean => [...statuses.values()].some(({ state }) => state.running)

export const RESTARTING_ALL = 'RestartingAllContainers'

/** Whether containers of the pod have been started; a restart of all of them begins at the start. */
export function isInitialized({ pod, statuses }: Draft): boolean {
  const regular = (pod.spec.containers ?? []).map(({ name }) => statuses.get(name)!)
  if (regular.some(({ state, lastState }) => state.waiting && lastState.terminated?.reason === RESTARTING_ALL)) return false
  return regular.some(({ state, lastState }) => !state.waiting || lastState.terminated)
}

export const roleOf = ({ spec }: PodObject, { name }: Container): Role => {
  const init = spec.initContainers?.find(each => each.name === name)
  if (init) return isSidecar(init) ? 'sidecar' : 'init'
  return spec.containers?.some(each => each.name === name) ? 'regular' : 'ephemeral'
}

const LISTS: Readonly<Record<Role, string>> = {
  init: 'initContainers',
  sidecar: 'initContainers',
  regular: 'containers',
  ephemeral: 'ephemeralContainers',
}

export const fieldPath = ({ name }: Container, role: Role) => `spec.${LISTS[role]}{${name}}`

export function kill(draft: Draft, container: Container, { role, why, repeats }: { role: Role; why: string; repeats?: true }): void {
  say(draft, 'Normal', 'Killing', why, { fieldPath: fieldPath(container, role), ...(repeats && { repeats }) })
}

export function say(
  { events }: Draft,
  type: PodEvent['type'],
  reason: string,
  message: string,
  more: Pick<PodEvent, 'fieldPath' | 'repeats'> = {},
): void {
  events.push({ type, reason, message, ...more })
}

export function set({ statuses }: Draft, status: ContainerStatus): void {
  statuses.set(status.name, status)
}

export function plan(draft: Draft, at: number): void {
  draft.nextAt = Math.min(draft.nextAt, at)
}
