/** Reads a text with errors of syntax rule by rule as the parser that ANTLR makes of CEL's grammar would, for its messages. */

import { T } from './lexer.ts'
import type { Recovery } from './recovery.ts'
import type {
  BinaryNode,
  CallNode,
  ConditionalNode,
  EmptyNode,
  FieldNode,
  IdentNode,
  LiteralNode,
  LogicNode,
  MemberCallNode,
  NameNode,
  OptionalNode,
  Pairs,
  SyntaxNode,
  UnaryNode,
} from './syntax-tree.ts'
import { after, ruleEnd as end, first, hasToken, kinds, setOf, type TokenSet } from './token-set.ts'

const literalRules = new Map<number, LiteralNode['rule']>([
  [T.uint, 'uint'],
  [T.string, 'string'],
  [T.bytes, 'bytes'],
  [T.true, 'true'],
  [T.false, 'false'],
  [T.null, 'null'],
])

/** Tells where in its rule the parser is: recovery depends on it. */
type At = (place: string) => void

/** Hands out a node as soon as it is begun, so that it stays when the rest of it fails. */
type Made = (node: SyntaxNode) => void

/** The methods are the rules of the grammar. */
export class SyntaxParser {
  readonly #in: Recovery

  constructor(input: Recovery) {
    this.#in = input
  }

  start(): SyntaxNode {
    let expr: SyntaxNode = this.#empty()
    this.#in.rule('start', 0n, () => {
      expr = this.#expr(setOf(T.eof))
      this.#in.match(T.eof, end)
    })
    return expr
  }

  #expr(follow: TokenSet): SyntaxNode {
    const node: ConditionalNode = { rule: 'conditional', start: this.#in.offset }
    this.#in.rule('expr', follow, state => {
      node.e = this.#logic('or', setOf(T.question) | end)
      if (this.#in.peek() !== T.question) return
      node.op = this.#in.take()
      node.e1 = this.#logic('or', setOf(T.colon))
      state('colon')
      this.#in.match(T.colon, first.expr)
      node.e2 = this.#expr(end)
    })
    return node
  }

  #logic(rule: 'or' | 'and', follow: TokenSet): SyntaxNode {
    const node: LogicNode = { rule, start: this.#in.offset, ops: [], rest: [] }
    const operator = rule === 'or' ? T.or : T.and
    const operand = () => (rule === 'or' ? this.#logic('and', setOf(T.or) | end) : this.#relation(0, setOf(T.and) | end))
    this.#in.rule(rule, follow, () => {
      node.e = operand()
      while (this.#in.peek() === operator) {
        node.ops.push(this.#in.take())
        node.rest.push(operand())
      }
    })
    return node
  }

  #relation(binding: number, follow: TokenSet): SyntaxNode {
    const { offset: start } = this.#in
    let node: SyntaxNode = this.#empty()
    this.#in.rule('relation', follow, () => {
      node = this.#calc(0, after.relation)
      while (binding <= 1 && hasToken(kinds.relations, this.#in.peek())) {
        const binary: BinaryNode = { rule: 'binary', start, left: node }
        node = binary
        binary.op = this.#in.take()
        binary.right = this.#relation(2, after.relation)
      }
    })
    return node
  }

  #calc(binding: number, follow: TokenSet): SyntaxNode {
    const { offset: start } = this.#in
    let node: SyntaxNode = this.#empty()
    this.#in.rule('calc', follow, () => {
      node = this.#unary(after.calc)
      for (;;) {
        const level = hasToken(kinds.products, this.#in.peek()) ? 2 : hasToken(kinds.sums, this.#in.peek()) ? 1 : 0
        if (level === 0 || level < binding) return
        const binary: BinaryNode = { rule: 'binary', start, left: node }
        node = binary
        binary.op = this.#in.take()
        binary.right = this.#calc(level + 1, after.calc)
      }
    })
    return node
  }

  #unary(follow: TokenSet): SyntaxNode {
    let node: SyntaxNode = this.#empty()
    const { offset: start } = this.#in
    this.#in.rule('unary', follow, state => {
      this.#in.sync(first.expr)
      const next = this.#in.peek()
      if (next === T.not) {
        const not: UnaryNode = { rule: 'not', start, ops: [] }
        node = not
        while (this.#in.peek() === T.not) {
          not.ops.push(this.#in.take())
          state('not')
          this.#in.sync(setOf(T.not) | first.member, 'loop')
        }
        not.member = this.#member(end)
      } else if (next === T.minus && !this.#beginsNegativeNumber()) {
        const negate: UnaryNode = { rule: 'negate', start, ops: [] }
        node = negate
        do {
          negate.ops.push(this.#in.take())
          state('minus')
          this.#in.sync(first.member, 'loop')
        } while (this.#anotherMinus())
        negate.member = this.#member(end)
      } else {
        if (!hasToken(first.member, next)) this.#in.noWayOn(1)
        node = this.#member(end)
      }
    })
    return node
  }

  // `-1` is a number by itself, not its negation.
  #beginsNegativeNumber(): boolean {
    const after = this.#in.peek(2)
    if (!hasToken(first.member, after)) this.#in.noWayOn(2)
    return hasToken(kinds.numbers, after)
  }

  #anotherMinus(): boolean {
    if (this.#in.peek() !== T.minus) {
      if (!hasToken(first.member, this.#in.peek())) this.#in.noWayOn(1)
      return false
    }
    this.#beginsNegativeNumber()
    return true
  }

  #member(follow: TokenSet): SyntaxNode {
    const { offset: start } = this.#in
    let node: SyntaxNode = this.#empty()
    this.#in.rule('member', follow, state => {
      node = this.#primary(after.member)
      for (;;) {
        const next = this.#in.peek()
        if (next === T.leftBracket) this.#index(start, node, state, made => (node = made))
        else if (next !== T.dot) return
        else if (this.#in.peek(2) === T.identifier && this.#in.peek(3) === T.leftParen) {
          this.#memberCall(start, node, state, made => (node = made))
        } else {
          state('choice')
          if (!hasToken(first.field, this.#in.peek(2))) this.#in.noWayOn(2)
          const select: SyntaxNode = { rule: 'select', start, operand: node, op: this.#in.take() }
          node = select
          if (this.#in.peek() === T.question) select.optional = this.#in.take()
          select.name = this.#name(after.member)
        }
      }
    })
    return node
  }

  #memberCall(start: number, operand: SyntaxNode, state: At, made: Made): void {
    this.#in.take()
    const call: SyntaxNode = { rule: 'memberCall', start, operand, name: this.#in.take(), open: this.#in.take() }
    made(call)
    this.#arguments(call, state, after.member)
  }

  #index(start: number, operand: SyntaxNode, state: At, made: Made): void {
    const index: SyntaxNode = { rule: 'index', start, operand, op: this.#in.take() }
    made(index)
    state('index')
    this.#in.sync(first.optionalExpr)
    if (this.#in.peek() === T.question) index.optional = this.#in.take()
    index.index = this.#expr(setOf(T.rightBracket))
    state('close index')
    this.#in.match(T.rightBracket, after.member)
  }

  #primary(follow: TokenSet): SyntaxNode {
    let node: SyntaxNode = this.#empty()
    const made = (primary: SyntaxNode) => {
      node = primary
    }
    this.#in.rule('primary', follow, state => {
      this.#in.sync(first.member)
      switch (this.#in.peek()) {
        case T.dot:
        case T.identifier:
          return this.#named(state, made)
        case T.leftParen:
          this.#in.take()
          node = this.#expr(setOf(T.rightParen))
          state('close paren')
          this.#in.match(T.rightParen, end)
          return
        case T.leftBracket:
          return this.#list(state, made)
        case T.leftBrace:
          return this.#map(state, made)
      }
      if (!hasToken(first.literal, this.#in.peek())) this.#in.noWayOn(1)
      node = this.#literal(end)
    })
    return node
  }

  #named(state: At, made: Made): void {
    const { offset: start } = this.#in
    const dots = this.#in.peek() === T.dot ? 1 : 0
    if (this.#in.peek(dots + 1) !== T.identifier) this.#in.noWayOn(dots + 1)
    if (this.#beginsObject(dots + 1)) {
      this.#object(state, made)
      return
    }
    const isCall = this.#in.peek(dots + 2) === T.leftParen
    const node: IdentNode | CallNode = { rule: isCall ? 'call' : 'ident', start }
    made(node)
    if (dots > 0) node.leadingDot = this.#in.take()
    node.name = this.#in.take()
    if (node.rule === 'ident') return
    node.open = this.#in.take()
    this.#arguments(node, state, end)
  }

  #arguments(call: CallNode | MemberCallNode, state: At, next: TokenSet): void {
    state('arguments')
    this.#in.sync(first.expr | setOf(T.rightParen))
    if (hasToken(first.expr, this.#in.peek())) call.args = this.#exprList(setOf(T.rightParen))
    state('close arguments')
    this.#in.match(T.rightParen, next)
  }

  #beginsObject(ahead: number): boolean {
    for (let at = ahead; this.#in.peek(at) === T.identifier; at += 2) {
      const after = this.#in.peek(at + 1)
      if (after === T.leftBrace) return true
      if (after !== T.dot) return false
    }
    return false
  }

  #object(state: At, made: Made): void {
    const node: SyntaxNode = { rule: 'object', start: this.#in.offset, names: [] }
    made(node)
    if (this.#in.peek() === T.dot) node.leadingDot = this.#in.take()
    node.names.push(this.#in.take())
    while (this.#in.peek() === T.dot) {
      this.#in.take()
      node.names.push(this.#in.take())
    }
    node.open = this.#in.take()
    const closing = setOf(T.comma, T.rightBrace)
    state('fields')
    this.#in.sync(first.field | closing)
    if (hasToken(first.field, this.#in.peek())) {
      const fields: Pairs<FieldNode> = { keys: [], colons: [], values: [] }
      node.fields = fields
      this.#in.rule('fieldInitializerList', closing, at => this.#pairs(fields, () => this.#field(setOf(T.colon)), first.field, at))
    }
    this.#closing(T.rightBrace, at => state(`object ${at}`))
  }

  #list(state: At, made: Made): void {
    const node: SyntaxNode = { rule: 'list', start: this.#in.offset, open: this.#in.take() }
    made(node)
    const closing = setOf(T.comma, T.rightBracket)
    state('elements')
    this.#in.sync(first.optionalExpr | closing)
    if (hasToken(first.optionalExpr, this.#in.peek())) {
      const elements: OptionalNode[] = []
      node.elements = elements
      this.#in.rule('listInit', closing, () => {
        do elements.push(this.#optionalExpr(setOf(T.comma) | end))
        while (this.#another(first.optionalExpr))
      })
    }
    this.#closing(T.rightBracket, at => state(`list ${at}`))
  }

  #map(state: At, made: Made): void {
    const node: SyntaxNode = { rule: 'map', start: this.#in.offset, open: this.#in.take() }
    made(node)
    const closing = setOf(T.comma, T.rightBrace)
    state('entries')
    this.#in.sync(first.optionalExpr | closing)
    if (hasToken(first.optionalExpr, this.#in.peek())) {
      const entries: Pairs<OptionalNode> = { keys: [], colons: [], values: [] }
      node.entries = entries
      const key = () => this.#optionalExpr(setOf(T.colon))
      this.#in.rule('mapInitializerList', closing, at => this.#pairs(entries, key, first.optionalExpr, at))
    }
    this.#closing(T.rightBrace, at => state(`map ${at}`))
  }

  #pairs<Key>(pairs: Pairs<Key>, key: () => Key, firstOfKey: TokenSet, state: At): void {
    do {
      pairs.keys.push(key())
      state(pairs.colons.length === 0 ? 'colon' : 'next colon')
      pairs.colons.push(this.#in.match(T.colon, first.expr))
      pairs.values.push(this.#expr(setOf(T.comma) | end))
    } while (this.#another(firstOfKey))
  }

  // A comma goes on with the list only when one of its elements follows: it may also be the last.
  #another(elements: TokenSet): boolean {
    if (this.#in.peek() !== T.comma || !hasToken(elements, this.#in.peek(2))) return false
    this.#in.take()
    return true
  }

  #closing(close: number, state: At): void {
    state('last comma')
    this.#in.sync(setOf(T.comma, close))
    if (this.#in.peek() === T.comma) this.#in.take()
    state('close')
    this.#in.match(close, end)
  }

  #exprList(follow: TokenSet): SyntaxNode[] {
    const list: SyntaxNode[] = []
    this.#in.rule('exprList', follow, () => {
      list.push(this.#expr(setOf(T.comma) | end))
      while (this.#in.peek() === T.comma) {
        this.#in.take()
        list.push(this.#expr(setOf(T.comma) | end))
      }
    })
    return list
  }

  #optionalExpr(follow: TokenSet): OptionalNode {
    const node: OptionalNode = { start: this.#in.offset }
    this.#in.rule('optExpr', follow, () => {
      this.#in.sync(first.optionalExpr)
      if (this.#in.peek() === T.question) node.optional = this.#in.take()
      node.e = this.#expr(end)
    })
    return node
  }

  #field(follow: TokenSet): FieldNode {
    const node: FieldNode = { start: this.#in.offset }
    this.#in.rule('optField', follow, () => {
      this.#in.sync(first.field)
      if (this.#in.peek() === T.question) node.optional = this.#in.take()
      node.name = this.#name(end)
    })
    return node
  }

  #name(follow: TokenSet): NameNode {
    const node: NameNode = { start: this.#in.offset, escaped: false }
    this.#in.rule('escapeIdent', follow, () => {
      this.#in.sync(first.name)
      if (!hasToken(first.name, this.#in.peek())) this.#in.noWayOn(1)
      node.escaped = this.#in.peek() === T.escapedIdentifier
      node.leaf = this.#in.take()
    })
    return node
  }

  #literal(follow: TokenSet): SyntaxNode {
    const { offset: start } = this.#in
    let node: SyntaxNode = this.#empty()
    this.#in.rule('literal', follow, () => {
      const signed = this.#in.peek() === T.minus
      const type = this.#in.peek(signed ? 2 : 1)
      const rule = type === T.int ? 'int' : type === T.float ? 'double' : signed ? undefined : literalRules.get(type)
      if (rule === undefined) this.#in.noWayOn(signed ? 2 : 1)
      const literal: LiteralNode = { rule: rule!, start }
      node = literal
      if (signed) literal.sign = this.#in.take()
      literal.token = this.#in.take()
    })
    return node
  }

  #empty(): EmptyNode {
    return { rule: 'empty', start: this.#in.offset }
  }
}
