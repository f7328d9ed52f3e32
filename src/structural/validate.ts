/** Whether a value is what its schema asks for, in the words and the order in which Kubernetes tells what is not. */
import { goJson, goQuote } from '../lib/go-text.ts'
import { isObject, type Json, type JsonObject } from '../lib/json-value.ts'
import { type FieldError, pathOf, type Ref } from '../schema/refs.ts'
import { Correlation } from './correlation.ts'
import { broken, fieldErrorOf, missing, notAllowed, overall, tooLong, tooMany, unsupported, Verdict, wrongType } from './failure.ts'
import { hasFormat, isTextFormat } from './formats.ts'
import { isInteger, isWhole } from './integers.ts'
import { checkNumber } from './numbers.ts'
import type { Pattern } from './pattern.ts'
import type { Structural } from './schema.ts'

/**
 * What the keywords of a schema find wrong with a value. Paths begin at `at`, whose value does not matter. With what was stored
 * (null where nothing was), unchanged parts may stay as wrong as they were.
 */
export function validateValue(structural: Structural, value: Json, at: Ref<any>, old?: Json | Correlation): FieldError[] {
  const correlation = old === undefined || old instanceof Correlation ? old : new Correlation(structural, value, old)
  const verdict = new Verdict()
  const effort = { left: MOST_EFFORT }
  judge(structural, value, { path: '', correlation, out: verdict, effort })
  // What was not looked at to the end is not taken for good.
  if (effort.left < 0 && verdict.valid) verdict.add(overall('the value takes too much effort to validate'))
  const base = pathOf(at)
  return verdict.failures.map(failure => fieldErrorOf(failure, base))
}

/** What judging one value may take: alternatives multiply with what is in the value, and patterns with its texts. */
const MOST_EFFORT = 3_000_000
type Effort = { left: number }
type Case = { readonly path: string; readonly correlation: Correlation | undefined; readonly out: Verdict; readonly effort: Effort }

/** Judges a value; what is wrong with it is forgiven where it was stored like that. */
function judge(schema: Structural, value: Json, { path, correlation, out, effort }: Case): void {
  const own = correlation ? new Verdict() : out
  check(schema, value, { path, correlation, out: own, effort })
  if (correlation === undefined) return
  if (!own.valid && correlation.unchanged) out.fits += own.fits
  else out.merge(own)
}

function check(schema: Structural, value: Json, at: Case): void {
  const { out, path } = at
  const { limits } = schema
  if (--at.effort.left < 0) return
  if (value === null) {
    if (schema.types.length > 0 && !schema.nullable) out.add(wrongType(path, schema.types.join(','), 'null'))
    else out.fits++
    checkEnum(schema, value, at)
    return
  }
  checkType(schema, value, at)
  checkCombinations(schema, value, at)
  if (typeof value === 'string') checkText(schema, value, at)
  else if (typeof value === 'number' || typeof value === 'bigint') {
    checkNumber(value, { path, types: schema.types, limits }, out)
    out.fits++
  } else if (Array.isArray(value)) checkList(schema, value, at)
  checkEnum(schema, value, at)
  if (isObject(value)) checkObject(schema, value, at)
  // Kinds of rules count towards what fits even where they say nothing: the combinations, the enum, and the schema itself.
  out.fits += 3
}

function checkType({ types, limits: { format } }: Structural, value: Json, { path, out }: Case): void {
  if (types.length === 0 && format === '') return
  out.fits++
  const [type, own] = goTypeOf(value)
  const fits =
    types.includes(type) ||
    (type === 'number' && types.includes('integer') && isWhole(Number(value))) ||
    (type === 'integer' && types.includes('number'))
  const isTextual = type === 'string' || type === 'array'
  if (!isTextual && format !== '' && !fits && own !== format) out.add(wrongType(path, format, own))
  // The reference leaves texts and, oddly, lists with a format of texts to the check of the format.
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

function checkCombinations({ limits: { anyOf, oneOf, allOf, not } }: Structural, value: Json, at: Case): void {
  const { path, out } = at
  if (anyOf.length > 0) checkAnyOf(anyOf, value, at)
  if (oneOf.length > 0) checkOneOf(oneOf, value, at)
  if (allOf.length > 0) checkAllOf(allOf, value, at)
  if (not && verdictOn(not, value, at).valid) out.add(overall(`${goQuote(path)} must not validate the schema (not)`))
  out.fits++
}

function checkAnyOf(schemas: readonly Structural[], value: Json, at: Case): void {
  const { path, out } = at
  let best: Verdict | undefined
  for (const schema of schemas) {
    const verdict = verdictOn(schema, value, at)
    if (verdict.valid) {
      out.merge(verdict)
      return
    }
    if (best === undefined || verdict.fits > best.fits) best = verdict
  }
  out.add(overall(`${goQuote(path)} must validate at least one schema (anyOf)`))
  out.merge(best!)
}

function checkOneOf(schemas: readonly Structural[], value: Json, at: Case): void {
  const { path, out } = at
  let best: Verdict | undefined
  let first: Verdict | undefined
  let count = 0
  for (const schema of schemas) {
    const verdict = verdictOn(schema, value, at)
    if (verdict.valid) {
      count++
      first ??= verdict
    } else if (best === undefined || verdict.fits > best.fits) best = verdict
  }
  if (count === 1) {
    out.merge(first!)
    return
  }
  const found = count === 0 ? 'Found none valid' : `Found ${count} valid alternatives`
  out.add(overall(`${goQuote(path)} must validate one and only one schema (oneOf). ${found}`))
  if (count === 0) out.merge(best!)
}

function checkAllOf(schemas: readonly Structural[], value: Json, at: Case): void {
  const { path, out } = at
  let count = 0
  for (const schema of schemas) {
    const verdict = verdictOn(schema, value, at)
    if (verdict.valid) count++
    out.merge(verdict)
  }
  if (count < schemas.length)
    out.add(overall(`${goQuote(path)} must validate all the schemas (allOf)${count === 0 ? '. None validated' : ''}`))
}

/** Within alternatives nothing is forgiven: what was stored says nothing about which of them is meant. */
function verdictOn(schema: Structural, value: Json, { path, effort }: Case): Verdict {
  const out = new Verdict()
  check(schema, value, { path, correlation: undefined, out, effort })
  return out
}

function checkText({ limits }: Structural, value: string, { path, out, effort }: Case): void {
  const { maxLength, minLength, pattern, format } = limits
  out.fits++
  if (maxLength !== undefined && isLonger(value, maxLength)) out.add(tooLong(path, maxLength))
  else if (minLength !== undefined && !isLonger(value, minLength - 1))
    out.add(broken(path, `should be at least ${minLength} chars long`, value))
  else if (pattern) {
    effort.left -= MATCH_EFFORT + pattern.stepsFor(value) / STEPS
    if (effort.left >= 0) checkPattern(pattern, value, path, out)
  }
  if (format === '' || !isTextFormat(format)) return
  out.fits++
  if (!hasFormat(format, value)) out.add(wrongType(path, format, value))
}

/** What a match costs, compared with a look at a value, and how many steps of it count as one. */
const MATCH_EFFORT = 4
const STEPS = 64

function checkPattern(pattern: Pattern, value: string, path: string, out: Verdict): void {
  const matched = pattern.matches(value)
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

function checkList({ items, limits }: Structural, list: readonly Json[], { path, correlation, out, effort }: Case): void {
  if (items)
    for (let i = 0; i < list.length; i++) judge(items, list[i]!, { path: `${path}[${i}]`, correlation: correlation?.index(i), out, effort })
  const { minItems, maxItems, uniqueItems } = limits
  if (minItems !== undefined && list.length < minItems) out.add(broken(path, `should have at least ${minItems} items`, list.length))
  if (maxItems !== undefined && list.length > maxItems) out.add(tooMany(path, 'items', { size: list.length, max: maxItems }))
  if (uniqueItems && new Set(list.map(item => goJson(item))).size < list.length) out.add(broken(path, "shouldn't contain duplicates", undefined))
  out.fits += 2
}

function checkEnum({ limits }: Structural, value: Json, { path, out }: Case): void {
  if (limits.enum && !limits.enum.has(value)) out.add(unsupported(path, value, limits.enum.names))
}

function checkObject(schema: Structural, object: JsonObject, at: Case): void {
  const { path, correlation, out, effort } = at
  const { minProperties, maxProperties, required } = schema.limits
  const names = Object.keys(object)
  if (minProperties !== undefined && names.length < minProperties)
    out.add(broken(path, `should have at least ${minProperties} properties`, names.length))
  if (maxProperties !== undefined && names.length > maxProperties)
    out.add(tooMany(path, 'properties', { size: names.length, max: maxProperties }))
  const { properties, additional } = schema
  if (additional === false) {
    for (const name of names) if (!properties.has(name)) out.add(notAllowed(path, name))
  } else if (typeof additional === 'object')
    for (const name of names)
      if (!properties.has(name))
        judge(additional, object[name]!, { path: `${path}.${name}`, correlation: member(correlation, path, name), out, effort })
  if (properties.size > 0)
    for (const name of names) {
      const known = properties.get(name)
      if (!known) continue
      judge(known, object[name]!, {
        path: path === '' ? name : `${path}.${name}`,
        correlation: member(correlation, path, name),
        out,
        effort,
      })
    }
  for (const name of required) if (!Object.hasOwn(object, name)) out.add(missing(`${path}.${name}`))
  out.fits++
}

/** The version and kind of a whole object have no past: both versions of it are read as the same. */
function member(correlation: Correlation | undefined, path: string, name: string): Correlation | undefined {
  return path === '' && (name === 'kind' || name === 'apiVersion') ? undefined : correlation?.key(name)
}
