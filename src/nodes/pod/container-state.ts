/** The status of one container of a simulated pod while it waits, when it starts and when it ends. */
import { createHash } from 'node:crypto'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { ContainerStateTerminated, ContainerStatus, VolumeMountStatus } from '../../kinds/rules/pod/status/container-status.ts'
import { millisecondsAt, timestampOf } from '../../lib/time.ts'
import { RUNTIME } from '../node/is-simulated.ts'

const SCHEME = `${RUNTIME}://`

/** The exit code of a process that SIGTERM, or SIGKILL, has ended. */
export const STOPPED = 143
export const KILLED = 137

/** A container that has not been started. */
export const waitingStatus = (container: Container, reason: string): ContainerStatus => ({
  name: container.name,
  state: { waiting: { reason } },
  lastState: {},
  ready: false,
  restartCount: 0,
  image: container.image ?? '',
  imageID: '',
  started: false,
  ...mountsOf(container),
})

/** The same container, running since `now`. Its previous run becomes the last state. */
export function startedStatus(container: Container, status: ContainerStatus, { uid, now }: { uid: string; now: number }): ContainerStatus {
  const hasRun = status.containerID !== undefined
  const restartCount = hasRun ? status.restartCount + 1 : status.restartCount
  const { resources } = container
  return {
    name: container.name,
    state: { running: { startedAt: textOf(now) } },
    lastState: status.state.terminated ? { terminated: status.state.terminated } : status.lastState,
    ready: false,
    restartCount,
    image: container.image ?? '',
    imageID: imageID(container.image ?? ''),
    containerID: containerID(now, `${uid}/${container.name}/${restartCount}`),
    started: false,
    ...(resources.requests && { allocatedResources: resources.requests }),
    resources,
    ...mountsOf(container),
  }
}

export type Ending = {
  readonly exitCode: number
  readonly at: number
  readonly message?: string | undefined
  /** Follows from the exit code by default. */
  readonly reason?: string | undefined
  /** Whether the container is complete after exit code zero. */
  readonly isInit?: boolean
}

/** The same container after its run. */
export function endedStatus(status: ContainerStatus, { exitCode, at, message, reason, isInit = false }: Ending): ContainerStatus {
  const terminated: ContainerStateTerminated = {
    exitCode,
    reason: reason ?? (exitCode === 0 ? 'Completed' : 'Error'),
    ...(message && { message }),
    startedAt: status.state.running?.startedAt ?? textOf(at),
    finishedAt: textOf(at),
    ...(status.containerID && { containerID: status.containerID }),
  }
  return { ...status, state: { terminated }, ready: isInit && exitCode === 0, started: false }
}

/** A container whose state is unknown when its pod ends. */
export const lostStatus = (status: ContainerStatus): ContainerStatus => ({
  ...status,
  state: {
    terminated: {
      exitCode: KILLED,
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
      startedAt: null as unknown as string,
      finishedAt: null as unknown as string,
    },
  },
  ready: false,
  started: false,
})

/**
 * The id of a container begins with the time of its start, in milliseconds and 12 hexadecimal digits. Times in a status have whole
 * seconds only, and a script may need finer ones.
 */
function containerID(now: number, seed: string): string {
  return SCHEME + Math.max(0, Math.floor(now)).toString(16).padStart(12, '0') + createHash('sha256').update(seed).digest('hex').slice(12)
}

/** The start time of a container. */
export function startOf({ containerID = '', state }: ContainerStatus): number {
  const digits = /^simulated:\/\/([0-9a-f]{12})/.exec(containerID)?.[1]
  return digits === undefined ? timeOf(state.running?.startedAt) : Number.parseInt(digits, 16)
}

/** Milliseconds of a time in a status. */
export const timeOf = (text: string | null | undefined): number => (text ? millisecondsAt(text) : 0)
export const textOf = (ms: number): string => timestampOf(ms)

/** The image ID of a runtime: the repository and a digest, here of the name. */
function imageID(image: string): string {
  if (image.includes('@')) return image
  const repository = image.replace(/:[^:/]*$/, '')
  return `${repository}@sha256:${createHash('sha256').update(image).digest('hex')}`
}

function mountsOf({ volumeMounts }: Container): { volumeMounts?: VolumeMountStatus[] } {
  if (!volumeMounts?.length) return {}
  return {
    volumeMounts: volumeMounts.map(({ name, mountPath, readOnly }) => ({
      name,
      mountPath,
      ...(readOnly && { readOnly, recursiveReadOnly: 'Disabled' }),
    })),
  }
}
