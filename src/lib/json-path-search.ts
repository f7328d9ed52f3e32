/** Evaluates a JSON path. */
import { compareText } from './go-text.ts'
import { type Bound, type JsonPath, JsonPathError, type Node } from './json-path.ts'
import { isObject, type Json } from './json-value.ts'

/**
 * Charges one unit for each value visited, and throws when there have been too many: paths with `..` find more values than the input holds.
 */
export type Work = { charge(units: number): void }

/** For paths that are known to be cheap. */
const UNCOUNTED: Work = { charge() {} }

/**
 * The values that each part of a template finds; none where fields are missing. Throws JsonPathError where the path does not fit the value,
 * and whatever `work` throws.
 */
export function findValues(path: JsonPath, data: Json, work: Work = UNCOUNTED): Json[][] {
  return path.map(node => step(node, [data], work))
}

/** The first value that a template finds; undefined where it finds none or does not fit the value. */
export function findFirst(path: JsonPath, data: Json, work: Work = UNCOUNTED): Json | undefined {
  try {
    return findValues(path, data, work)[0]?.[0]
  } catch (error) {
    if (error instanceof JsonPathError) return undefined
    throw error
  }
}

function step(node: Node, input: readonly Json[], work: Work): Json[] {
  work.charge(input.length + 1)
  switch (node.kind) {
    case 'list':
      return steps(node.nodes, input, work)
    case 'value':
      return node.isText ? [node.value] : input.map(() => node.value)
    case 'field':
      return input.flatMap(value => (isObject(value) && Object.hasOwn(value, node.name) ? [value[node.name]!] : []))
    case 'slice':
      return slices(node.bounds, input, work)
    case 'filter':
      return filtered(node, input, work)
    case 'wildcard':
      return input.flatMap(value => partsOf(value, work))
    case 'recursive':
      return descendants(input, work)
    case 'union':
      return node.alternatives.flatMap(nodes => steps(nodes, input, work))
    case 'identifier':
      throw new JsonPathError(`unrecognized identifier ${node.name}`)
  }
}

function steps(nodes: readonly Node[], input: readonly Json[], work: Work): Json[] {
  let found = [...input]
  for (const node of nodes) found = step(node, found, work)
  return found
}

/** The members or items of a value; a string has bytes. */
function partsOf(value: Json, work: Work): Json[] {
  if (typeof value === 'string') {
    work.charge(value.length)
    return bytesOf(value)
  }
  const parts = isObject(value) ? Object.values(value) : Array.isArray(value) ? value : []
  work.charge(parts.length)
  return parts
}
const bytesOf = (text: string): number[] => [...Buffer.from(text)]

/** Everything in the values that has parts, outermost first. */
function descendants(input: readonly Json[], work: Work): Json[] {
  const found: Json[] = []
  const open = [...input].reverse()
  while (open.length > 0) {
    const value = open.pop()!
    const parts = typeof value === 'string' ? [] : partsOf(value, work)
    if (parts.length === 0 && (typeof value !== 'string' || value === '')) continue
    found.push(value)
    for (let i = parts.length - 1; i >= 0; i--) open.push(parts[i]!)
  }
  return found
}

function slices([from, to, by]: readonly [Bound, Bound, Bound], input: readonly Json[], work: Work): Json[] {
  const found: Json[] = []
  for (const value of input) {
    if (value === null) continue
    if (!Array.isArray(value)) throw new JsonPathError(`${typeof value} is not array or slice`)
    const { length } = value
    let start = from.known ? from.value : 0
    if (start < 0) start += length
    let end = to.known ? to.value : length
    if (end < 0 || (end === 0 && to.derived)) end += length
    if (start === end) return found
    const outside = start >= length || start < 0 ? start : end > length || end < 0 ? end - 1 : undefined
    if (outside !== undefined) throw new JsonPathError(`array index out of bounds: index ${outside}, length ${length}`)
    if (start > end) throw new JsonPathError(`starting index ${start} is greater than ending index ${end}`)
    if (by.known && by.value <= 0) throw new JsonPathError('step must be > 0')
    work.charge(end - start)
    for (let i = start; i < end; i += by.known ? by.value : 1) found.push(value[i]!)
  }
  return found
}

function filtered(node: Extract<Node, { kind: 'filter' }>, input: readonly Json[], work: Work): Json[] {
  const found: Json[] = []
  for (const value of input) {
    if (!Array.isArray(value)) throw new JsonPathError('only a list can be filtered')
    work.charge(value.length)
    for (const item of value) if (passes(node, item, work)) found.push(item)
  }
  return found
}

function passes({ left, right, operator }: Extract<Node, { kind: 'filter' }>, item: Json, work: Work): boolean {
  if (operator === 'exists') return exists(left, item, work)
  const a = theOne(steps(left, [item], work))
  if (a === undefined) return false
  const b = theOne(steps(right, [item], work))
  return b !== undefined && compare(operator, a, b)
}

function exists(nodes: readonly Node[], item: Json, work: Work): boolean {
  try {
    return steps(nodes, [item], work).length > 0
  } catch (error) {
    // A path that does not fit counts as found, since earlier values remain.
    if (error instanceof JsonPathError) return true
    throw error
  }
}

function theOne(values: readonly Json[]): Json | undefined {
  if (values.length > 1) throw new JsonPathError('can only compare one element at a time')
  return values[0]
}

function compare(operator: string, a: Json, b: Json): boolean {
  const order = OPERATORS[operator]
  if (order === undefined) throw new JsonPathError(`unrecognized filter operator ${operator}`)
  if (kindOf(a) !== kindOf(b)) throw new JsonPathError('incompatible types for comparison')
  if (typeof a === 'boolean' && operator !== '==' && operator !== '!=') throw new JsonPathError('invalid type for comparison')
  const sign = typeof a === 'string' ? compareText(a, b as string) : a! < b! ? -1 : a! > b! ? 1 : 0
  return order(sign)
}

const OPERATORS: Readonly<Record<string, ((sign: number) => boolean) | undefined>> = {
  '==': sign => sign === 0,
  '!=': sign => sign !== 0,
  '<': sign => sign < 0,
  '<=': sign => sign <= 0,
  '>': sign => sign > 0,
  '>=': sign => sign >= 0,
}

/** Whole numbers and fractions do not compare. */
function kindOf(value: Json): string {
  if (typeof value === 'object') throw new JsonPathError('invalid type for comparison')
  if (typeof value === 'bigint') return 'int'
  return typeof value === 'number' ? (Number.isInteger(value) ? 'int' : 'float') : typeof value
}
