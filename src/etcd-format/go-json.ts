/** JSON byte by byte as kube-apiserver stores it: letters that mean something in HTML are escaped, and a line ends it. */
import { stringifyJson } from '../codec/json.ts'
import { compareText } from '../lib/go-text.ts'
import { isObject, type Json } from '../lib/json-value.ts'

/** The stored bytes of a value whose members are in the order that its type declares. */
export const structJson = (value: Json): Buffer => lineOf(stringifyJson(value))

/** The stored bytes of a value of no type: members are in the order of their names, as Go writes maps. */
export const mapJson = (value: Json): Buffer => lineOf(sortedText(value))

const lineOf = (text: string) => Buffer.from(`${text.replace(IN_HTML, escaped)}\n`)
const IN_HTML = /[<>&\u2028\u2029]/g
const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

// Not a sorted copy of the object: names that are numbers come first in any object.
function sortedText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join()}]`
  if (!isObject(value)) return stringifyJson(value)
  const members = Object.keys(value)
    .sort(compareText)
    .map(key => `${JSON.stringify(key)}:${sortedText(value[key]!)}`)
  return `{${members.join()}}`
}
