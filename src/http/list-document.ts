/**
 * Responses that are encoded for the request (pretty, YAML, Table, metadata only), part by part while they are sent: a large one needs no
 * more memory than one chunk, other requests are served between chunks, and encoding ends when the client disconnects.
 */
import { parseJson, prettyChunks, stringifyJson, stringifyPretty } from '../codec/json.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { yieldToOthers } from '../lib/yield.ts'
import type { ResponseBody } from './message.ts'

/**
 * A document whose last member is a list, and its items as compact JSON, with a `YIELD_POINT` between two wherever others should run;
 * without items, the head is the whole document.
 */
export type ListDocument = {
  readonly head: JsonObject
  readonly member: 'items' | 'rows'
  readonly items: Iterable<string> | undefined
}

/** An empty chunk announces that the next one takes a while, so that other requests should run before. */
export const YIELD_POINT = ''

/** Texts that are made of items, one of each, with stops: short texts may be made of large items. */
export function* withStops(texts: Iterable<string>, items: readonly { readonly byteLength: number }[]): Generator<string> {
  let read = 0
  let index = 0
  for (const text of texts) {
    yield text
    read += items[index++]!.byteLength
    if (read < LIMITS.listPieceBytes) continue
    yield YIELD_POINT
    read = 0
  }
}

/** Encodes a document: a small one whole, a larger one in chunks. */
export function documentBody(chunks: Iterable<string>): ResponseBody {
  const pieces = piecesOf(chunks)
  const first = pieces.next()
  if (first.done) return first.value
  return { type: 'pieces', length: undefined, pieces: resumed(first.value, pieces) }
}

/** Chunks that are written immediately to a socket would leave other requests no chance to run. */
async function* resumed(begun: Uint8Array, rest: Iterator<Uint8Array, Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next: IteratorResult<Uint8Array> = { value: begun, done: false }; ; next = rest.next()) {
    if (next.value.length > 0) yield next.value
    if (next.done) return
    await yieldToOthers()
  }
}

/** Yields chunks, empty where others should run, and returns the last. */
function* piecesOf(chunks: Iterable<string>): Generator<Uint8Array, Uint8Array> {
  let text = ''
  for (const chunk of chunks) {
    text += chunk
    if (chunk !== YIELD_POINT && text.length < LIMITS.encodedPieceLength) continue
    yield Buffer.from(text)
    text = ''
  }
  return Buffer.from(text)
}

export function* compactList({ head, member, items }: ListDocument): Generator<string> {
  if (items === undefined) return yield stringifyJson(head)
  yield `${stringifyJson(head).slice(0, -1)},"${member}":[`
  let separator = ''
  for (const item of items) {
    yield item === YIELD_POINT ? item : separator + item
    if (item !== YIELD_POINT) separator = ','
  }
  yield ']}'
}

export function* prettyList({ head, member, items }: ListDocument): Generator<string> {
  if (items === undefined) return yield stringifyPretty(head)
  yield `${stringifyPretty(head).slice(0, -2)},\n  "${member}": [`
  let isEmpty = true
  for (const item of items) {
    if (item === YIELD_POINT) {
      yield item
      continue
    }
    yield isEmpty ? '\n    ' : ',\n    '
    const value = storedValue(item)
    // JSON strings contain no line breaks.
    if (item.length <= LIMITS.smallBytes) yield stringifyPretty(value).replaceAll('\n', '\n    ')
    else {
      yield YIELD_POINT
      yield* prettyChunks(value, '\n    ')
    }
    isEmpty = false
  }
  yield isEmpty ? ']\n}' : '\n  ]\n}'
}

/** Items were encoded by this server. */
const storedValue = (item: string): Json => parseJson(item, { trusted: true }).value

type YamlWriter = typeof import('../codec/yaml-writer.ts')

/** YAML members are sorted by name. */
export function* yamlList({ head, member, items }: ListDocument, { stringifyYaml, yamlChunks }: YamlWriter): Generator<string> {
  if (items === undefined) return yield stringifyYaml(head)
  const members = Object.entries(head)
  const part = (some: typeof members) => (some.length === 0 ? '' : stringifyYaml(Object.fromEntries(some)))
  yield `${part(members.filter(([name]) => name < member))}${member}:`
  let isEmpty = true
  for (const item of items) {
    if (item === YIELD_POINT) {
      yield item
      continue
    }
    if (isEmpty) yield '\n'
    const value = storedValue(item)
    if (item.length > LIMITS.smallBytes) yield YIELD_POINT
    yield* yamlChunks([value])
    isEmpty = false
  }
  yield `${isEmpty ? ' []\n' : ''}${part(members.filter(([name]) => name > member))}`
}
