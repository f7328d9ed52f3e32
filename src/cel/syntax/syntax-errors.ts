/** Explains why a text is no expression, in the words of cel-go: errors of syntax, and what else is wrong in what is left. */

import type { Env } from '../checker/env.ts'
import type { Expr, FieldEntry, MapEntry } from './ast.ts'
import { AstBuilder } from './ast-builder.ts'
import type { Tokens } from './lexer.ts'
import { binaryOperators, operators } from './operators.ts'
import { Recovery } from './recovery.ts'
import type { CelIssue, Source } from './source.ts'
import { SyntaxParser } from './syntax-parser.ts'
import type { LiteralNode, LogicNode, MapNode, NameNode, ObjectNode, SyntaxNode } from './syntax-tree.ts'

/** Everything that is wrong with a text that the parser refused. */
export function explainSyntax(env: Env, source: Source, scanned: Tokens): CelIssue[] {
  const { maxDepth, maxRecoveries, maxSkipped } = env.settings
  const recovery = new Recovery(source, scanned, { maxDepth, maxRecoveries, maxSkipped })
  let tree: SyntaxNode | undefined
  const finished = recovery.run(() => {
    tree = new SyntaxParser(recovery).start()
  })
  const build = new AstBuilder(env, source)
  if (finished && tree) new Leftovers(build).visitAll(tree)
  return [...recovery.issues, ...build.issues]
}

/** Thrown inside the visit only: what is left is too deep. */
const tooDeep = Symbol('too deep')

const notAName = 'unsupported ident kind'

/** The nodes that count as a level of depth. */
const levels = new Set(['conditional', 'binary', 'select', 'memberCall', 'index'])

/** Builds what can be built of a tree with holes, for the errors that are found in doing so. */
class Leftovers {
  readonly #build: AstBuilder
  #depth = 0

  constructor(build: AstBuilder) {
    this.#build = build
  }

  /** Visits a whole tree. */
  visitAll(tree: SyntaxNode): void {
    try {
      this.visit(tree)
    } catch (error) {
      if (error !== tooDeep) throw error
      this.#build.fail(undefined, 'max recursion depth exceeded')
    }
  }

  visit(node: SyntaxNode | undefined): Expr {
    if (!node) return this.#build.missing(0)
    const isLevel = levels.has(node.rule) && !(node.rule === 'conditional' && !node.op)
    if (isLevel && ++this.#depth > this.#build.env.settings.maxDepth) throw tooDeep
    const expr = this.#compound(node)
    if (isLevel) this.#depth--
    return expr
  }

  #compound(node: SyntaxNode): Expr {
    switch (node.rule) {
      case 'conditional': {
        const condition = this.visit(node.e)
        if (!node.op) return condition
        return this.#build.call(this.#build.id(), node.op.start, operators.conditional, undefined, [
          condition,
          this.visit(node.e1),
          this.visit(node.e2),
        ])
      }
      case 'or':
      case 'and':
        return this.#logic(node)
      case 'binary': {
        const left = this.visit(node.left)
        if (!node.op) return this.#build.fail(node.start, 'operator not found')
        const name = binaryOperators.get(node.op.text)!
        return this.#build.call(this.#build.id(), node.op.start, name, undefined, [left, this.visit(node.right)])
      }
      case 'not':
      case 'negate': {
        if (node.ops.length % 2 === 0) return this.visit(node.member)
        const name = node.rule === 'not' ? operators.not : operators.negate
        return this.#build.call(this.#build.id(), node.start, name, undefined, [this.visit(node.member)])
      }
      case 'empty':
        return this.#build.missing(node.start)
    }
    return this.#operand(node)
  }

  #operand(node: Exclude<SyntaxNode, { rule: 'conditional' | 'or' | 'and' | 'binary' | 'not' | 'negate' | 'empty' }>): Expr {
    const build = this.#build
    switch (node.rule) {
      case 'select': {
        const operand = this.visit(node.operand)
        if (!node.name || !node.op) return build.missing(node.start)
        const name = fieldName(node.name)
        if (name === undefined) build.fail(node.name.start, notAName)
        if (node.optional && !build.env.optionalSyntax) return build.fail(node.op.start, "unsupported syntax '.?'")
        return build.select(node.op.start, operand, name ?? '')
      }
      case 'memberCall': {
        const operand = this.visit(node.operand)
        if (!node.name || !node.open) return build.missing(node.start)
        return build.call(build.id(), node.open.start, node.name.text, operand, this.#all(node.args))
      }
      case 'index': {
        const operand = this.visit(node.operand)
        if (!node.op) return build.missing(node.start)
        const index = this.visit(node.index)
        if (node.optional && !build.env.optionalSyntax) return build.fail(node.op.start, "unsupported syntax '[?'")
        return build.call(build.id(), node.op.start, node.optional ? operators.optIndex : operators.index, undefined, [operand, index])
      }
      case 'ident':
        return node.name ? build.ident(node.start, node.name.start, node.name.text) : build.missing(node.start)
      case 'call': {
        if (!node.name || !node.open) return build.missing(node.start)
        const refused = build.callable(node.start, node.name.text)
        if (refused) return refused
        const name = node.leadingDot ? `.${node.name.text}` : node.name.text
        return build.call(build.id(), node.open.start, name, undefined, this.#all(node.args))
      }
      case 'list': {
        const elements = (node.elements ?? []).map(element => {
          const expr = this.visit(element.e)
          if (element.optional && !build.env.optionalSyntax) build.fail(element.optional.start, "unsupported syntax '?'")
          return expr
        })
        return build.list(build.id(), node.start, elements, [])
      }
      case 'map':
        return this.#map(node)
      case 'object':
        return this.#object(node)
    }
    return this.#literal(node)
  }

  #logic(node: LogicNode): Expr {
    const terms = [this.visit(node.e), ...node.rest.map(term => this.visit(term))]
    const ops = node.ops.slice(0, node.rest.length).map(op => ({ id: this.#build.id(), offset: op.start }))
    return this.#build.logic(node.rule === 'or' ? operators.or : operators.and, terms, ops)
  }

  #map({ start, entries: given }: MapNode): Expr {
    const entries: MapEntry[] = []
    given?.colons.forEach((colon, i) => {
      const key = given.keys[i]
      const value = given.values[i]
      if (!key || !value) return
      if (key.optional && !this.#build.env.optionalSyntax) this.#build.fail(key.start, "unsupported syntax '?'")
      else entries.push({ id: this.#build.id(), offset: colon.start, key: this.visit(key.e), value: this.visit(value), optional: false })
    })
    return this.#build.map(this.#build.id(), start, entries)
  }

  #object({ start, names, fields: given }: ObjectNode): Expr {
    const fields: FieldEntry[] = []
    for (const [i, field] of given?.keys.entries() ?? []) {
      const value = given!.values[i]
      const colon = given!.colons[i]
      if (!colon || !value) break
      const name = fieldName(field.name)
      if (field.optional && !this.#build.env.optionalSyntax) this.#build.fail(field.start, "unsupported syntax '?'")
      else if (name === undefined) this.#build.fail(given!.keys[0]!.start, notAName)
      else fields.push({ id: this.#build.id(), offset: colon.start, name, value: this.visit(value), optional: false })
    }
    return this.#build.struct(this.#build.id(), start, names.map(name => name.text).join('.'), fields)
  }

  #literal({ rule, start, sign, token }: LiteralNode): Expr {
    if (!token) return this.#build.missing(start)
    const text = (sign?.text ?? '') + token.text
    switch (rule) {
      case 'int':
      case 'uint':
      case 'double':
      case 'string':
      case 'bytes':
        return this.#build[rule](start, text)
      case 'true':
      case 'false':
        return this.#build.literal(start, { type: 'bool', value: rule === 'true' })
      case 'null':
        return this.#build.literal(start, { type: 'null' })
    }
  }

  #all(nodes: readonly SyntaxNode[] | undefined): Expr[] {
    return (nodes ?? []).map(node => this.visit(node))
  }
}

const fieldName = (name: NameNode | undefined): string | undefined => (name?.escaped ? name.leaf?.text.slice(1, -1) : name?.leaf?.text)
