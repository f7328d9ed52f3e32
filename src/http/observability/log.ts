/** Structured logs: one JSON line an event on standard error. Never a token, a header or a body. */
import type { Logger } from 'pino'

export type Fields = { readonly [name: string]: string | number | boolean | object | undefined }
export type Level = 'debug' | 'info' | 'warn' | 'error' | 'silent'

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

/** A log that drops lines below a level. The logger itself is loaded with the first line: a quiet start pays nothing for it. */
export function createLog(level: Level): Log {
  let logger: Logger | undefined
  let waiting: Line[] | undefined
  let problem: string | undefined
  const enabled = (asked: Level) => ORDER.indexOf(asked) >= ORDER.indexOf(level)
  const write = (...line: Line) => {
    if (!enabled(line[0])) return
    if (logger !== undefined) logger[line[0]](line[1], line[2])
    else if (waiting !== undefined) waiting.push(line)
    else {
      waiting = [line]
      void openLogger(level, error => (problem = error.message)).then(opened => {
        logger = opened
        for (const [at, fields, message] of waiting ?? []) logger[at](fields, message)
        waiting = undefined
      })
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

async function openLogger(level: Level, onError: (error: Error) => void): Promise<Logger> {
  const { pino, destination, stdTimeFunctions } = await import('pino')
  const output = destination({ fd: 2, sync: true })
  output.on('error', onError)
  return pino({ level, base: null, timestamp: stdTimeFunctions.isoTime, formatters: { level: label => ({ level: label }) } }, output)
}
