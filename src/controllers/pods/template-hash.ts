/** The short text that tells the pods of one template from those of another: in names, and in the label `pod-template-hash`. */
import { fnv32a } from '../../lib/fnv.ts'
import { isObject } from '../../lib/json-value.ts'
import { safeText } from '../../lib/safe-text.ts'

export const TEMPLATE_HASH_LABEL = 'pod-template-hash'

/** The same for values that are the same, whatever the order of their keys; another one after each collision of names. */
export function hashOf(value: unknown, collisionCount?: number): string {
  const sorted = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : isObject(part) ? sortedKeys(part) : part))
  const salt = collisionCount === undefined ? '' : `\n${collisionCount}`
  return safeText(String(fnv32a(sorted + salt)))
}

const sortedKeys = (object: object): object => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)))
