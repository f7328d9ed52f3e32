/** JSON with the escapes of Go's encoder. */
import { stringifyJson } from '../codec/json.ts'
import type { Json } from '../lib/json-value.ts'

/** A value as Go writes it. */
export const escapedJson = (value: Json): string => escaped(stringifyJson(value))

/** JSON whose strings Go would have written: its encoder writes these characters as escapes. They can only be in strings. */
export const escaped = (json: string): string =>
  UNSAFE.test(json) ? json.replace(ALL_UNSAFE, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`) : json
const UNSAFE = /[<>&\u2028\u2029]/
const ALL_UNSAFE = new RegExp(UNSAFE, 'g')

/** A text as a JSON string. */
export const quoted = (text: string): string => (isPlain(text) ? `"${text}"` : escapedJson(text))

/** Whether a text is of ASCII without a character that JSON or Go writes as an escape. */
export const isPlain = (text: string): boolean => PLAIN.test(text)
const PLAIN = /^[ !#-%'-;=?-[\]-~]*$/
