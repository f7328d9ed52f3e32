/** Warnings for people, as headers that clients print. */
import { LIMITS } from '../lib/limits.ts'

/** One `Warning` header for each distinct text, their total size bounded. */
export function warningHeaders(warnings: readonly string[]): string[] {
  const texts: string[] = []
  let total = 0
  for (const warning of new Set(warnings)) {
    if (warning === '') continue
    const text = printable(warning)
    texts.push(text)
    total += text.length
    // Cut to a part of that, no more than these are ever sent.
    if (texts.length > LIMITS.warningRunes) break
  }
  if (total <= LIMITS.warningRunes) return texts.map(quoted)
  const headers: string[] = []
  let written = 0
  for (const text of texts) {
    if (written >= LIMITS.warningRunes) break
    const cut = [...text].slice(0, LIMITS.warningCutRunes).join('')
    written += cut.length
    headers.push(quoted(cut))
  }
  return headers
}

/** Header values are Latin-1 on the wire: the UTF-8 bytes of the text are sent as such. */
const quoted = (text: string) => Buffer.from(`299 - "${text.replace(/[\\"]/g, '\\$&')}"`, 'utf8').toString('latin1')

/** What would end a header line becomes a space or nothing. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
const printable = (text: string) => text.replace(/[\t\r\n]/g, ' ').replace(/[\u0000-\u001f\u007f]/g, '')
