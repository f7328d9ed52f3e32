/** Values that differ from run to run without a meaning: times, addresses, uids and chosen ports are replaced by their type. */
import { isIP } from 'node:net'
import type { Json } from '../../lib/json-value.ts'

export type MaskOptions = {
  /** Replaces a text further, such as by the name of the object that has this uid. */
  readonly replace?: (text: string) => string
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/
/** The characters of an address, perhaps with the length of a prefix or a zone: few texts have no other, and those are looked at closely. */
const LIKE_ADDRESS = /^[\d.:a-fA-F]+([/%].*)?$/s
const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** Counters and choices of the API. */
const CHOSEN = new Set(['resourceVersion', 'generation', 'observedGeneration', 'nodePort', 'healthCheckNodePort', 'restartCount'])

/** A copy in which such values are replaced, with its keys in order, so that equal states are equal texts. */
export function masked(value: unknown, options: MaskOptions = {}): Json {
  if (typeof value === 'string') return maskedText(value, options)
  if (Array.isArray(value)) return value.map(each => masked(each, options))
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? String(value) : (value as Json)
  const entries = Object.entries(value).filter(([key, each]) => each !== undefined && !CHOSEN.has(key))
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, each]) => [key, masked(each, options)]))
}

function maskedText(text: string, { replace }: MaskOptions): string {
  if (TIME.test(text)) return '<time>'
  if (LIKE_ADDRESS.test(text) && (isIP(text) !== 0 || isIP(text.split('/')[0]!) !== 0)) return '<address>'
  return (replace ? replace(text) : text).replace(UID, '<uid>')
}
