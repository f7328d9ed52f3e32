// PEM blocks, found as Go's encoding/pem finds them.

import { Base64Error, decodeBase64 } from './base64.ts'

/** One block: its label, its header lines and its bytes. */
export interface PemBlock {
  readonly label: string
  readonly headers: ReadonlyMap<string, string>
  readonly bytes: Buffer
}

/** The first well-formed block and the text after it, or no block and the whole text. Text before a block is skipped. */
export function decodePem(text: string): { block: PemBlock | undefined; rest: string } {
  let at = 0
  let end = -1
  for (;;) {
    const begin = beginAt(text, at)
    if (begin < 0) return { block: undefined, rest: text }
    const typeLine = lineAt(text, begin + BEGIN.length)
    at = typeLine.next
    if (!typeLine.text.endsWith(DASHES)) continue
    const label = typeLine.text.slice(0, -DASHES.length)
    const headers = readHeaders(text, at)
    at = headers.next
    // The position of the next end line is kept: searching it again for every begin line would be quadratic.
    if (end < at) end = endAt(text, at, headers.lines.size === 0)
    if (end < 0) return { block: undefined, rest: text }
    const trailer = lineAt(text, end + END.length)
    const bytes = trailer.text === label + DASHES ? decodeBody(text.slice(at, end)) : undefined
    if (bytes !== undefined) return { block: { label, headers: headers.lines, bytes }, rest: text.slice(trailer.next) }
  }
}

/** All well-formed blocks of a string, and the rest after the last of them. */
export function pemBlocks(text: string): { blocks: PemBlock[]; rest: string } {
  const blocks: PemBlock[] = []
  for (let rest = text; ; ) {
    const found = decodePem(rest)
    if (found.block === undefined) return { blocks, rest }
    blocks.push(found.block)
    rest = found.rest
  }
}

/** The text of a block without headers, in lines of 64 characters. */
export function encodePem(label: string, bytes: Uint8Array): string {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  return `${BEGIN}${label}${DASHES}\n${body.replace(/.{1,64}/g, '$&\n')}${END}${label}${DASHES}\n`
}

const BEGIN = '-----BEGIN '
const END = '-----END '
const DASHES = '-----'

/** Where a begin line starts; only at the beginning of a line. */
function beginAt(text: string, from: number): number {
  if (text.startsWith(BEGIN, from)) return from
  const found = text.indexOf(`\n${BEGIN}`, from)
  return found < 0 ? -1 : found + 1
}

/** Where the next end line starts; right at the beginning only for an empty block without headers. */
function endAt(text: string, from: number, empty: boolean): number {
  if (empty && text.startsWith(END, from)) return from
  const found = text.indexOf(`\n${END}`, from)
  return found < 0 ? -1 : found + 1
}

/** A line without the space that ends it, and where the next one starts. */
function lineAt(text: string, from: number): { text: string; next: number } {
  const newline = text.indexOf('\n', from)
  const [stop, next] = newline < 0 ? [text.length, text.length] : [newline, newline + 1]
  let end = stop
  if (end > from && newline >= 0 && text[end - 1] === '\r') end--
  while (end > from && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--
  return { text: text.slice(from, end), next }
}

function readHeaders(text: string, from: number): { lines: Map<string, string>; next: number } {
  const lines = new Map<string, string>()
  let at = from
  while (at < text.length) {
    const line = lineAt(text, at)
    const colon = line.text.indexOf(':')
    if (colon < 0) break
    lines.set(line.text.slice(0, colon).trim(), line.text.slice(colon + 1).trim())
    at = line.next
  }
  return { lines, next: at }
}

function decodeBody(text: string): Buffer | undefined {
  // Base64 has no dash, but a begin line does: this stops at the next block instead of reading to the end.
  if (text.includes('-')) return undefined
  try {
    return decodeBase64(text.replace(/[ \t]+/g, ''))
  } catch (error) {
    if (error instanceof Base64Error) return undefined
    throw error
  }
}
