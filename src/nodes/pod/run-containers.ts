/** Starts, runs, restarts and resizes the containers of a simulated pod, following their scripts. */
import { isDeepStrictEqual } from 'node:util'
import { type Container, isSidecar } from '../../kinds/rules/pod/containers/container.ts'
import type { ContainerStatus } from '../../kinds/rules/pod/status/container-status.ts'
import { formatDuration } from '../../lib/duration.ts'
import { LIMITS } from '../../lib/limits.ts'
import { truncate } from '../../lib/truncate.ts'
import { userProblem } from '../container/identity.ts'
import type { ProbeName } from '../probe/prober.ts'
import { annotatedScript, exitCodeOf, type Script, scriptOf } from '../script/script.ts'
import { endedStatus, KILLED, STOPPED, startedStatus, startOf, textOf, timeOf } from './container-state.ts'
import { type Draft, fieldPath, isInitialized, kill, plan, RESTARTING_ALL, type Role, report, set } from './pod-draft.ts'
import type { Missing } from './references.ts'
import { resized, resourcesToResize } from './resize.ts'
import { type AfterExit, afterExit, restartDelayMs } from './restart-policy.ts'
import { scriptOfProcess, withProbes } from './run-process.ts'
import { stopSidecars } from './stop-containers.ts'

/** Advances all containers to the present: init containers in their order, then the others. */
export function runContainers(draft: Draft): void {
  const { spec } = draft.pod
  for (const container of spec.ephemeralContainers ?? []) runContainer(draft, container, 'ephemeral')
  if (!advanceAll(draft)) return
  restartAll(draft)
  advanceAll(draft)
}

/** Returns true when an exit code requires a restart of all containers. */
function advanceAll(draft: Draft): boolean {
  const { spec } = draft.pod
  const wasInitialized = isInitialized(draft)
  if (wasInitialized && (spec.containers ?? []).every(container => hasEndedForGood(draft, container))) {
    stopSidecars(draft)
    return false
  }
  for (const container of spec.initContainers ?? []) {
    const role = isSidecar(container) ? 'sidecar' : 'init'
    if (wasInitialized && role === 'init') continue
    if (runContainer(draft, container, role) === 'restart-all') return true
    const { state, started } = draft.statuses.get(container.name)!
    const isThrough = role === 'init' ? state.terminated?.exitCode === 0 : started === true
    if (!isThrough && !wasInitialized) return false
  }
  const outcomes = (spec.containers ?? []).map(container => runContainer(draft, container, 'regular'))
  if (outcomes.includes('restart-all')) return true
  if (outcomes.every(outcome => outcome === 'stay')) stopSidecars(draft)
  return false
}

function hasEndedForGood(draft: Draft, container: Container): boolean {
  const { terminated } = draft.statuses.get(container.name)!.state
  return terminated !== undefined && outcomeOf(draft, container, { role: 'regular', exitCode: terminated.exitCode }) === 'stay'
}

/** The next action of a container: `run` while it runs or is to be started, otherwise the consequence of its end. */
type Outcome = 'run' | AfterExit

/** Advances one container to the present. */
function runContainer(draft: Draft, container: Container, role: Role): Outcome {
  const { pod, world } = draft
  // Starting a container does not need the result of its command.
  const script = annotatedScript(pod.metadata, container, role === 'init' || role === 'sidecar')
  // One look may end a run and start the next, but no more than that.
  for (;;) {
    const status = draft.statuses.get(container.name)!
    const { state } = status
    // A container that waits for a new image does not wait for its next run.
    const isPulling = script.pullError !== undefined && PULLING.has(state.waiting?.reason ?? '')
    const ended = state.terminated ?? (state.waiting ? status.lastState.terminated : undefined)
    if (state.running) {
      const ending = endOfRun(draft, container, role)
      if (!ending) return 'run'
      set(draft, endedStatus(status, { ...ending, isInit: role === 'init' }))
    } else if (ended && ended.reason !== RESTARTING_ALL && !isPulling) {
      const { exitCode } = ended
      const outcome = outcomeOf(draft, container, { role, exitCode })
      if (outcome === 'stay') return 'stay'
      const ranMs = timeOf(ended.finishedAt) - timeOf(ended.startedAt)
      const delay = restartDelayMs(status.restartCount, ranMs, { gate: world.gate, firstMs: script.restartMs })
      const restartAt = timeOf(ended.finishedAt) + delay
      if (restartAt > world.now) {
        backOff(draft, container, { role, delay })
        plan(draft, restartAt)
        return 'run'
      }
      if (outcome === 'restart-all') return outcome
      if (!start(draft, container, { role, script })) return 'run'
    } else if (!start(draft, container, { role, script })) return 'run'
  }
}

function outcomeOf({ pod, world }: Draft, container: Container, { role, exitCode }: { role: Role; exitCode: number }): AfterExit {
  if (role === 'ephemeral') return 'stay'
  const outcome = afterExit(container, pod.spec, { exitCode, gate: world.gate })
  return role === 'init' && exitCode === 0 && outcome === 'restart' ? 'stay' : outcome
}

/** Starts a container. Returns false when it has to wait. */
function start(draft: Draft, container: Container, { role, script }: { role: Role; script: Script }): boolean {
  const { pod, world } = draft
  const status = draft.statuses.get(container.name)!
  const about = { fieldPath: fieldPath(container, role) }
  const image = container.image ?? ''
  if (script.pullError !== undefined) {
    failPull(draft, container, { error: script.pullError, about })
    return false
  }
  const missing = missingFor(draft, container)
  if (missing === 'pending') {
    draft.isPending = true
    return false
  }
  if (missing) {
    draft.missing.push(missing)
    report(draft, 'Warning', 'Failed', `Error: ${missing.message}`, { ...about, repeats: true })
    wait(draft, status, 'CreateContainerConfigError', missing.message)
    return false
  }
  if (container.imagePullPolicy === 'Always') {
    report(draft, 'Normal', 'Pulling', `Pulling image "${image}"`, about)
    report(draft, 'Normal', 'Pulled', `Successfully pulled image "${image}" in 0s (0s including waiting). Image size: 0 bytes.`, about)
  } else {
    const access = world.gate('KubeletEnsureSecretPulledImages') ? ' and can be accessed by the pod' : ''
    report(draft, 'Normal', 'Pulled', `Container image "${image}" already present on machine${access}`, about)
  }
  report(draft, 'Normal', 'Created', 'Container created', about)
  report(draft, 'Normal', 'Started', 'Container started', about)
  set(draft, startedStatus(container, status, { uid: pod.metadata.uid ?? '', now: world.now }))
  return true
}

/** Why a container cannot be created; `pending` until that is known. */
function missingFor({ pod, world, commands }: Draft, container: Container): Missing | 'pending' | undefined {
  const missing = world.missingForContainer(container)
  if (missing) return missing
  const problem = commands.mountProblem(container)
  if (problem === 'pending') return problem
  const message = problem ?? userProblem(pod, container)
  return message === undefined ? undefined : { message, objects: [] }
}

const PULLING = new Set(['ErrImagePull', 'ImagePullBackOff'])
/** Time after the start of the pod at which a failed pull becomes a back-off. No further pull follows: nothing would change. */
const PULL_FAILED_MS = 2000

function failPull(draft: Draft, container: Container, { error, about }: { error: string; about: { fieldPath: string } }): void {
  const { image = '' } = container
  const status = draft.statuses.get(container.name)!
  const { reason } = status.state.waiting ?? {}
  if (reason === 'ImagePullBackOff') return
  const backOffAt = timeOf(draft.pod.status.startTime) + PULL_FAILED_MS
  if (reason === 'ErrImagePull' && draft.world.now < backOffAt) {
    plan(draft, backOffAt)
    return
  }
  if (reason === 'ErrImagePull') {
    report(draft, 'Normal', 'BackOff', `Back-off pulling image "${image}"`, about)
    report(draft, 'Warning', 'Failed', 'Error: ImagePullBackOff', about)
    wait(draft, status, 'ImagePullBackOff', `Back-off pulling image "${image}": ErrImagePull: ${error}`)
    return
  }
  report(draft, 'Normal', 'Pulling', `Pulling image "${image}"`, about)
  report(draft, 'Warning', 'Failed', `Failed to pull image "${image}": ${error}`, about)
  report(draft, 'Warning', 'Failed', 'Error: ErrImagePull', about)
  wait(draft, status, 'ErrImagePull', error)
}

type RunEnd = {
  readonly exitCode: number
  readonly at: number
  readonly message?: string | undefined
  readonly reason?: string | undefined
}

/** The script of the current run; undefined while the result of its command is pending. */
function scriptOfPresentRun(draft: Draft, container: Container, role: Role): Script | undefined {
  const { pod, commands, statuses, world } = draft
  if (world.live.isLocal(container)) return scriptOfProcess(draft, container, role)
  const isInit = role === 'init' || role === 'sidecar'
  const script = scriptOf(pod.metadata, container, { isInit, commands, run: statuses.get(container.name)!.restartCount })
  draft.isPending ||= script === 'pending'
  return script === 'pending' ? undefined : withProbes(draft, container, script)
}

/** The end of the current run, if it has ended; otherwise updates whether the container is started and ready. */
function endOfRun(draft: Draft, container: Container, role: Role): RunEnd | undefined {
  const { world, stored } = draft
  const { now } = world
  const status = draft.statuses.get(container.name)!
  const startedAt = startOf(status)
  const wasRunning = stored.get(container.name)?.containerID === status.containerID
  const about = { fieldPath: fieldPath(container, role) }
  if (status.image !== (container.image ?? '')) {
    kill(draft, container, { role, why: `Container ${container.name} definition changed, will be restarted` })
    return restartNow(draft, container, role)
  }
  if (role !== 'ephemeral' && resize(draft, container, role)) return restartNow(draft, container, role)
  const script = scriptOfPresentRun(draft, container, role)
  if (!script) return undefined
  const endsAt = startedAt + (script.runMs ?? ownRunMs(draft, container, { role, script }))
  const startedUpAt = startedAt + (container.startupProbe ? script.startupMs : 0)
  // Liveness probes begin after the startup probe has passed.
  const [livenessAt, startupAt] = [
    container.livenessProbe ? Math.max(startedAt + script.livenessMs, startedUpAt) : Infinity,
    container.startupProbe ? startedAt + script.startupFailureMs : Infinity,
  ]
  const failsAt = Math.min(livenessAt, startupAt)
  // Clients may wait for a running container, so it is written as running before it ends.
  if (Math.min(endsAt, failsAt) <= now && (wasRunning || role === 'init')) {
    if (failsAt <= endsAt) {
      const probe = startupAt <= livenessAt ? 'startup' : 'liveness'
      report(draft, 'Warning', 'Unhealthy', unhealthy(probe, script), about)
      kill(draft, container, { role, why: `Container ${container.name} failed ${probe} probe, will be restarted` })
      return { exitCode: STOPPED, at: Math.min(failsAt, now) }
    }
    const exitCode = exitCodeOf(script, status.restartCount)
    const message = terminationMessageOf(draft, container, { script, exitCode })
    return { exitCode, at: Math.min(endsAt, now), message, reason: script.isExceeded ? CANNOT_RUN : script.endReason }
  }
  plan(draft, Math.max(Math.min(endsAt, failsAt), now))
  const readyAt = Math.max(startedUpAt, startedAt + script.readyMs)
  const [started, isReady] = [now >= startedUpAt, now >= readyAt]
  if (!started) plan(draft, startedUpAt)
  else if (!isReady) plan(draft, readyAt)
  const probed = started ? container.readinessProbe : container.startupProbe
  const firstAt = startedAt + Number(probed?.initialDelaySeconds ?? 0) * 1000
  // A timed probe that has not been made yet, or that has yet to succeed again, has not failed.
  const succeedsAt =
    (started ? readyAt : startedUpAt) - (Number(probed?.successThreshold ?? 1) - 1) * Number(probed?.periodSeconds ?? 10) * 1000
  const hasFailed = (name: ProbeName) =>
    script.realProbes.includes(name) ? script.probeMessages[name] !== undefined : !script.isTimed || (now >= firstAt && now < succeedsAt)
  if (script.isTimed && now < firstAt) plan(draft, firstAt)
  const failing = container.startupProbe && !started ? 'startup' : container.readinessProbe && !isReady ? 'readiness' : undefined
  if (failing && hasFailed(failing)) report(draft, 'Warning', 'Unhealthy', unhealthy(failing, script), { ...about, repeats: true })
  const ready = isReady && (role === 'regular' || role === 'sidecar')
  if (status.started !== started || status.ready !== ready) set(draft, { ...status, started, ready })
  return undefined
}

/** The reason that container runtimes give when a command cannot be run. */
const CANNOT_RUN = 'ContainerCannotRun'

const PROBES = { startup: 'Startup', readiness: 'Readiness', liveness: 'Liveness' } as const
const unhealthy = (probe: keyof typeof PROBES, { probeMessages }: Script) => `${PROBES[probe]} probe failed: ${probeMessages[probe] ?? ''}`

/** Ends a run and starts the next at once, ready in the same write when nothing delays it. */
function restartNow(draft: Draft, container: Container, role: Role): RunEnd | undefined {
  // The process of the previous run is killed when this one is stored.
  const script = annotatedScript(draft.pod.metadata, container, role === 'init' || role === 'sidecar')
  set(draft, endedStatus(draft.statuses.get(container.name)!, { exitCode: STOPPED, at: draft.world.now }))
  return start(draft, container, { role, script }) ? endOfRun(draft, container, role) : undefined
}

/** The run time of a container without a script. */
function ownRunMs({ pod, world }: Draft, container: Container, { role, script }: { role: Role; script: Script }): number {
  if (script.exitCodes.length > 0 || role === 'init') return 0
  if (role !== 'regular') return Infinity
  return afterExit(container, pod.spec, { exitCode: 0, gate: world.gate }) === 'stay' ? 0 : Infinity
}

/** A kubelet's limits on the termination message of a container, the part of its log used instead, and all messages of a pod. */
const MESSAGE_LENGTH = { container: 4096, log: 2048, pod: 12 * 1024 }

function terminationMessageOf(
  { roles }: Draft,
  { terminationMessagePolicy }: Container,
  { script, exitCode }: { script: Script; exitCode: number },
): string | undefined {
  const { terminationMessage, log } = script
  const isFromLog = terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0
  const whole = terminationMessage?.slice(-MESSAGE_LENGTH.container) ?? (isFromLog ? log.slice(-MESSAGE_LENGTH.log) : undefined)
  return whole?.slice(0, Math.floor(MESSAGE_LENGTH.pod / roles.size))
}

function backOff(draft: Draft, container: Container, { role, delay }: { role: Role; delay: number }): void {
  const status = draft.statuses.get(container.name)!
  const { metadata } = draft.pod
  const about = `${metadata.name}_${metadata.namespace}(${metadata.uid})`
  const message = `back-off ${formatDuration(BigInt(Math.round(delay * 1e6)))} restarting failed container=${container.name} pod=${about}`
  if (status.state.terminated)
    report(draft, 'Warning', 'BackOff', `Back-off restarting failed container ${container.name} in pod ${about}`, {
      fieldPath: fieldPath(container, role),
    })
  wait(draft, status, 'CrashLoopBackOff', message)
}

/** Makes a container wait; its previous end stays in lastState. */
function wait(draft: Draft, status: ContainerStatus, reason: string, message: string): void {
  const lastState = status.state.terminated ? { terminated: status.state.terminated } : status.lastState
  const waiting = { reason, message: truncate(message, LIMITS.nodeMessageLength) }
  const next = { ...status, state: { waiting }, lastState, ready: false, started: false }
  if (!isDeepStrictEqual(next, status)) set(draft, next)
}

/** Restarts all containers, init containers included. */
function restartAll(draft: Draft): void {
  const message = 'The container is removed because RestartAllContainers in place'
  for (const [name, status] of draft.statuses) {
    if (status.containerID === undefined || draft.roles.get(name) === 'ephemeral') continue
    const { terminated: ended, running } = status.state
    const startedAt = ended?.startedAt ?? running?.startedAt ?? (null as unknown as string)
    const finishedAt = ended?.finishedAt ?? textOf(draft.world.now)
    const terminated = { exitCode: KILLED, reason: RESTARTING_ALL, message, startedAt, finishedAt }
    set(draft, {
      ...status,
      state: { waiting: { reason: RESTARTING_ALL, message } },
      lastState: { terminated },
      ready: false,
      started: false,
    })
  }
}

/** Gives a running container the resources of its current spec. Returns true when that requires a restart. */
function resize(draft: Draft, container: Container, role: Role): boolean {
  const status = draft.statuses.get(container.name)!
  const changed = resourcesToResize(container, status)
  if (changed.length === 0) return false
  const problem = draft.world.resizeProblem()
  if (problem) {
    draft.resizePending = problem
    const summary = resized(draft.pod, problem.message)
    report(draft, 'Warning', `Resize${problem.reason}`, `Pod resize ${problem.reason}: ${summary}`, { repeats: true })
    return false
  }
  report(draft, 'Normal', 'ResizeStarted', `Pod resize started: ${resized(draft.pod)}`, { repeats: true })
  report(draft, 'Normal', 'ResizeCompleted', `Pod resize completed: ${resized(draft.pod)}`, { repeats: true })
  const { allocatedResources: _, ...kept } = status
  const { resources } = container
  set(draft, { ...kept, ...(resources.requests && { allocatedResources: resources.requests }), resources })
  const restarts = container.resizePolicy?.some(
    ({ resourceName = '', restartPolicy }) => restartPolicy === 'RestartContainer' && changed.includes(resourceName),
  )
  if (restarts) kill(draft, container, { role, why: `Container ${container.name} resize requires restart` })
  return restarts ?? false
}
