/** The log of a simulated container: the text of its script, written when the run began, as `kubectl logs` asks for it. */
import type { LogOptions } from '../../kinds/core/pod/log-options.ts'
import type { PodObject } from '../../kinds/core/pod/preparation.ts'
import { type Container, containersOf } from '../../kinds/shapes/pod/containers/container.ts'
import type { ContainerStatus } from '../../kinds/shapes/pod/status/container-status.ts'
import { goQuote } from '../../lib/go-text.ts'
import { formatMicroTime, instantOf, millisecondsOf, parseTime } from '../../lib/time.ts'
import { badRequest } from '../../schema/status-error.ts'
import type { ContainerInputs } from '../container/container-inputs.ts'
import { startOf, timeOf } from '../pod/container-state.ts'
import { scriptOf } from '../script/script.ts'

/** The run that a log is of; its number is 0 for the first. */
export type LoggedRun = { readonly id: string | undefined; readonly number: number; readonly startedAt: number }

/** The run that is asked for; throws a StatusError while there is none, in the words of a kubelet. */
export function loggedRun(pod: PodObject, { container, previous }: Pick<LogOptions, 'container' | 'previous'>): LoggedRun {
  const status = statusOf(pod, container)
  const about = `container ${goQuote(container)} in pod ${goQuote(pod.metadata.name ?? '')}`
  if (!status) throw badRequest(`${about} is not available`)
  const { state, lastState, restartCount, containerID } = status
  const last = lastState.terminated
  if (previous) {
    if (!last?.containerID) throw badRequest(`previous terminated ${about} not found`)
    return { id: last.containerID, number: Math.max(restartCount - (state.waiting ? 0 : 1), 0), startedAt: timeOf(last.startedAt) }
  }
  if (state.running) return { id: containerID, number: restartCount, startedAt: startOf(status) }
  const ended = state.terminated?.containerID ? state.terminated : last
  if (ended?.containerID) return { id: ended.containerID, number: restartCount, startedAt: timeOf(ended.startedAt) }
  if (state.terminated) throw badRequest(`${about} is terminated`)
  throw badRequest(`${about} is waiting to start: ${WAITING[state.waiting?.reason ?? ''] ?? state.waiting?.reason ?? 'no logs yet'}`)
}

const WAITING: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
}

export function statusOf({ status }: PodObject, container: string): ContainerStatus | undefined {
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status
  return [...(containerStatuses ?? []), ...(initContainerStatuses ?? []), ...(ephemeralContainerStatuses ?? [])].find(
    ({ name }) => name === container,
  )
}

/** The text of a run, as much of it as the options ask for. */
export function logText(
  pod: PodObject,
  run: LoggedRun,
  options: LogOptions,
  { now, inputsOf }: { readonly now: number; readonly inputsOf: (container: Container) => ContainerInputs },
): string {
  const container = containersOf(pod.spec).find(({ name }) => name === options.container)
  const isInit = pod.spec.initContainers?.some(({ name }) => name === options.container) ?? false
  const log = container ? scriptOf(pod.metadata, container, { isInit, inputs: inputsOf(container), run: run.number }).log : ''
  if (log === '' || run.startedAt < sinceOf(options, now)) return ''
  const lines = log.replace(/\n$/, '').split('\n')
  const { tailLines = lines.length } = options
  const kept = tailLines === 0 ? [] : lines.slice(-tailLines)
  const time = options.timestamps ? `${formatMicroTime(instantOf(run.startedAt)).replace('Z', '000Z')} ` : ''
  const text = kept.map(line => `${time}${line}\n`).join('')
  if (options.limitBytes === undefined || Buffer.byteLength(text) <= options.limitBytes) return text
  return Buffer.from(text).subarray(0, options.limitBytes).toString()
}

function sinceOf({ sinceSeconds, sinceTime }: LogOptions, now: number): number {
  if (sinceSeconds !== undefined) return now - sinceSeconds * 1000
  return sinceTime === undefined ? 0 : millisecondsOf(parseTime(sinceTime))
}
