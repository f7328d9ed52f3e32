/** Validates a value against its schema, with the errors of Kubernetes in its order. */
import { goJson, goQuote } from '../lib/go-text.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { Budget } from '../schema/budget.ts'
import { type FieldErrors, pathOf, type Ref } from '../schema/refs.ts'
import { Correlation } from './correlation.ts'
import {
  broken,
  fieldErrorOf,
  missing,
  notAllowed,
  overall,
  tooLong,
  tooMany,
  unsupported,
  ValidationResult,
  wrongType,
} from './failure.ts'
import { hasFormat, isTextFormat } from './formats.ts'
import { isInteger, isWhole } from './integers.ts'
import { checkNumber } from './numbers.ts'
import type { Pattern } from './pattern.ts'
import type { Structural } from './schema.ts'

export type ValidateOptions = {
  /** The work that validating may cost: alternatives multiply with the parts of the value, and patterns with its strings. */
  readonly budget: Budget
  /** The stored value, null where there was none: unchanged parts may stay as wrong as they were. */
  readonly old?: Json | Correlation | undefined
  /** Whether the value may hold so much that others have to run meanwhile. */
  readonly isLarge?: boolean | undefined
}

/** Yields the errors that the keywords of a schema find in a value. Field paths begin at `at`, whose value does not matter. */
export function* validateValue(
  structural: Structural,
  value: Json,
  at: Ref<any>,
  { budget, old, isLarge = false }: ValidateOptions,
): FieldErrors {
  let result = new ValidationResult(budget)
  const first: Context = { path: '', correlation: undefined, out: result, budget }
  if (isLarge) yield* validateInStops(structural, value, first)
  else validate(structural, value, first)
  // The stored value matters only where something is wrong, and to follow it takes as long as all else.
  if (old !== undefined && !result.valid) {
    const correlation = old instanceof Correlation ? old : new Correlation(structural, value, old)
    result = new ValidationResult(budget)
    yield undefined
    const again: Context = { path: '', correlation, out: result, budget }
    if (isLarge) yield* validateInStops(structural, value, again)
    else validate(structural, value, again)
  }
  yield undefined
  const base = pathOf(at)
  for (const failure of result.failures) yield fieldErrorOf(failure, base)
}

type Context = {
  readonly path: string
  readonly correlation: Correlation | undefined
  readonly out: ValidationResult
  readonly budget: Budget
}

/** Validates a value; errors are tolerated where the stored value is the same. */
function validate(schema: Structural, value: Json, at: Context): void {
  const own = ownContext(at)
  check(schema, value, own)
  take(own, at)
}

/** Where errors of a value are collected that has a stored one: apart, until it is known whether they count. */
const ownContext = (at: Context): Context => (at.correlation ? { ...at, out: new ValidationResult(at.budget) } : at)

function take({ out: own }: Context, { correlation, out }: Context): void {
  if (correlation === undefined) return
  if (!own.valid && correlation.unchanged) out.fits += own.fits
  else out.merge(own)
}

/** Units of work after which others may run. */
const MAX_WORK_BETWEEN_STOPS = 2_000

/** The same as `validate`, with stops between the parts of lists and objects. */
function* validateInStops(schema: Structural, value: Json, at: Context): Generator<undefined, void> {
  if (typeof value !== 'object' || value === null) {
    validate(schema, value, at)
    return
  }
  const { budget } = at
  const own = ownContext(at)
  let used = budget.used
  budget.charge(1)
  beginParts(schema, value, own)
  for (const part of Array.isArray(value) ? itemsOf(schema, value, own) : membersOf(schema, value, own)) {
    yield* validateInStops(part.schema, part.value, part.at)
    if (budget.used - used < MAX_WORK_BETWEEN_STOPS) continue
    yield undefined
    used = budget.used
  }
  endParts(schema, value, own)
  take(own, at)
}

/** A part of a list or an object, and where its errors are collected. */
type ValuePart = { readonly schema: Structural; readonly value: Json; readonly at: Context }

function* itemsOf({ items }: Structural, list: readonly Json[], at: Context): Iterable<ValuePart> {
  if (items) for (let i = 0; i < list.length; i++) yield { schema: items, value: list[i]!, at: itemContext(at, i) }
}

function* membersOf({ properties, additional }: Structural, object: JsonObject, at: Context): Iterable<ValuePart> {
  const names = Object.keys(object)
  if (typeof additional === 'object')
    for (const name of names) if (!properties.has(name)) yield { schema: additional, value: object[name]!, at: entryContext(at, name) }
  for (const name of names) {
    const known = properties.get(name)
    if (known) yield { schema: known, value: object[name]!, at: memberContext(at, name) }
  }
}

const itemContext = ({ path, correlation, out, budget }: Context, i: number): Context => ({
  path: `${path}[${i}]`,
  correlation: correlation?.index(i),
  out,
  budget,
})

const entryContext = ({ path, correlation, out, budget }: Context, name: string): Context => ({
  path: `${path}.${name}`,
  correlation: member(correlation, path, name),
  out,
  budget,
})

const memberContext = ({ path, correlation, out, budget }: Context, name: string): Context => ({
  path: path === '' ? name : `${path}.${name}`,
  correlation: member(correlation, path, name),
  out,
  budget,
})

function check(schema: Structural, value: Json, at: Context): void {
  const { out, path } = at
  const { limits } = schema
  at.budget.charge(1)
  if (value === null) {
    if (schema.types.length > 0 && !schema.nullable) out.add(wrongType(path, schema.types.join(','), 'null'))
    else out.fits++
    checkEnum(schema, value, at)
    return
  }
  if (typeof value === 'object') {
    checkParts(schema, value, at)
    return
  }
  checkType(schema, value, at)
  checkCombinations(schema, value, at)
  if (typeof value === 'string') checkText(schema, value, at)
  else if (typeof value === 'number' || typeof value === 'bigint') {
    checkNumber(value, { path, types: schema.types, limits }, out)
    out.fits++
  }
  checkEnum(schema, value, at)
  out.fits += OWN_FITS
}

/** Kinds of rules count towards what fits even where they say nothing: the combinations, the enum, and the schema itself. */
const OWN_FITS = 3

/** Checks a list or an object: itself, its parts, and the rules that come after those of the parts. */
function checkParts(schema: Structural, value: JsonObject | readonly Json[], at: Context): void {
  const names = beginParts(schema, value, at)
  const { items, properties, additional } = schema
  if (Array.isArray(value)) {
    if (items) for (let i = 0; i < value.length; i++) validate(items, value[i]!, itemContext(at, i))
  } else {
    const object = value as JsonObject
    if (typeof additional === 'object')
      for (const name of names) if (!properties.has(name)) validate(additional, object[name]!, entryContext(at, name))
    if (properties.size > 0)
      for (const name of names) {
        const known = properties.get(name)
        if (known) validate(known, object[name]!, memberContext(at, name))
      }
  }
  endParts(schema, value, at)
}

/** Checks a list or an object before its parts; returns the names of an object's members, where the schema needs them. */
function beginParts(schema: Structural, value: JsonObject | readonly Json[], at: Context): readonly string[] {
  checkType(schema, value as Json, at)
  checkCombinations(schema, value as Json, at)
  if (Array.isArray(value)) return NO_NAMES
  checkEnum(schema, value as Json, at)
  return checkNames(schema, value as JsonObject, at)
}

function endParts(schema: Structural, value: JsonObject | readonly Json[], at: Context): void {
  const { out, path } = at
  if (Array.isArray(value)) {
    checkList(schema, value, at)
    checkEnum(schema, value, at)
  } else {
    for (const name of schema.limits.required) if (!Object.hasOwn(value, name)) out.add(missing(`${path}.${name}`))
    out.fits++
  }
  out.fits += OWN_FITS
}

function checkType({ types, limits: { format } }: Structural, value: Json, { path, out }: Context): void {
  if (types.length === 0 && format === '') return
  out.fits++
  const [type, own] = goTypeOf(value)
  const fits =
    types.includes(type) ||
    (type === 'number' && types.includes('integer') && isWhole(Number(value))) ||
    (type === 'integer' && types.includes('number'))
  const isTextual = type === 'string' || type === 'array'
  if (!isTextual && format !== '' && !fits && own !== format) out.add(wrongType(path, format, own))
  // kube-apiserver leaves strings and, oddly, lists with a format of strings to the check of the format.
  else if (isTextual && format !== '' && !types.includes('number') && !types.includes('integer')) out.fits++
  else if (!fits) out.add(wrongType(path, types.join(','), type))
  else out.fits++
}

/** The type of a value and the format that its Go type stands for. */
function goTypeOf(value: Json): [type: string, format: string] {
  switch (typeof value) {
    case 'boolean':
      return ['boolean', '']
    case 'string':
      return ['string', '']
    case 'number':
    case 'bigint':
      return isInteger(value) ? ['integer', 'int64'] : ['number', 'float64']
    default:
      return [Array.isArray(value) ? 'array' : 'object', '']
  }
}

function checkCombinations({ limits: { anyOf, oneOf, allOf, not } }: Structural, value: Json, at: Context): void {
  const { path, out } = at
  if (anyOf.length > 0) checkAnyOf(anyOf, value, at)
  if (oneOf.length > 0) checkOneOf(oneOf, value, at)
  if (allOf.length > 0) checkAllOf(allOf, value, at)
  if (not && validateAlternative(not, value, at).valid) out.add(overall(`${goQuote(path)} must not validate the schema (not)`))
  out.fits++
}

function checkAnyOf(schemas: readonly Structural[], value: Json, at: Context): void {
  const { path, out } = at
  let best: ValidationResult | undefined
  for (const schema of schemas) {
    const result = validateAlternative(schema, value, at)
    if (result.valid) {
      out.merge(result)
      return
    }
    if (best === undefined || result.fits > best.fits) best = result
  }
  out.add(overall(`${goQuote(path)} must validate at least one schema (anyOf)`))
  out.merge(best!)
}

function checkOneOf(schemas: readonly Structural[], value: Json, at: Context): void {
  const { path, out } = at
  let best: ValidationResult | undefined
  let first: ValidationResult | undefined
  let count = 0
  for (const schema of schemas) {
    const result = validateAlternative(schema, value, at)
    if (result.valid) {
      count++
      first ??= result
    } else if (best === undefined || result.fits > best.fits) best = result
  }
  if (count === 1) {
    out.merge(first!)
    return
  }
  const found = count === 0 ? 'Found none valid' : `Found ${count} valid alternatives`
  out.add(overall(`${goQuote(path)} must validate one and only one schema (oneOf). ${found}`))
  if (count === 0) out.merge(best!)
}

function checkAllOf(schemas: readonly Structural[], value: Json, at: Context): void {
  const { path, out } = at
  let count = 0
  for (const schema of schemas) {
    const result = validateAlternative(schema, value, at)
    if (result.valid) count++
    out.merge(result)
  }
  if (count < schemas.length)
    out.add(overall(`${goQuote(path)} must validate all the schemas (allOf)${count === 0 ? '. None validated' : ''}`))
}

/** Within alternatives nothing is tolerated: the stored value does not tell which of them is meant. */
function validateAlternative(schema: Structural, value: Json, { path, budget }: Context): ValidationResult {
  const out = new ValidationResult(budget)
  check(schema, value, { path, correlation: undefined, out, budget })
  return out
}

function checkText({ limits }: Structural, value: string, { path, out, budget }: Context): void {
  const { maxLength, minLength, pattern, format } = limits
  out.fits++
  if (maxLength !== undefined && isLonger(value, maxLength)) out.add(tooLong(path, maxLength))
  else if (minLength !== undefined && !isLonger(value, minLength - 1))
    out.add(broken(path, `should be at least ${minLength} chars long`, value))
  else if (pattern) {
    budget.chargeOnce(pattern, COMPILE_WORK * pattern.size)
    budget.charge(MATCH_WORK + pattern.stepsFor(value) / STEPS_PER_UNIT)
    checkPattern(pattern, value, { path, out, budget })
  }
  if (format === '' || !isTextFormat(format)) return
  out.fits++
  if (!hasFormat(format, value)) out.add(wrongType(path, format, value))
}

/** The units that one instruction of a pattern costs to compile. */
const COMPILE_WORK = 40
/** The units that matching a pattern costs at least, how many steps of the matcher are one unit, and the cost of each step that is new to it. */
const MATCH_WORK = 4
const STEPS_PER_UNIT = 64
const NEW_STEP_WORK = 5

function checkPattern(pattern: Pattern, value: string, { path, out, budget }: Pick<Context, 'path' | 'out' | 'budget'>): void {
  const matched = pattern.matches(value, steps => budget.charge(steps * NEW_STEP_WORK))
  if (matched === true) return
  const fault = matched === false ? '' : `, but pattern is invalid: ${matched.fault}`
  out.add(broken(path, `should match '${pattern.source}${fault}'`, value))
}

/** Whether a text has more characters than this; a pair of surrogates is one. */
function isLonger(text: string, length: number): boolean {
  if (text.length <= length) return false
  if (text.length > length * 2) return true
  let pairs = 0
  for (let i = 0; i < text.length - 1; i++)
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) pairs++
  return text.length - pairs > length
}

function checkList({ limits }: Structural, list: readonly Json[], { path, out, budget }: Context): void {
  const { minItems, maxItems, uniqueItems } = limits
  if (minItems !== undefined && list.length < minItems) out.add(broken(path, `should have at least ${minItems} items`, list.length))
  if (maxItems !== undefined && list.length > maxItems) out.add(tooMany(path, 'items', { size: list.length, max: maxItems }))
  if (uniqueItems && hasDuplicates(list, budget)) out.add(broken(path, "shouldn't contain duplicates", undefined))
  out.fits += 2
}

function hasDuplicates(list: readonly Json[], budget: Budget): boolean {
  const seen = new Set<string>()
  for (const item of list) {
    const text = goJson(item)
    budget.charge(1 + text.length)
    seen.add(text)
  }
  return seen.size < list.length
}

function checkEnum({ limits }: Structural, value: Json, { path, out, budget }: Context): void {
  if (limits.enum && !limits.enum.has(value, budget)) out.add(unsupported(path, value, limits.enum.names))
}

/** Checks which members an object has. Returns their names, where the schema needs them. */
function checkNames(schema: Structural, object: JsonObject, { path, out, budget }: Context): readonly string[] {
  const { minProperties, maxProperties, required } = schema.limits
  const names = looksAtKeys(schema) ? Object.keys(object) : NO_NAMES
  budget.charge(names.length * KEY_WORK + required.length)
  if (minProperties !== undefined && names.length < minProperties)
    out.add(broken(path, `should have at least ${minProperties} properties`, names.length))
  if (maxProperties !== undefined && names.length > maxProperties)
    out.add(tooMany(path, 'properties', { size: names.length, max: maxProperties }))
  const { properties, additional } = schema
  if (additional === false) for (const name of names) if (!properties.has(name)) out.add(notAllowed(path, name))
  return names
}

/** The units that a key of an object costs: listing the keys of a large one is slow. */
const KEY_WORK = 4
const NO_NAMES: readonly string[] = []

/** Whether a schema needs to know which members an object has beside those that it requires; most alternatives do not. */
const looksAtKeys = ({ properties, additional, limits }: Structural): boolean =>
  properties.size > 0 || additional !== undefined || limits.minProperties !== undefined || limits.maxProperties !== undefined

/** The version and kind of a whole object have no past: both versions of it are read as the same. */
function member(correlation: Correlation | undefined, path: string, name: string): Correlation | undefined {
  return path === '' && (name === 'kind' || name === 'apiVersion') ? undefined : correlation?.key(name)
}
