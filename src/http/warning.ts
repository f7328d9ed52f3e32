/** Warning headers, which clients print. */
import { LIMITS } from '../lib/limits.ts'

/** One `Warning` header for each distinct warning, their total size bounded. */
export function warningHeaders(warnings: readonly string[]): string[] {
  const texts: string[] = []
  let total = 0
  for (const warning of new Set(warnings)) {
    // A header line cannot have control characters: such a warning is left out, as in kube-apiserver.
    if (warning === '' || CONTROL.test(warning)) continue
    texts.push(warning)
    total += warning.length
    // Even truncated, no more than these are ever sent.
    if (texts.length > LIMITS.warningRunes) break
  }
  if (total <= LIMITS.warningRunes) return texts.map(quoted)
  const headers: string[] = []
  let written = 0
  for (const text of texts) {
    if (written >= LIMITS.warningRunes) break
    // A rune is at most two characters.
    const cut = [...text.slice(0, 2 * LIMITS.warningCutRunes)].slice(0, LIMITS.warningCutRunes).join('')
    written += cut.length
    headers.push(quoted(cut))
  }
  return headers
}

/** Header values are Latin-1 on the wire: the UTF-8 bytes of the string are sent as such. */
const quoted = (text: string) => Buffer.from(`299 - "${text.replace(/[\\"]/g, '\\$&')}"`, 'utf8').toString('latin1')

// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them.
const CONTROL = /[\u0000-\u001f\u007f]/
