/** The log of a local process, with the options of `kubectl logs`. */
import type { LogOptions } from '../../kinds/core/pod/log-options.ts'
import { LIMITS } from '../../lib/limits.ts'
import { microTimestampOf } from '../../lib/time.ts'
import type { LogLine, ProcessLog } from '../process/process-log.ts'
import { sinceOf } from './logs.ts'

export type ProcessLogParts = {
  readonly options: LogOptions
  readonly now: number
  readonly isFollowed: boolean
  readonly signals: readonly AbortSignal[]
}

/** The selected lines, and those that follow while the log is followed. */
export async function* processLogPieces(
  log: ProcessLog,
  { options, now, isFollowed, signals }: ProcessLogParts,
): AsyncIterable<Uint8Array> {
  const since = sinceOf(options, now)
  const wanted = options.stream === 'All' ? undefined : options.stream.toLowerCase()
  const isWanted = ({ at, stream }: LogLine) => at >= since && (wanted === undefined || stream === wanted)
  const first = log.from(0)
  const selected = first.lines.filter(isWanted)
  const tail = options.tailLines === undefined ? selected : options.tailLines === 0 ? [] : selected.slice(-options.tailLines)
  let room = options.limitBytes ?? Number.POSITIVE_INFINITY
  const cut = (lines: readonly LogLine[]): Buffer[] => {
    const pieces: Buffer[] = []
    for (const text of textsOf(lines, options.timestamps === true)) {
      if (room <= 0) break
      const bytes = Buffer.from(text).subarray(0, room)
      room -= bytes.byteLength
      pieces.push(bytes)
    }
    return pieces
  }
  yield* cut(tail)
  const gone = AbortSignal.any([...signals])
  for (let next = first.next; isFollowed && room > 0 && !gone.aborted; ) {
    const more = log.from(next)
    next = more.next
    yield* cut(more.lines.filter(isWanted))
    if (more.lines.length > 0) continue
    if (log.isEnded) return
    await log.changed(gone)
  }
}

/** Lines together, up to the length of a piece. */
function* textsOf(lines: readonly LogLine[], hasTimes: boolean): Iterable<string> {
  let piece = ''
  for (const { at, text } of lines) {
    piece += `${hasTimes ? `${microTimestampOf(at).replace('Z', '000Z')} ` : ''}${text}\n`
    if (piece.length < LIMITS.encodedPieceLength) continue
    yield piece
    piece = ''
  }
  if (piece !== '') yield piece
}
