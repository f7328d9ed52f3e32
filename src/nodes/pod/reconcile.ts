/**
 * The next step of a pod on a simulated node: from the stored pod, the time and the state around it, its next status, the events that
 * go with it, and the time of the next look. A pure function: it remembers, takes and starts nothing, and leaves that to its caller.
 * After a restart of the server the stored pod is all there is.
 */

import { isDeepStrictEqual } from 'node:util'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { PodStatus } from '../../kinds/rules/pod/status/status.ts'
import type { CommandRequest } from '../script/commands.ts'
import { scriptProblems } from '../script/script.ts'
import type { Rejection } from './admission.ts'
import { podConditions } from './conditions.ts'
import { textOf, timeOf } from './container-state.ts'
import type { ProcessStop } from './live-containers.ts'
import { isTerminalPhase, type Phase, phaseOf } from './phase.ts'
import { type Draft, draftOf, hasRunning, isInitialized, type PodEvent, plan, report, type Surroundings } from './pod-draft.ts'
import type { Missing } from './references.ts'
import { runContainers } from './run-containers.ts'
import { stopAll } from './stop-containers.ts'

export type PodStep = {
  /** Undefined when it stays as it is. */
  readonly status: PodStatus | undefined
  readonly events: readonly PodEvent[]
  /** The time at which there is more to do, if time alone brings it. */
  readonly nextAt: number | undefined
  /** Whether the pod has ended and is to be deleted. */
  readonly isGone: boolean
  /** Whether results of commands have to be known first. Then there are no events, and those that were recorded still hold. */
  readonly isPending: boolean
  /** Whether the node takes the pod on with this step. */
  readonly isAdmitted: boolean
  /** Whether the pod takes the free addresses. */
  readonly takesAddresses: boolean
  /** Whether the pod waits until others on its node end, or need less. */
  readonly isDeferred: boolean
  /** Problems for which containers cannot be started. */
  readonly missing: readonly Missing[]
  /** Results of commands that were needed and are not known yet. */
  readonly requests: readonly CommandRequest[]
  /** Processes on this machine that are to end. */
  readonly stops: readonly ProcessStop[]
}

export function reconcilePod(pod: Pod, world: Surroundings): PodStep {
  const { metadata, spec, status: old } = pod
  const { now } = world
  const draft = draftOf(pod, world)
  const isDeleted = metadata.deletionTimestamp !== undefined
  if (isTerminalPhase(old.phase) && !hasRunning(draft)) return { ...NOTHING, isGone: isDeleted }
  const startTime = old.startTime ?? textOf(now)
  const deadlineAt = spec.activeDeadlineSeconds == null ? Infinity : timeOf(startTime) + Number(spec.activeDeadlineSeconds) * 1000
  const isTooLate = now >= deadlineAt && !isTerminalPhase(old.phase)
  const isEnding = isDeleted || isTerminalPhase(old.phase) || isTooLate
  const isAdmitted = old.startTime === undefined && !isEnding
  const rejection = isAdmitted ? world.rejection() : undefined
  if (rejection) return rejected(pod, rejection, startTime)
  // Annotations can change at any time, so every reconcile reports their current mistakes.
  if (!isEnding)
    for (const problem of scriptProblems(metadata.annotations, new Set(draft.roles.keys())))
      report(draft, 'Warning', 'InvalidScript', problem, { repeats: true })
  const stored = (old.podIPs ?? []).map(({ ip }) => ip)
  const needsAddresses = stored.length === 0 && !isEnding && canMount(draft)
  const podIPs = needsAddresses ? networkOf(draft) : stored
  if (isEnding) stopAll(draft, { isForced: !isDeleted || isTooLate })
  else {
    if (podIPs.length > 0) runContainers(draft)
    plan(draft, deadlineAt)
  }
  const step: PodStep = {
    ...NOTHING,
    nextAt: Number.isFinite(draft.nextAt) ? draft.nextAt : undefined,
    isAdmitted,
    takesAddresses: needsAddresses && !spec.hostNetwork && podIPs.length > 0,
    isDeferred: (needsAddresses && podIPs.length === 0) || draft.resizePending?.reason === 'Deferred',
    missing: draft.missing,
    requests: draft.requests,
    stops: draft.stops,
  }
  if (draft.isPending) return { ...step, isPending: true }
  if (isTooLate) report(draft, 'Normal', DEADLINE.reason, DEADLINE.message)
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
    ...step,
    status: isDeepStrictEqual(status, old) ? undefined : status,
    events: draft.events,
    isGone: hasEnded && isDeleted,
  }
}

const NOTHING: PodStep = {
  status: undefined,
  events: [],
  nextAt: undefined,
  isGone: false,
  isPending: false,
  isAdmitted: false,
  takesAddresses: false,
  isDeferred: false,
  missing: [],
  requests: [],
  stops: [],
}

/** The addresses of a pod that is to be started; none when there are none left. */
function networkOf(draft: Draft): readonly string[] {
  const { pod, world } = draft
  const addresses = pod.spec.hostNetwork ? world.hostIPs : world.freePodIPs
  if (addresses.length === 0)
    report(draft, 'Warning', 'FailedCreatePodSandBox', 'Failed to create pod sandbox: the node has no more addresses', { repeats: true })
  return addresses
}

/** A pod that the node does not take has failed. */
function rejected({ metadata, status }: Pod, { reason, message }: Rejection, startTime: string): PodStep {
  const observed = metadata.generation === undefined ? {} : { observedGeneration: metadata.generation }
  return {
    ...NOTHING,
    status: { ...status, ...observed, phase: 'Failed', reason, message: `Pod was rejected: ${message}`, startTime },
    events: [{ type: 'Warning', reason, message }],
  }
}

const DEADLINE = { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' }

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
    if (message) report(draft, 'Warning', reason, message, { repeats: true })
  return missingForVolumes.length === 0
}

/** The object without the fields that are not set. */
function withoutUndefined<T extends object>(object: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T
}
