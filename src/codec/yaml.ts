/**
 * YAML in: what kubectl users write, read as the API server reads it. js-yaml tells the events of the grammar; what tags, plain
 * scalars, merges and aliases mean is decided here. Runs in a worker, or inline for small texts; import it lazily.
 */
import {
  type AliasEvent,
  type DocumentDirective,
  EVENT_ID,
  type Event,
  getScalarValue,
  type MappingEvent,
  parseEvents,
  SCALAR_STYLE,
  type ScalarEvent,
  type SequenceEvent,
  YAMLException,
} from 'js-yaml'
import { Base64Error, decodeBase64 } from '../lib/base64.ts'
import { type Json, type JsonObject, setOwn } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { tooLarge } from '../schema/status-error.ts'
import { tooManyValues, type ValueLimit } from './decoded-size.ts'
import { JsonError, parseJson } from './json.ts'
import { yamlProblem } from './yaml-problem.ts'
import { formatFloat, resolveScalar } from './yaml-scalar.ts'

/** A document that is no YAML, or none that has a JSON form. */
export class YamlError extends Error {
  override readonly name = 'YamlError'
  /** The problem alone, as the body of a request is told of it. */
  readonly detail: string

  constructor(detail: string) {
    super(`error converting YAML to JSON: ${detail}`)
    this.detail = detail
  }
}

/** A parsed document; `strictError` is the one error strict decoding gives for all its duplicate keys, by line. */
export type ParsedYaml = { readonly value: Json; readonly strictError: string | undefined }

/** Reads the first document of a YAML text as a JSON value; throws YamlError, or a StatusError when it holds too much. */
export function parseYaml(source: string | Uint8Array, limit: ValueLimit = LIMITS.values.large.decoded): ParsedYaml {
  const text = typeof source === 'string' ? source : Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString('utf8')
  return parseAsJson(text, limit) ?? new Conversion(withinLines(firstDocument(text)), limit.values).result()
}

function withinLines(text: string): string {
  let lines = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1))
    if (++lines > LIMITS.yamlLines) throw tooLarge(`Request entity too large: limit is ${LIMITS.yamlLines} lines of YAML`)
  return text
}

/** Most YAML that machines send is JSON. Undefined for all other texts, and for JSON with duplicate keys, which are reported with their line. */
function parseAsJson(text: string, limit: ValueLimit): ParsedYaml | undefined {
  if (!/^\s*\{/.test(text)) return undefined
  try {
    const parsed = parseJson(text, { limit })
    return parsed.duplicates.length === 0 ? { value: parsed.value, strictError: undefined } : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** A line that is no content of a document: blank, a comment, or a directive. */
const NO_CONTENT = /^(?:\s*(?:#.*)?|%.*)$/

/** The text as far as the first document goes: a marker at the beginning of a line ends it, whatever it stands in. */
function firstDocument(text: string): string {
  const marker = /^(?:---|\.\.\.)(?=[ \t\r\n]|$)/gm
  const first = marker.exec(text)
  if (!first) return text
  const opens =
    first[0] === '---' &&
    text
      .slice(0, first.index)
      .split(/\r?\n/)
      .every(line => NO_CONTENT.test(line))
  const end = opens ? marker.exec(text) : first
  return end ? text.slice(0, end.index) : text
}

const MAX_DUPLICATES = 100
const TAG_PREFIX = 'tag:yaml.org,2002:'

/** One document on its way from events to JSON. */
class Conversion {
  readonly #text: string
  readonly #events: readonly Event[]
  readonly #directives: readonly DocumentDirective[]
  /** For each alias, the event that begins what it stands for. */
  readonly #targets: ReadonlyMap<number, number | undefined>
  readonly #aliasing = new Set<number>()
  readonly #strictErrors: string[] = []
  /** The event to be read next. */
  #next = 0
  #depth = 0
  /** Keys are nodes, and no values. */
  #nodes = 0
  #values = 0
  readonly #mostValues: number
  #aliasedNodes = 0

  constructor(text: string, mostValues: number) {
    this.#text = text
    this.#mostValues = mostValues
    this.#events = eventsOf(text, mostValues)
    const [first] = this.#events
    this.#directives = first?.type === EVENT_ID.DOCUMENT ? first.directives : []
    this.#targets = this.#resolveAliases()
  }

  result(): ParsedYaml {
    const opened = this.#events[0]?.type === EVENT_ID.DOCUMENT
    this.#next = 1
    const value = opened && this.#events[1]?.type !== EVENT_ID.POP ? this.#convert() : null
    const strictError = this.#strictErrors.length === 0 ? undefined : `yaml: unmarshal errors:\n  ${this.#strictErrors.join('\n  ')}`
    return { value, strictError }
  }

  #convert(): Json {
    if (++this.#values > this.#mostValues) throw tooManyValues(this.#mostValues)
    this.#count()
    const index = this.#next++
    const event = this.#events[index]!
    switch (event.type) {
      case EVENT_ID.ALIAS:
        return this.#alias(index, () => this.#convert())
      case EVENT_ID.SCALAR:
        return this.#scalar(event)
      case EVENT_ID.SEQUENCE: {
        const list: Json[] = []
        this.#enter()
        while (!this.#isLeft()) list.push(this.#convert())
        return list
      }
      case EVENT_ID.MAPPING: {
        const object: JsonObject = {}
        this.#fill(object)
        return object
      }
      default:
        throw new YamlError('yaml: unknown kind of node')
    }
  }

  /** Begins to read the inside of a list or mapping that has just been opened. */
  #enter(): void {
    if (++this.#depth > LIMITS.yamlDepth) throw tooDeep()
  }

  /** Whether there is nothing more inside; then it goes on behind that. */
  #isLeft(): boolean {
    if (this.#events[this.#next]!.type !== EVENT_ID.POP) return false
    this.#next++
    this.#depth--
    return true
  }

  /** Sets the entries of a mapping one after the other: later entries override a merged mapping, which overrides earlier ones. */
  #fill(object: JsonObject): void {
    this.#enter()
    while (!this.#isLeft()) {
      const keyEvent = this.#events[this.#next]!
      if (this.#isMergeKey(keyEvent)) {
        this.#next++
        this.#merge(object)
        continue
      }
      const value = this.#key()
      const key = typeof value === 'string' ? value : keyText(value)
      const valueEvent = this.#events[this.#next]!
      const part = this.#convert()
      // An inherited name also reads as defined: only then the exact question is asked.
      if (object[key] !== undefined && Object.hasOwn(object, key))
        this.#duplicate(object, { key, isText: typeof value === 'string' }, offsetOf(valueEvent) ?? offsetOf(keyEvent) ?? 0)
      setOwn(object, key, part)
    }
  }

  #merge(object: JsonObject): void {
    this.#count()
    const event = this.#events[this.#next]!
    if (event.type !== EVENT_ID.SEQUENCE) {
      this.#mergeOne(object)
      return
    }
    // Earlier mappings win, so they come last.
    this.#next++
    const starts: number[] = []
    this.#enter()
    while (!this.#isLeft()) {
      starts.push(this.#next)
      this.#next = this.#endOf(this.#next)
    }
    const end = this.#next
    for (const start of starts.reverse()) {
      this.#next = start
      this.#mergeOne(object)
    }
    this.#next = end
  }

  #mergeOne(object: JsonObject): void {
    const index = this.#next++
    const { type } = this.#events[index]!
    if (type === EVENT_ID.ALIAS) this.#alias(index, () => this.#mergeTarget(object))
    else {
      this.#next = index
      this.#mergeTarget(object)
    }
  }

  #mergeTarget(object: JsonObject): void {
    if (this.#events[this.#next++]!.type !== EVENT_ID.MAPPING)
      throw new YamlError('yaml: map merge requires map or sequence of maps as the value')
    this.#fill(object)
  }

  /** Reads what an alias stands for, and goes on behind the alias. */
  #alias<T>(index: number, read: () => T): T {
    const target = this.#targets.get(index)
    const name = anchorOf(this.#text, this.#events[index] as AliasEvent)
    if (target === undefined) throw new YamlError(`yaml: unknown anchor '${name}' referenced`)
    if (this.#aliasing.has(index)) throw new YamlError(`yaml: anchor '${name}' value contains itself`)
    this.#aliasing.add(index)
    const after = this.#next
    this.#next = target
    const result = read()
    this.#next = after
    this.#aliasing.delete(index)
    return result
  }

  #key(): string | number | bigint | boolean {
    this.#count()
    const index = this.#next++
    const event = this.#events[index]!
    if (event.type === EVENT_ID.ALIAS) return this.#alias(index, () => this.#key())
    if (event.type !== EVENT_ID.SCALAR) throw new YamlError('yaml: invalid map key: a key must be a scalar')
    const value = this.#scalar(event, 'key')
    if (value === null) throw new YamlError('unsupported map key of type: null')
    return value as string | number | bigint | boolean
  }

  #scalar(event: ScalarEvent, role: 'value' | 'key' = 'value'): Json {
    const text = getScalarValue(this.#text, event)
    const tag = this.#tagOf(event)
    const value = tag === undefined ? (event.style === SCALAR_STYLE.PLAIN ? plainValue(text) : text) : taggedValue(text, tag)
    // JSON has no words for these; as keys they are just names.
    if (typeof value === 'number' && !Number.isFinite(value) && role === 'value')
      throw new YamlError(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`)
    return value
  }

  #isMergeKey(event: Event): boolean {
    // Escaped, it could begin with something else; most keys are plain.
    if (event.type !== EVENT_ID.SCALAR || (event.style === SCALAR_STYLE.PLAIN && this.#text.charCodeAt(event.valueStart) !== LESS_THAN))
      return false
    if (getScalarValue(this.#text, event) !== '<<') return false
    const tag = this.#tagOf(event)
    return tag === undefined ? event.style === SCALAR_STYLE.PLAIN : tag === `${TAG_PREFIX}merge`
  }

  /** The whole tag of a node: `!!int` is short for one of YAML's own, `!e!x` for what a directive says. */
  #tagOf({ tagStart, tagEnd }: ScalarEvent): string | undefined {
    if (tagStart < 0) return undefined
    const written = this.#text.slice(tagStart, tagEnd)
    if (written.startsWith('!<')) return written.slice(2, -1)
    const handle = /^![\w-]*!/.exec(written)?.[0] ?? '!'
    const declared = this.#directives.find(directive => directive.kind === 'tag' && directive.handle === handle)
    const prefix = declared?.kind === 'tag' ? declared.prefix : handle === '!!' ? TAG_PREFIX : handle
    return prefix + written.slice(handle.length)
  }

  #duplicate(owner: JsonObject, { key, isText }: { key: string; isText: boolean }, offset: number): void {
    // Removing it first moves the key to its last place in the order of keys, where the report belongs.
    delete owner[key]
    if (this.#strictErrors.length < MAX_DUPLICATES)
      this.#strictErrors.push(`line ${lineOf(this.#text, offset)}: key ${isText ? JSON.stringify(key) : key} already set in map`)
  }

  /** Counts nodes, each again for every alias that leads to it, and stops when too many of them are aliased. */
  #count(): void {
    this.#nodes++
    if (this.#aliasing.size > 0) this.#aliasedNodes++
    if (this.#aliasedNodes > 100 && this.#nodes > 1000 && this.#aliasedNodes / this.#nodes > ALIAS_RATIO)
      throw new YamlError('yaml: document contains excessive aliasing')
  }

  /** The node of each alias: the last one before it that has its anchor. */
  #resolveAliases(): Map<number, number | undefined> {
    const anchors = new Map<string, number>()
    const targets = new Map<number, number | undefined>()
    if (!this.#text.includes('*')) return targets
    for (const [index, event] of this.#events.entries()) {
      if (event.type === EVENT_ID.ALIAS) targets.set(index, anchors.get(anchorOf(this.#text, event)))
      else if (isContent(event) && event.anchorStart >= 0) anchors.set(anchorOf(this.#text, event), index)
    }
    return targets
  }

  /** The event after the node that begins at an event. */
  #endOf(start: number): number {
    let open = 0
    let index = start
    do {
      const { type } = this.#events[index++]!
      if (type === EVENT_ID.SEQUENCE || type === EVENT_ID.MAPPING) open++
      else if (type === EVENT_ID.POP) open--
    } while (open > 0)
    return index
  }
}

/** How much of a document may come from aliases: as go-yaml allows for as many nodes as are read here at most. */
const ALIAS_RATIO = 0.99

/**
 * The depth at which js-yaml stops. It asks before every node that it tries to read, which is the only chance to stop it at a text
 * of too many nodes before it has made the events of them all.
 */
class NodeCountingDepth {
  #tried = 0
  readonly #mostValues: number

  constructor(mostValues: number) {
    this.#mostValues = mostValues
  }

  valueOf(): number {
    if (++this.#tried > MAX_TRIED_PER_VALUE * this.#mostValues) throw tooManyValues(this.#mostValues)
    return LIMITS.yamlDepth + 1
  }
}

/** A node is tried twice where it could be a compact collection or has properties, so this stops no text that may be read. */
const MAX_TRIED_PER_VALUE = 5

function eventsOf(text: string, mostValues: number): Event[] {
  try {
    return parseEvents(text, { maxDepth: new NodeCountingDepth(mostValues) as unknown as number })
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    if (error.reason.startsWith('nesting exceeded')) throw tooDeep()
    throw new YamlError(yamlProblem(text, error.mark?.line ?? 0, error.reason))
  }
}

type Content = ScalarEvent | SequenceEvent | MappingEvent

const isContent = (event: Event): event is Content =>
  event.type === EVENT_ID.SCALAR || event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING

const anchorOf = (text: string, { anchorStart, anchorEnd }: Content | AliasEvent): string => text.slice(anchorStart, anchorEnd)

/** Where a node begins in the text, if it has any text. */
function offsetOf(event: Event): number | undefined {
  const offset =
    event.type === EVENT_ID.SCALAR
      ? event.valueStart
      : event.type === EVENT_ID.ALIAS
        ? event.anchorStart
        : isContent(event)
          ? event.start
          : -1
  return offset < 0 ? undefined : offset
}

function lineOf(text: string, offset: number): number {
  let line = 1
  for (let i = text.indexOf('\n'); i >= 0 && i < offset; i = text.indexOf('\n', i + 1)) line++
  return line
}

const LESS_THAN = 0x3c

/** JSON keys are text: numbers and booleans are written out. */
const keyText = (value: number | bigint | boolean): string =>
  typeof value === 'number' && !Number.isInteger(value) ? formatSpecialFloat(value) : String(value)

const tooDeep = () => new YamlError(`yaml: exceeded max depth of ${LIMITS.yamlDepth}`)

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
