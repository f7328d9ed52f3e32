/** What a flag of the command line is, and the types of values that flags take. */
import { parseDuration } from '../lib/duration.ts'
import { type Config, ConfigError } from '../server/config.ts'

/** What `serve` and `run` do beside starting a server. */
export type ServeOptions = {
  /** Files and folders of manifests to apply at the start. */
  readonly apply: readonly string[]
  /** How `serve` prints that the server is ready. */
  readonly output: 'text' | 'json'
  readonly exitWithParent: boolean
}

/** All settings, while flags are read. */
export type Draft = { -readonly [K in keyof Config]: Config[K] } & { -readonly [K in keyof ServeOptions]: ServeOptions[K] }

export type Flag = {
  readonly name: string
  readonly takes: string
  readonly doc: string
  /** The flag alone means true. */
  readonly isSwitch?: true
  readonly read: ReadFlag
}

/** Reads all values that a flag was given, in order; there is at least one. Throws ConfigError. */
export type ReadFlag = (values: readonly string[], draft: Draft, flag: string) => void

/** The settings that a value of a type can be assigned to. */
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

/** The name of a file or the like; an empty one means none. */
export const name = (setting: Setting<string | undefined>): ReadFlag => last(setting, value => value || undefined)

/** A list: values are separated by commas, flags given several times add up, and the list may be empty. */
export const list = (setting: Setting<readonly string[]>): ReadFlag => every(setting, items)

export const items = (values: readonly string[]): readonly string[] => values.flatMap(value => (value === '' ? [] : value.split(',')))

/** A list of which every value is given by a flag of its own, so that values may hold commas. */
export const repeated = (setting: Setting<readonly string[]>): ReadFlag => every(setting, values => values.filter(value => value !== ''))

export const bool = (setting: Setting<boolean>): ReadFlag =>
  last(setting, (value, flag) => {
    if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(value)) return true
    if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(value)) return false
    throw new ConfigError(`--${flag} takes true or false, not "${value}"`)
  })

export const count = (setting: Setting<number>): ReadFlag => last(setting, wholeNumber)

/** A number of which 0 means that there is none. */
export const optionalCount = (setting: Setting<number | undefined>): ReadFlag =>
  last(setting, (value, flag) => wholeNumber(value, flag) || undefined)

function wholeNumber(value: string, flag: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new ConfigError(`--${flag} takes a number, not "${value}"`)
  return Number(value)
}

export const decimal = (setting: Setting<number>): ReadFlag =>
  last(setting, (value, flag) => {
    const number = /^\d*\.?\d+$/.test(value) ? Number(value) : Number.NaN
    if (!Number.isFinite(number)) throw new ConfigError(`--${flag} takes a number such as 0.1, not "${value}"`)
    return number
  })

/** A duration as Go writes it; the setting is in milliseconds. */
export const duration = (setting: Setting<number>): ReadFlag =>
  last(setting, (value, flag) => {
    try {
      return Number(parseDuration(value)) / 1e6
    } catch {
      throw new ConfigError(`--${flag} takes a duration such as 90s or 10m, not "${value}"`)
    }
  })

export const oneOf = <K extends keyof Draft>(setting: K, choices: readonly (Draft[K] & string)[]): ReadFlag =>
  last(setting, (value, flag) => {
    const choice = choices.find(each => each === value)
    if (choice === undefined)
      throw new ConfigError(`--${flag} takes ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}, not "${value}"`)
    return choice
  })

/** Reads values of the form KEY=VALUE; `takes` says in messages what they look like. */
export function pairs(values: readonly string[], flag: string, takes: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    values.map(value => {
      const at = value.indexOf('=')
      if (at < 1) throw new ConfigError(`--${flag} takes ${takes}, not "${value}"`)
      return [value.slice(0, at), value.slice(at + 1)]
    }),
  )
}
