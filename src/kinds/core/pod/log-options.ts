/** PodLogOptions: the query of a request for a container's log. */
import { goQuote } from '../../../lib/go-text.ts'
import { parseTime, TimeError } from '../../../lib/time.ts'
import { type FieldError, forbidden, invalid, refTo, unsupported } from '../../../schema/refs.ts'
import { badRequest, invalidObject } from '../../../schema/status-error.ts'
import { bool, type Fields, int64, string } from '../../../schema/types.ts'

/** The fields of the query, as in OpenAPI. */
export const LOG_OPTIONS: Fields = {
  container: [1, string, 'The container; the only one when absent.'],
  follow: [2, bool, 'Whether the log is followed.'],
  previous: [3, bool, 'The log of the run before the last restart.'],
  sinceSeconds: [4, int64, 'Only the last seconds of the log.'],
  timestamps: [6, bool, 'Whether lines begin with the time they were written.'],
  tailLines: [7, int64, 'Only the last lines of the log.'],
  limitBytes: [8, int64, 'The most bytes to return.'],
  insecureSkipTLSVerifyBackend: [9, bool, 'Whether the certificate of the node goes unchecked.'],
  stream: [10, string, 'Which stream of the container to return.'],
}

export type LogOptions = {
  readonly container: string
  readonly follow: boolean
  readonly previous: boolean
  readonly timestamps: boolean
  readonly sinceSeconds: number | undefined
  readonly sinceTime: string | undefined
  readonly tailLines: number | undefined
  readonly limitBytes: number | undefined
  readonly stream: LogStream
}

/** Which of the two outputs of a container a log is of. */
export type LogStream = 'All' | 'Stdout' | 'Stderr'
const STREAMS = ['All', 'Stderr', 'Stdout']

/** Parses the query of a log request; throws a StatusError when it is invalid. */
export function logOptions(query: URLSearchParams, pod: string, gate: (name: string) => boolean): LogOptions {
  const options: LogOptions = {
    container: query.get('container') ?? '',
    follow: flag(query, 'follow'),
    previous: flag(query, 'previous'),
    timestamps: flag(query, 'timestamps'),
    sinceSeconds: integer(query, 'sinceSeconds'),
    sinceTime: time(query, 'sinceTime'),
    tailLines: integer(query, 'tailLines'),
    limitBytes: integer(query, 'limitBytes'),
    stream: (query.get('stream') ?? 'All') as LogStream,
  }
  const errors = [...problemsOf(options, query.has('stream'), gate('PodLogsQuerySplitStreams'))]
  if (errors.length > 0) throw invalidObject({ group: '', kind: 'PodLogOptions' }, pod, errors)
  return options
}

function* problemsOf(options: LogOptions, hasStream: boolean, maySelect: boolean): Iterable<FieldError> {
  const { tailLines, limitBytes, sinceSeconds, sinceTime, stream } = options
  if (tailLines !== undefined && tailLines < 0) yield invalid(refTo(tailLines, 'tailLines'), 'must be greater than or equal to 0')
  if (limitBytes !== undefined && limitBytes < 1) yield invalid(refTo(limitBytes, 'limitBytes'), 'must be greater than 0')
  if (sinceSeconds !== undefined && sinceTime !== undefined)
    yield forbidden(refTo('', '[]'), 'at most one of `sinceTime` or `sinceSeconds` may be specified')
  else if (sinceSeconds !== undefined && sinceSeconds < 1) yield invalid(refTo(sinceSeconds, 'sinceSeconds'), 'must be greater than 0')
  if (!maySelect) {
    if (hasStream) yield forbidden(refTo('', 'stream'), 'may not be specified')
    return
  }
  if (!STREAMS.includes(stream)) yield unsupported(refTo(stream, 'stream'), ...STREAMS)
  if (stream !== 'All' && tailLines !== undefined)
    yield forbidden(refTo('', '[]'), '`tailLines` and specific `stream` are mutually exclusive for now')
}

function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  const problem = !/^[+-]?\d+$/.test(text) ? 'invalid syntax' : isInt64(BigInt(text.replace('+', ''))) ? undefined : 'value out of range'
  if (problem) throw badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: ${problem}`)
  return Number(text)
}

const isInt64 = (value: bigint): boolean => BigInt.asIntN(64, value) === value

function time(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  try {
    parseTime(text)
    return text
  } catch (error) {
    throw error instanceof TimeError ? badRequest(error.message) : error
  }
}
