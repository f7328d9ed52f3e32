/** Structured logs: one line per event on standard error, as JSON or as text. Never a token, a header or a body. */
import { writeSync } from 'node:fs'
import type { Logger } from 'pino'
import { wallMs } from '../../lib/environment.ts'
import { textLine } from './text-line.ts'

export type Fields = { readonly [name: string]: string | number | boolean | object | undefined }
export type Level = 'debug' | 'info' | 'warn' | 'error' | 'silent'
export type Format = 'json' | 'text'

export interface Log {
  /** Whether lines of this level are written, so that expensive fields are only computed when needed. */
  enabled(level: Level): boolean
  debug(fields: Fields, message: string): void
  info(fields: Fields, message: string): void
  warn(fields: Fields, message: string): void
  error(fields: Fields, message: string): void
  /** Why lines cannot be written, if they cannot. */
  readonly problem?: () => string | undefined
}

const ORDER: readonly Level[] = ['debug', 'info', 'warn', 'error', 'silent']
type Line = readonly [level: Exclude<Level, 'silent'>, fields: Fields, message: string]

/**
 * A log that drops lines below a level; all others have the fields of `base`. The logger itself is loaded with the first line: a quiet
 * start pays nothing for it.
 */
export function createLog(level: Level, format: Format = 'json', base: Fields = {}): Log {
  let logger: Pick<Logger, Line[0]> | undefined
  let waiting: Line[] | undefined
  let problem: string | undefined
  const enabled = (asked: Level) => ORDER.indexOf(asked) >= ORDER.indexOf(level)
  const write = (...line: Line) => {
    if (!enabled(line[0])) return
    if (logger !== undefined) logger[line[0]](line[1], line[2])
    else if (waiting !== undefined) waiting.push(line)
    else {
      waiting = [line]
      const drain = (to: (...line: Line) => void) => {
        for (const line of waiting ?? []) to(...line)
        waiting = undefined
      }
      // Without file descriptors it cannot be loaded, and that is worth a line.
      const onError = (error: Error | undefined) => (problem = error?.message)
      const opening = format === 'text' ? Promise.resolve(textLogger(base, onError)) : openLogger(level, base, onError)
      void opening.then(
        opened => drain((at, fields, message) => (logger = opened)[at](fields, message)),
        () => drain((at, fields, message) => writeDirectly(at, { ...base, ...fields }, message)),
      )
    }
  }
  return {
    enabled,
    debug: (fields, message) => write('debug', fields, message),
    info: (fields, message) => write('info', fields, message),
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
    problem: () => problem,
  }
}

/** A line as the logger writes it. */
function writeDirectly(level: Level, fields: Fields, msg: string): void {
  try {
    writeSync(2, `${JSON.stringify({ level, time: new Date(wallMs()).toISOString(), ...fields, msg })}\n`)
  } catch {
    // There is nowhere left to report it.
  }
}

async function openLogger(level: Level, base: Fields, onError: (error: Error) => void): Promise<Logger> {
  const { pino, destination, stdTimeFunctions } = await import('pino')
  const output = destination({ fd: 2, sync: true })
  output.on('error', onError)
  return pino({ level, base: { ...base }, timestamp: stdTimeFunctions.isoTime, formatters: { level: label => ({ level: label }) } }, output)
}

/** Lines for people at a terminal. */
function textLogger(base: Fields, onError: (error: Error | undefined) => void): Pick<Logger, Line[0]> {
  const colours = process.stderr.isTTY === true && !process.env['NO_COLOR']
  const at =
    (level: Line[0]) =>
    (fields: Fields, message: string): void => {
      try {
        writeSync(2, textLine(level, { ...base, ...fields }, message, { now: new Date(wallMs()), colours }))
        onError(undefined)
      } catch (error) {
        onError(error as Error)
      }
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } as Pick<Logger, Line[0]>
}
