/** Sets of token types, as bits, and how messages print them. */

import { T } from './lexer.ts'

/** A set of token types; `ruleEnd` in it means that the rule may end here. */
export type TokenSet = bigint

export const setOf = (...types: number[]): TokenSet => types.reduce((set, type) => set | (1n << BigInt(type)), 0n)

export const hasToken = (set: TokenSet, type: number): boolean => (set & (1n << BigInt(type))) !== 0n

export const ruleEnd: TokenSet = 1n << 60n

/** What may begin things in CEL's grammar. */
export const first = (() => {
  const literal = setOf(T.minus, T.true, T.false, T.null, T.float, T.int, T.uint, T.string, T.bytes)
  const member = literal | setOf(T.leftBracket, T.leftBrace, T.leftParen, T.dot, T.identifier)
  const expr = member | setOf(T.not)
  const name = setOf(T.identifier, T.escapedIdentifier)
  return { literal, member, expr, name, optionalExpr: expr | setOf(T.question), field: name | setOf(T.question) }
})()

/** Kinds of operators, and numbers. */
export const kinds = {
  relations: setOf(T.equals, T.notEquals, T.in, T.less, T.lessEquals, T.greaterEquals, T.greater),
  products: setOf(T.star, T.slash, T.percent),
  sums: setOf(T.minus, T.plus),
  numbers: setOf(T.int, T.float),
}

/** What may come after the rules that go on with themselves. */
export const after = {
  relation: kinds.relations | ruleEnd,
  calc: kinds.products | kinds.sums | ruleEnd,
  member: setOf(T.dot, T.leftBracket) | ruleEnd,
}

const displayNames: readonly string[] = [
  '<EOF>',
  ...['==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', ']', '{', '}', '(', ')', '.', ',', '-', '!', '?', ':', '+', '*', '/', '%'],
  ...['true', 'false', 'null', 'WHITESPACE', 'COMMENT'],
  ...['NUM_FLOAT', 'NUM_INT', 'NUM_UINT', 'STRING', 'BYTES', 'IDENTIFIER', 'ESC_IDENTIFIER'],
]

/** The set as messages print it: `{'[', '(', IDENTIFIER}`, or its one member alone. */
export function formatTokenSet(set: TokenSet): string {
  const names: string[] = []
  displayNames.forEach((name, type) => {
    if (hasToken(set, type)) names.push(type >= T.equals && type <= T.null ? `'${name}'` : name)
  })
  return names.length === 1 ? names[0]! : `{${names.join(', ')}}`
}
