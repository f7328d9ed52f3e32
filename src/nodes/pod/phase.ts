/** The phase of a pod, from the states of its containers, as a kubelet derives it. */
import { type Container, isSidecar } from '../../kinds/rules/pod/containers/container.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import type { ContainerStatus } from '../../kinds/rules/pod/status/container-status.ts'
import { afterExit, type Gate } from './restart-policy.ts'

export type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed'

export const isTerminalPhase = (phase: string | undefined): phase is 'Succeeded' | 'Failed' => phase === 'Succeeded' || phase === 'Failed'

export type PhaseInput = {
  readonly spec: PodSpec
  readonly statusOf: (container: Container) => ContainerStatus | undefined
  /** Whether no container will be started any more. */
  readonly isEnding: boolean
  readonly gate: Gate
}

export function phaseOf({ spec, statusOf, isEnding, gate }: PhaseInput): Phase {
  const isOver = (container: Container, exitCode: number) => afterExit(container, spec, { exitCode, gate }) === 'stay'
  const count = { pendingInit: 0, pendingSidecar: 0, waiting: 0, running: 0, stopped: 0, succeeded: 0, over: 0, failedInit: 0 }
  for (const container of spec.initContainers ?? []) {
    const status = statusOf(container)
    const ended = endOf(status)
    if (isSidecar(container)) {
      if (status?.state.running) {
        count.running++
        if (!status.started) count.pendingSidecar++
      } else if (!ended) {
        count.pendingSidecar++
        count.waiting++
      }
    } else if (!ended) count.pendingInit++
    else if (ended.exitCode !== 0 && isOver(container, ended.exitCode)) count.failedInit++
    else if (ended.exitCode !== 0) count.pendingInit++
  }
  let isInitialized = false
  for (const container of spec.containers ?? []) {
    const status = statusOf(container)
    const ended = endOf(status)
    isInitialized ||= status?.state.running !== undefined || ended !== undefined
    if (status?.state.running) count.running++
    else if (!ended) count.waiting++
    else {
      count.stopped++
      if (isOver(container, ended.exitCode)) count.over++
      if (status?.state.terminated?.exitCode === 0) count.succeeded++
    }
  }
  if (count.failedInit > 0) return 'Failed'
  if (count.pendingInit > 0 || (count.pendingSidecar > 0 && !isInitialized) || count.waiting > 0) return 'Pending'
  if (count.running > 0) return 'Running'
  if (count.stopped === 0) return 'Pending'
  if (!isEnding && count.stopped !== count.over) return 'Running'
  return count.stopped === count.succeeded ? 'Succeeded' : 'Failed'
}

/** The last end of a container that is not running: its current state, or the one before a pending restart. */
const endOf = (status: ContainerStatus | undefined) =>
  status?.state.terminated ?? (status?.state.waiting ? status.lastState.terminated : undefined)
