/** The `pattern` of a schema: compiled when a value first meets it. */
import { type LinearRegex, linearRegex } from '../lib/linear-regex.ts'

export class Pattern {
  readonly source: string
  #compiled: LinearRegex | { readonly fault: string } | undefined

  constructor(source: string) {
    this.source = source
  }

  /** Whether the text matches, or the fault of a pattern that is none. `onSteps` counts steps beyond the expected ones. */
  matches(text: string, onSteps?: (steps: number) => void): boolean | { readonly fault: string } {
    const compiled = this.#compile()
    return 'fault' in compiled ? compiled : compiled.test(text, onSteps)
  }

  /** The instructions of its program, to which the work of compiling it is proportional. */
  get size(): number {
    const compiled = this.#compile()
    return 'fault' in compiled ? 1 : compiled.size
  }

  /** How many steps it may take to match the text. */
  stepsFor(text: string): number {
    const compiled = this.#compile()
    return 'fault' in compiled ? 1 : compiled.stepsFor(text)
  }

  #compile(): LinearRegex | { readonly fault: string } {
    this.#compiled ??= compile(this.source)
    return this.#compiled
  }
}

function compile(source: string): LinearRegex | { readonly fault: string } {
  try {
    return linearRegex(source)
  } catch (error) {
    return { fault: (error as Error).message }
  }
}
