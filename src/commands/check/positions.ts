/** Positions of fields in a document of YAML or JSON, by their paths as error messages name them. */
import { EVENT_ID, type Event, getScalarValue, parseEvents, SCALAR_STYLE } from 'js-yaml'

/** A line and a column, both counted from one. */
export type Position = { readonly line: number; readonly column: number }

export class Positions {
  readonly #offsets = new Map<string, number>()
  readonly #text: string
  readonly #firstLine: number

  /** The first line says where the document begins in its file. */
  constructor(text: string, firstLine: number) {
    this.#text = text
    this.#firstLine = firstLine
    new Walk(text, (path, offset) => this.#offsets.set(path, offset)).run()
  }

  /** The position of a field, or of the nearest one around it: a missing field has none. */
  of(field: string): Position {
    for (let path = canonical(field); path !== ''; path = path.slice(0, path.lastIndexOf('\n'))) {
      const offset = this.#offsets.get(path)
      if (offset !== undefined) return this.#at(offset)
      if (!path.includes('\n')) break
    }
    return this.#at(this.#offsets.get('') ?? 0)
  }

  #at(offset: number): Position {
    const before = this.#text.slice(0, offset).split('\n')
    return { line: this.#firstLine + before.length - 1, column: before.at(-1)!.length + 1 }
  }
}

/** `spec.containers[0].env[name]` as steps, each on a line of its own. */
function canonical(field: string): string {
  const steps = field.matchAll(/\[("(?:[^"\\]|\\.)*"|[^\]]*)\]|([^.[\]]+)/g)
  return [...steps].map(([, inBrackets, plain]) => plain ?? inBrackets!.replace(/^"|"$/g, '')).join('\n')
}

/** Walks through the events of the first document; keys of mappings and indices of lists make the paths. */
class Walk {
  readonly #text: string
  readonly #found: (path: string, offset: number) => void
  readonly #events: readonly Event[]
  #next = 1

  constructor(text: string, found: (path: string, offset: number) => void) {
    this.#text = text
    this.#found = found
    this.#events = parseEvents(text, {})
  }

  run(): void {
    const [, first] = this.#events
    if (first && first.type !== EVENT_ID.POP) this.#value('', startOf(first))
  }

  #value(path: string, offset: number): void {
    const event = this.#events[this.#next++]
    this.#found(path, offset)
    if (event?.type === EVENT_ID.SEQUENCE)
      for (let index = 0; !this.#isLeft(); index++) this.#value(below(path, String(index)), startOf(this.#events[this.#next]))
    else if (event?.type === EVENT_ID.MAPPING)
      while (!this.#isLeft()) {
        const key = this.#events[this.#next++]
        if (key?.type === EVENT_ID.SCALAR) this.#value(below(path, getScalarValue(this.#text, key)), startOf(key))
        else this.#skip(key)
      }
  }

  /** A key that is no scalar has no path; its value has none either. */
  #skip(key: Event | undefined): void {
    let depth = key?.type === EVENT_ID.MAPPING || key?.type === EVENT_ID.SEQUENCE ? 1 : 0
    for (let values = depth > 0 ? 2 : 1; values > 0 || depth > 0; ) {
      const event = this.#events[this.#next++]
      if (!event) return
      if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE) depth++
      else if (event.type === EVENT_ID.POP) depth--
      if (depth === 0) values--
    }
  }

  #isLeft(): boolean {
    const isLeft = this.#events[this.#next]?.type === EVENT_ID.POP || this.#next >= this.#events.length
    if (isLeft) this.#next++
    return isLeft
  }
}

const below = (path: string, step: string): string => (path === '' ? step : `${path}\n${step}`)

const QUOTED: readonly number[] = [SCALAR_STYLE.SINGLE_QUOTED, SCALAR_STYLE.DOUBLE_QUOTED]

function startOf(event: Event | undefined): number {
  // The value of a quoted scalar begins after the quotation mark.
  if (event?.type === EVENT_ID.SCALAR) return event.valueStart - (QUOTED.includes(event.style) ? 1 : 0)
  if (event?.type === EVENT_ID.MAPPING || event?.type === EVENT_ID.SEQUENCE) return event.start
  return event?.type === EVENT_ID.ALIAS ? event.anchorStart : 0
}
