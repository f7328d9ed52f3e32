/** Archives of tar, as texts of bytes. */
import { bytesOfText, textOfBytes } from './byte-text.ts'

type Entry = { readonly path: string; readonly text: string }

const BLOCK = 512
const REGULAR = '0'

export function createArchive(entries: readonly Entry[]): string {
  let archive = ''
  for (const { path, text } of entries) {
    // Other names have an entry of their own before the file.
    const isPlain = /^[\x20-\x7e]{1,100}$/.test(path)
    if (!isPlain) archive += headOf('././@LongLink', Buffer.byteLength(path) + 1, 'L') + padded(`${path}\0`)
    archive += headOf(isPlain ? path : 'file', bytesOfText(text).length, REGULAR) + padded(text)
  }
  return archive + '\0'.repeat(2 * BLOCK)
}

function padded(text: string): string {
  const rest = bytesOfText(text).length % BLOCK
  return rest === 0 ? text : text + '\0'.repeat(BLOCK - rest)
}

function headOf(path: string, size: number, type: string): string {
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  const fields = (sum: string) =>
    `${path.padEnd(100, '\0')}${octal(0o644, 8)}${octal(0, 8)}${octal(0, 8)}${octal(size, 12)}${octal(0, 12)}${sum}${type}`.padEnd(
      257,
      '\0',
    ) +
    'ustar\x0000root'.padEnd(40, '\0') +
    'root'.padEnd(32, '\0')
  const head = fields(' '.repeat(8)).padEnd(BLOCK, '\0')
  const sum = [...Buffer.from(head, 'latin1')].reduce((total, byte) => total + byte, 0)
  return fields(`${sum.toString(8).padStart(6, '0')}\0 `).padEnd(BLOCK, '\0')
}

/** The files of an archive; undefined when it is none. */
export function extractArchive(archive: string): Entry[] | undefined {
  const bytes = bytesOfText(archive)
  const entries: Entry[] = []
  let longPath = ''
  for (let at = 0; at + BLOCK <= bytes.length && bytes[at] !== 0; ) {
    const field = (from: number, length: number) => bytes.toString('utf8', at + from, at + from + length).replace(/\0.*$/s, '')
    const size = Number.parseInt(field(124, 12).trim() || '0', 8)
    const type = field(156, 1) || REGULAR
    const start = at + BLOCK
    if (Number.isNaN(size) || start + size > bytes.length) return undefined
    const content = bytes.subarray(start, start + size)
    const prefix = field(257, 5) === 'ustar' ? field(345, 155) : ''
    const path = longPath || (prefix === '' ? field(0, 100) : `${prefix}/${field(0, 100)}`)
    longPath = type === 'L' ? content.toString().replace(/\0.*$/s, '') : ''
    if (type === REGULAR) entries.push({ path, text: textOfBytes(content) })
    at = start + Math.ceil(size / BLOCK) * BLOCK
  }
  return entries
}
