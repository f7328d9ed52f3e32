/** Stops containers of a simulated pod: containers together, then sidecars one after the other, within their grace period. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { type Container, isSidecar } from '../../kinds/rules/pod/containers/container.ts'
import { exitCodeOf, scriptOfRun } from '../script/script.ts'
import { endedStatus, KILLED, lostStatus, STOPPED, startOf, timeOf } from './container-state.ts'
import { type Draft, fieldPath, hasRunning, isInitialized, kill, plan, report, set } from './pod-draft.ts'
import { stopProcess } from './run-process.ts'

/** Stops all running containers: containers together, then sidecars one after the other, all before the deadline. */
export function stopAll(draft: Draft, { isForced }: { isForced: boolean }): void {
  const { pod, world } = draft
  const { deletionTimestamp, deletionGracePeriodSeconds } = pod.metadata
  const deadline = isForced || !deletionTimestamp ? world.now : timeOf(deletionTimestamp)
  const began = deadline - (isForced ? 0 : Number(deletionGracePeriodSeconds ?? 0) * 1000)
  const first = [
    ...(pod.spec.initContainers ?? []).filter(each => !isSidecar(each)),
    ...(pod.spec.containers ?? []),
    ...(pod.spec.ephemeralContainers ?? []),
  ]
  const ends = first.map(container => stop(draft, container, { began, deadline }))
  const lastEnd = Math.max(began, ...ends)
  if (lastEnd <= world.now) stopInOrder(draft, sidecarsBackwards(pod), { began: lastEnd, deadline })
  if (hasRunning(draft)) return
  const wasInitialized = isInitialized(draft) || !pod.spec.initContainers?.length
  for (const [name, status] of draft.statuses) {
    const { state, lastState } = status
    if (state.terminated) continue
    const isRegular = draft.roles.get(name) === 'regular'
    if (lastState.terminated) set(draft, { ...status, state: lastState, lastState: {}, ready: false, started: false })
    else if (isRegular ? wasInitialized : pod.spec.initContainers?.[0]?.name === name) set(draft, lostStatus(status))
  }
}

/** Stops sidecars in reverse order once all containers have ended for good. */
export function stopSidecars(draft: Draft): void {
  const { now } = draft.world
  const seconds = Number(draft.pod.spec.terminationGracePeriodSeconds ?? 30)
  const regular = (draft.pod.spec.containers ?? []).map(({ name }) => timeOf(draft.statuses.get(name)!.state.terminated?.finishedAt))
  const began = Math.max(0, ...regular)
  stopInOrder(draft, sidecarsBackwards(draft.pod), { began, deadline: Math.max(began + seconds * 1000, now) })
}

const sidecarsBackwards = ({ spec }: Pod) => (spec.initContainers ?? []).filter(isSidecar).reverse()

type Stopping = { readonly began: number; readonly deadline: number }

/** Stops containers one after the other. */
function stopInOrder(draft: Draft, containers: readonly Container[], { began, deadline }: Stopping): void {
  let at = began
  for (const container of containers) {
    at = stop(draft, container, { began: at, deadline })
    if (at > draft.world.now) return
  }
}

/** Stops a running container. Returns the time at which it ends. */
function stop(draft: Draft, container: Container, { began, deadline }: Stopping): number {
  const { pod, world } = draft
  const status = draft.statuses.get(container.name)!
  if (!status.state.running) return began
  if (world.live.isLocal(container)) return stopProcess(draft, container, { began, deadline })
  const role = draft.roles.get(container.name)!
  const isInit = role === 'init' || role === 'sidecar'
  // A container that has to stop does not wait for the result of its command.
  const script = scriptOfRun(pod.metadata, container, { isInit, ran: draft.commands.knownRun(container, status.restartCount) })
  const hookMs = preStopMs(draft, container)
  const plannedEnd = began + hookMs + script.stopMs
  const at = Math.min(plannedEnd, deadline)
  const startedAt = startOf(status)
  const ownEnd = startedAt + (script.runMs ?? (script.exitCodes.length > 0 ? 0 : Infinity))
  if (ownEnd <= Math.min(Math.max(at, startedAt), world.now)) {
    // It had ended before it was to stop, and nobody has looked since.
    set(draft, endedStatus(status, { exitCode: exitCodeOf(script, status.restartCount), at: ownEnd, isInit: role === 'init' }))
    return began
  }
  kill(draft, container, { role, why: `Stopping container ${container.name}`, repeats: true })
  if (at > world.now) {
    plan(draft, at)
    // A terminating container takes no more requests but stays ready until the pod is gone: endpoints depend on that.
    return at
  }
  set(draft, endedStatus(status, { exitCode: plannedEnd > deadline ? KILLED : STOPPED, at: Math.min(Math.max(at, startedAt), world.now) }))
  return at
}

/** The run time of the preStop hook, as far as its command is understood. */
function preStopMs(draft: Draft, container: Container): number {
  const hook = container.lifecycle?.preStop
  if (hook?.sleep) return Number(hook.sleep.seconds) * 1000
  const ran = hook?.exec?.command && draft.commands.command(hook.exec.command)
  // The next look comes with the result, or at the deadline.
  if (ran === 'pending') return Number.POSITIVE_INFINITY
  if (ran?.exceeded !== undefined)
    report(draft, 'Warning', 'FailedPreStopHook', `PreStopHook failed: ${ran.exceeded}`, {
      fieldPath: fieldPath(container, draft.roles.get(container.name)!),
      repeats: true,
    })
  return ran?.runMs ?? 0
}
