/**
 * Formats CEL values as cel-go's messages show them. This is not how Go prints values (`lib/go-text.ts`), but how cel-go's own types do.
 */

import { formatDuration } from '../../lib/duration.ts'
import { goFloat } from '../../lib/go-text.ts'
import { formatTimestamp } from './times.ts'
import {
  CelDouble,
  CelDuration,
  CelFault,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  elementsOf,
} from './values.ts'
import { countWork } from './work.ts'

/** The text of a value in a message. */
export function showValue(value: CelValue): string {
  countWork()
  if (value === null) return 'NULL_VALUE'
  if (typeof value !== 'object') return String(value)
  if (value instanceof CelUint) return String(value.value)
  if (value instanceof CelDouble) return goFloat(value.value)
  if (value instanceof Uint8Array) return `[${value.join(' ')}]`
  if (value instanceof CelTimestamp) return formatTimestamp(value)
  if (value instanceof CelDuration) return formatDuration(BigInt(value.nanos))
  if (value instanceof CelList) return `[${Array.from(elementsOf(value), showValue).join(', ')}]`
  if (value instanceof CelMap)
    return `{${value
      .keys()
      .map(key => `${showValue(key)}: ${showValue(value.find(key) ?? null)}`)
      .join(', ')}}`
  if (value instanceof CelOptional) return value.value === undefined ? 'optional.none()' : `optional(${showValue(value.value)})`
  if (value instanceof CelTypeValue) return value.type.name
  return value instanceof CelFault ? value.message : value.toString()
}
