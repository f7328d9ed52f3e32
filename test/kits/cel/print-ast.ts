/** Prints syntax trees as cel-go's tests do, for tests that compare with them. */

import type { CheckedAst } from '../../../src/cel/checker/checked-ast.ts'
import { formatType } from '../../../src/cel/checker/types.ts'
import type { Constant, Expr, FieldEntry, MapEntry } from '../../../src/cel/syntax/ast.ts'

/** The suffix of a node. */
export type Adorn = (node: Expr | MapEntry | FieldEntry) => string

const literalKinds: Record<Constant['type'], string> = {
  null: 'Constant_NullValue',
  bool: 'Constant_BoolValue',
  int: 'Constant_Int64Value',
  uint: 'Constant_Uint64Value',
  double: 'Constant_DoubleValue',
  string: 'Constant_StringValue',
  bytes: 'Constant_BytesValue',
}

const nodeKinds: Record<Exclude<Expr['kind'], 'literal'>, string> = {
  ident: 'Expr_IdentExpr',
  select: 'Expr_SelectExpr',
  call: 'Expr_CallExpr',
  list: 'Expr_ListExpr',
  map: 'Expr_StructExpr',
  struct: 'Expr_StructExpr',
  comprehension: 'Expr_ComprehensionExpr',
}

/** Appends the kinds of nodes. */
export const adornKinds: Adorn = node => {
  if (!('kind' in node)) return '^#*expr.Expr_CreateStruct_Entry#'
  return `^#*expr.${node.kind === 'literal' ? literalKinds[node.value.type] : nodeKinds[node.kind]}#`
}

/** Appends the types of nodes, and the references of names and calls. */
export const adornTypes =
  (ast: CheckedAst): Adorn =>
  node => {
    if (!('kind' in node)) return ''
    const type = ast.types[node.id]
    const reference = ast.references[node.id]
    const meaning = reference ? `^${reference.overloads ? [...reference.overloads].sort().join('|') : reference.name}` : ''
    const named = node.kind !== 'literal' && node.kind !== 'map' && node.kind !== 'comprehension'
    return (type ? `~${formatType(type)}` : '') + (named ? meaning : '')
  }

/** The formatted tree. */
export function debugString(expr: Expr, adorn: Adorn): string {
  return new Printer(adorn).print(expr)
}

class Printer {
  readonly #adorn: Adorn
  #depth = 0

  constructor(adorn: Adorn) {
    this.#adorn = adorn
  }

  print(expr: Expr): string {
    return this.#bare(expr) + this.#adorn(expr)
  }

  #bare(expr: Expr): string {
    switch (expr.kind) {
      case 'literal':
        return constantText(expr.value)
      case 'ident':
        return expr.name
      case 'select':
        return `${this.print(expr.operand)}.${expr.field}${expr.testOnly ? '~test-only~' : ''}`
      case 'call': {
        const target = expr.target ? `${this.print(expr.target)}.` : ''
        return `${target}${expr.function}${this.#block('(', expr.args, arg => this.print(arg), ')')}`
      }
      case 'list':
        return this.#block('[', expr.elements, element => this.print(element), ']')
      case 'map':
        return this.#block('{', expr.entries, entry => this.#entry(entry, () => this.print(entry.key)), '}')
      case 'struct':
        return expr.type + this.#block('{', expr.fields, field => this.#entry(field, () => field.name), '}')
      case 'comprehension':
        return this.#comprehension(expr)
    }
  }

  #entry(entry: MapEntry | FieldEntry, key: () => string): string {
    return `${entry.optional ? '?' : ''}${key()}:${this.print(entry.value)}${this.#adorn(entry)}`
  }

  #comprehension(expr: Extract<Expr, { kind: 'comprehension' }>): string {
    this.#depth++
    const line = `\n${'  '.repeat(this.#depth)}`
    const variables = expr.iterVar2 === undefined ? [expr.iterVar] : [expr.iterVar, expr.iterVar2]
    const parts = [
      ['Variable', variables.join(`,${line}`)],
      ['Target', this.print(expr.iterRange)],
      ['Accumulator', expr.accuVar],
      ['Init', this.print(expr.accuInit)],
      ['LoopCondition', this.print(expr.loopCondition)],
      ['LoopStep', this.print(expr.loopStep)],
      ['Result', this.print(expr.result)],
    ]
    this.#depth--
    return `__comprehension__(${parts.map(([title, text]) => `${line}// ${title}${line}${text}`).join(',')})`
  }

  #block<Item>(open: string, items: readonly Item[], print: (item: Item) => string, close: string): string {
    if (items.length === 0) return open + close
    this.#depth++
    const line = `\n${'  '.repeat(this.#depth)}`
    const text = items.map(item => line + print(item)).join(',')
    this.#depth--
    return `${open}${text}\n${'  '.repeat(this.#depth)}${close}`
  }
}

function constantText(constant: Constant): string {
  switch (constant.type) {
    case 'null':
      return 'null'
    case 'uint':
      return `${constant.value}u`
    case 'double':
      return goFloat(constant.value)
    case 'string':
      return goQuote(Buffer.from(constant.value))
    case 'bytes':
      return `b${goQuote(constant.value)}`
  }
  return String(constant.value)
}

// As Go's %v: an exponent from a million on.
function goFloat(value: number): string {
  if (Object.is(value, -0)) return '-0'
  const exponent = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)))
  if (exponent >= -4 && exponent < 6) return String(value)
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}

const short = new Map([
  [7, '\\a'],
  [8, '\\b'],
  [9, '\\t'],
  [10, '\\n'],
  [11, '\\v'],
  [12, '\\f'],
  [13, '\\r'],
  [34, '\\"'],
  [92, '\\\\'],
])

// As Go's strconv.Quote of the bytes: invalid UTF-8 is written as \x.
function goQuote(bytes: Uint8Array): string {
  let out = ''
  for (let at = 0; at < bytes.length; ) {
    const size = sequenceLength(bytes, at)
    if (size === 0) {
      out += `\\x${bytes[at]!.toString(16).padStart(2, '0')}`
      at++
      continue
    }
    const text = Buffer.from(bytes.subarray(at, at + size)).toString()
    const code = text.codePointAt(0)!
    const escaped = short.get(code)
    if (escaped) out += escaped
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, '0')}`
    else if (/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(text)) out += text
    else out += code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
    at += size
  }
  return `"${out}"`
}

function sequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!
  const size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0
  const text = new TextDecoder('utf-8', { fatal: true })
  try {
    text.decode(bytes.subarray(at, at + size))
    return at + size <= bytes.length ? size : 0
  } catch {
    return 0
  }
}
