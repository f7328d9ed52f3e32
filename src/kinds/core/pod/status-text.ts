/** The status of a pod as short strings for Table columns. */

import { type CellContext, since } from '../../../schema/columns.ts'
import { conditionOf } from '../../../schema/conditions.ts'
import type { ObjectMeta } from '../../../schema/object-meta.ts'
import { isSidecar } from '../../rules/pod/containers/container.ts'
import type { PodSpec } from '../../rules/pod/spec.ts'
import type { ContainerStatus } from '../../rules/pod/status/container-status.ts'
import type { PodStatus } from '../../rules/pod/status/status.ts'

type PodLike = { readonly metadata: ObjectMeta; readonly spec: PodSpec; readonly status: PodStatus }
type Summary = { readonly ready: number; readonly total: number; readonly reason: string; readonly restarts: Restarts }
type Restarts = { count: number; last: string | undefined }
type Progress = { ready: number; reason: string; restarts: Restarts }

/** `1/2`: ready containers, of those that should run. */
export function readyText(pod: PodLike): string {
  const { ready, total } = summaryOf(pod)
  return `${ready}/${total}`
}

/** The status column: the phase, or the reason for an unexpected state. */
export const statusText = (pod: PodLike): string => summaryOf(pod).reason

/** `3 (5m ago)`: the number of restarts, and the time of the last one. */
export function restartsText(pod: PodLike, ctx: CellContext): string {
  const { count, last } = summaryOf(pod).restarts
  return count !== 0 && last !== undefined ? `${count} (${since(last, ctx)} ago)` : String(count)
}

/** `1/2`: readiness gates whose conditions are true. */
export function readinessGatesText({ spec: { readinessGates = [] }, status }: PodLike): string {
  if (readinessGates.length === 0) return '<none>'
  const open = readinessGates.filter(gate => conditionOf(status.conditions, gate.conditionType)?.status === 'True')
  return `${open.length}/${readinessGates.length}`
}

function summaryOf(pod: PodLike): Summary {
  const { spec, status } = pod
  const initialising = summariseInit(pod)
  const started = initialising.done || conditionOf(status.conditions, 'Initialized')?.status === 'True'
  const { ready, reason, restarts } = started ? summariseRunning(pod, initialising) : initialising
  return {
    ready,
    total: (spec.containers ?? []).length + (spec.initContainers ?? []).filter(isSidecar).length,
    reason: reasonOfEnd(pod) ?? reason,
    restarts,
  }
}

/** Summarizes the init containers up to the first that is not done. */
function summariseInit({ spec, status }: PodLike): Progress & { done: boolean; sidecarRestarts: Restarts } {
  const declared = new Map((spec.initContainers ?? []).map(container => [container.name, container]))
  const restarts: Restarts = { count: 0, last: undefined }
  const sidecarRestarts: Restarts = { count: 0, last: undefined }
  let ready = 0
  for (const [i, container] of (status.initContainerStatuses ?? []).entries()) {
    const sidecar = isSidecar(declared.get(container.name))
    countRestarts(restarts, container)
    if (sidecar) countRestarts(sidecarRestarts, container)
    if (container.state.terminated?.exitCode === 0) continue
    if (sidecar && container.started) {
      if (container.ready) ready++
      continue
    }
    return {
      done: false,
      ready,
      reason: `Init:${initReason(container) ?? `${i}/${spec.initContainers?.length ?? 0}`}`,
      restarts,
      sidecarRestarts,
    }
  }
  return { done: true, ready, reason: baseReason(status), restarts, sidecarRestarts }
}

function initReason({ state: { terminated, waiting } }: ContainerStatus): string | undefined {
  if (terminated) return reasonOfTermination(terminated)
  return waiting?.reason && waiting.reason !== 'PodInitializing' ? waiting.reason : undefined
}

/** The first waiting or terminated container gives the reason; a running one outweighs completed ones. */
function summariseRunning({ status }: PodLike, init: Progress & { sidecarRestarts: Restarts }): Progress {
  const restarts = { ...init.sidecarRestarts }
  let { ready, reason } = init
  let running = false
  let failure = ''
  for (const container of (status.containerStatuses ?? []).toReversed()) {
    const { waiting, terminated, running: isRunning } = container.state
    countRestarts(restarts, container)
    if (waiting?.reason) reason = waiting.reason
    else if (terminated) {
      reason = reasonOfTermination(terminated)
      if (terminated.exitCode !== 0) failure = reason
    } else if (container.ready && isRunning) {
      running = true
      ready++
    }
  }
  if (reason === 'Completed') {
    if (running && conditionOf(status.conditions, 'Ready')?.status === 'True') reason = 'Running'
    else if (failure !== '') reason = failure
    else if (running) reason = 'NotReady'
  }
  return { ready, reason, restarts }
}

/** The status during deletion, which takes precedence over everything else. */
function reasonOfEnd({ metadata, status: { phase, reason } }: PodLike): string | undefined {
  if (!metadata.deletionTimestamp) return undefined
  if (reason === 'NodeLost') return 'Unknown'
  return phase === 'Failed' || phase === 'Succeeded' ? undefined : 'Terminating'
}

function baseReason(status: PodStatus): string {
  const gated = status.conditions?.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated')
  return gated ? 'SchedulingGated' : status.reason || status.phase || ''
}

const reasonOfTermination = ({ reason, signal, exitCode }: { reason?: string; signal?: number; exitCode: number }): string =>
  reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`)

function countRestarts(restarts: Restarts, { restartCount, lastState: { terminated } }: ContainerStatus): void {
  restarts.count += restartCount
  const at = terminated?.finishedAt
  if (at && (restarts.last === undefined || at > restarts.last)) restarts.last = at
}
