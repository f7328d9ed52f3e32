/** The types of a schema's values as CEL rules see them: their types, how large they can be, and how small. */

import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  objectType,
  stringType,
  timestampType,
} from '../cel/checker/types.ts'
import { escapeName } from '../cel/kubernetes/field-names.ts'
import { type SizedType, sized, sizedList, sizedMap } from '../cel/kubernetes/sized-types.ts'
import { LIMITS } from '../lib/limits.ts'
import { withEnvelope } from './envelope.ts'
import type { Structural } from './schema.ts'

/** A type with sizes; `minSize` is the length of the shortest JSON of such a value. */
export interface RuleType extends SizedType {
  readonly minSize: number
  readonly element?: RuleType
  readonly fields?: ReadonlyMap<string, RuleType>
}

/** The largest request: a value without a limit of its own may be as large. */
export const MAX_REQUEST_BYTES = LIMITS.bodyBytes

const MAX_TEXT_LENGTH = MAX_REQUEST_BYTES - 2
/** The lengths of the shortest and the longest texts of some formats, quotes included. */
const DURATION = { shortest: 3, longest: 32 }
const DATE = { shortest: 12, longest: 12 }
const DATE_TIME = { shortest: 21, longest: 32 }
const MIN_TEXT_BYTES = 2
const MIN_BOOL_BYTES = 4
const MIN_NUMBER_BYTES = 1

/**
 * The type of the values of a schema; undefined where rules may not see it, as the schema says too little. Objects are named by
 * their position below `name`; at the root of a whole object the envelope is there too.
 */
export function ruleTypeOf(schema: Structural, name: string, position: 'root' | 'part' = 'part'): RuleType | undefined {
  if (schema.intOrString) return smallest(sized(dynType, boundedLength(schema)), MIN_NUMBER_BYTES)
  const described = position === 'root' ? withEnvelope(schema) : schema
  switch (described.types[0]) {
    case 'array':
      return listTypeOf(described, name)
    case 'object':
      return typeof described.additional === 'object' ? mapTypeOf(described, described.additional, name) : objectTypeOf(described, name)
    case 'string':
      return textTypeOf(described)
    case 'boolean':
      return smallest(sized(boolType), MIN_BOOL_BYTES)
    case 'number':
      return smallest(sized(doubleType), MIN_NUMBER_BYTES)
    case 'integer':
      return smallest(sized(intType), MIN_NUMBER_BYTES)
    default:
      return undefined
  }
}

const smallest = (type: SizedType, minSize: number) => ({ ...type, minSize }) as RuleType
const positionOf = (schema: Structural) => (schema.embedded ? 'root' : 'part')

function listTypeOf({ items, limits }: Structural, name: string): RuleType | undefined {
  const element = items && ruleTypeOf(items, `${name}.@idx`, positionOf(items))
  if (!element) return undefined
  const fitting = Math.floor((MAX_REQUEST_BYTES - 2) / (element.minSize + 1))
  return smallest(sizedList(element, limit(limits.maxItems) ?? fitting), 2)
}

function mapTypeOf({ limits }: Structural, values: Structural, name: string): RuleType | undefined {
  const element = ruleTypeOf(values, `${name}.@elem`, positionOf(values))
  if (!element) return undefined
  // Quotes of the key, a colon, a comma, and a key of two characters or so.
  const fitting = Math.floor((MAX_REQUEST_BYTES - 2) / (element.minSize + 6))
  return smallest(sizedMap(sized(stringType), element, limit(limits.maxProperties) ?? fitting), 2)
}

function objectTypeOf({ properties, limits }: Structural, name: string): RuleType {
  const fields = new Map<string, RuleType>()
  const required = new Set(limits.required)
  let minSize = 2
  for (const [key, schema] of properties) {
    const escaped = escapeName(key)
    const type = ruleTypeOf(schema, `${name}.${escaped ?? key}`, positionOf(schema))
    if (!type) continue
    if (escaped !== undefined) fields.set(escaped, type)
    if (required.has(key) && schema.default === undefined) minSize += Buffer.byteLength(key) + type.minSize + 4
  }
  return { type: objectType(name), maxElements: 0, fields, minSize }
}

function textTypeOf(schema: Structural): RuleType {
  switch (schema.source.format) {
    case 'byte':
      return smallest(sized(bytesType, limit(schema.limits.maxLength) ?? MAX_TEXT_LENGTH), MIN_TEXT_BYTES)
    case 'duration':
      return smallest(sized(durationType, DURATION.longest), DURATION.shortest)
    case 'date':
      return smallest(sized(timestampType, DATE.longest), DATE.shortest)
    case 'date-time':
      return smallest(sized(timestampType, DATE_TIME.longest), DATE_TIME.shortest)
    default:
      return smallest(sized(stringType, boundedLength(schema)), MIN_TEXT_BYTES)
  }
}

/** How many bytes a text can have: each character may take four; without a limit, the longest of an enum. */
function boundedLength({ limits, source, intOrString }: Structural): number {
  const longest = limit(limits.maxLength)
  if (longest !== undefined) return longest * 4
  if (intOrString || !limits.enum) return MAX_TEXT_LENGTH
  return source.enum!.reduce<number>((most, value) => Math.max(most, typeof value === 'string' ? Buffer.byteLength(value) : 0), 0)
}

const limit = (value: number | undefined) => (value === undefined ? undefined : Math.max(0, value))
