/** The log of a simulated container: the text of its script, written at the start of the run, with the options of `kubectl logs`. */

import type { LogOptions } from '../../kinds/core/pod/log-options.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { ContainerStatus } from '../../kinds/rules/pod/status/container-status.ts'
import { goQuote } from '../../lib/go-text.ts'
import { LIMITS } from '../../lib/limits.ts'
import { microTimestampOf, millisecondsAt } from '../../lib/time.ts'
import { badRequest } from '../../schema/status-error.ts'
import { startOf, timeOf } from '../pod/container-state.ts'

/** The run of a log; the first has number 0. */
export type LoggedRun = { readonly id: string | undefined; readonly number: number; readonly startedAt: number }

/** The requested run. Throws a StatusError in the words of a kubelet while there is none. */
export function loggedRun(pod: Pod, { container, previous }: Pick<LogOptions, 'container' | 'previous'>): LoggedRun {
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

export function statusOf({ status }: Pod, container: string): ContainerStatus | undefined {
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status
  return [...(containerStatuses ?? []), ...(initContainerStatuses ?? []), ...(ephemeralContainerStatuses ?? [])].find(
    ({ name }) => name === container,
  )
}

/** The part of a log that the options select, in pieces: a log may have as many lines as bytes. */
export function* logPieces(log: string, run: LoggedRun, options: LogOptions, now: number): Generator<Uint8Array, undefined> {
  // Scripts write to the standard output alone.
  if (options.stream === 'Stderr') return undefined
  if (log === '' || run.startedAt < sinceOf(options, now)) return undefined
  const end = log.endsWith('\n') ? log.length - 1 : log.length
  const time = options.timestamps ? `${microTimestampOf(run.startedAt).replace('Z', '000Z')} ` : ''
  let room = options.limitBytes ?? Number.POSITIVE_INFINITY
  let piece = ''
  for (let at = startOfTail(log, end, options.tailLines); at <= end && room > 0; ) {
    const found = log.indexOf('\n', at)
    const lineEnd = found < 0 ? log.length : found
    piece += `${time}${log.slice(at, lineEnd)}\n`
    at = lineEnd + 1
    if (piece.length < PIECE_LENGTH && at <= end) continue
    const bytes = Buffer.from(piece).subarray(0, room)
    room -= bytes.byteLength
    piece = ''
    yield bytes
  }
  return undefined
}
const PIECE_LENGTH = LIMITS.encodedPieceLength

/** The position at which the last lines begin; the terminator of the last one is at `end`. */
function startOfTail(log: string, end: number, lines: number | undefined): number {
  if (lines === undefined) return 0
  if (lines === 0) return Number.POSITIVE_INFINITY
  let at = end
  for (let i = 0; i < lines && at >= 0; i++) at = at === 0 ? -1 : log.lastIndexOf('\n', at - 1)
  return at + 1
}

export function sinceOf({ sinceSeconds, sinceTime }: LogOptions, now: number): number {
  if (sinceSeconds !== undefined) return now - sinceSeconds * 1000
  return sinceTime === undefined ? 0 : millisecondsAt(sinceTime)
}
