/** Reads sizes of a terminal: JSON objects one after the other, in pieces that end anywhere. */
import type { TerminalSize } from '../../registry/session.ts'

/** A longer text without an end is no size. */
const MAX_SIZE_LENGTH = 256

export class Resizes {
  #text = ''
  #last: TerminalSize | undefined
  #listener: ((size: TerminalSize) => void) | undefined

  /** Takes text of the client; whatever is no size is dropped. */
  take(bytes: Uint8Array): void {
    this.#text += Buffer.from(bytes).toString()
    for (let end = this.#text.indexOf('}'); end >= 0; end = this.#text.indexOf('}')) {
      const size = sizeOf(this.#text.slice(0, end + 1))
      this.#text = this.#text.slice(end + 1)
      if (!size) continue
      this.#last = size
      this.#listener?.(size)
    }
    if (this.#text.length > MAX_SIZE_LENGTH) this.#text = ''
  }

  /** The listener is called with the last size, if there is one, and with all that follow. */
  onResize(listener: (size: TerminalSize) => void): void {
    this.#listener = listener
    if (this.#last) listener(this.#last)
  }
}

function sizeOf(text: string): TerminalSize | undefined {
  try {
    // Go's decoder ignores the case of names.
    const fields = new Map(Object.entries(JSON.parse(text) as object).map(([name, value]) => [name.toLowerCase(), value]))
    const [width, height] = [fields.get('width'), fields.get('height')]
    return isSize(width) && isSize(height) ? { width, height } : undefined
  } catch {
    return undefined
  }
}

const isSize = (value: unknown): value is number => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 0xffff
