/** The record of a run: a hash of everything that happened, and its lines where somebody reads them. */

const MAX_LINES = 200_000

export class Trace {
  readonly #isKept: boolean
  readonly #lines: string[] = []
  #high = 0x811c9dc5
  #low = 0x9e3779b9

  constructor(isKept: boolean) {
    this.#isKept = isKept
  }

  get lines(): readonly string[] {
    return this.#lines
  }

  /** The hash of all that has happened. */
  get digest(): string {
    return [this.#high, this.#low].map(part => (part >>> 0).toString(16).padStart(8, '0')).join('')
  }

  add(ms: number, text: string): void {
    this.hash(text, ms)
    if (this.#isKept && this.#lines.length < MAX_LINES) this.#lines.push(`${ms.toFixed(3).padStart(12)}  ${text}`)
  }

  hash(text: string, ms: number): void {
    for (let i = 0; i < text.length; i++) this.#mix(text.charCodeAt(i))
    this.#mix(Math.floor(ms * 1_000) | 0)
  }

  #mix(value: number): void {
    this.#high = Math.imul(this.#high ^ value, 0x01000193)
    this.#low = (Math.imul(this.#low, 31) + value) | 0
  }
}
