/** Values of expressions as JSON. */
import {
  CelDouble,
  CelDuration,
  CelFault,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelUint,
  type CelValue,
  elementsOf,
} from '../../cel/runtime/values.ts'
import { encodeBase64 } from '../../lib/base64.ts'
import { type Json, type JsonObject, setOwn } from '../../lib/json-value.ts'

/** Throws an Error for values without JSON. */
export function toJson(value: CelValue): Json {
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value
  if (value instanceof CelList) return [...elementsOf(value)].map(toJson)
  if (value instanceof CelMap) {
    const object: JsonObject = {}
    for (const key of value.keys()) {
      const member = value.find(key)!
      // An optional field without a value is left out.
      if (member instanceof CelOptional && member.value === undefined) continue
      setOwn(object, String(key), toJson(member instanceof CelOptional ? member.value! : member))
    }
    return object
  }
  if (value instanceof CelUint) return value.value
  if (value instanceof CelDouble) return value.value
  if (value instanceof Uint8Array) return encodeBase64(value)
  if (value instanceof CelTimestamp || value instanceof CelDuration) return value.toString()
  if (value instanceof CelFault) throw new Error(value.message)
  throw new Error('an expression evaluated to a type that has no JSON')
}
