/** Finds what a JSON path leads to. */
import { compareText } from './go-text.ts'
import { type Bound, type JsonPath, JsonPathError, type Node } from './json-path.ts'
import { isObject, type Json } from './json-value.ts'

/** What every part of a template finds; nothing where fields are missing. Throws JsonPathError for what does not fit. */
export function findValues(path: JsonPath, data: Json): Json[][] {
  const walk: Walk = { left: MAX_STEPS }
  return path.map(node => step(node, [data], walk))
}

/** The first value that a template finds; undefined where it finds none or does not fit. */
export function findFirst(path: JsonPath, data: Json): Json | undefined {
  try {
    return findValues(path, data)[0]?.[0]
  } catch (error) {
    if (error instanceof JsonPathError) return undefined
    throw error
  }
}

/** A path with several `..` can find more than there is in the value: the work that one search may be is limited. */
const MAX_STEPS = 200_000
type Walk = { left: number }

function spend(walk: Walk, steps: number): void {
  walk.left -= steps
  if (walk.left < 0) throw new JsonPathError('the path finds too much')
}

function step(node: Node, input: readonly Json[], walk: Walk): Json[] {
  spend(walk, input.length + 1)
  switch (node.kind) {
    case 'list':
      return steps(node.nodes, input, walk)
    case 'value':
      return node.isText ? [node.value] : input.map(() => node.value)
    case 'field':
      return input.flatMap(value => (isObject(value) && Object.hasOwn(value, node.name) ? [value[node.name]!] : []))
    case 'slice':
      return slices(node.bounds, input)
    case 'filter':
      return filtered(node, input, walk)
    case 'wildcard':
      return input.flatMap(value => partsOf(value, walk))
    case 'recursive':
      return descendants(input, walk)
    case 'union':
      return node.forms.flatMap(nodes => steps(nodes, input, walk))
    case 'identifier':
      throw new JsonPathError(`unrecognized identifier ${node.name}`)
  }
}

function steps(nodes: readonly Node[], input: readonly Json[], walk: Walk): Json[] {
  let found = [...input]
  for (const node of nodes) found = step(node, found, walk)
  return found
}

/** The members or items of a value; a text has bytes. */
function partsOf(value: Json, walk: Walk): Json[] {
  const parts = isObject(value) ? Object.values(value) : Array.isArray(value) ? value : typeof value === 'string' ? bytesOf(value) : []
  spend(walk, parts.length)
  return parts
}
const bytesOf = (text: string): number[] => [...Buffer.from(text)]

/** Everything in the values that has parts, outermost first. */
function descendants(input: readonly Json[], walk: Walk): Json[] {
  const found: Json[] = []
  const open = [...input].reverse()
  while (open.length > 0) {
    const value = open.pop()!
    const parts = typeof value === 'string' ? [] : partsOf(value, walk)
    if (parts.length === 0 && (typeof value !== 'string' || value === '')) continue
    found.push(value)
    for (let i = parts.length - 1; i >= 0; i--) open.push(parts[i]!)
  }
  return found
}

function slices([from, to, by]: readonly [Bound, Bound, Bound], input: readonly Json[]): Json[] {
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
    for (let i = start; i < end; i += by.known ? by.value : 1) found.push(value[i]!)
  }
  return found
}

function filtered(node: Extract<Node, { kind: 'filter' }>, input: readonly Json[], walk: Walk): Json[] {
  const found: Json[] = []
  for (const value of input) {
    if (!Array.isArray(value)) throw new JsonPathError('only a list can be filtered')
    for (const item of value) if (passes(node, item, walk)) found.push(item)
  }
  return found
}

function passes({ left, right, operator }: Extract<Node, { kind: 'filter' }>, item: Json, walk: Walk): boolean {
  if (operator === 'exists') return exists(left, item, walk)
  const a = theOne(steps(left, [item], walk))
  if (a === undefined) return false
  const b = theOne(steps(right, [item], walk))
  return b !== undefined && compare(operator, a, b)
}

function exists(nodes: readonly Node[], item: Json, walk: Walk): boolean {
  try {
    return steps(nodes, [item], walk).length > 0
  } catch (error) {
    // What does not fit leaves what was found so far, which is something.
    if (error instanceof JsonPathError && walk.left >= 0) return true
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
