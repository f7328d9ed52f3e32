/**
 * Fields of a webhook's response as Go's decoder reads them into a struct: null and absent fields are the zero value, names are
 * case-sensitive, and a value of the wrong type makes the whole response unreadable.
 */
import { decodeBase64 } from '../lib/base64.ts'
import { isObject, type Json, type JsonObject, jsonTypeName, setOwn } from '../lib/json-value.ts'
import { writtenText } from '../lib/written-number.ts'

/** A response with a field of the wrong type; the message is Go's. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'
}

/** The Go struct of the fields and its path in the response, for messages: `AdmissionResponse` at `response`. */
export type AnswerPlace = { readonly struct: string; readonly path?: string }

export class AnswerFields {
  readonly #fields: JsonObject
  readonly #place: AnswerPlace

  /** Throws AnswerError unless the value is an object or null. */
  constructor(value: Json | undefined, place: AnswerPlace) {
    if (value !== undefined && value !== null && !isObject(value))
      throw new AnswerError(`json: cannot unmarshal ${jsonTypeName(value)} into Go value of type ${place.struct}`)
    this.#fields = value ?? {}
    this.#place = place
  }

  /** Whether a field is present and not null, which distinguishes a nil pointer from the zero value. */
  has(field: string): boolean {
    return this.#at(field) !== null
  }

  bool(field: string): boolean {
    const value = this.#at(field)
    return value === null ? false : typeof value === 'boolean' ? value : this.#refuse(field, value, 'bool')
  }

  text(field: string): string {
    const value = this.#at(field)
    return value === null ? '' : typeof value === 'string' ? value : this.#refuse(field, value, 'string')
  }

  int32(field: string): number {
    const value = this.#at(field)
    if (value === null) return 0
    return typeof value === 'number' && (value | 0) === value ? value : this.#refuse(field, value, 'int32')
  }

  texts(field: string): readonly string[] {
    const value = this.#at(field)
    if (value === null) return []
    return Array.isArray(value) ? value.map(item => this.#textIn(field, item)) : this.#refuse(field, value, '[]string')
  }

  textMap(field: string): Readonly<Record<string, string>> {
    return this.#map(field, 'map[string]string', item => this.#textIn(field, item))
  }

  /** Lists of strings by key. */
  textsMap(field: string): Readonly<Record<string, readonly string[]>> {
    return this.#map(field, 'map[string][]string', item => {
      if (item === null) return []
      return Array.isArray(item) ? item.map(text => this.#textIn(field, text)) : this.#refuse(field, item, '[]string')
    })
  }

  /** Bytes: base64, or a list of numbers, which Go accepts as well. */
  bytes(field: string): Buffer {
    const value = this.#at(field)
    if (value === null) return Buffer.alloc(0)
    if (Array.isArray(value)) {
      const isByte = (item: Json) => item === null || (typeof item === 'number' && Number.isInteger(item) && item >= 0 && item <= 255)
      const wrong = value.find(item => !isByte(item))
      return wrong === undefined ? Buffer.from(value.map(Number)) : this.#refuse(field, wrong, 'uint8')
    }
    if (typeof value !== 'string') return this.#refuse(field, value, '[]uint8')
    try {
      return decodeBase64(value)
    } catch (error) {
      throw new AnswerError((error as Error).message)
    }
  }

  /** The values of a list, unchanged. */
  list(field: string): readonly Json[] {
    const value = this.#at(field)
    return value === null ? [] : Array.isArray(value) ? value : this.#refuse(field, value, '[]')
  }

  /** The fields of a struct. */
  struct(field: string, struct: string): AnswerFields {
    const value = this.#at(field)
    return value === null || isObject(value)
      ? new AnswerFields(value, { struct, path: this.#pathOf(field) })
      : this.#refuse(field, value, struct)
  }

  /** The fields of each struct of a list. */
  structs(field: string, struct: string): readonly AnswerFields[] {
    return this.list(field).map(item =>
      item === null || isObject(item) ? new AnswerFields(item, { struct, path: this.#pathOf(field) }) : this.#refuse(field, item, struct),
    )
  }

  #at(field: string): Json {
    return Object.hasOwn(this.#fields, field) ? this.#fields[field]! : null
  }

  #map<T>(field: string, type: string, read: (value: Json) => T): Record<string, T> {
    const value = this.#at(field)
    if (value !== null && !isObject(value)) return this.#refuse(field, value, type)
    const map: Record<string, T> = {}
    for (const [key, item] of Object.entries(value ?? {})) setOwn(map, key, read(item))
    return map
  }

  #textIn(field: string, item: Json): string {
    return item === null ? '' : typeof item === 'string' ? item : this.#refuse(field, item, 'string')
  }

  #pathOf(field: string): string {
    const { path } = this.#place
    return path === undefined ? field : `${path}.${field}`
  }

  #refuse(field: string, value: Json, type: string): never {
    const { struct } = this.#place
    // A number that is not one of the type is shown.
    const written = type.includes('int') ? (writtenText(value) ?? (typeof value === 'number' ? value : undefined)) : undefined
    throw new AnswerError(
      `json: cannot unmarshal ${jsonTypeName(value)}${written === undefined ? '' : ` ${written}`} into Go struct field ${struct}.${this.#pathOf(field)} of type ${type}`,
    )
  }
}
