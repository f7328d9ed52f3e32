/** Reads the command line of a benchmark: `--help` prints its usage, and an option that it does not have is an error. */
import { parseArgs } from 'node:util'

type Declared = Readonly<Record<string, { readonly type: 'string' | 'boolean' }>>
type Values<Options extends Declared> = {
  readonly [Name in keyof Options]?: Options[Name]['type'] extends 'string' ? string : boolean
}
/** The options of a command line, or the text to print and the exit code to end with. */
export type Read<Options extends Declared> = { readonly values: Values<Options> } | { readonly text: string; readonly exitCode: 0 | 1 }

export function readArguments<Options extends Declared>(args: readonly string[], usage: string, options: Options): Read<Options> {
  try {
    const declared: Declared = { ...options, help: { type: 'boolean' } }
    const { values } = parseArgs({ args: [...args], options: declared, strict: true })
    return values['help'] ? { text: usage, exitCode: 0 } : { values: values as Values<Options> }
  } catch (error) {
    // The first sentence names the option; what follows is about positional arguments, of which there are none.
    return { text: `${(error as Error).message.split('. ')[0]}\n\n${usage}`, exitCode: 1 }
  }
}

/** The options of this process, which ends here if they are wrong or if it was asked for help. */
export function ownArguments<Options extends Declared>(usage: string, options: Options): Values<Options> {
  const read = readArguments(process.argv.slice(2), usage, options)
  if ('values' in read) return read.values
  const stream = read.exitCode === 0 ? process.stdout : process.stderr
  stream.write(`${read.text}\n`)
  process.exit(read.exitCode)
}

/** The value of an option that is a number above zero. */
export function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name} is ${JSON.stringify(text)}, which is no number above zero`)
  return value
}
