/** The annotations of events: sets that never change, with their JSON. Requests that are alike share them. */
import { setOwn } from '../lib/json-value.ts'
import { quoted } from './escaped-json.ts'

/** Sets that are remembered, and the length of a text in them, at most. */
const MAX_KNOWN = 2000
const MAX_KNOWN_LENGTH = 500
let known = 0

export class Annotations {
  readonly record: Readonly<Record<string, string>>
  readonly #isKnown: boolean
  /** The sets that one more annotation has made of it, by key and value. */
  #larger: Map<string, Map<string, Annotations>> | undefined
  /** The last of them. */
  #last: { readonly key: string; readonly value: string; readonly set: Annotations } | undefined
  #json: string | undefined

  private constructor(record: Readonly<Record<string, string>>, isKnown: boolean) {
    this.record = record
    this.#isKnown = isKnown
  }

  static readonly NONE = new Annotations({}, true)

  static of(record: Readonly<Record<string, string>>): Annotations {
    return Object.entries(record).reduce((set, [key, value]) => set.with(key, value), Annotations.NONE)
  }

  /** The set with one more; the first value of a key stays. */
  with(key: string, value: string): Annotations {
    const last = this.#last
    if (last !== undefined && last.key === key && last.value === value) return last.set
    const set = this.#larger?.get(key)?.get(value) ?? this.#grown(key, value)
    if (set.#isKnown) this.#last = { key, value, set }
    return set
  }

  /** The field of an event, after a comma; empty where there is none. */
  get json(): string {
    this.#json ??= fieldOf(this.record)
    return this.#json
  }

  #grown(key: string, value: string): Annotations {
    if (Object.hasOwn(this.record, key)) return this
    const record = { ...this.record }
    setOwn(record, key, value)
    const isKnown = this.#isKnown && key.length + value.length <= MAX_KNOWN_LENGTH
    const larger = new Annotations(record, isKnown)
    if (isKnown) this.#remember(key, value, larger)
    return larger
  }

  #remember(key: string, value: string, larger: Annotations): void {
    if (known >= MAX_KNOWN) {
      // Those that requests still have remember a few more, which are gone with them.
      Annotations.NONE.#larger = Annotations.NONE.#last = undefined
      known = 0
    }
    known++
    this.#larger ??= new Map()
    const values = this.#larger.get(key) ?? new Map<string, Annotations>()
    this.#larger.set(key, values.set(value, larger))
  }
}

function fieldOf(record: Readonly<Record<string, string>>): string {
  const keys = Object.keys(record).sort()
  if (keys.length === 0) return ''
  return `,"annotations":{${keys.map(key => `${quoted(key)}:${quoted(record[key]!)}`).join(',')}}`
}
