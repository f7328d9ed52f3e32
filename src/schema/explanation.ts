/** Explains the decisions of admission: its steps, recorded on request, up to a limit. */
import { LIMITS } from '../lib/limits.ts'

/** The decider and its outcome, such as `{ webhook: 'a.example.com', outcome: 'skipped', because: 'namespaceSelector' }`. */
export type ExplanationStep = Readonly<Record<string, string>>

const { steps: MAX_STEPS, textLength: MAX_TEXT, headerBytes: MAX_HEADER } = LIMITS.explanation

export class Explanation {
  readonly #steps: ExplanationStep[] = []
  readonly #unrelated: ExplanationStep[] = []
  #left = 0

  add(step: ExplanationStep): void {
    this.#keep(this.#steps, step)
  }

  /** Adds a step that is shown only if there is space after all others: one that does not apply to such requests at all. */
  addUnrelated(step: ExplanationStep): void {
    this.#keep(this.#unrelated, step)
  }

  /** The steps in order, the unrelated ones last; the number of omitted ones comes at the end. */
  get steps(): readonly ExplanationStep[] {
    const all = [...this.#steps, ...this.#unrelated]
    return this.#left === 0 ? all : [...all, leftOut(this.#left)]
  }

  /** The steps as ASCII JSON, as many as fit into a header. */
  toHeader(): string {
    const all = [...this.#steps, ...this.#unrelated].map(asciiJson)
    let size = 2 + MAX_LEFT_OUT_LENGTH
    let fitting = 0
    while (fitting < all.length && size + all[fitting]!.length + 1 <= MAX_HEADER) size += all[fitting++]!.length + 1
    const left = this.#left + all.length - fitting
    return `[${[...all.slice(0, fitting), ...(left > 0 ? [asciiJson(leftOut(left))] : [])].join()}]`
  }

  #keep(steps: ExplanationStep[], step: ExplanationStep): void {
    if (steps.length === MAX_STEPS) this.#left++
    else steps.push(Object.fromEntries(Object.entries(step).map(([name, text]) => [name, shortened(text)])))
  }
}

const MAX_LEFT_OUT_LENGTH = 40
const leftOut = (count: number): ExplanationStep => ({ leftOut: String(count) })
const shortened = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text)

/** JSON for a header line. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
