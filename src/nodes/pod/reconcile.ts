/**
 * What becomes of a pod on a simulated node: from the pod as it is stored and the time, its next status, the events that go with it,
 * and when to look again. Nothing is remembered: after a restart of the server the stored pod is all there is.
 */
import { isDeepStrictEqual } from 'node:util'
import type { PodObject } from '../../kinds/core/pod/preparation.ts'
import { type Container, containersOf, isSidecar } from '../../kinds/shapes/pod/containers/container.ts'
import type { ContainerStatus } from '../../kinds/shapes/pod/status/container-status.ts'
import type { PodStatus } from '../../kinds/shapes/pod/status/status.ts'
import { formatDuration } from '../../lib/duration.ts'
import type { Rejection } from './admission.ts'
import { podConditions, type ResizePending } from './conditions.ts'
import { endedStatus, KILLED, lostStatus, STOPPED, startedStatus, startOf, textOf, timeOf, waitingStatus } from './container-state.ts'
import { isTerminalPhase, type Phase, phaseOf } from './phase.ts'
import type { Missing } from './references.ts'
import { resized, resourcesToResize } from './resize.ts'
import { type AfterExit, afterExit, type Gate, restartDelayMs } from './restart-policy.ts'
import { exitCodeOf, type Script, scriptOf, scriptProblems } from './script.ts'

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
  /** Why the node cannot give the pod what its spec asks for now. */
  readonly resizeProblem: () => ResizePending | undefined
  readonly gate: Gate
}

export type PodStep = {
  /** Undefined when it stays as it is. */
  readonly status: PodStatus | undefined
  readonly events: readonly PodEvent[]
  /** The time at which there is more to do, if time alone brings it. */
  readonly nextAt: number | undefined
  /** Whether the pod has ended and is to be deleted. */
  readonly isGone: boolean
}

type Role = 'init' | 'sidecar' | 'regular' | 'ephemeral'

/** The pod while it is brought up to date. */
type Draft = {
  readonly pod: PodObject
  readonly world: Surroundings
  readonly stored: ReadonlyMap<string, ContainerStatus>
  readonly statuses: Map<string, ContainerStatus>
  readonly events: PodEvent[]
  nextAt: number
  resizePending: ResizePending | undefined
}

export function reconcilePod(pod: PodObject, world: Surroundings): PodStep {
  const { metadata, spec, status: old } = pod
  const { now } = world
  const draft = draftOf(pod, world)
  const isDeleted = metadata.deletionTimestamp !== undefined
  if (isTerminalPhase(old.phase) && !hasRunning(draft)) return { ...NOTHING, isGone: isDeleted }
  const startTime = old.startTime ?? textOf(now)
  const deadlineAt = spec.activeDeadlineSeconds == null ? Infinity : timeOf(startTime) + Number(spec.activeDeadlineSeconds) * 1000
  const isTooLate = now >= deadlineAt && !isTerminalPhase(old.phase)
  const isEnding = isDeleted || isTerminalPhase(old.phase) || isTooLate
  if (old.startTime === undefined && !isEnding) {
    const rejection = world.rejection()
    if (rejection) return rejected(pod, rejection, startTime)
    for (const problem of scriptProblems(metadata.annotations, names(pod))) say(draft, 'Warning', 'InvalidScript', problem)
  }
  const stored = (old.podIPs ?? []).map(({ ip }) => ip)
  let podIPs: readonly string[] = stored
  if (isEnding) end(draft, { isForced: !isDeleted || isTooLate })
  else {
    if (stored.length === 0 && canMount(draft)) podIPs = networkOf(draft)
    if (podIPs.length > 0) advance(draft)
    plan(draft, deadlineAt)
  }
  if (isTooLate) say(draft, 'Normal', DEADLINE.reason, DEADLINE.message)
  const hasEnded = isEnding && !hasRunning(draft)
  const phase = nextPhase(draft, { isTooLate, hasEnded })
  const why = isTooLate ? DEADLINE : phase === old.phase ? { reason: old.reason, message: old.message } : {}
  const status = withoutUndefined<PodStatus>({
    ...old,
    observedGeneration: metadata.generation,
    phase,
    conditions: podConditions(old.conditions ?? [], {
      spec,
      phase,
      statusOf: ({ name }) => draft.statuses.get(name),
      hasSandbox: podIPs.length > 0 && !isEnding && !isTerminalPhase(phase),
      hadSandbox: stored.length > 0,
      isInitialized: isInitialized(draft),
      resizePending: draft.resizePending,
      generation: metadata.generation === undefined ? undefined : Number(metadata.generation),
      gate: world.gate,
      now: textOf(now),
    }),
    reason: why.reason,
    message: why.message,
    hostIP: world.hostIPs[0],
    hostIPs: world.hostIPs.map(ip => ({ ip })),
    podIP: podIPs[0],
    podIPs: podIPs.length > 0 ? podIPs.map(ip => ({ ip })) : undefined,
    startTime,
    initContainerStatuses: statusesOf(draft, spec.initContainers),
    containerStatuses: statusesOf(draft, spec.containers),
    ephemeralContainerStatuses: statusesOf(draft, spec.ephemeralContainers),
  })
  return {
    status: isDeepStrictEqual(status, old) ? undefined : status,
    events: draft.events,
    nextAt: Number.isFinite(draft.nextAt) ? draft.nextAt : undefined,
    isGone: hasEnded && isDeleted,
  }
}

const NOTHING: PodStep = { status: undefined, events: [], nextAt: undefined, isGone: false }

const hasRunning = ({ statuses }: Draft): boolean => [...statuses.values()].some(({ state }) => state.running)

/** The addresses of a pod that is to be started; none when there are none left. */
function networkOf(draft: Draft): readonly string[] {
  const { pod, world } = draft
  const addresses = pod.spec.hostNetwork ? world.hostIPs : world.newPodIPs()
  if (addresses.length === 0)
    say(draft, 'Warning', 'FailedCreatePodSandBox', 'Failed to create pod sandbox: the node has no more addresses', { repeats: true })
  return addresses
}

/** A pod that the node does not take has failed. */
function rejected({ metadata, status }: PodObject, { reason, message }: Rejection, startTime: string): PodStep {
  const observed = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
  return {
    status: { ...status, ...observed, phase: 'Failed', reason, message: `Pod was rejected: ${message}`, startTime },
    events: [{ type: 'Warning', reason, message }],
    nextAt: undefined,
    isGone: false,
  }
}

const DEADLINE = { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' }

function draftOf(pod: PodObject, world: Surroundings): Draft {
  const { spec, status } = pod
  const known = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? []), ...(status.ephemeralContainerStatuses ?? [])]
  const stored = new Map(known.map(each => [each.name, each]))
  const reason = spec.initContainers?.length ? 'PodInitializing' : 'ContainerCreating'
  const statuses = new Map(
    containersOf(spec).map(container => [container.name, stored.get(container.name) ?? waitingStatus(container, reason)]),
  )
  return { pod, world, stored, statuses, events: [], nextAt: Infinity, resizePending: undefined }
}

const names = ({ spec }: PodObject): string[] => containersOf(spec).map(({ name }) => name)

const statusesOf = ({ statuses }: Draft, containers: readonly Container[] | undefined) =>
  containers?.length ? containers.map(({ name }) => statuses.get(name)!) : undefined

function nextPhase({ pod, statuses, world }: Draft, { isTooLate, hasEnded }: { isTooLate: boolean; hasEnded: boolean }): Phase {
  const { spec, status: old, metadata } = pod
  if (isTerminalPhase(old.phase)) return old.phase
  if (isTooLate) return 'Failed'
  const isEnding = metadata.deletionTimestamp !== undefined
  const phase = phaseOf({ spec, statusOf: ({ name }) => statuses.get(name), isEnding, gate: world.gate })
  // A pod that ends before its containers were started has failed.
  return hasEnded && !isTerminalPhase(phase) ? 'Failed' : phase
}

/** Whether all volumes are there, and devices. */
function canMount(draft: Draft): boolean {
  const { missingForVolumes } = draft.world
  for (const { message, reason = 'FailedMount' } of missingForVolumes)
    if (message) say(draft, 'Warning', reason, message, { repeats: true })
  return missingForVolumes.length === 0
}

/** Whether containers of the pod have been started; a restart of all of them begins at the start. */
function isInitialized({ pod, statuses }: Draft): boolean {
  const regular = (pod.spec.containers ?? []).map(({ name }) => statuses.get(name)!)
  if (regular.some(({ state, lastState }) => state.waiting && lastState.terminated?.reason === RESTARTING_ALL)) return false
  return regular.some(({ state, lastState }) => !state.waiting || lastState.terminated)
}

/** Brings all containers to where they are now: init containers in their order, then the others. */
function advance(draft: Draft): void {
  const { spec } = draft.pod
  for (const container of spec.ephemeralContainers ?? []) runContainer(draft, container, 'ephemeral')
  if (!advanceAll(draft)) return
  restartAll(draft)
  advanceAll(draft)
}

/** True when an exit code asks for all containers to be restarted. */
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

/** What a container does next: `run` while it runs or is to be started, otherwise what its end means. */
type Outcome = 'run' | AfterExit

/** Brings one container to where it is now. */
function runContainer(draft: Draft, container: Container, role: Role): Outcome {
  const { pod, world } = draft
  const script = scriptOf(pod.metadata, container, { isInit: role === 'init' || role === 'sidecar' })
  // The first run may follow the end of the run before within one look, the next one waits.
  for (;;) {
    const status = draft.statuses.get(container.name)!
    const { state } = status
    const ended = state.terminated ?? (state.waiting ? status.lastState.terminated : undefined)
    if (state.running) {
      const ending = endOfRun(draft, container, { role, script })
      if (!ending) return 'run'
      set(draft, endedStatus(status, { ...ending, isInit: role === 'init' }))
    } else if (ended && ended.reason !== RESTARTING_ALL) {
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

/** Starts a container unless something is in its way; then it waits and false is returned. */
function start(draft: Draft, container: Container, { role, script }: { role: Role; script: Script }): boolean {
  const { pod, world } = draft
  const status = draft.statuses.get(container.name)!
  const about = { fieldPath: fieldPath(container, role) }
  const image = container.image ?? ''
  if (script.pullError !== undefined) {
    failPull(draft, container, { error: script.pullError, about })
    return false
  }
  const missing = world.missingForContainer(container)
  if (missing) {
    say(draft, 'Warning', 'Failed', `Error: ${missing.message}`, { ...about, repeats: true })
    wait(draft, status, 'CreateContainerConfigError', missing.message)
    return false
  }
  if (container.imagePullPolicy === 'Always') {
    say(draft, 'Normal', 'Pulling', `Pulling image "${image}"`, about)
    say(draft, 'Normal', 'Pulled', `Successfully pulled image "${image}" in 0s (0s including waiting). Image size: 0 bytes.`, about)
  } else {
    const access = world.gate('KubeletEnsureSecretPulledImages') ? ' and can be accessed by the pod' : ''
    say(draft, 'Normal', 'Pulled', `Container image "${image}" already present on machine${access}`, about)
  }
  say(draft, 'Normal', 'Created', 'Container created', about)
  say(draft, 'Normal', 'Started', 'Container started', about)
  set(draft, startedStatus(container, status, { uid: pod.metadata.uid ?? '', now: world.now }))
  return true
}

/** From when on after the start of the pod a failed pull is said to wait for the next one, which is not made: nothing would change. */
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
    say(draft, 'Normal', 'BackOff', `Back-off pulling image "${image}"`, about)
    say(draft, 'Warning', 'Failed', 'Error: ImagePullBackOff', about)
    wait(draft, status, 'ImagePullBackOff', `Back-off pulling image "${image}": ErrImagePull: ${error}`)
    return
  }
  say(draft, 'Normal', 'Pulling', `Pulling image "${image}"`, about)
  say(draft, 'Warning', 'Failed', `Failed to pull image "${image}": ${error}`, about)
  say(draft, 'Warning', 'Failed', 'Error: ErrImagePull', about)
  wait(draft, status, 'ErrImagePull', error)
}

/** How the present run ends, if it has; otherwise whether the container is ready is noted. */
function endOfRun(draft: Draft, container: Container, { role, script }: { role: Role; script: Script }) {
  const { world, stored } = draft
  const { now } = world
  const status = draft.statuses.get(container.name)!
  const startedAt = startOf(status)
  const wasRunning = stored.get(container.name)?.containerID === status.containerID
  const about = { fieldPath: fieldPath(container, role) }
  if (status.image !== container.image) {
    kill(draft, container, { role, why: `Container ${container.name} definition changed, will be restarted` })
    return restartNow(draft, container, script)
  }
  if (role !== 'ephemeral' && resize(draft, container, role)) return restartNow(draft, container, script)
  const endsAt = startedAt + (script.runMs ?? ownRunMs(draft, container, { role, script }))
  const [livenessAt, startupAt] = [
    container.livenessProbe ? startedAt + script.livenessMs : Infinity,
    container.startupProbe ? startedAt + script.startupFailureMs : Infinity,
  ]
  const failsAt = Math.min(livenessAt, startupAt)
  // A container that others may want to see running is written as running first.
  if (Math.min(endsAt, failsAt) <= now && (wasRunning || role === 'init')) {
    if (failsAt <= endsAt) {
      const probe = startupAt <= livenessAt ? 'startup' : 'liveness'
      say(draft, 'Warning', 'Unhealthy', `${probe === 'startup' ? 'Startup' : 'Liveness'} probe failed: `, about)
      kill(draft, container, { role, why: `Container ${container.name} failed ${probe} probe, will be restarted` })
      return { exitCode: STOPPED, at: Math.min(failsAt, now) }
    }
    const exitCode = exitCodeOf(script, status.restartCount)
    return { exitCode, at: Math.min(endsAt, now), message: lastWords(container, script, exitCode) }
  }
  plan(draft, Math.max(Math.min(endsAt, failsAt), now))
  const startedUpAt = startedAt + (container.startupProbe ? script.startupMs : 0)
  const readyAt = Math.max(startedUpAt, startedAt + script.readyMs)
  const [started, isReady] = [now >= startedUpAt, now >= readyAt]
  if (!started) plan(draft, startedUpAt)
  else if (!isReady) plan(draft, readyAt)
  if (container.startupProbe && !started) say(draft, 'Warning', 'Unhealthy', 'Startup probe failed: ', { ...about, repeats: true })
  else if (container.readinessProbe && !isReady) say(draft, 'Warning', 'Unhealthy', 'Readiness probe failed: ', { ...about, repeats: true })
  const ready = isReady && (role === 'regular' || role === 'sidecar')
  if (status.started !== started || status.ready !== ready) set(draft, { ...status, started, ready })
  return undefined
}

/** Ends a run for a new one that begins at once. */
function restartNow(draft: Draft, container: Container, script: Script): undefined {
  const { now } = draft.world
  set(draft, endedStatus(draft.statuses.get(container.name)!, { exitCode: STOPPED, at: now }))
  const role = roleOf(draft.pod, container)
  if (start(draft, container, { role, script })) plan(draft, now)
  return undefined
}

/** How long a container without a script runs. */
function ownRunMs({ pod, world }: Draft, container: Container, { role, script }: { role: Role; script: Script }): number {
  if (script.exitCodes.length > 0 || role === 'init') return 0
  if (role !== 'regular') return Infinity
  return afterExit(container, pod.spec, { exitCode: 0, gate: world.gate }) === 'stay' ? 0 : Infinity
}

function lastWords({ terminationMessagePolicy }: Container, { terminationMessage, log }: Script, exitCode: number): string | undefined {
  return terminationMessage ?? (terminationMessagePolicy === 'FallbackToLogsOnError' && exitCode !== 0 ? log.slice(-2048) : undefined)
}

function backOff(draft: Draft, container: Container, { role, delay }: { role: Role; delay: number }): void {
  const status = draft.statuses.get(container.name)!
  const { metadata } = draft.pod
  const about = `${metadata.name}_${metadata.namespace}(${metadata.uid})`
  const message = `back-off ${formatDuration(BigInt(Math.round(delay * 1e6)))} restarting failed container=${container.name} pod=${about}`
  if (status.state.terminated)
    say(draft, 'Warning', 'BackOff', `Back-off restarting failed container ${container.name} in pod ${about}`, {
      fieldPath: fieldPath(container, role),
    })
  wait(draft, status, 'CrashLoopBackOff', message)
}

/** A container that cannot run now; how it ended before stays known. */
function wait(draft: Draft, status: ContainerStatus, reason: string, message: string): void {
  const lastState = status.state.terminated ? { terminated: status.state.terminated } : status.lastState
  const next = { ...status, state: { waiting: { reason, message } }, lastState, ready: false, started: false }
  if (!isDeepStrictEqual(next, status)) set(draft, next)
}

const RESTARTING_ALL = 'RestartingAllContainers'

/** Every container is restarted, init containers too. */
function restartAll(draft: Draft): void {
  const message = 'The container is removed because RestartAllContainers in place'
  for (const [name, status] of draft.statuses) {
    if (status.containerID === undefined || draft.pod.spec.ephemeralContainers?.some(each => each.name === name)) continue
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

/** Gives a running container the resources that its spec asks for now. True when it has to be restarted for that. */
function resize(draft: Draft, container: Container, role: Role): boolean {
  const status = draft.statuses.get(container.name)!
  const changed = resourcesToResize(container, status)
  if (changed.length === 0) return false
  const problem = draft.world.resizeProblem()
  if (problem) {
    draft.resizePending = problem
    const summary = resized(draft.pod, problem.message)
    say(draft, 'Warning', `Resize${problem.reason}`, `Pod resize ${problem.reason}: ${summary}`, { repeats: true })
    return false
  }
  say(draft, 'Normal', 'ResizeStarted', `Pod resize started: ${resized(draft.pod)}`, { repeats: true })
  say(draft, 'Normal', 'ResizeCompleted', `Pod resize completed: ${resized(draft.pod)}`, { repeats: true })
  const { allocatedResources: _, ...kept } = status
  const { resources } = container
  set(draft, { ...kept, ...(resources.requests && { allocatedResources: resources.requests }), resources })
  const restarts = container.resizePolicy?.some(
    ({ resourceName = '', restartPolicy }) => restartPolicy === 'RestartContainer' && changed.includes(resourceName),
  )
  if (restarts) kill(draft, container, { role, why: `Container ${container.name} resize requires restart` })
  return restarts ?? false
}

/** Ends sidecars once nothing is left that they could help: the last one first. */
function stopSidecars(draft: Draft): void {
  const { now } = draft.world
  const seconds = Number(draft.pod.spec.terminationGracePeriodSeconds ?? 30)
  const regular = (draft.pod.spec.containers ?? []).map(({ name }) => timeOf(draft.statuses.get(name)!.state.terminated?.finishedAt))
  const began = Math.max(0, ...regular)
  stopInOrder(draft, sidecarsBackwards(draft.pod), { began, deadline: Math.max(began + seconds * 1000, now) })
}

const sidecarsBackwards = ({ spec }: PodObject) => (spec.initContainers ?? []).filter(isSidecar).reverse()

/** Ends what runs: containers together, then sidecars one after the other, all before the time is up. */
function end(draft: Draft, { isForced }: { isForced: boolean }): void {
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
    const isRegular = pod.spec.containers?.some(each => each.name === name)
    if (lastState.terminated) set(draft, { ...status, state: lastState, lastState: {}, ready: false, started: false })
    else if (isRegular ? wasInitialized : pod.spec.initContainers?.[0]?.name === name) set(draft, lostStatus(status))
  }
}

type Stopping = { readonly began: number; readonly deadline: number }

/** One after the other. */
function stopInOrder(draft: Draft, containers: readonly Container[], { began, deadline }: Stopping): void {
  let at = began
  for (const container of containers) {
    at = stop(draft, container, { began: at, deadline })
    if (at > draft.world.now) return
  }
}

/** Ends a running container, or says when it will have ended. */
function stop(draft: Draft, container: Container, { began, deadline }: Stopping): number {
  const { pod, world } = draft
  const status = draft.statuses.get(container.name)!
  if (!status.state.running) return began
  const role = roleOf(pod, container)
  const script = scriptOf(pod.metadata, container, { isInit: role === 'init' || role === 'sidecar' })
  const hookMs = Number(container.lifecycle?.preStop?.sleep?.seconds ?? 0) * 1000
  const wanted = began + hookMs + script.stopMs
  const at = Math.min(wanted, deadline)
  kill(draft, container, { role, why: `Stopping container ${container.name}`, repeats: true })
  if (at > world.now) {
    plan(draft, at)
    // While it ends it takes no more requests, but is still said to be ready until the pod is gone: that is what endpoints go by.
    return at
  }
  set(
    draft,
    endedStatus(status, { exitCode: wanted > deadline ? KILLED : STOPPED, at: Math.min(Math.max(at, startOf(status)), world.now) }),
  )
  return at
}

const roleOf = ({ spec }: PodObject, { name }: Container): Role => {
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
const fieldPath = ({ name }: Container, role: Role) => `spec.${LISTS[role]}{${name}}`

function kill(draft: Draft, container: Container, { role, why, repeats }: { role: Role; why: string; repeats?: true }): void {
  say(draft, 'Normal', 'Killing', why, { fieldPath: fieldPath(container, role), ...(repeats && { repeats }) })
}

function say(
  { events }: Draft,
  type: PodEvent['type'],
  reason: string,
  message: string,
  more: Pick<PodEvent, 'fieldPath' | 'repeats'> = {},
): void {
  events.push({ type, reason, message, ...more })
}

function set({ statuses }: Draft, status: ContainerStatus): void {
  statuses.set(status.name, status)
}

function plan(draft: Draft, at: number): void {
  draft.nextAt = Math.min(draft.nextAt, at)
}

/** The object without the fields that are not set. */
function withoutUndefined<T extends object>(object: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T
}
