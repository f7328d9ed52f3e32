/** The expression syntax of shard selectors: enough of CEL to parse them, and to report unsupported parts. */
import { LIMITS } from '../lib/limits.ts'

export type Expression =
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  | { readonly kind: 'ident'; readonly name: string }
  | { readonly kind: 'select'; readonly operand: Expression; readonly field: string }
  | {
      readonly kind: 'literal'
      readonly type: 'string' | 'int64' | 'uint64' | 'float64' | 'bool' | '[]uint8' | 'structpb.NullValue'
      readonly text: string
    }

/** A syntax error, with its position. */
export class ExpressionError extends Error {}

/** Parses an expression; throws ExpressionError. Nothing is evaluated. */
export function parseExpression(text: string): Expression {
  const parser = new Parser(text)
  const expression = parser.choice()
  parser.expectEnd()
  return expression
}

/** Binary operators, lowest precedence first. */
const LEVELS: readonly (readonly string[])[] = [['||'], ['&&'], ['==', '!=', '<=', '>=', '<', '>', 'in'], ['+', '-'], ['*', '/', '%']]
const TOKEN =
  /[ \t\r\n\f]*(?:(?<string>[bB]?[rR]?(?:'(?:[^'\\\r\n]|\\.)*'|"(?:[^"\\\r\n]|\\.)*"))|(?<float>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)|(?<int>0x[0-9a-fA-F]+|\d+)(?<unsigned>[uU])?|(?<word>[A-Za-z_]\w*)|(?<sign>\|\||&&|[=!<>]=|[-+*/%!<>().,?:[\]]))/y

type Token = { readonly type: 'string' | 'float' | 'int' | 'uint' | 'word' | 'sign' | 'end'; readonly text: string }

class Parser {
  readonly #text: string
  #position = 0
  #depth = 0
  #next: Token

  constructor(text: string) {
    this.#text = text
    this.#next = this.#scan()
  }

  /** The root rule of the grammar: an operand, or a conditional. */
  choice(): Expression {
    if (++this.#depth > LIMITS.shardSelectorDepth) throw new ExpressionError('expression recursion limit exceeded')
    const condition = this.#binary(0)
    if (!this.#skip('?')) {
      this.#depth--
      return condition
    }
    const then = this.#binary(0)
    this.#expect(':')
    const otherwise = this.choice()
    this.#depth--
    return { kind: 'call', name: '_?_:_', args: [condition, then, otherwise] }
  }

  expectEnd(): void {
    if (this.#next.type !== 'end') throw this.#unexpected()
  }

  #binary(level: number): Expression {
    const operators = LEVELS[level]
    if (operators === undefined) return this.#unary()
    let left = this.#binary(level + 1)
    for (;;) {
      const { type, text } = this.#next
      if ((type !== 'sign' && type !== 'word') || !operators.includes(text)) return left
      this.#take()
      left = { kind: 'call', name: text === 'in' ? '@in' : `_${text}_`, args: [left, this.#binary(level + 1)] }
    }
  }

  #unary(): Expression {
    let signs = ''
    while (this.#next.type === 'sign' && (this.#next.text === '!' || this.#next.text === '-')) signs += this.#take().text
    const operand = this.#member()
    if (signs === '-' && operand.kind === 'literal' && /^(int|float)/.test(operand.type)) return { ...operand, text: `-${operand.text}` }
    return signs === '' ? operand : { kind: 'call', name: `${signs[0]}_`, args: [operand] }
  }

  #member(): Expression {
    let operand = this.#primary()
    for (;;) {
      if (this.#skip('.')) {
        const field = this.#word()
        operand = this.#skip('(') ? { kind: 'call', name: field, args: this.#args(')') } : { kind: 'select', operand, field }
      } else if (this.#skip('[')) operand = { kind: 'call', name: '_[_]', args: [operand, ...this.#args(']')] }
      else return operand
    }
  }

  #primary(): Expression {
    if (this.#skip('(')) {
      const inner = this.choice()
      this.#expect(')')
      return inner
    }
    const token = this.#take()
    switch (token.type) {
      case 'string':
        return literalOf(token.text)
      case 'int':
      case 'uint':
      case 'float':
        return { kind: 'literal', type: `${token.type}64`, text: token.text }
      case 'word':
        if (token.text === 'true' || token.text === 'false') return { kind: 'literal', type: 'bool', text: token.text }
        if (token.text === 'null') return { kind: 'literal', type: 'structpb.NullValue', text: token.text }
        return this.#skip('(') ? { kind: 'call', name: token.text, args: this.#args(')') } : { kind: 'ident', name: token.text }
      default:
        throw this.#unexpected(token)
    }
  }

  #args(end: string): Expression[] {
    const args: Expression[] = []
    if (this.#skip(end)) return args
    do args.push(this.choice())
    while (this.#skip(','))
    this.#expect(end)
    return args
  }

  #word(): string {
    const token = this.#take()
    if (token.type !== 'word') throw this.#unexpected(token)
    return token.text
  }

  #expect(sign: string): void {
    if (!this.#skip(sign)) throw this.#unexpected()
  }

  #skip(sign: string): boolean {
    if (this.#next.type !== 'sign' || this.#next.text !== sign) return false
    this.#take()
    return true
  }

  #take(): Token {
    const token = this.#next
    this.#next = this.#scan()
    return token
  }

  #scan(): Token {
    TOKEN.lastIndex = this.#position
    const found = TOKEN.exec(this.#text)
    if (found === null) {
      const rest = this.#text.slice(this.#position).trimStart()
      if (rest !== '') throw new ExpressionError(`Syntax error: token recognition error at: '${rest[0]}'`)
      return { type: 'end', text: '<EOF>' }
    }
    this.#position = TOKEN.lastIndex
    const { string, float, int, unsigned, word, sign } = found.groups!
    if (string !== undefined) return { type: 'string', text: string }
    if (float !== undefined) return { type: 'float', text: float }
    if (int !== undefined) return { type: unsigned === undefined ? 'int' : 'uint', text: int }
    return word === undefined ? { type: 'sign', text: sign! } : { type: 'word', text: word }
  }

  #unexpected({ text }: Token = this.#next): ExpressionError {
    return new ExpressionError(text === '<EOF>' ? "Syntax error: mismatched input '<EOF>'" : `Syntax error: extraneous input '${text}'`)
  }
}

/** Escapes are left as they are: no bound has any. */
function literalOf(source: string): Expression {
  const prefix = /^[bBrR]*/.exec(source)![0]
  const text = source.slice(prefix.length + 1, -1)
  return { kind: 'literal', type: /b/i.test(prefix) ? '[]uint8' : 'string', text }
}
