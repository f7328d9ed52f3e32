/** Input of a shell, line by line: as it comes, or as a terminal edits and echoes it. */
import type { Readable } from 'node:stream'
import { LIMITS } from '../../lib/limits.ts'

const INTERRUPT = '\x03'
const END = '\x04'
const ESCAPE = '\x1b'
const ESCAPES = new RegExp(`${ESCAPE}\\[[0-9;]*[A-Za-z~]`, 'g')
const BACKSPACES = ['\x7f', '\b']

export type Line =
  | { readonly type: 'line'; readonly text: string }
  /** Control and C. */
  | { readonly type: 'interrupt' }

/** Lines without a terminal; the last one need not be terminated. */
export async function* plainLines(input: Readable): AsyncIterable<Line> {
  let text = ''
  for await (const chunk of input) {
    text += (chunk as Buffer).toString()
    if (text.length > LIMITS.sessionStdinBytes) return
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      yield { type: 'line', text: text.slice(0, end) }
      text = text.slice(end + 1)
    }
  }
  if (text !== '') yield { type: 'line', text }
}

/** Lines typed at a terminal; `echo` shows them. Ends when the user ends the input on an empty line. */
export async function* typedLines(input: Readable, echo: (text: string) => void): AsyncIterable<Line> {
  let line = ''
  let wasReturn = false
  for await (const chunk of input) {
    // Keys such as arrows send escape sequences, which a simple terminal ignores.
    for (const char of (chunk as Buffer).toString().replaceAll(ESCAPES, '')) {
      const isSecond = wasReturn && char === '\n'
      wasReturn = char === '\r'
      if (isSecond) continue
      if (char === '\r' || char === '\n') {
        echo('\r\n')
        yield { type: 'line', text: line }
        line = ''
      } else if (char === INTERRUPT) {
        echo('^C\r\n')
        line = ''
        yield { type: 'interrupt' }
      } else if (char === END) {
        if (line === '') return
      } else if (BACKSPACES.includes(char)) {
        if (line !== '') echo('\b \b')
        line = line.slice(0, -1)
      } else if (char >= ' ' && line.length < LIMITS.sessionLineBytes) {
        line += char
        echo(char)
      }
    }
  }
}
