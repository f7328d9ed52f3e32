/** The `pattern` of a schema: compiled when a value first meets it. */
import { type LinearRegex, linearRegex } from '../lib/linear-regex.ts'

export type Pattern = {
  readonly source: string
  /** Whether the text matches; what is wrong with the pattern itself where it is none. */
  matches(text: string): boolean | { readonly fault: string }
  /** Compiles it, unless that was done before. */
  compile(): void
  /** How many steps that may take. */
  stepsFor(text: string): number
}

/** The pattern of this text. */
export function patternOf(source: string): Pattern {
  let compiled: LinearRegex | { readonly fault: string } | undefined
  return {
    source,
    matches(text) {
      compiled ??= compile(source)
      return 'fault' in compiled ? compiled : compiled.test(text)
    },
    compile() {
      compiled ??= compile(source)
    },
    stepsFor(text) {
      compiled ??= compile(source)
      return 'fault' in compiled ? 1 : compiled.stepsFor(text)
    },
  }
}

function compile(source: string): LinearRegex | { readonly fault: string } {
  try {
    return linearRegex(source)
  } catch (error) {
    return { fault: (error as Error).message }
  }
}
