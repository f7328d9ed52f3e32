// Regular expressions in Go's syntax (RE2), matched in time linear in the input whatever the pattern. The engine loads at first use.
import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { LIMITS } from './limits.ts'

/** A compiled expression. */
export type LinearRegex = {
  readonly source: string
  /**
   * Whether it matches anywhere in the string. Usually each character costs one lookup in a table that earlier matches have filled.
   * `onSteps` receives the number of instructions executed beside that, and may throw: strings can be constructed for which the table never
   * helps.
   */
  test(text: string, onSteps?: (steps: number) => void): boolean
  /** The number of instructions of its program: a short expression such as `.{900}` can have many. */
  readonly size: number
  /** An upper bound of the steps that matching the string may take. */
  stepsFor(text: string): number
}

/** Compiles an expression; throws an Error whose message is Go's: `error parsing regexp: missing closing ): …`. */
export function linearRegex(source: string): LinearRegex {
  // Compiling takes up to 20 microseconds for each character, and a pattern may come from a request.
  if (source.length > LIMITS.patternLength) throw new Error('error parsing regexp: expression too large')
  const compiled = engine().compile(source)
  const size = compiled.programSize()
  let meter: Meter | undefined
  const test = (text: string, onSteps?: (steps: number) => void): boolean => {
    if (!onSteps) return compiled.test(text)
    meter ??= meterOf(compiled)
    meter.onSteps = onSteps
    meter.most = text.length * size
    try {
      return compiled.test(text)
    } finally {
      meter.onSteps = undefined
    }
  }
  return { source, size, test, stepsFor: text => text.length * size }
}

/** The listener for steps while a string is matched, and their number where no table is used. */
type Meter = { onSteps: ((steps: number) => void) | undefined; most: number }

/** Internals of the engine: the table that it fills while it matches. A test notices when they change. */
type Matcher = {
  /** Every search goes through this method, each with an input of its own. */
  executeEngine(input: { step(position: number): number }, ...rest: readonly unknown[]): unknown
  /** Set for patterns where each character determines the next state; they need no table. */
  readonly onepass: object | null
  readonly dfa: {
    readonly prog: Program
    /**
     * The instructions reachable from the given ones without consuming a character, in order, and the edges of the text that they assert.
     */
    closure(instructions: ArrayLike<number>, edges: number): { readonly pcs: ArrayLike<number>; readonly needflags: number }
    /** Adds the table entry for a character seen for the first time. */
    makeState(instructions: ArrayLike<number>, ...rest: readonly unknown[]): { readonly nfaStates: ArrayLike<number> } | null
    /** Null when the table has become too large to help: then the string is matched without it. */
    match(...input: readonly unknown[]): boolean | null
  }
}

type Program = { numInst(): number; getInst(index: number): Instruction }
type Instruction = { readonly op: number; readonly out: number; readonly arg: number; readonly constructor: unknown }
type Operations = { readonly [name in 'ALT' | 'ALT_MATCH' | 'CAPTURE' | 'NOP' | 'EMPTY_WIDTH']: number }

/**
 * Same result as the engine's own function, which keeps a set and sorts a list, in a third of the time: patterns with many states spend
 * most of their time here.
 */
function closureOf(program: Program): Matcher['dfa']['closure'] {
  const size = program.numInst()
  const [op, out, arg] = [new Uint8Array(size), new Int32Array(size), new Int32Array(size)]
  for (let i = 0; i < size; i++) {
    const instruction = program.getInst(i)
    op[i] = instruction.op
    out[i] = instruction.out
    arg[i] = instruction.arg
  }
  const { ALT, ALT_MATCH, CAPTURE, NOP, EMPTY_WIDTH } = program.getInst(0).constructor as Operations
  const reached = new Int32Array(size)
  // The round in which each instruction was reached last. Each has at most two successors.
  const rounds = new Uint32Array(size)
  const waiting = new Int32Array(2 * size + 1)
  let round = 0
  return (instructions, edges) => {
    if (++round === LAST_ROUND) {
      rounds.fill(0)
      round = 1
    }
    let [count, needflags] = [0, 0]
    for (let i = 0; i < instructions.length; i++) {
      let left = 1
      waiting[0] = instructions[i]!
      while (left > 0) {
        const at = waiting[--left]!
        if (at === 0 || rounds[at] === round) continue
        rounds[at] = round
        reached[count++] = at
        const instruction = op[at]
        if (instruction === ALT || instruction === ALT_MATCH) {
          waiting[left++] = out[at]!
          waiting[left++] = arg[at]!
        } else if (instruction === NOP || instruction === CAPTURE) waiting[left++] = out[at]!
        else if (instruction === EMPTY_WIDTH) {
          needflags |= arg[at]!
          if ((arg[at]! & ~edges) === 0) waiting[left++] = out[at]!
        }
      }
    }
    return { pcs: reached.slice(0, count).sort(), needflags }
  }
}

const LAST_ROUND = 2 ** 32 - 1

function meterOf(compiled: RE2JS): Meter {
  const meter: Meter = { onSteps: undefined, most: 0 }
  const { re2Input: matcher } = compiled as unknown as { readonly re2Input: Matcher }
  if (matcher.onepass !== null) return meter
  const { dfa } = matcher
  const { makeState, match } = dfa
  dfa.closure = closureOf(dfa.prog)
  dfa.makeState = (...parts) => {
    const state = makeState.apply(dfa, parts)
    meter.onSteps?.(parts[0].length + (state?.nfaStates.length ?? 0))
    return state
  }
  dfa.match = (...input) => {
    const matched = match.apply(dfa, input as never)
    if (matched === null) meter.onSteps?.(meter.most)
    return matched
  }
  return meter
}

/**
 * Calls `onSteps`, which may throw, with the number of instructions that a search executes. Finding all matches can take far longer than
 * reading the string once, as each search may continue to its end.
 */
export function countingSteps<T>(compiled: RE2JS, text: string, { onSteps, search }: { onSteps(steps: number): void; search(): T }): T {
  const { re2Input: matcher } = compiled as unknown as { readonly re2Input: Matcher }
  const size = compiled.programSize()
  const perCharacter = matcher.onepass !== null || isBacktracked(size, text.length) ? BACKTRACKED_STEPS : size
  const { executeEngine } = matcher
  matcher.executeEngine = (input, ...rest) => {
    const { step } = input
    let looks = 0
    input.step = position => {
      if (++looks % LOOKS_TOLD === 0) onSteps(LOOKS_TOLD * perCharacter)
      return step.call(input, position)
    }
    const found = executeEngine.call(matcher, input, ...rest)
    onSteps((looks % LOOKS_TOLD) * perCharacter)
    return found
  }
  try {
    return search()
  } finally {
    matcher.executeEngine = executeEngine
  }
}

const LOOKS_TOLD = 64
/** Short strings cost one step for each instruction and position; longer ones one for each position, with all instructions at once. */
const BACKTRACKED_STEPS = 2
const isBacktracked = (size: number, length: number): boolean => size <= 500 && size * (length + 1) <= 262_144

let loaded: typeof RE2JS | undefined

/** The engine itself, for callers that need more than a match. */
export function engine(): typeof RE2JS {
  loaded ??= load().RE2JS
  return loaded
}

declare const require: NodeJS.Require | undefined

function load(): { RE2JS: typeof RE2JS } {
  // A bundle has its own `require`, which loads the bundled engine; source files have none.
  if (typeof require === 'function') return require('re2js')
  return createRequire(`${process.cwd()}/`)('re2js')
}
