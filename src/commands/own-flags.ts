/** Commands that start a server take its flags and some of their own: this tells them apart. */
import { UsageError } from '../flags/usage-error.ts'

export type OwnFlags = {
  /** The arguments that are not the command's own. */
  readonly others: readonly string[]
  /** The arguments before the two dashes, as they were given. */
  readonly given: readonly string[]
  /** The command after the two dashes. */
  readonly command: readonly string[]
  has(name: string): boolean
  value(name: string): string | undefined
  /** The parts of a value that are separated by commas. */
  list(name: string): string[]
}

export type OwnFlagSpec = { readonly flags: readonly string[]; readonly switches?: readonly string[] }

/** Throws UsageError for one of the command's own flags without a value. */
export function readOwnFlags(args: readonly string[], { flags, switches = [] }: OwnFlagSpec): OwnFlags {
  const end = args.indexOf('--')
  const given = end < 0 ? args : args.slice(0, end)
  const values = new Map<string, string>()
  const others: string[] = []
  for (let i = 0; i < given.length; i++) {
    const [, written = '', , inline] = /^--([a-z0-9_-]+)(=([\s\S]*))?$/.exec(given[i]!) ?? []
    const name = written.replaceAll('_', '-')
    if (switches.includes(name) && inline === undefined) values.set(name, '')
    else if (flags.includes(name)) {
      const value = inline ?? given[++i]
      if (value === undefined) throw new UsageError(`--${name} needs a value`)
      values.set(name, value)
    } else others.push(given[i]!)
  }
  return {
    others,
    given,
    command: end < 0 ? [] : args.slice(end + 1),
    has: name => values.has(name),
    value: name => values.get(name),
    list: name => (values.get(name) ?? '').split(',').filter(Boolean),
  }
}
