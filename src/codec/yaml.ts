// YAML in: what kubectl users write, read as the API server reads it. Import it lazily: the parser is large and rarely needed.

import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type Scalar,
  type YAMLMap,
} from 'yaml'
import { Base64Error, decodeBase64 } from '../lib/base64.ts'
import { type Duplicate, type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { atOnce, isSliceOver } from '../lib/turns.ts'
import { JsonError, type Parsed, parseJson } from './json.ts'
import { formatPath } from './json-reader.ts'
import { formatFloat, resolveScalar } from './yaml-scalar.ts'

export { stringifyYaml } from './yaml-writer.ts'

/** The longest document read that is no JSON: parsing is slow, and a larger object could not be stored anyway. */
export const MAX_YAML_BYTES = 1.5 * 1024 * 1024

/** How deep lists and mappings may nest: well within what the recursive parser manages on any stack. */
export const MAX_YAML_DEPTH = 500

/** A document that is no YAML, or none that has a JSON form. */
export class YamlError extends Error {
  override readonly name = 'YamlError'
  /** The error without the mention of the conversion, as answered where a whole body is YAML. */
  readonly detail: string

  constructor(detail: string) {
    super(`error converting YAML to JSON: ${detail}`)
    this.detail = detail
  }
}

/** A parsed document; `strictError` is the one error strict decoding gives for all its duplicates, by line. */
export interface ParsedYaml extends Parsed {
  readonly strictError: string | undefined
}

/** Reads the first document of a YAML text as a JSON value; throws YamlError. */
export function parseYaml(source: string | Uint8Array): ParsedYaml {
  const { done, value } = atOnce(() => readingYaml(source).next())
  if (!done) throw new Error('the reader stopped though nobody asked it to')
  return value
}

/** The same as work that can be stopped. */
export function* readingYaml(source: string | Uint8Array): Generator<void, ParsedYaml> {
  const text = typeof source === 'string' ? source : Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString('utf8')
  const parsed = parseAsJson(text)
  if (parsed !== undefined) return parsed
  if (Buffer.byteLength(text) > MAX_YAML_BYTES) throw new YamlError(`yaml: document is longer than ${MAX_YAML_BYTES} bytes`)
  const lines = new LineCounter()
  const found = yield* tokens(text, lines)
  if (isSliceOver()) yield
  return new Conversion(compose(found, lines), lines).result()
}

/** Most YAML that machines send is JSON. With duplicates the slow way is taken, since it knows their lines. */
function parseAsJson(text: string): ParsedYaml | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  try {
    const parsed = parseJson(text)
    return parsed.duplicates.length === 0 ? { ...parsed, strictError: undefined } : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

const MAX_DUPLICATES = 100

/** One document on its way from nodes to JSON. */
class Conversion {
  readonly #lines: LineCounter
  readonly #document: Document.Parsed | undefined
  readonly #anchors: Anchors
  readonly #aliasing = new Set<Node>()
  readonly #path: (string | number)[] = []
  readonly #duplicates: Duplicate[] = []
  readonly #strictErrors: string[] = []
  #nodes = 0
  #aliasedNodes = 0
  #aliasDepth = 0

  constructor(document: Document.Parsed | undefined, lines: LineCounter) {
    this.#lines = lines
    this.#document = document
    this.#anchors = resolveAliases(this.#document?.contents ?? null)
  }

  result(): ParsedYaml {
    const value = this.#convert(this.#document?.contents ?? null)
    const strictError = this.#strictErrors.length === 0 ? undefined : `yaml: unmarshal errors:\n  ${this.#strictErrors.join('\n  ')}`
    return { value, duplicates: this.#duplicates, strictError }
  }

  #convert(node: Node | null): Json {
    this.#count()
    if (node === null) return null
    if (isAlias(node)) return this.#alias(node, target => this.#convert(target))
    if (isScalar(node)) return scalarValue(node)
    if (this.#path.length >= MAX_YAML_DEPTH) throw tooDeep()
    if (isSeq(node)) {
      return node.items.map((item, index) => {
        this.#path.push(index)
        const value = this.#convert(asNode(item))
        this.#path.pop()
        return value
      })
    }
    if (!isMap(node)) throw new YamlError('yaml: unknown kind of node')
    const object: JsonObject = {}
    this.#fill(object, node)
    return object
  }

  /** Sets the entries of a mapping one after the other: a merged mapping is overridden by what follows it and overrides what precedes it. */
  #fill(object: JsonObject, map: YAMLMap): void {
    for (const pair of map.items) {
      const keyNode = asNode(pair.key)
      const valueNode = asNode(pair.value)
      if (isMergeKey(keyNode)) this.#merge(object, valueNode)
      else {
        const { key, shown } = this.#key(keyNode)
        this.#path.push(key)
        const value = this.#convert(valueNode)
        this.#path.pop()
        if (Object.hasOwn(object, key)) this.#duplicate({ owner: object, key, shown }, valueNode ?? keyNode)
        setOwn(object, key, value)
      }
    }
  }

  #merge(object: JsonObject, node: Node | null): void {
    this.#count()
    const merging = (target: Node | null) => {
      if (!isMap(target)) throw new YamlError('yaml: map merge requires map or sequence of maps as the value')
      this.#fill(object, target)
    }
    if (isAlias(node)) this.#alias(node, merging)
    // Earlier mappings win, so they come last.
    else if (isSeq(node)) {
      for (const item of node.items.toReversed()) {
        const target = asNode(item)
        if (isAlias(target)) this.#alias(target, merging)
        else merging(target)
      }
    } else merging(node)
  }

  #alias<T>(alias: Node, action: (target: Node) => T): T {
    const { name, target } = this.#anchors.get(alias) ?? { name: '', target: undefined }
    if (target === undefined) throw new YamlError(`yaml: unknown anchor '${name}' referenced`)
    if (this.#aliasing.has(alias)) throw new YamlError(`yaml: anchor '${name}' value contains itself`)
    this.#aliasing.add(alias)
    this.#aliasDepth++
    const result = action(target)
    this.#aliasDepth--
    this.#aliasing.delete(alias)
    return result
  }

  /** JSON keys are text: numbers and booleans are written out. `shown` is the key as strict errors show it. */
  #key(node: Node | null): { key: string; shown: string } {
    this.#count()
    if (isAlias(node)) return this.#alias(node, target => this.#key(target))
    if (!isScalar(node)) throw new YamlError('yaml: invalid map key: a key must be a scalar')
    const value = scalarValue(node, 'key')
    if (value === null) throw new YamlError('unsupported map key of type: null')
    if (typeof value === 'string') return { key: value, shown: JSON.stringify(value) }
    const isFloat = typeof value === 'number' && !Number.isInteger(value)
    const key = isFloat ? formatSpecialFloat(value) : String(value)
    return { key, shown: key }
  }

  #duplicate({ owner, key, shown }: { owner: JsonObject; key: string; shown: string }, at: Node | null): void {
    // Removing it first moves the key to its last place in the order of keys, where the report belongs.
    delete owner[key]
    if (this.#duplicates.length >= MAX_DUPLICATES) return
    const { line } = this.#lines.linePos(at?.range?.[0] ?? 0)
    this.#strictErrors.push(`line ${line}: key ${shown} already set in map`)
    this.#duplicates.push({ path: formatPath([...this.#path, key]), owner, key })
  }

  /** Counts nodes, each again for every alias that leads to it, and stops when aliases make out too much of a document. */
  #count(): void {
    this.#nodes++
    if (this.#aliasDepth > 0) this.#aliasedNodes++
    if (this.#aliasedNodes > 100 && this.#nodes > 1000 && this.#aliasedNodes / this.#nodes > allowedAliasRatio(this.#nodes))
      throw new YamlError('yaml: document contains excessive aliasing')
  }
}

/** From 99 % in documents of up to 400,000 nodes down to 10 % at 4,000,000. */
function allowedAliasRatio(nodes: number): number {
  if (nodes <= 400_000) return 0.99
  return nodes >= 4_000_000 ? 0.1 : 0.99 - 0.89 * ((nodes - 400_000) / 3_600_000)
}

/** The nodes of the first document. Scalars are left as text: what they mean is for this file to say, and tags run no code. */
function compose(found: readonly CST.Token[], lines: LineCounter): Document.Parsed | undefined {
  const composer = new Composer({
    version: '1.1',
    schema: 'failsafe',
    merge: false,
    uniqueKeys: false,
    resolveKnownTags: false,
    logLevel: 'silent',
  })
  const document = composer.compose(found).next().value as Document.Parsed | undefined
  const fault = document?.errors[0]
  if (fault?.code === 'RESOURCE_EXHAUSTION') throw tooDeep()
  if (fault !== undefined) throw new YamlError(`yaml: line ${lines.linePos(fault.pos[0]).line}: ${fault.message}`)
  return document
}

/** A document and a scalar surround what nests. */
const MAX_OPEN_TOKENS = MAX_YAML_DEPTH + 2

/**
 * The tokens of a text as far as the first document needs them. The parser keeps its own stack, but the composer after it
 * recurses, and where a stack nearly ends V8 may end the process. So nesting past the limit is found here.
 */
function* tokens(text: string, lines: LineCounter): Generator<void, CST.Token[]> {
  const parser = new Parser(lines.addNewLine)
  const found: CST.Token[] = []
  let documents = 0
  let faults = 0
  const keep = (token: CST.Token) => {
    if (token.type === 'document') documents++
    // What is wrong first is what is told, and a text can be wrong in a million places.
    if (token.type !== 'error' || ++faults === 1) found.push(token)
  }
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) keep(token)
    if (documents > 1) return found
    if (parser.stack.length > MAX_OPEN_TOKENS) throw tooDeep()
    if (isSliceOver()) yield
  }
  for (const token of parser.end()) keep(token)
  return found
}

function tooDeep(): YamlError {
  return new YamlError(`yaml: exceeded max depth of ${MAX_YAML_DEPTH}`)
}

type Anchors = Map<Node, { name: string; target: Node | undefined }>

/** What each alias stands for: the node that last took its anchor before it. */
function resolveAliases(root: Node | null): Anchors {
  const anchors = new Map<string, Node>()
  const aliases: Anchors = new Map()
  const pending: unknown[] = [root]
  while (pending.length > 0) {
    const node = pending.pop()
    if (isAlias(node)) aliases.set(node, { name: node.source, target: anchors.get(node.source) })
    else if (isScalar(node) || isMap(node) || isSeq(node)) {
      if (node.anchor !== undefined) anchors.set(node.anchor, node)
      // Pushed backwards, so that they are met in document order.
      if (!isScalar(node)) for (let i = node.items.length - 1; i >= 0; i--) pending.push(node.items[i])
    } else if (isPair(node)) pending.push(node.value, node.key)
  }
  return aliases
}

function asNode(value: unknown): Node | null {
  return isScalar(value) || isMap(value) || isSeq(value) || isAlias(value) ? value : null
}

function isMergeKey(node: Node | null): boolean {
  return isScalar(node) && node.value === '<<' && (node.type === 'PLAIN' || node.tag === `${TAG_PREFIX}merge`)
}

const TAG_PREFIX = 'tag:yaml.org,2002:'

function scalarValue(node: Scalar, role: 'value' | 'key' = 'value'): Json {
  const text = String(node.value)
  const value = node.tag === undefined ? (node.type === 'PLAIN' ? plainValue(text) : text) : taggedValue(text, node.tag)
  // JSON has no words for these; as keys they are just names.
  if (typeof value === 'number' && !Number.isFinite(value) && role === 'value')
    throw new YamlError(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`)
  return value
}

function plainValue(text: string): Json {
  const resolved = resolveScalar(text)
  if (resolved.tag === 'null') return null
  return 'value' in resolved ? resolved.value : text
}

/** An explicit tag must fit what the text looks like; tags unknown to YAML leave it text. */
function taggedValue(text: string, tag: string): Json {
  if (!tag.startsWith(TAG_PREFIX)) return text
  const wanted = tag.slice(TAG_PREFIX.length)
  if (wanted === 'binary') return binaryText(text)
  if (!['bool', 'int', 'float', 'null', 'timestamp'].includes(wanted)) return text
  const { tag: found } = resolveScalar(text)
  if (found !== wanted && !(wanted === 'float' && found === 'int'))
    throw new YamlError(`yaml: cannot decode !!${found} \`${text}\` as a !!${wanted}`)
  const value = plainValue(text)
  return wanted === 'float' ? Number(value) : value
}

function binaryText(text: string): string {
  try {
    return decodeBase64(text).toString('utf8')
  } catch (error) {
    if (error instanceof Base64Error) throw new YamlError('yaml: !!binary value contains invalid base64 data')
    throw error
  }
}

function formatSpecialFloat(value: number): string {
  if (Number.isNaN(value)) return '.nan'
  return Number.isFinite(value) ? formatFloat(value) : value > 0 ? '.inf' : '-.inf'
}
