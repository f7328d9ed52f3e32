/** Values as messages of cel-go show them. */

import { formatDuration } from '../../lib/duration.ts'
import { formatDouble } from './conversions.ts'
import { makeEffort } from './effort.ts'
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

/** The value as Go's `%v` prints it. */
export function showValue(value: CelValue): string {
  makeEffort()
  if (value === null) return 'NULL_VALUE'
  if (typeof value !== 'object') return String(value)
  if (value instanceof CelUint) return String(value.value)
  if (value instanceof CelDouble) return formatDouble(value.value)
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
