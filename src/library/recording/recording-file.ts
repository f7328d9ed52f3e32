/**
 * The recording of a run as a file: lines of JSON. The first one says what the file is, the last one has the checksum of all others, so that
 * a file that is damaged or incomplete is noticed before anything is done with it.
 */
import { createHash } from 'node:crypto'
import { isObject, type JsonObject } from '../../lib/json-value.ts'
import type { Fault, RecordedRequest } from '../../public.d.ts'
import type { SavedRecord } from '../state.ts'

const FORMAT = 'keelson recording'
const FORMAT_VERSION = 1

/** A file that is no recording, or none that can be replayed; the message continues the name of the file. */
export class RecordingError extends Error {}

/** A change of a record; without a value it was deleted. */
export type RecordedWrite = {
  readonly revision: number
  /** The time of the server. */
  readonly at: string
  readonly isFrozen: boolean
  readonly key: string
  readonly value: Uint8Array | undefined
}

/** The faults from a revision on. */
export type RecordedFaults = { readonly revision: number; readonly at: string; readonly seed: number; readonly faults: readonly Fault[] }

export type Recording = {
  readonly writtenBy: string
  readonly command: readonly string[]
  /** The flags of the server. */
  readonly flags: readonly string[]
  readonly groupDomain: string
  /** The exit code of the command. */
  readonly exitCode: number
  /** The time of the server, and its revision, when the command was started. */
  readonly started: string
  readonly revision: number
  readonly records: ReadonlyMap<string, SavedRecord>
  readonly writes: readonly RecordedWrite[]
  readonly faults: readonly RecordedFaults[]
  readonly requests: readonly (Omit<RecordedRequest, 'at'> & { readonly at: string | Date })[]
}

export function recordingText(recording: Recording): string {
  const { records, writes, faults, requests, ...header } = recording
  const lines: string[] = [JSON.stringify({ format: FORMAT, version: FORMAT_VERSION, ...header })]
  for (const [key, { value, created, modified }] of records)
    lines.push(JSON.stringify({ type: 'record', key, value: base64(value), created, modified }))
  for (const { value, ...write } of writes) lines.push(JSON.stringify({ type: 'write', ...write, ...(value && { value: base64(value) }) }))
  for (const each of faults) lines.push(JSON.stringify({ type: 'faults', ...each }))
  for (const request of requests) lines.push(JSON.stringify({ type: 'request', ...request }))
  const text = `${lines.join('\n')}\n`
  return `${text}${JSON.stringify({ type: 'end', sha256: checksum(text) })}\n`
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
const checksum = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Reads a file to its end. Throws RecordingError. */
export function recordingIn(text: string): Recording {
  const end = text.trimEnd().lastIndexOf('\n') + 1
  const header = jsonIn(text.slice(0, Math.max(0, text.indexOf('\n'))))
  if (header?.['format'] !== FORMAT) throw new RecordingError('is no recording of keelson record')
  if (header['version'] !== FORMAT_VERSION)
    throw new RecordingError(
      `is a recording of format ${String(header['version'])}, of another version of keelson; this one reads format ${FORMAT_VERSION}`,
    )
  const last = jsonIn(text.slice(end))
  if (last?.['type'] !== 'end') throw new RecordingError('is not complete: its end is missing')
  if (last['sha256'] !== checksum(text.slice(0, end))) throw new RecordingError('is damaged: its checksum is wrong')
  const lines = text.slice(0, end).trimEnd().split('\n').slice(1)
  const records = new Map<string, SavedRecord>()
  const [writes, faults, requests]: [RecordedWrite[], RecordedFaults[], unknown[]] = [[], [], []]
  for (const [i, line] of lines.entries()) {
    const entry = jsonIn(line)
    if (!entry) throw new RecordingError(`is damaged: line ${i + 2} is no JSON`)
    const { type, value, ...rest } = entry
    const bytes = typeof value === 'string' ? Uint8Array.from(Buffer.from(value, 'base64')) : undefined
    if (type === 'record') records.set(String(rest['key']), { ...(rest as unknown as SavedRecord), value: bytes ?? new Uint8Array() })
    else if (type === 'write') writes.push({ ...(rest as unknown as RecordedWrite), value: bytes })
    else if (type === 'faults') faults.push(rest as unknown as RecordedFaults)
    else if (type === 'request') requests.push(rest)
    else throw new RecordingError(`is damaged: line ${i + 2} has the type ${String(type)}`)
  }
  return { ...(header as unknown as Recording), records, writes, faults, requests: requests as unknown as Recording['requests'] }
}

function jsonIn(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
