/**
 * Responses that are encoded again (pretty, YAML, Table, metadata only), part by part while they are sent: a large one needs no more
 * memory than a piece, other requests are answered between pieces, and nothing more is made for a client who has gone.
 */
import { parseJson, prettyChunks, stringifyJson, stringifyPretty } from '../codec/json.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { yieldToOthers } from '../lib/yield.ts'
import type { ResponseBody } from './message.ts'

/** A document whose last member is a list, and its items as compact JSON; without items, the head is all of it. */
export type ListDocument = {
  readonly head: JsonObject
  readonly member: 'items' | 'rows'
  readonly items: Iterable<string> | undefined
}

/** A chunk that says: what comes next takes a while, so that others should run before. */
export const YIELD_POINT = ''

/** Writes a document: a small one whole, a larger one in pieces. */
export function documentBody(chunks: Iterable<string>): ResponseBody {
  const pieces = piecesOf(chunks)
  const first = pieces.next()
  if (first.done) return first.value
  return { type: 'pieces', length: undefined, pieces: resumed(first.value, pieces) }
}

/** Pieces that are written at once to a socket would follow each other without anyone else having a chance to run. */
async function* resumed(begun: Uint8Array, rest: Iterator<Uint8Array, Uint8Array>): AsyncGenerator<Uint8Array> {
  for (let next: IteratorResult<Uint8Array> = { value: begun, done: false }; ; next = rest.next()) {
    if (next.value.length > 0) yield next.value
    if (next.done) return
    await yieldToOthers()
  }
}

/** Yields pieces, empty where others are to run, and returns the last. */
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
    yield separator + item
    separator = ','
  }
  yield ']}'
}

export function* prettyList({ head, member, items }: ListDocument): Generator<string> {
  if (items === undefined) return yield stringifyPretty(head)
  yield `${stringifyPretty(head).slice(0, -2)},\n  "${member}": [`
  let isEmpty = true
  for (const item of items) {
    yield isEmpty ? '\n    ' : ',\n    '
    const value = storedValue(item)
    // No text in JSON holds a line break.
    if (item.length <= LIMITS.smallBytes) yield stringifyPretty(value).replaceAll('\n', '\n    ')
    else {
      yield YIELD_POINT
      yield* prettyChunks(value, '\n    ')
    }
    isEmpty = false
  }
  yield isEmpty ? ']\n}' : '\n  ]\n}'
}

/** Items were written by this server. */
const storedValue = (item: string): Json => parseJson(item, { trusted: true }).value

type YamlWriter = typeof import('../codec/yaml-writer.ts')

/** Members of YAML are in order of their names. */
export function* yamlList({ head, member, items }: ListDocument, { stringifyYaml, yamlChunks }: YamlWriter): Generator<string> {
  if (items === undefined) return yield stringifyYaml(head)
  const members = Object.entries(head)
  const part = (some: typeof members) => (some.length === 0 ? '' : stringifyYaml(Object.fromEntries(some)))
  yield `${part(members.filter(([name]) => name < member))}${member}:`
  let isEmpty = true
  for (const item of items) {
    if (isEmpty) yield '\n'
    const value = storedValue(item)
    if (item.length > LIMITS.smallBytes) yield YIELD_POINT
    yield* yamlChunks([value])
    isEmpty = false
  }
  yield `${isEmpty ? ' []\n' : ''}${part(members.filter(([name]) => name > member))}`
}
