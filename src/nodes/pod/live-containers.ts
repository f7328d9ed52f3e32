/** Containers that are more than simulated: those that run as processes of this machine, and those whose probes are really made. */
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { Probe } from '../../kinds/rules/pod/containers/probes.ts'
import type { ProbeName, ProbeResult } from '../probe/prober.ts'

/** The end of a process, as far as a status tells it. */
export type EndedProcess = {
  readonly exitCode: number
  readonly at: number
  readonly reason?: string | undefined
  readonly message?: string | undefined
}

/** Looks up the state of the containers of a pod. Runs are named by the ids of their containers. */
export type LiveContainers = {
  /** Whether a container runs as a process of this machine. */
  readonly isLocal: (container: Container) => boolean
  /** Undefined when this server has not started it. */
  readonly process: (run: string) => EndedProcess | 'running' | undefined
  /** The end of the output of a process. */
  readonly output: (run: string, length: number) => string
  /** Whether a probe of a container is really made. */
  readonly isProbed: (container: Container, probe: Probe) => boolean
  /** Undefined before its first check. */
  readonly probe: (run: string, name: ProbeName) => ProbeResult | undefined
}

export const NONE_LIVE: LiveContainers = {
  isLocal: () => false,
  process: () => undefined,
  output: () => '',
  isProbed: () => false,
  probe: () => undefined,
}

/** A process that is to end. */
export type ProcessStop = {
  readonly run: string
  /** The time at which it is killed. */
  readonly killAt: number
}
