/**
 * Parses shell scripts that are lists of simple commands, pipelines, conditions, loops over words, and an endless loop at
 * the end:
 *
 *     if [ -f /etc/app/ready ]; then echo "$GREETING"; else exit 3; fi
 *     for name in $(cat /etc/app/names | head -n 3); do echo "hello $name"; done
 *     while true; do date; sleep 1; done
 */
export type Piece = { readonly isQuoted: boolean } & (
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'variable'; readonly name: string; readonly orElse: string | undefined }
  | { readonly type: 'output'; readonly script: Step }
)
export type Word = readonly Piece[]
export type Redirect = { readonly isError: boolean; readonly isAppended: boolean; readonly to: Word }
export type Step =
  | { readonly type: 'command'; readonly words: readonly Word[]; readonly redirects: readonly Redirect[] }
  | { readonly type: 'list'; readonly steps: readonly Step[] }
  | { readonly type: 'and' | 'or'; readonly left: Step; readonly right: Step }
  | { readonly type: 'pipe'; readonly steps: readonly Step[] }
  | { readonly type: 'not' | 'background'; readonly step: Step }
  | { readonly type: 'for'; readonly name: string; readonly words: readonly Word[]; readonly body: Step }
  | { readonly type: 'if'; readonly condition: Step; readonly then: Step; readonly otherwise: Step }
  | { readonly type: 'endless'; readonly body: readonly Step[] }

const MAX_SCRIPT_LENGTH = 4096
const MAX_DEPTH = 8

/** Undefined when a script exceeds these limits. */
export function parseScript(script: string): Step | undefined {
  if (script.length > MAX_SCRIPT_LENGTH) return undefined
  try {
    const parser = new Parser(script)
    const step = parser.list([])
    return parser.isAtEnd ? step : undefined
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined
    throw error
  }
}

class NotUnderstood extends Error {}

const NOTHING: Step = { type: 'list', steps: [] }
/** Keywords of constructs that are not supported. */
const UNREAD = new Set(['until', 'case', 'select', 'function', '{'])

class Parser {
  readonly #text: string
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    this.#skip(/[ \t\r\n;]/)
    return this.#at >= this.#text.length
  }

  /** Parses steps up to one of the terminators, or a closing bracket. */
  list(ends: readonly string[]): Step {
    if (++this.#depth > MAX_DEPTH) throw new NotUnderstood()
    const steps: Step[] = []
    while (!this.isAtEnd && this.#text[this.#at] !== ')' && !ends.includes(this.#peek())) steps.push(this.#andOr())
    this.#depth--
    return steps.length === 1 ? steps[0]! : { type: 'list', steps }
  }

  #andOr(): Step {
    let left = this.#pipeline()
    for (;;) {
      this.#blanks()
      const operator = this.#text.slice(this.#at, this.#at + 2)
      if (operator !== '&&' && operator !== '||') break
      this.#at += 2
      this.#skip(/[ \t\r\n]/)
      left = { type: operator === '&&' ? 'and' : 'or', left, right: this.#pipeline() }
    }
    const next = this.#text[this.#at] ?? '\n'
    if (next === '&') {
      this.#at++
      return { type: 'background', step: left }
    }
    if (!';\n)'.includes(next)) throw new NotUnderstood()
    return left
  }

  #pipeline(): Step {
    const isNegated = this.#peek() === '!'
    if (isNegated) this.#word()
    const steps = [this.#step()]
    for (this.#blanks(); /^\|[^|&]/.test(this.#text.slice(this.#at, this.#at + 2)); this.#blanks()) {
      this.#at++
      this.#skip(/[ \t\r\n]/)
      steps.push(this.#step())
    }
    const step: Step = steps.length === 1 ? steps[0]! : { type: 'pipe', steps }
    return isNegated ? { type: 'not', step } : step
  }

  #step(): Step {
    const word = this.#peek()
    if (UNREAD.has(word)) throw new NotUnderstood()
    if (word === 'if') return this.#if()
    if (word === 'while') return this.#endless()
    if (word === 'for') return this.#for()
    return this.#command()
  }

  #for(): Step {
    this.#word()
    const name = this.#peek()
    if (!/^[A-Za-z_]\w{0,14}$/.test(name)) throw new NotUnderstood()
    this.#word()
    this.#expect('in')
    const words: Word[] = []
    for (this.#blanks(); !ENDS.includes(this.#text[this.#at] ?? '\n'); this.#blanks()) words.push(this.#word())
    this.#expect('do')
    const body = this.list(['done'])
    this.#expect('done')
    return { type: 'for', name, words, body }
  }

  #if(): Step {
    this.#word()
    const condition = this.list(['then'])
    this.#expect('then')
    const then = this.list(['elif', 'else', 'fi'])
    const next = this.#peek()
    if (next === 'elif') return { type: 'if', condition, then, otherwise: this.#if() }
    let otherwise = NOTHING
    if (next === 'else') {
      this.#word()
      otherwise = this.list(['fi'])
    }
    this.#expect('fi')
    return { type: 'if', condition, then, otherwise }
  }

  #expect(word: string): void {
    if (this.isAtEnd || this.#peek() !== word) throw new NotUnderstood()
    this.#word()
  }

  /** The body of an endless loop need not be understood: only its output matters. */
  #endless(): Step {
    this.#word()
    this.#blanks()
    if (!/^(true|:|1)$/.test(this.#peek())) throw new NotUnderstood()
    const body: Step[] = []
    while (this.#at < this.#text.length) {
      this.#skip(/[\s;&|()]/)
      if (this.#peek() === 'do') this.#word()
      else if (this.#at < this.#text.length) body.push(this.#command())
    }
    return { type: 'endless', body }
  }

  #command(): Step {
    const words: Word[] = []
    const redirects: Redirect[] = []
    for (;;) {
      this.#blanks()
      const [whole = '', descriptor = ''] = /^(\d?)>>?/.exec(this.#text.slice(this.#at, this.#at + 3)) ?? []
      if (whole !== '') {
        this.#at += whole.length
        const isError = descriptor === '2'
        // Duplicates the target of the other stream.
        const [same] = /^&\d/.exec(this.#text.slice(this.#at, this.#at + 2)) ?? []
        if (same) {
          this.#at += same.length
          if (same === '&2' && !isError) redirects.push({ isError, isAppended: true, to: STANDARD_ERROR })
        } else {
          this.#blanks()
          redirects.push({ isError, isAppended: whole.endsWith('>>'), to: this.#word() })
        }
        continue
      }
      const next = this.#text[this.#at] ?? '\n'
      if (next === '<') throw new NotUnderstood()
      if (ENDS.includes(next)) break
      words.push(this.#word())
    }
    if (words.length === 0 && redirects.length === 0) throw new NotUnderstood()
    return { type: 'command', words, redirects }
  }

  #word(): Word {
    const pieces: Piece[] = []
    while (this.#at < this.#text.length && !`${ENDS}<> \t`.includes(this.#text[this.#at]!)) pieces.push(...this.#piece())
    if (pieces.length === 0) throw new NotUnderstood()
    return pieces
  }

  #piece(): Piece[] {
    const char = this.#text[this.#at]!
    if (char === "'") return [{ type: 'text', text: this.#until("'"), isQuoted: true }]
    if (char === '"') return this.#quoted()
    if (char === '`') return [this.#backquoted(false)]
    if (char === '$') return [this.#dollar(false)]
    if (char === '\\') {
      this.#at += 2
      return [{ type: 'text', text: this.#text[this.#at - 1] ?? '', isQuoted: true }]
    }
    const start = this.#at
    while (this.#at < this.#text.length && !`${ENDS}<> \t'"\`$\\`.includes(this.#text[this.#at]!)) this.#at++
    return [{ type: 'text', text: this.#text.slice(start, this.#at), isQuoted: false }]
  }

  #quoted(): Piece[] {
    const pieces: Piece[] = [{ type: 'text', text: '', isQuoted: true }]
    let text = ''
    for (this.#at++; this.#text[this.#at] !== '"'; ) {
      const char = this.#text[this.#at]
      if (char === undefined) throw new NotUnderstood()
      if (char === '$' || char === '`') {
        pieces.push({ type: 'text', text, isQuoted: true }, char === '$' ? this.#dollar(true) : this.#backquoted(true))
        text = ''
      } else if (char === '\\' && '"\\$`'.includes(this.#text[this.#at + 1] ?? ' ')) {
        text += this.#text[this.#at + 1]
        this.#at += 2
      } else {
        text += char
        this.#at++
      }
    }
    this.#at++
    return [...pieces, { type: 'text', text, isQuoted: true }]
  }

  /** A variable, or a command substitution. */
  #dollar(isQuoted: boolean): Piece {
    this.#at++
    const next = this.#text[this.#at] ?? ''
    if (next === '(') {
      if (this.#text[this.#at + 1] === '(') throw new NotUnderstood()
      this.#at++
      const script = this.list([])
      if (this.#text[this.#at] !== ')') throw new NotUnderstood()
      this.#at++
      return { type: 'output', script, isQuoted }
    }
    if (next === '{') {
      const [, name = '', orElse] = /^([A-Za-z_]\w*)(?::-(.*)|:\?.*)?$/.exec(this.#until('}')) ?? []
      if (name === '') throw new NotUnderstood()
      return { type: 'variable', name, orElse, isQuoted }
    }
    const [name = ''] = /^([A-Za-z_]\w*|\?)/.exec(this.#text.slice(this.#at)) ?? []
    if (name === '' && /[\w#@*!$-]/.test(next)) throw new NotUnderstood()
    this.#at += name.length
    return name === '' ? { type: 'text', text: '$', isQuoted } : { type: 'variable', name, orElse: undefined, isQuoted }
  }

  /** A command substitution with backquotes. */
  #backquoted(isQuoted: boolean): Piece {
    const text = this.#until('`')
    if (text.includes('\\')) throw new NotUnderstood()
    const parser = new Parser(text)
    parser.#depth = this.#depth
    const script = parser.list([])
    if (!parser.isAtEnd) throw new NotUnderstood()
    return { type: 'output', script, isQuoted }
  }

  /** The text after the current character up to one that is not escaped. */
  #until(end: string): string {
    const at = this.#text.indexOf(end, this.#at + 1)
    if (at < 0) throw new NotUnderstood()
    const text = this.#text.slice(this.#at + 1, at)
    this.#at = at + 1
    return text
  }

  /** Peeks at the next word, when it is plain. */
  #peek(): string {
    this.#blanks()
    return /^[^\s;&|()<>'"`$\\]*/.exec(this.#text.slice(this.#at, this.#at + 16))?.[0] ?? ''
  }

  /** Skips blanks, and a comment up to the end of its line. */
  #blanks(): void {
    this.#skip(/[ \t\r]/)
    if (this.#text.startsWith('\\\n', this.#at)) {
      this.#at += 2
      this.#blanks()
    }
    if (this.#text[this.#at] === '#') while (this.#at < this.#text.length && this.#text[this.#at] !== '\n') this.#at++
  }

  #skip(what: RegExp): void {
    while (this.#at < this.#text.length && what.test(this.#text[this.#at]!)) this.#at++
  }
}

const STANDARD_ERROR: Word = [{ type: 'text', text: '/dev/stderr', isQuoted: true }]

/** Characters that end a command. */
const ENDS = ';\n&|()'
