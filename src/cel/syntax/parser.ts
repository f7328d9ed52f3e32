/**
 * Parses an expression into a syntax tree. Parsing ends at the first syntax error: where cel-go continues after one, its further errors are
 * mostly noise.
 */

import type { Expr, FieldEntry, MapEntry, ParsedAst } from './ast.ts'
import { AstBuilder } from './ast-builder.ts'
import type { Grammar } from './grammar.ts'
import { T, type Token, tokenize } from './lexer.ts'
import { binaryOperators, operators } from './operators.ts'
import { CelError, type CelIssue, codePoints, createSource, nowhere, type Source } from './source.ts'

/** The tree of an expression. Throws only CelError. */
export function parse(grammar: Grammar, text: string | Source): ParsedAst {
  const source = typeof text === 'string' ? createSource(text) : text
  const { maxSourceLength } = grammar.settings
  // Code points are counted only when there may be too many.
  const length = source.text.length > maxSourceLength ? codePoints(source.text, 0, source.text.length) : 0
  if (length > maxSourceLength) {
    throw limitError(source, `expression code point size exceeds limit: size: ${length}, limit ${maxSourceLength}`)
  }
  const builder = new AstBuilder(grammar, source)
  const parsed = new Parser(builder, tokenize(source.text)).parse()
  if (parsed instanceof UnexpectedToken) builder.issues.push(syntaxError(source, parsed))
  if (builder.issues.length > 0) throw new CelError(source, builder.issues)
  return { expr: parsed as Expr, source, macroCalls: builder.macroCalls }
}

function syntaxError(source: Source, { token: { type, start, end }, expected }: UnexpectedToken): CelIssue {
  const text = source.text.slice(start, end)
  const quoted = text.includes("'") ? `"${text}"` : `'${text}'`
  const found = type === T.eof ? 'end of the expression' : quoted
  const what = type === T.unreadable ? `cannot read ${quoted}` : `unexpected ${found}, expected ${expected}`
  return { location: source.locate(start), message: `Syntax error: ${what}` }
}

const limitError = (source: Source, message: string): CelError => new CelError(source, [{ location: nowhere, message }])

/** Thrown inside the parser only: an unexpected token. */
class UnexpectedToken {
  readonly token: Token
  /** The tokens that were expected. */
  readonly expected: string
  constructor(token: Token, expected: string) {
    this.token = token
    this.expected = expected
  }
}

/** The name of an expected token in messages. */
const EXPECTED: ReadonlyMap<number, string> = new Map([
  [T.eof, 'an operator or the end of the expression'],
  [T.colon, "':'"],
  [T.rightParen, "')'"],
  [T.rightBracket, "']'"],
  [T.rightBrace, "'}'"],
])
const AN_EXPRESSION = 'an expression'
const A_FIELD = 'the name of a field'

const relations = new Set<number>([T.less, T.lessEquals, T.greaterEquals, T.greater, T.equals, T.notEquals, T.in])
const products = new Set<number>([T.star, T.slash, T.percent])
const LITERALS = new Set<number>([T.minus, T.int, T.uint, T.float, T.string, T.bytes, T.true, T.false, T.null])
const sums = new Set<number>([T.plus, T.minus])

class Parser {
  readonly #build: AstBuilder
  readonly #text: string
  readonly #tokens: readonly Token[]
  readonly #maxDepth: number
  #at = 0
  #token: Token
  // The recursion depth of the grammar's recursive rules.
  readonly #depths = { expr: 0, relation: 0, calc: 0 }
  // The height of the last node, counting those that cel-go counts.
  #height = 0

  constructor(build: AstBuilder, tokens: readonly Token[]) {
    this.#build = build
    this.#text = build.source.text
    this.#tokens = tokens
    this.#token = tokens[0]!
    this.#maxDepth = build.grammar.settings.maxDepth
  }

  /** The expression, or the first unexpected token. */
  parse(): Expr | UnexpectedToken {
    try {
      const expr = this.#expr()
      this.#expect(T.eof)
      if (this.#height > this.#maxDepth) this.#build.fail(undefined, 'max recursion depth exceeded')
      return expr
    } catch (error) {
      if (error instanceof UnexpectedToken) return error
      throw error
    }
  }

  #expr(): Expr {
    this.#enter('expr')
    const condition = this.#logic(T.or)
    if (this.#token.type !== T.question) {
      this.#depths.expr--
      return condition
    }
    let height = this.#height
    const offset = this.#next().start
    const id = this.#build.id()
    const yes = this.#logic(T.or)
    height = Math.max(height, this.#height)
    this.#expect(T.colon)
    const no = this.#expr()
    this.#height = Math.max(height, this.#height) + 1
    this.#depths.expr--
    return this.#build.call(id, offset, operators.conditional, undefined, [condition, yes, no])
  }

  #logic(operator: number): Expr {
    const operand = () => (operator === T.or ? this.#logic(T.and) : this.#relation())
    const first = operand()
    if (this.#token.type !== operator) return first
    const terms = [first]
    const ops: { id: number; offset: number }[] = []
    let height = this.#height
    while (this.#token.type === operator) {
      const offset = this.#next().start
      terms.push(operand())
      ops.push({ id: this.#build.id(), offset })
      height = Math.max(height, this.#height)
    }
    this.#height = height
    return this.#build.logic(operator === T.or ? operators.or : operators.and, terms, ops)
  }

  #relation(): Expr {
    this.#enter('relation')
    const expr = this.#chain(relations, 'relation', () => this.#sum())
    this.#depths.relation--
    return expr
  }

  #sum(): Expr {
    this.#enter('calc')
    const expr = this.#chain(sums, 'calc', () => this.#chain(products, 'calc', () => this.#unary()))
    this.#depths.calc--
    return expr
  }

  // The right side of an operator is a rule of its own in the grammar, one level deeper.
  #chain(kinds: ReadonlySet<number>, rule: 'relation' | 'calc', operand: () => Expr): Expr {
    let left = operand()
    while (kinds.has(this.#token.type)) {
      this.#enter(rule)
      left = this.#binary(left, operand)
      this.#depths[rule]--
    }
    return left
  }

  #binary(left: Expr, operand: () => Expr): Expr {
    const height = this.#height
    const token = this.#next()
    const id = this.#build.id()
    const right = operand()
    this.#height = Math.max(height, this.#height) + 1
    return this.#build.call(id, token.start, binaryOperators.get(this.#textOf(token))!, undefined, [left, right])
  }

  #unary(): Expr {
    const { type, start } = this.#token
    if (type !== T.not && type !== T.minus) return this.#member()
    if (type === T.minus && this.#isNumber(this.#tokens[this.#at + 1])) return this.#member()
    let count = 0
    for (; this.#token.type === type; count++) this.#next()
    if (count % 2 === 0) return this.#member()
    const id = this.#build.id()
    const operand = this.#member()
    return this.#build.call(id, start, type === T.not ? operators.not : operators.negate, undefined, [operand])
  }

  #isNumber(token: Token | undefined): boolean {
    return token?.type === T.int || token?.type === T.float
  }

  #member(): Expr {
    let expr = this.#primary()
    for (;;) {
      if (this.#token.type === T.dot) expr = this.#selection(expr)
      else if (this.#token.type === T.leftBracket) expr = this.#index(expr)
      else return expr
    }
  }

  #selection(operand: Expr): Expr {
    const { start } = this.#next()
    const height = this.#height
    const optional = this.#accept(T.question)
    const token = this.#field()
    if (!optional && token.type === T.identifier && this.#token.type === T.leftParen) {
      const open = this.#next().start
      const id = this.#build.id()
      const args = this.#expressions(T.rightParen)
      this.#height = Math.max(height, this.#height) + 1
      return this.#build.call(id, open, this.#textOf(token), operand, args)
    }
    this.#height = height + 1
    const name = this.#fieldName(token)
    if (!optional) return this.#build.select(start, operand, name)
    if (!this.#build.grammar.optionalSyntax) return this.#build.fail(start, "unsupported syntax '.?'")
    const field = this.#build.literal(token.start, { type: 'string', value: name })
    return { kind: 'call', id: this.#build.id(), offset: start, target: undefined, function: operators.optSelect, args: [operand, field] }
  }

  #index(target: Expr): Expr {
    const height = this.#height
    const { start } = this.#next()
    const id = this.#build.id()
    const optional = this.#accept(T.question)
    const index = this.#expr()
    this.#expect(T.rightBracket)
    this.#height = Math.max(height, this.#height) + 1
    if (optional && !this.#build.grammar.optionalSyntax) return this.#build.fail(start, "unsupported syntax '[?'")
    return this.#build.call(id, start, optional ? operators.optIndex : operators.index, undefined, [target, index])
  }

  #primary(): Expr {
    const { type, start } = this.#token
    switch (type) {
      case T.dot:
      case T.identifier:
        return this.#named()
      case T.leftParen: {
        this.#next()
        const inner = this.#expr()
        this.#expect(T.rightParen)
        return inner
      }
      case T.leftBracket:
        return this.#list()
      case T.leftBrace:
        return this.#map()
    }
    return this.#literal(type, start)
  }

  #literal(type: number, start: number): Expr {
    if (!LITERALS.has(type)) throw new UnexpectedToken(this.#token, AN_EXPRESSION)
    const token = this.#next()
    this.#height = 0
    const build = this.#build
    switch (type) {
      case T.minus: {
        if (!this.#isNumber(this.#token)) throw new UnexpectedToken(this.#token, 'a number')
        const digits = this.#next()
        const text = `-${this.#textOf(digits)}`
        return digits.type === T.int ? build.int(start, text) : build.double(start, text)
      }
      case T.int:
        return build.int(start, this.#textOf(token))
      case T.uint:
        return build.uint(start, this.#textOf(token))
      case T.float:
        return build.double(start, this.#textOf(token))
      case T.string:
        return build.string(start, this.#textOf(token))
      case T.bytes:
        return build.bytes(start, this.#textOf(token))
      case T.null:
        return build.literal(start, { type: 'null' })
      default:
        return build.literal(start, { type: 'bool', value: type === T.true })
    }
  }

  // A name, a call of a function, or an object of a named type, which only the token after the whole name decides.
  #named(): Expr {
    const { start } = this.#token
    this.#accept(T.dot)
    if (this.#beginsObject()) return this.#object(start)
    if (this.#token.type !== T.identifier) throw new UnexpectedToken(this.#token, 'a name')
    const token = this.#next()
    const name = this.#textOf(token)
    this.#height = 0
    if (this.#token.type !== T.leftParen) return this.#build.ident(start, token.start, name)
    const open = this.#next().start
    const refused = this.#build.callable(start, name)
    const id = this.#build.id()
    const args = this.#expressions(T.rightParen)
    return refused ?? this.#build.call(id, open, start === token.start ? name : `.${name}`, undefined, args)
  }

  #beginsObject(): boolean {
    let at = this.#at
    while (this.#tokens[at]!.type === T.identifier) {
      const after = this.#tokens[at + 1]!.type
      if (after === T.leftBrace) return true
      if (after !== T.dot) return false
      at += 2
    }
    return false
  }

  #object(start: number): Expr {
    let name = this.#text[start] === '.' ? '.' : ''
    while (this.#token.type !== T.leftBrace) name += this.#textOf(this.#next())
    const open = this.#next().start
    const id = this.#build.id()
    const fields: FieldEntry[] = []
    this.#elements(T.rightBrace, () => {
      const { start: at } = this.#token
      const optional = this.#accept(T.question)
      const field = this.#field()
      const offset = this.#expect(T.colon).start
      const fieldId = this.#build.id()
      const issues = this.#build.issues.length
      const value = this.#expr()
      if (optional) this.#requireOptionals(at, issues)
      fields.push({ id: fieldId, offset, name: this.#fieldName(field), value, optional })
    })
    return this.#build.struct(id, open, name, fields)
  }

  #map(): Expr {
    const { start } = this.#next()
    const id = this.#build.id()
    const entries: MapEntry[] = []
    this.#elements(T.rightBrace, () => {
      const entryId = this.#build.id()
      const at = this.#token.start
      const optional = this.#accept(T.question)
      const issues = this.#build.issues.length
      const key = this.#expr()
      const height = this.#height
      const offset = this.#expect(T.colon).start
      const value = this.#expr()
      this.#height = Math.max(height, this.#height)
      if (optional) this.#requireOptionals(at, issues)
      entries.push({ id: entryId, offset, key, value, optional })
    })
    return this.#build.map(id, start, entries)
  }

  #list(): Expr {
    const { start } = this.#next()
    const id = this.#build.id()
    const elements: Expr[] = []
    const optional: number[] = []
    this.#elements(T.rightBracket, () => {
      const at = this.#token.start
      if (this.#accept(T.question)) {
        if (this.#build.grammar.optionalSyntax) optional.push(elements.length)
        else this.#build.fail(at, "unsupported syntax '?'")
      }
      elements.push(this.#expr())
    })
    return this.#build.list(id, start, elements, optional)
  }

  // Elements separated by commas, optionally with one after the last; a single comma is an empty list.
  #elements(close: number, read: () => void): void {
    let height = 0
    while (this.#token.type !== close && this.#token.type !== T.comma) {
      read()
      height = Math.max(height, this.#height)
      if (this.#token.type !== T.comma || this.#tokens[this.#at + 1]!.type === close) break
      this.#next()
      if (this.#token.type === T.comma) throw new UnexpectedToken(this.#token, AN_EXPRESSION)
    }
    this.#expect(close, this.#accept(T.comma) ? undefined : `',' or ${EXPECTED.get(close)}`)
    this.#height = height
  }

  #expressions(close: number): Expr[] {
    const args: Expr[] = []
    let height = 0
    if (this.#token.type !== close) {
      do {
        args.push(this.#expr())
        height = Math.max(height, this.#height)
      } while (this.#accept(T.comma))
    }
    this.#expect(close, `',' or ${EXPECTED.get(close)}`)
    this.#height = height
    return args
  }

  // Issues inside a disabled entry are dropped: they began after `issues`.
  #requireOptionals(offset: number, issues: number): void {
    if (this.#build.grammar.optionalSyntax) return
    this.#build.issues.length = issues
    this.#build.fail(offset, "unsupported syntax '?'")
  }

  #fieldName(token: Token): string {
    return token.type === T.escapedIdentifier ? this.#text.slice(token.start + 1, token.end - 1) : this.#textOf(token)
  }

  #textOf(token: Token): string {
    return this.#text.slice(token.start, token.end)
  }

  #next(): Token {
    const token = this.#token
    this.#token = this.#tokens[++this.#at]!
    return token
  }

  #accept(type: number): boolean {
    if (this.#token.type !== type) return false
    this.#next()
    return true
  }

  #field(): Token {
    const { type } = this.#token
    if (type !== T.identifier && type !== T.escapedIdentifier) throw new UnexpectedToken(this.#token, A_FIELD)
    return this.#next()
  }

  #expect(type: number, expected = EXPECTED.get(type)!): Token {
    const token = this.#token
    if (token.type !== type) throw new UnexpectedToken(token, expected)
    if (type !== T.eof) this.#next()
    return token
  }

  #enter(rule: 'expr' | 'relation' | 'calc'): void {
    if (++this.#depths[rule] <= this.#maxDepth) return
    throw limitError(this.#build.source, `expression recursion limit exceeded: ${this.#maxDepth}`)
  }
}
