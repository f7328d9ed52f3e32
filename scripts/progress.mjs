// The progress of long work: on a terminal one line that is rewritten, elsewhere a line now and then.

/** Something is said this often where lines stay. */
const LINE_MS = 30_000
const USUAL_COLUMNS = 80
const CLEARED = '\r\x1b[K'

/** Shows progress on a stream, such as the standard error output. */
export class Progress {
  #stream
  #now
  #said
  #text = ''

  constructor(stream, { now = () => performance.now() } = {}) {
    this.#stream = stream
    this.#now = now
    this.#said = now()
  }

  /** Shows a text in place of the one before. */
  show(text) {
    this.#text = text
    if (this.#stream.isTTY) return void this.#draw()
    if (this.#now() - this.#said < LINE_MS) return
    this.#said = this.#now()
    this.#stream.write(`${text}\n`)
  }

  /** Lets other output have the line while a function writes it. */
  beside(write) {
    if (!this.#stream.isTTY || this.#text === '') return write()
    this.#stream.write(CLEARED)
    write()
    this.#draw()
  }

  /** The work is over: the line goes. */
  end() {
    if (this.#stream.isTTY && this.#text !== '') this.#stream.write(CLEARED)
    this.#text = ''
  }

  #draw() {
    // A longer one would take two lines, of which only the second is rewritten. Some terminals do not say how wide they are.
    this.#stream.write(CLEARED + this.#text.slice(0, (this.#stream.columns || USUAL_COLUMNS) - 1))
  }
}

/** `59 s`, `4:05 min` or `7:02 h`. */
export function duration(ms) {
  const seconds = Math.round(ms / 1000)
  const [large, small, unit] = seconds < 3_600 ? [seconds / 60, seconds % 60, 'min'] : [seconds / 3_600, (seconds % 3_600) / 60, 'h']
  return seconds < 60 ? `${seconds} s` : `${Math.floor(large)}:${String(Math.floor(small)).padStart(2, '0')} ${unit}`
}
