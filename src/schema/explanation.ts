/** Explains the decisions of admission: its steps, recorded on request, up to a limit. */
import { monotonicMs } from '../lib/environment.ts'
import { changesBetween, type JsonChange } from '../lib/json-changes.ts'
import { LIMITS } from '../lib/limits.ts'

/** The decider and its outcome, such as `{ webhook: 'a.example.com', outcome: 'skipped', because: 'namespaceSelector' }`. */
export type ExplanationStep = Readonly<Record<string, string>>

/** Details of a step: the time at which it began, as `performance.now()` tells it, and the object before and after it. */
export type StepDetails = { readonly since: number; readonly before?: unknown; readonly after?: unknown }

const { steps: MAX_STEPS, textLength: MAX_TEXT, patchLength: MAX_PATCH, headerBytes: MAX_HEADER } = LIMITS.explanation

export class Explanation {
  /** Whether times and changes are recorded, and plugins without an effect as well. */
  readonly isDetailed: boolean
  readonly #steps: ExplanationStep[] = []
  readonly #unrelated: ExplanationStep[] = []
  #left = 0

  constructor({ isDetailed = false }: { readonly isDetailed?: boolean } = {}) {
    this.isDetailed = isDetailed
  }

  add(step: ExplanationStep, details?: StepDetails): void {
    this.#keep(this.#steps, step, this.isDetailed && details ? shownDetails(details) : undefined)
  }

  /** Adds a step that is shown only if there is space after all others: one that does not apply to such requests at all. */
  addUnrelated(step: ExplanationStep): void {
    this.#keep(this.#unrelated, step)
  }

  /** The steps in order, the unrelated ones last; the number of omitted ones comes at the end. Without changes: they may have secrets. */
  get steps(): readonly ExplanationStep[] {
    const all = [...this.#steps, ...this.#unrelated].map(({ patch: _, ...step }) => step as ExplanationStep)
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

  #keep(steps: ExplanationStep[], step: ExplanationStep, details?: ExplanationStep): void {
    if (steps.length === MAX_STEPS) this.#left++
    else steps.push({ ...Object.fromEntries(Object.entries(step).map(([name, text]) => [name, shortened(text)])), ...details })
  }
}

/** The time in milliseconds, and the change as a JSON Patch; `moreChanges` is the number of operations that did not fit. */
function shownDetails({ since, before, after }: StepDetails): ExplanationStep {
  const ms = (monotonicMs() - since).toFixed(3)
  if (before === undefined || after === undefined) return { ms }
  const fitting: string[] = []
  let length = 2
  let left = 0
  for (const change of changesBetween(before, after)) {
    const text = changeText(change)
    if (left === 0 && length + text.length + 1 <= MAX_PATCH) {
      fitting.push(text)
      length += text.length + 1
    } else left++
  }
  if (fitting.length + left === 0) return { ms }
  return { ms, patch: `[${fitting.join()}]`, ...(left > 0 && { moreChanges: String(left) }) }
}

const changeText = (change: JsonChange): string =>
  JSON.stringify(change, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))

const MAX_LEFT_OUT_LENGTH = 40
const leftOut = (count: number): ExplanationStep => ({ leftOut: String(count) })
const shortened = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text)

/** JSON for a header line. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[^\x20-\x7e]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
