/** E-mail addresses in certificates: a Mailbox of RFC 2821, as Go's crypto/x509 reads it. */

export type Mailbox = { readonly local: string; readonly domain: string }

/** A quoted local part, or one of atoms with dots between them; a backslash escapes a character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: quotes may hold control characters, too
const QUOTED = /^"((?:[\x01-\x08\x0b\x0c\x0e-\x21\x23-\x5b\x5d-\x7f]|\\[\x01-\x09\x0b\x0c\x0e-\x7f])*)"@(.*)$/s
const ATOMS = /^((?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]|\\[\s\S])+)@(.*)$/s

/** The parts of an address; undefined when it is none. */
export function parseMailbox(text: string): Mailbox | undefined {
  const isQuoted = text.startsWith('"')
  const [, written, domain] = (isQuoted ? QUOTED : ATOMS).exec(text) ?? []
  if (written === undefined || domain === undefined) return undefined
  const local = written.replace(/\\([\s\S])/g, '$1')
  if (!isQuoted && (local.startsWith('.') || local.endsWith('.') || local.includes('..'))) return undefined
  return isMailDomain(domain) ? { local, domain } : undefined
}

const isMailDomain = (domain: string): boolean => domain === '' || domain.split('.').every(label => /^[\x21-\x3f\x41-\x7e]+$/.test(label))
