/** The declaration of a command line flag, and readers for the types of flag values. */
import { parseDuration } from '../lib/duration.ts'
import { type Config, ConfigError } from '../server/config.ts'

/** Options of `serve` and `run` beside the server's configuration. */
export type ServeOptions = {
  /** Files and folders of manifests to apply at the start. */
  readonly apply: readonly string[]
  /** The format of the line that `serve` prints when the server is ready. */
  readonly output: 'text' | 'json'
  readonly exitWithParent: boolean
  /** The number of server processes; with 1 the process that was started is the server. */
  readonly processes: number
}

/** All settings, while flags are read. */
export type Draft = { -readonly [K in keyof Config]: Config[K] } & { -readonly [K in keyof ServeOptions]: ServeOptions[K] }

export type Flag = {
  readonly name: string
  readonly takes: string
  readonly doc: string
  /** Without a value the flag means true. */
  readonly isSwitch?: true
  readonly read: ReadFlag
}

/** Reads all values of a flag, in order; there is at least one. Throws ConfigError. */
export type ReadFlag = (values: readonly string[], draft: Draft, flag: string) => void

/** The settings that a value of this type can be assigned to. */
type Setting<T> = { [K in keyof Draft]: [T] extends [Draft[K]] ? K : never }[keyof Draft]

/** Reads a setting from all values of a flag. */
export const every =
  <K extends keyof Draft>(setting: K, read: (values: readonly string[], flag: string) => Draft[K]): ReadFlag =>
  (values, draft, flag) =>
    Object.assign(draft, { [setting]: read(values, flag) })

/** Reads a setting from the last value of a flag. */
export const last = <K extends keyof Draft>(setting: K, read: (value: string, flag: string) => Draft[K]): ReadFlag =>
  every(setting, (values, flag) => read(values.at(-1)!, flag))

export const text = (setting: Setting<string>): ReadFlag => last(setting, value => value)

/** A file name or the like; empty means unset. */
export const name = (setting: Setting<string | undefined>): ReadFlag => last(setting, value => value || undefined)

/** Parts that are separated by commas, in one text; repeated flags add up. */
export const joined = (setting: Setting<string>): ReadFlag => every(setting, values => items(values).join(','))

/** A list: values are separated by commas, repeated flags add up, and the list may be empty. */
export const list = (setting: Setting<readonly string[]>): ReadFlag => every(setting, items)

export const items = (values: readonly string[]): readonly string[] => values.flatMap(value => (value === '' ? [] : value.split(',')))

/** A list with one value per flag, so that values may contain commas. */
export const repeated = (setting: Setting<readonly string[]>): ReadFlag => every(setting, values => values.filter(value => value !== ''))

export const bool = (setting: Setting<boolean>): ReadFlag => last(setting, readBool)

export function readBool(value: string, flag: string): boolean {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(value)) return true
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(value)) return false
  throw new ConfigError(`--${flag} takes true or false, not "${value}"`)
}

export const count = (setting: Setting<number>): ReadFlag => last(setting, readWholeNumber)

/** A number where 0 means unset. */
export const optionalCount = (setting: Setting<number | undefined>): ReadFlag =>
  last(setting, (value, flag) => readWholeNumber(value, flag) || undefined)

export function readWholeNumber(value: string, flag: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new ConfigError(`--${flag} takes a number, not "${value}"`)
  return Number(value)
}

export const decimal = (setting: Setting<number>): ReadFlag => last(setting, readDecimal)

export function readDecimal(value: string, flag: string): number {
  const number = /^\d*\.?\d+$/.test(value) ? Number(value) : Number.NaN
  if (!Number.isFinite(number)) throw new ConfigError(`--${flag} takes a number such as 0.1, not "${value}"`)
  return number
}

/** A duration in Go's format; the setting is in milliseconds. */
export const duration = (setting: Setting<number>): ReadFlag => last(setting, readDuration)

export function readDuration(value: string, flag: string): number {
  try {
    return Number(parseDuration(value)) / 1e6
  } catch {
    throw new ConfigError(`--${flag} takes a duration such as 90s or 10m, not "${value}"`)
  }
}

export const oneOf = <K extends keyof Draft>(setting: K, choices: readonly (Draft[K] & string)[]): ReadFlag =>
  last(setting, readOneOf(choices))

export const readOneOf =
  <T extends string>(choices: readonly T[]) =>
  (value: string, flag: string): T => {
    const choice = choices.find(each => each === value)
    if (choice === undefined)
      throw new ConfigError(`--${flag} takes ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}, not "${value}"`)
    return choice
  }

/** Reads values of the form KEY=VALUE; messages describe them as `takes`. */
export function pairs(values: readonly string[], flag: string, takes: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    values.map(value => {
      const at = value.indexOf('=')
      if (at < 1) throw new ConfigError(`--${flag} takes ${takes}, not "${value}"`)
      return [value.slice(0, at), value.slice(at + 1)]
    }),
  )
}
