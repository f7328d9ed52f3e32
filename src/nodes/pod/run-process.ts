/** The course of a container that runs as a process of this machine, and of probes that are really made, as a script. */
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { PROBE_NAMES, type ProbeName, type ProbeResult, probeOf } from '../probe/prober.ts'
import { PLAIN_SCRIPT, type Script } from '../script/script.ts'
import { endedStatus, KILLED, startOf } from './container-state.ts'
import { type Draft, fieldPath, kill, plan, type Role, report, set } from './pod-draft.ts'

const NEVER = Number.POSITIVE_INFINITY
/** The part of the output that a termination message can contain. */
const MAX_OUTPUT_LENGTH = 2048
const LOST = { exitCode: KILLED, reason: 'ContainerStatusUnknown', message: 'The process ended with the server that had started it' }

/** The script of the present run of a process. */
export function scriptOfProcess(draft: Draft, container: Container, role: Role): Script {
  const { world, stored } = draft
  const status = draft.statuses.get(container.name)!
  const { containerID: run = '' } = status
  const process = world.live.process(run)
  // A run that is not stored yet is started once it is.
  const isNew = stored.get(container.name)?.containerID !== run
  const startedAt = startOf(status)
  if (process === undefined && !isNew)
    return {
      ...PLAIN_SCRIPT,
      runMs: world.now - startedAt,
      exitCodes: [LOST.exitCode],
      endReason: LOST.reason,
      terminationMessage: LOST.message,
    }
  if (process !== undefined && process !== 'running') {
    const { exitCode, at, reason, message } = process
    const log = world.live.output(run, MAX_OUTPUT_LENGTH)
    return {
      ...PLAIN_SCRIPT,
      runMs: Math.max(at - startedAt, 0),
      exitCodes: [exitCode],
      endReason: reason,
      terminationMessage: message,
      log,
    }
  }
  const probed = withProbes(draft, container, { ...PLAIN_SCRIPT, runMs: NEVER })
  const failed = (['startup', 'liveness'] as const).find(name => world.live.probe(run, name)?.hasFailed)
  if (failed) stopUnhealthy(draft, container, { role, failed })
  // The process ends by itself, after the signal.
  return { ...probed, livenessMs: NEVER, startupFailureMs: NEVER }
}

function stopUnhealthy(draft: Draft, container: Container, { role, failed }: { role: Role; failed: 'startup' | 'liveness' }): void {
  const { world, pod } = draft
  const { containerID: run = '' } = draft.statuses.get(container.name)!
  const { message = '' } = world.live.probe(run, failed)!
  const about = { fieldPath: fieldPath(container, role), repeats: true } as const
  report(draft, 'Warning', 'Unhealthy', `${failed === 'startup' ? 'Startup' : 'Liveness'} probe failed: ${message}`, about)
  kill(draft, container, { role, why: `Container ${container.name} failed ${failed} probe, will be restarted`, repeats: true })
  const grace = probeOf(container, failed)?.terminationGracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30
  draft.stops.push({ run, killAt: world.now + Number(grace) * 1000 })
}

/** The script with the results of probes that are really made. */
export function withProbes(draft: Draft, container: Container, script: Script): Script {
  const { world } = draft
  const made = PROBE_NAMES.filter(name => {
    const probe = probeOf(container, name)
    return probe !== undefined && world.live.isProbed(container, probe)
  })
  if (made.length === 0) return script
  const status = draft.statuses.get(container.name)!
  const { containerID: run = '' } = status
  const failedMs = Math.max(world.now - startOf(status), 0)
  let probed: Script = { ...script, realProbes: made }
  for (const name of made) probed = { ...probed, ...resultOf(name, world.live.probe(run, name), { script: probed, failedMs }) }
  return probed
}

type Found = { readonly script: Script; readonly failedMs: number }

function resultOf(name: ProbeName, result: ProbeResult | undefined, { script, failedMs }: Found): Partial<Script> {
  const { passes = false, hasFailed = false, message } = result ?? {}
  const probeMessages = message === undefined ? script.probeMessages : { ...script.probeMessages, [name]: message }
  if (name === 'readiness') return { probeMessages, readyMs: passes ? script.readyMs : NEVER }
  if (name === 'liveness') return { probeMessages, livenessMs: hasFailed ? failedMs : script.livenessMs }
  return { probeMessages, startupMs: passes ? 0 : NEVER, startupFailureMs: hasFailed ? failedMs : NEVER }
}

/** Stops the process of a container. Returns the time at which it has ended, or will at the latest. */
export function stopProcess(
  draft: Draft,
  container: Container,
  { began, deadline }: { readonly began: number; readonly deadline: number },
): number {
  const { world, pod, roles } = draft
  const status = draft.statuses.get(container.name)!
  const { containerID: run = '' } = status
  const role = roles.get(container.name)!
  const isInit = role === 'init'
  const process = world.live.process(run)
  if (process === undefined) {
    set(draft, endedStatus(status, { ...LOST, at: world.now, isInit }))
    return began
  }
  if (process !== 'running') {
    set(draft, endedStatus(status, { ...process, isInit }))
    return Math.min(process.at, world.now)
  }
  kill(draft, container, { role, why: `Stopping container ${container.name}`, repeats: true })
  // A pod that has to end without being deleted has its whole grace period.
  const graceMs = Number(pod.spec.terminationGracePeriodSeconds ?? 30) * 1000
  const killAt = pod.metadata.deletionTimestamp === undefined ? Math.max(deadline, world.now + graceMs) : deadline
  draft.stops.push({ run, killAt })
  const at = Math.max(killAt, world.now + 1)
  plan(draft, at + AFTER_KILL_MS)
  return at
}

/** A killed process reports its end; this look is for one that does not. */
const AFTER_KILL_MS = 1000
