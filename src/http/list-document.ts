/**
 * Responses that are encoded again (pretty, YAML, Table, metadata only), part by part while they are sent: a large one needs no more
 * memory than a piece, other requests are answered between pieces, and nothing more is made for a client who has gone.
 */
import { parseJson, prettyChunks, stringifyJson, stringifyPretty } from '../codec/json.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { yieldToOthers } from '../lib/yield.ts'
import type { ResponseBody } from './message.ts'

/** A document whose last member is a list, and its items as compact JSON. */
export type ListDocument = {
  readonly head: JsonObject
  readonly member: 'items' | 'rows'
  readonly items: Iterable<string>
}

/** Writes a document: a small one whole, a larger one in pieces. */
export function documentBody(chunks: Iterable<string>): ResponseBody {
  const pieces = piecesOf(chunks)
  const first = pieces.next()
  const second = first.done ? first : pieces.next()
  if (first.done) return new Uint8Array(0)
  if (second.done) return first.value
  return { type: 'pieces', length: undefined, pieces: resumed([first.value, second.value], pieces) }
}

/** Pieces that are written at once to a socket would follow each other without anyone else having a chance to run. */
async function* resumed(begun: readonly Uint8Array[], rest: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* begun
  for (const piece of rest) {
    await yieldToOthers()
    yield piece
  }
}

function* piecesOf(chunks: Iterable<string>): Generator<Uint8Array, undefined> {
  let text = ''
  for (const chunk of chunks) {
    text += chunk
    if (text.length < LIMITS.encodedPieceLength) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

export function* compactList({ head, member, items }: ListDocument): Generator<string> {
  yield `${stringifyJson(head).slice(0, -1)},"${member}":[`
  let separator = ''
  for (const item of items) {
    yield separator + item
    separator = ','
  }
  yield ']}'
}

export function* prettyList({ head, member, items }: ListDocument): Generator<string> {
  yield `${stringifyPretty(head).slice(0, -2)},\n  "${member}": [`
  let isEmpty = true
  for (const item of items) {
    yield isEmpty ? '\n    ' : ',\n    '
    const { value } = parseJson(item)
    // No text in JSON holds a line break.
    if (item.length <= LIMITS.smallBytes) yield stringifyPretty(value).replaceAll('\n', '\n    ')
    else yield* prettyChunks(value, '\n    ')
    isEmpty = false
  }
  yield isEmpty ? ']\n}' : '\n  ]\n}'
}

type YamlWriter = typeof import('../codec/yaml-writer.ts')

/** Members of YAML are in order of their names. */
export function* yamlList({ head, member, items }: ListDocument, { stringifyYaml, yamlChunks }: YamlWriter): Generator<string> {
  const members = Object.entries(head)
  const part = (some: typeof members) => (some.length === 0 ? '' : stringifyYaml(Object.fromEntries(some)))
  yield `${part(members.filter(([name]) => name < member))}${member}:`
  let isEmpty = true
  for (const item of items) {
    if (isEmpty) yield '\n'
    yield* yamlChunks([parseJson(item).value])
    isEmpty = false
  }
  yield `${isEmpty ? ' []\n' : ''}${part(members.filter(([name]) => name > member))}`
}
