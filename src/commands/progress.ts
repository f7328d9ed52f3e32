/** The progress of a command that takes long: a bar on a terminal, and lines elsewhere where they are wanted. */

const WIDTH = 30
const EVERY_MS = 200

export class Progress {
  readonly #out: NodeJS.WriteStream
  readonly #linesElsewhere: boolean
  readonly #began = performance.now()
  #shownAt = 0
  #tenths = 0
  #isDirty = false

  /** With `linesElsewhere`, an output that is no terminal gets a line for each tenth; otherwise nothing. */
  constructor(out: NodeJS.WriteStream, { linesElsewhere }: { readonly linesElsewhere: boolean }) {
    this.#out = out
    this.#linesElsewhere = linesElsewhere
  }

  show(done: number, total: number): void {
    const share = total === 0 ? 1 : done / total
    if (this.#out.isTTY) {
      if (done < total && performance.now() - this.#shownAt < EVERY_MS) return
      this.#shownAt = performance.now()
      const filled = Math.round(share * WIDTH)
      this.#out.write(`\r[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${this.#line(share, done, total)}\x1b[K`)
      this.#isDirty = true
    } else if (this.#linesElsewhere && Math.floor(share * 10) > this.#tenths) {
      this.#tenths = Math.floor(share * 10)
      this.#out.write(`${this.#line(share, done, total)}\n`)
    }
  }

  end(): void {
    if (this.#isDirty) this.#out.write('\n')
  }

  #line(share: number, done: number, total: number): string {
    const seconds = (performance.now() - this.#began) / 1000
    const left = share > 0 && share < 1 ? `, ${Math.ceil((seconds / share) * (1 - share))} s left` : ''
    return `${Math.floor(share * 100)} %  ${done} of ${total} records, ${Math.round(done / Math.max(seconds, 0.001))} a second${left}`
  }
}
