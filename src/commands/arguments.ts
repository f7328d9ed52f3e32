/** Reads the arguments of a command: flags with values, switches, and the rest. */
import { UsageError } from '../flags/usage-error.ts'

export type ArgumentSpec = {
  /** Flags that take a value. */
  readonly flags: readonly string[]
  readonly switches?: readonly string[]
  /** Shown when something is wrong. */
  readonly usage: string
}

export type Arguments = {
  readonly rest: readonly string[]
  has(name: string): boolean
  /** The last value of a flag. */
  value(name: string): string | undefined
  /** Given flags of some names, as they are handed to other readers: `--name=value`. */
  only(names: readonly string[]): string[]
}

/** Throws UsageError for anything that is unknown or incomplete. */
export function readArguments(args: readonly string[], { flags, switches = [], usage }: ArgumentSpec): Arguments {
  const values = new Map<string, string>()
  const rest: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!
    const [, written, , inline] = /^--([a-z0-9_-]+)(=([\s\S]*))?$/.exec(arg) ?? []
    if (written === undefined) {
      if (/^-./.test(arg)) throw new UsageError(`unknown argument ${arg}: ${usage}`)
      rest.push(arg)
      continue
    }
    const name = written.replaceAll('_', '-')
    if (switches.includes(name) && inline === undefined) values.set(name, '')
    else if (flags.includes(name)) {
      const value = inline ?? args[++i]
      if (value === undefined) throw new UsageError(`--${name} needs a value: ${usage}`)
      values.set(name, value)
    } else throw new UsageError(`unknown argument ${arg}: ${usage}`)
  }
  return {
    rest,
    has: name => values.has(name),
    value: name => values.get(name),
    only: names => names.flatMap(name => (values.has(name) ? [`--${name}=${values.get(name)}`] : [])),
  }
}

/** The value of `--output`. Throws UsageError for another one than these. */
export function outputOf<Output extends string>(args: Arguments, outputs: readonly [Output, ...Output[]]): Output {
  const given = args.value('output') ?? outputs[0]
  const found = outputs.find(output => output === given)
  if (found === undefined) throw new UsageError(`--output takes ${outputs.join(', ')}, not "${given}"`)
  return found
}
