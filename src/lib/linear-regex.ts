// Regular expressions in Go's syntax (RE2), matched in time linear in the text whatever the pattern. The engine loads at first use.
import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'

/** A compiled expression. */
export type LinearRegex = {
  readonly source: string
  /** Whether it matches anywhere in the text. */
  test(text: string): boolean
  /** The instructions of its program: few characters of an expression such as `.{900}` can stand for many. */
  readonly size: number
  /** How many steps a match of the text may take. */
  stepsFor(text: string): number
}

/** Compiles an expression; throws an Error whose message is Go's: `error parsing regexp: missing closing ): …`. */
export function linearRegex(source: string): LinearRegex {
  const compiled = engine().compile(source)
  const size = compiled.programSize()
  return { source, size, test: text => compiled.test(text), stepsFor: text => text.length * size }
}

let loaded: typeof RE2JS | undefined

/** The engine itself, for those who need more of it. */
export function engine(): typeof RE2JS {
  loaded ??= load().RE2JS
  return loaded
}

declare const require: NodeJS.Require | undefined

function load(): { RE2JS: typeof RE2JS } {
  // A bundle has a require of its own, which starts the bundled engine; only from sources is there none.
  if (typeof require === 'function') return require('re2js')
  return createRequire(`${process.cwd()}/`)('re2js')
}
