/** The log of a simulated container: the text of its script, written when the run began, as `kubectl logs` asks for it. */
import type { PodObject } from '../../kinds/core/pod/preparation.ts'
import { type Container, containersOf } from '../../kinds/shapes/pod/containers/container.ts'
import type { ContainerStatus } from '../../kinds/shapes/pod/status/container-status.ts'
import { goQuote } from '../../lib/go-text.ts'
import { formatMicroTime, instantOf, millisecondsOf, parseTime, TimeError } from '../../lib/time.ts'
import { type FieldError, forbidden, invalid, refTo } from '../../schema/refs.ts'
import { badRequest, invalidObject, type StatusError } from '../../schema/status-error.ts'
import type { ContainerInputs } from '../container/container-inputs.ts'
import { startOf, timeOf } from '../pod/container-state.ts'
import { scriptOf } from '../script/script.ts'

export type LogOptions = {
  readonly container: string
  readonly follow: boolean
  readonly previous: boolean
  readonly timestamps: boolean
  readonly sinceSeconds: number | undefined
  readonly sinceTime: string | undefined
  readonly tailLines: number | undefined
  readonly limitBytes: number | undefined
}

/** What the query of a request for a log asks for; throws a StatusError when that makes no sense. */
export function logOptions(query: URLSearchParams, pod: string): LogOptions {
  const options: LogOptions = {
    container: query.get('container') ?? '',
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    sinceSeconds: integer(query, 'sinceSeconds'),
    sinceTime: query.get('sinceTime') || undefined,
    tailLines: integer(query, 'tailLines'),
    limitBytes: integer(query, 'limitBytes'),
  }
  const errors = [...problemsOf(options, query.has('stream'))]
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'PodLogOptions' }, pod, errors)
  return options
}

function* problemsOf({ tailLines, limitBytes, sinceSeconds, sinceTime }: LogOptions, hasStream: boolean): Iterable<FieldError> {
  if (tailLines !== undefined && tailLines < 0) yield invalid(refTo(tailLines, 'tailLines'), 'must be greater than or equal to 0')
  if (limitBytes !== undefined && limitBytes < 1) yield invalid(refTo(limitBytes, 'limitBytes'), 'must be greater than 0')
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    yield forbidden(refTo('', ''), 'at most one of `sinceTime` or `sinceSeconds` may be specified')
  else if (sinceSeconds !== undefined && sinceSeconds < 1) yield invalid(refTo(sinceSeconds, 'sinceSeconds'), 'must be greater than 0')
  if (hasStream) yield forbidden(refTo('', 'stream'), 'may not be specified')
}

function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (!/^[+-]?\d{1,15}$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`)
  return Number(text)
}

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
  const log = container ? scriptOf(pod.metadata, container, { isInit, inputs: inputsOf(container) }).log : ''
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
  if (sinceTime === undefined) return 0
  try {
    return millisecondsOf(parseTime(sinceTime))
  } catch (error) {
    if (error instanceof TimeError) throw badTime(error)
    throw error
  }
}

const badTime = ({ message }: TimeError): StatusError => badRequest(message)
