/** Formats a syntax tree as the source of an expression, with its original macros. */

import type { CallExpr, Constant, Expr, ParsedAst } from '../../../src/cel/syntax/ast.ts'
import { binaryOperators, operators } from '../../../src/cel/syntax/operators.ts'

/** An expression that parses to the same tree; spaces, needless parentheses and comments are lost. */
export function unparse({ expr, macroCalls }: Pick<ParsedAst, 'expr' | 'macroCalls'>): string {
  return new Writer(macroCalls).write(expr)
}

const written = new Map([...binaryOperators].map(([text, name]) => [name, text]))

/** The precedence of operators, lowest first; all other expressions bind tightest. */
const looseness = new Map<string, number>([
  [operators.conditional, 8],
  [operators.or, 7],
  [operators.and, 6],
  ...['==', '!=', '<', '<=', '>', '>=', 'in'].map(text => [binaryOperators.get(text)!, 5] as const),
  [operators.add, 4],
  [operators.subtract, 4],
  [operators.multiply, 3],
  [operators.divide, 3],
  [operators.modulo, 3],
  [operators.not, 2],
  [operators.negate, 2],
])

const identifier = /^[A-Za-z_][A-Za-z0-9_]*$/
const keywords = new Set(['in', 'true', 'false', 'null'])

class Writer {
  readonly #macroCalls: ReadonlyMap<number, CallExpr>

  constructor(macroCalls: ReadonlyMap<number, CallExpr>) {
    this.#macroCalls = macroCalls
  }

  write(expr: Expr): string {
    const macro = this.#macroCalls.get(expr.id)
    if (macro) return this.#call(macro)
    switch (expr.kind) {
      case 'literal':
        return writeConstant(expr.value)
      case 'ident':
        return expr.name
      case 'select': {
        const text = `${this.#inside(expr.operand, 1)}.${fieldName(expr.field)}`
        return expr.testOnly ? `has(${text})` : text
      }
      case 'call':
        return this.#operator(expr) ?? this.#call(expr)
      case 'list':
        return `[${expr.elements.map((element, i) => mark(expr.optional.includes(i)) + this.write(element)).join(', ')}]`
      case 'map':
        return `{${expr.entries.map(entry => `${mark(entry.optional)}${this.write(entry.key)}: ${this.write(entry.value)}`).join(', ')}}`
      case 'struct': {
        const fields = expr.fields.map(field => `${mark(field.optional)}${fieldName(field.name)}: ${this.write(field.value)}`)
        return `${expr.type}{${fields.join(', ')}}`
      }
      case 'comprehension': {
        const { iterRange, accuInit, loopCondition, loopStep, result } = expr
        const parts = [iterRange, accuInit, loopCondition, loopStep, result].map(part => this.write(part))
        return `__comprehension__(${expr.iterVar}, ${expr.accuVar}, ${parts.join(', ')})`
      }
    }
  }

  #call({ target, function: name, args }: CallExpr): string {
    const prefix = target ? `${this.#inside(target, 1)}.` : ''
    return `${prefix}${name}(${args.map(arg => this.write(arg)).join(', ')})`
  }

  #operator(expr: CallExpr): string | undefined {
    const [a, b, c] = expr.args
    if (expr.target || !a) return undefined
    switch (expr.function) {
      case operators.conditional:
        return `${this.#inside(a, 7)} ? ${this.#inside(b!, 7)} : ${this.write(c!)}`
      case operators.not:
      case operators.negate: {
        // `--1` is 1, `-1.f()` is f of -1, and `!!a` is a: those keep their parentheses.
        const operand = this.#inside(a, 1)
        const apart = expr.function === operators.negate && /^[\d-]/.test(operand)
        return `${expr.function[0]}${apart ? `(${operand})` : operand}`
      }
      case operators.index:
        return `${this.#inside(a, 1)}[${this.write(b!)}]`
      case operators.optIndex:
        return `${this.#inside(a, 1)}[?${this.write(b!)}]`
      case operators.optSelect:
        return b!.kind === 'literal' && b!.value.type === 'string' ? `${this.#inside(a, 1)}.?${fieldName(b!.value.value)}` : undefined
      case operators.and:
      case operators.or:
        return this.#logic(expr)
    }
    const text = written.get(expr.function)
    if (!text) return undefined
    const binds = looseness.get(expr.function)!
    return `${this.#inside(a, binds)} ${text} ${this.#inside(b!, binds - 1)}`
  }

  // A chain is parsed as a balanced tree; one of another shape was written with parentheses.
  #logic(expr: CallExpr): string {
    const binds = looseness.get(expr.function)!
    const chain = expr.args.length === 2 ? this.#balancedTerms(expr, expr.function) : undefined
    return (chain ?? expr.args).map(term => this.#inside(term, binds - 1)).join(` ${written.get(expr.function)} `)
  }

  #balancedTerms(expr: Expr, name: string): Expr[] | undefined {
    const terms: Expr[] = []
    const gather = (node: Expr): void => {
      if (node.kind === 'call' && node.function === name && node.args.length === 2 && !this.#macroCalls.has(node.id))
        node.args.forEach(gather)
      else terms.push(node)
    }
    gather(expr)
    const fits = (node: Expr, low: number, high: number): boolean => {
      if (low > high) return node === terms[low]
      if (node.kind !== 'call' || node.function !== name) return false
      const middle = (low + high + 1) >> 1
      return fits(node.args[0]!, low, middle - 1) && fits(node.args[1]!, middle + 1, high)
    }
    return fits(expr, 0, terms.length - 2) ? terms : undefined
  }

  // Adds parentheses if the precedence is too low for this position.
  #inside(expr: Expr, loosest: number): string {
    const text = this.write(expr)
    const binds = expr.kind === 'call' && !expr.target && !this.#macroCalls.has(expr.id) ? (looseness.get(expr.function) ?? 1) : 1
    return binds > loosest ? `(${text})` : text
  }
}

const mark = (optional: boolean): string => (optional ? '?' : '')

const fieldName = (name: string): string => (identifier.test(name) && !keywords.has(name) ? name : `\`${name}\``)

function writeConstant(constant: Constant): string {
  switch (constant.type) {
    case 'null':
      return 'null'
    case 'uint':
      return `${constant.value}u`
    case 'double':
      return writeDouble(constant.value)
    case 'string':
      return `"${constant.value.replace(/["\\\p{Cc}]/gu, escapeChar)}"`
    case 'bytes':
      return `b"${Array.from(constant.value, byte => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte).replace(/["\\]/, escapeChar) : hexByte(byte))).join('')}"`
  }
  return String(constant.value)
}

function writeDouble(value: number): string {
  if (Object.is(value, -0)) return '-0.0'
  const text = String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}

const shortEscapes = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['"', '\\"'],
  ['\\', '\\\\'],
])

const escapeChar = (char: string): string => shortEscapes.get(char) ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`

const hexByte = (byte: number): string => `\\x${byte.toString(16).padStart(2, '0')}`
