/**
 * JSON paths in the syntax of kubectl and printer columns: `{.spec.containers[0].image}`, with slices, unions, wildcards, filters such as
 * `[?(@.type=="Ready")]` and `..`. The parts of a template in braces find values; `range` and `end` are not supported.
 */
import { CONTROL_CHARACTERS } from './go-text.ts'
import type { Json } from './json-value.ts'
import { trimEnd } from './trim-end.ts'

/** A path that cannot be parsed, or that does not fit the value. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError'
}

/** A parsed template, one node per part. */
export type JsonPath = readonly Node[]

export type Bound = { readonly value: number; readonly known: boolean; readonly derived: boolean }
export type Node =
  | { readonly kind: 'list'; readonly nodes: readonly Node[] }
  | { readonly kind: 'value'; readonly value: Json; readonly isText: boolean }
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'slice'; readonly bounds: readonly [Bound, Bound, Bound] }
  | { readonly kind: 'filter'; readonly left: readonly Node[]; readonly right: readonly Node[]; readonly operator: string }
  | { readonly kind: 'wildcard' }
  | { readonly kind: 'recursive' }
  | { readonly kind: 'union'; readonly alternatives: readonly (readonly Node[])[] }
  | { readonly kind: 'identifier'; readonly name: string }

/** Parses a template: literal text, and a list of nodes for each part in braces. Throws JsonPathError. */
export function parseJsonPath(template: string): JsonPath {
  const parser = new Parser(template)
  const nodes: Node[] = []
  while (!parser.done) {
    const text = parser.until(text => text.startsWith('{'))
    if (text !== '') nodes.push({ kind: 'value', value: text, isText: true })
    if (!parser.done) nodes.push({ kind: 'list', nodes: parser.action() })
  }
  return nodes
}

/** Parses the inside of braces. */
function parseAction(text: string): readonly Node[] {
  const [first] = parseJsonPath(`{${text}}`)
  return first?.kind === 'list' ? first.nodes : []
}

const SLICE = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/
const COMPARISON = /^([^!<>=]+)([!<>=]+)(.+)$/s
const WORD = /^[\p{L}\p{Nd}_]/u
const TERMINATORS = new Set([' ', '\t', '\r', '\n', '.', ',', '[', ']', '$', '@', '{', '}'])

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get done(): boolean {
    return this.#at >= this.#text.length
  }

  /** The text before the index where `ends` is true. */
  until(ends: (rest: string) => boolean): string {
    const from = this.#at
    while (!this.done && !ends(this.#text[this.#at]!)) this.#at++
    return this.#text.slice(from, this.#at)
  }

  /** Parses a part in braces, from the opening brace on. */
  action(): Node[] {
    this.#at++
    const nodes: Node[] = []
    for (;;) {
      const char = this.#text[this.#at]
      if (char === undefined || char === '\r' || char === '\n') throw new JsonPathError('unclosed action')
      if (char === '}') {
        this.#at++
        return nodes
      }
      this.#part(char, nodes)
    }
  }

  #part(char: string, nodes: Node[]): void {
    const starts = (prefix: string) => this.#text.startsWith(prefix, this.#at)
    if (starts('[?(')) nodes.push(this.#filter())
    else if (starts('..')) this.#recursive(nodes)
    else if (char === ' ' || char === '@' || char === '$') this.#at++
    else if (char === '[') nodes.push(...this.#brackets())
    else if (char === '"' || char === "'") nodes.push({ kind: 'value', value: this.#quoted(char), isText: true })
    else if (char === '.') nodes.push(this.#field())
    else if (/[-+\d]/.test(char)) nodes.push({ kind: 'value', value: this.#number(), isText: false })
    else if (WORD.test(this.#text.slice(this.#at, this.#at + 2))) nodes.push(this.#word())
    else throw new JsonPathError(`unrecognized character in action: ${char}`)
  }

  #recursive(nodes: Node[]): void {
    if (nodes.at(-1)?.kind === 'recursive') throw new JsonPathError('invalid multiple recursive descent')
    this.#at += 2
    nodes.push({ kind: 'recursive' })
    if (!WORD.test(this.#text.slice(this.#at, this.#at + 2))) return
    // A field after `..` has no dot of its own.
    this.#at--
    nodes.push(this.#field())
  }

  #field(): Node {
    const from = ++this.#at
    while (!this.done && !TERMINATORS.has(this.#text[this.#at]!)) this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    this.#at = Math.min(this.#at, this.#text.length)
    const name = this.#text.slice(from, this.#at)
    return name === '*' ? { kind: 'wildcard' } : { kind: 'field', name: name.replaceAll('\\', '') }
  }

  #word(): Node {
    const word = this.until(char => TERMINATORS.has(char))
    if (word === 'true' || word === 'false') return { kind: 'value', value: word === 'true', isText: false }
    return { kind: 'identifier', name: word }
  }

  #number(): number {
    const from = this.#at++
    this.until(char => char !== '.' && !/\d/.test(char))
    const text = this.#text.slice(from, this.#at)
    if (!/^[-+]?(\d+\.?\d*|\.\d+)$/.test(text)) throw new JsonPathError(`cannot parse number ${text}`)
    return Number(text)
  }

  /** The content of a quoted string. A backslash before the quote keeps it from ending the string. */
  #quoted(quote: string): string {
    const from = this.#at++
    for (; ; this.#at++) {
      const char = this.#text[this.#at]
      if (char === undefined || char === '\n') throw new JsonPathError('unterminated quoted string')
      if (char === quote && this.#text[this.#at - 1] !== '\\') break
    }
    this.#at++
    return unquoted(this.#text.slice(from + 1, this.#at - 1))
  }

  #brackets(): readonly Node[] {
    const end = this.#text.indexOf(']', this.#at)
    const text = this.#text.slice(this.#at + 1, end)
    if (end < 0 || text.includes('\n')) throw new JsonPathError('unterminated array')
    this.#at = end + 1
    if (text.includes(',')) return [{ kind: 'union', alternatives: text.split(',').map(part => parseAction(`[${trimmed(part)}]`)) }]
    const key = /^'([^']*)'$/.exec(text)
    if (key) return parseAction(`.${key[1]}`)
    return [{ kind: 'slice', bounds: boundsOf(text === '*' ? ':' : text) }]
  }

  #filter(): Node {
    this.#at += '[?('.length
    const from = this.#at
    this.#skipFilter()
    const text = this.#text.slice(from, this.#at)
    if (!this.#text.startsWith(')]', this.#at)) throw new JsonPathError('unclosed array expect ]')
    this.#at += ')]'.length
    const parts = COMPARISON.exec(text)
    if (!parts) return { kind: 'filter', left: parseAction(text), right: [], operator: 'exists' }
    return { kind: 'filter', left: parseAction(parts[1]!), right: parseAction(parts[3]!), operator: parts[2]! }
  }

  /** Goes to the parenthesis that ends a filter: the first one that is not within quotes. */
  #skipFilter(): void {
    let quote: string | undefined
    let closed = false
    for (; ; this.#at++) {
      const char = this.#text[this.#at]
      if (char === undefined || char === '\n') throw new JsonPathError('unterminated filter')
      if (char === '"' || char === "'") {
        if (quote === undefined) quote = char
        else if (char === quote && this.#text[this.#at - 1] !== '\\') closed = true
      } else if (char === ')' && (quote !== undefined) === closed) return
    }
  }
}

const trimmed = (text: string) => trimEnd(text.replace(/^ +/, ''), ' ')

function boundsOf(text: string): [Bound, Bound, Bound] {
  const parts = SLICE.exec(text)
  if (!parts) throw new JsonPathError(`invalid array index ${text}`)
  const from = bound(parts[1])
  const to = parts[2] ? bound(parts[2].slice(1)) : { value: from.value + 1, known: true, derived: true }
  return [from, to, bound(parts[3]?.slice(1))]
}

function bound(text: string | undefined): Bound {
  if (!text) return { value: 0, known: false, derived: false }
  if (!/\d/.test(text) || !Number.isSafeInteger(Number(text))) throw new JsonPathError(`array index ${text} is not a number`)
  return { value: Number(text), known: true, derived: false }
}

const ESCAPES: Readonly<Record<string, string>> = { ...CONTROL_CHARACTERS, '\\': '\\', "'": "'", '"': '"' }
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.?))/gsu

function unquoted(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(ESCAPE, (written, ...groups: (string | undefined)[]) => {
    const [x, u, long, octal, simple] = groups
    const code = octal === undefined ? Number.parseInt(x ?? u ?? long ?? '', 16) : Number.parseInt(octal, 8)
    const meant = simple === undefined ? code <= 0x10ffff && String.fromCodePoint(code) : ESCAPES[simple]
    if (!meant) throw new JsonPathError(`unquote string ${written} error invalid syntax`)
    return meant
  })
}
