/** Whether a text is one mail address as Go's `mail.ParseAddress` reads it: bare, with a name before it, or alone in a group. */
import { parseIP } from '../lib/ip.ts'

export function isEmailAddress(text: string): boolean {
  const reader = new AddressReader(text)
  const count = reader.address('group too')
  return count === 1 && reader.skipComments() && reader.ended
}

class AddressReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get ended(): boolean {
    return this.#at >= this.#text.length
  }

  /** How many addresses were read: one, or as many as the group has; undefined for a text that is none. */
  address(mode: 'group too' | 'no group'): number | undefined {
    this.#skipSpace()
    if (this.ended) return undefined
    if (this.#addressSpec()) {
      this.#skipSpace()
      return this.#peek() !== '(' || this.#comment() ? 1 : undefined
    }
    if (this.#peek() !== '<' && !this.#phrase()) return undefined
    this.#skipSpace()
    if (mode === 'group too' && this.#take(':')) return this.#group()
    return this.#take('<') && this.#addressSpec() && this.#take('>') ? 1 : undefined
  }

  skipComments(): boolean {
    this.#skipSpace()
    while (this.#peek() === '(') {
      if (!this.#comment()) return false
      this.#skipSpace()
    }
    return true
  }

  #group(): number | undefined {
    this.#skipSpace()
    if (this.#take(';')) return this.skipComments() ? 0 : undefined
    for (let count = 0; ; ) {
      const more = this.address('no group')
      if (more === undefined || !this.skipComments()) return undefined
      count += more
      if (this.#take(';')) return this.skipComments() ? count : undefined
      if (!this.#take(',')) return undefined
    }
  }

  /** `local@domain`; takes nothing of a text that is none. */
  #addressSpec(): boolean {
    const start = this.#at
    this.#skipSpace()
    const read = this.#localPart() && this.#take('@') && this.#domain()
    if (!read) this.#at = start
    return read
  }

  #localPart(): boolean {
    if (this.#peek() !== '"') return this.#atom(ATOM)
    const start = this.#at
    return this.#quoted() && this.#at - start > 2
  }

  #domain(): boolean {
    this.#skipSpace()
    if (this.#peek() !== '[') return this.#atom(ATOM)
    const end = this.#text.indexOf(']', this.#at)
    const literal = this.#text.slice(this.#at + 1, end)
    // No zone, no bracket and no space is part of any address, so what parses has no odd character.
    if (end < 0 || parseIP(literal) === undefined) return false
    this.#at = end + 1
    return true
  }

  /** At least one word; what follows the last one is left for the caller. */
  #phrase(): boolean {
    for (let words = 0; ; words++) {
      if (words > 0 && !this.skipComments()) return false
      this.#skipSpace()
      if (this.ended || !(this.#peek() === '"' ? this.#quoted() : this.#atom(LOOSE_ATOM))) return words > 0
    }
  }

  /** A dotted word. A strict one that has its dots in wrong places is taken nevertheless, as the caller goes back. */
  #atom(chars: RegExp): boolean {
    chars.lastIndex = this.#at
    const word = chars.exec(this.#text)?.[0]
    if (word === undefined) return false
    this.#at += word.length
    return chars === LOOSE_ATOM || !(word.startsWith('.') || word.endsWith('.') || word.includes('..'))
  }

  #quoted(): boolean {
    for (let i = this.#at + 1; i < this.#text.length; i++) {
      const char = this.#text[i]!
      if (char === '"') {
        this.#at = i + 1
        return true
      }
      if (char === '\\') i++
      if (i < this.#text.length && !QUOTABLE.test(this.#text[i]!)) return false
    }
    return false
  }

  /** A comment in parentheses, which may hold others. */
  #comment(): boolean {
    let depth = 0
    while (!this.ended) {
      const char = this.#text[this.#at++]
      if (char === '\\') this.#at++
      else if (char === '(') depth++
      else if (char === ')' && --depth === 0) return true
    }
    return false
  }

  #peek(): string | undefined {
    return this.#text[this.#at]
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false
    this.#at++
    return true
  }

  #skipSpace(): void {
    while (this.#peek() === ' ' || this.#peek() === '\t') this.#at++
  }
}

const ATOM = /[!#-'*+\-./0-9=?A-Z^-~\u0080-\uffff]+/y
const LOOSE_ATOM = /[!#-'()*+,\-./0-9;=?@A-Z[\\\]^-~\u0080-\uffff]+/y
const QUOTABLE = /[\t -~\u0080-\uffff]/
