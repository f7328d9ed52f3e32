/** How a parser made by ANTLR reports errors of syntax and goes on after them: the messages of cel-go depend on every step of it. */

import { T, type Token, type Tokens } from './lexer.ts'
import { type CelIssue, nowhere, type Source } from './source.ts'
import type { Leaf } from './syntax-tree.ts'
import { formatTokenSet, hasToken, ruleEnd, setOf, type TokenSet } from './token-set.ts'

export interface RecoveryLimits {
  readonly maxDepth: number
  /** How often an error may be recovered from. */
  readonly maxRecoveries: number
  /** How many tokens may be skipped in one recovery. */
  readonly maxSkipped: number
}

/** Thrown where a rule cannot go on; the rule catches it and recovers. */
class Mismatch {
  readonly message: string
  readonly offending: number
  constructor(message: string, offending: number) {
    this.message = message
    this.offending = offending
  }
}

/** Thrown when there is no point in going on at all. */
class Stop {}

const maxReports = 100

/** A stream of tokens with the rules that are being read, and what may follow each. */
export class Recovery {
  readonly issues: CelIssue[] = []
  readonly #source: Source
  readonly #scanned: Tokens
  readonly #limits: RecoveryLimits
  readonly #follows: TokenSet[] = []
  readonly #depths = new Map<string, number>()
  #at = 0
  #fetched = -1
  #lexicalTold = 0
  #reports = 0
  #recovering = false
  #lastErrorAt = -1
  #lastErrorStates = new Set<string>()
  #recoveries = 0

  constructor(source: Source, scanned: Tokens, limits: RecoveryLimits) {
    this.#source = source
    this.#scanned = scanned
    this.#limits = limits
  }

  /** Runs a parse to its end; false when it had to be given up. */
  run(parse: () => void): boolean {
    try {
      parse()
      this.#fetch(this.#scanned.tokens.length - 1)
      return true
    } catch (error) {
      if (error instanceof Stop) return false
      throw error
    }
  }

  /** The type of a token ahead; 1 is the next. */
  peek(ahead = 1): number {
    return this.#tokenAt(this.#at + ahead - 1).type
  }

  /** Where the next token begins. */
  get offset(): number {
    return this.#tokenAt(this.#at).start
  }

  /** Reads a rule of the grammar; `follow` is what may come after it where it is used. Errors in it end it, not the parse. */
  rule(name: string, follow: TokenSet, body: (state: (at: string) => void) => void): void {
    const depth = (this.#depths.get(name) ?? 0) + 1
    if (depth > this.#limits.maxDepth) this.#giveUp(`expression recursion limit exceeded: ${this.#limits.maxDepth}`)
    this.#depths.set(name, depth)
    this.#follows.push(follow)
    let state = name
    try {
      body(at => {
        state = `${name} ${at}`
      })
    } catch (error) {
      if (!(error instanceof Mismatch)) throw error
      this.#reportError(error)
      this.#recover(state)
    }
    this.#follows.pop()
    this.#depths.set(name, depth - 1)
  }

  /** Reads a token of that type; `next` is what may come after it in the rule. */
  match(type: number, next: TokenSet): Leaf {
    if (this.peek() === type) return this.take()
    return this.#recoverInline(setOf(type), next)
  }

  /** Reads the next token, whatever it is. */
  take(): Leaf {
    const token = this.#tokenAt(this.#at)
    this.#endError()
    this.#consume()
    return this.#leaf(token)
  }

  /** Checks before a choice that the next token can be one of `next`; a token too many is dropped. */
  sync(next: TokenSet, place: 'choice' | 'loop' = 'choice'): void {
    if (this.#recovering || hasToken(next, this.peek())) return
    if (place === 'choice') {
      if (this.#deleteToken(next)) return
      throw this.#mismatch(next)
    }
    this.#reportUnwanted(next)
    this.#skipTo(this.#expected(next) | this.#recoverySet(), undefined)
  }

  /** No way to go on was found between a token ahead (1 is the next) and the next but `ahead` minus one. */
  noWayOn(ahead: number): never {
    throw this.#noWay(this.#at + ahead - 1)
  }

  #noWay(offending: number): Mismatch {
    const from = this.#tokenAt(this.#at)
    const to = this.#tokenAt(offending)
    const text = from.type === T.eof ? '<EOF>' : this.#textBetween(from.start, to.end)
    const message = `no viable alternative at input ${quote(text)}`
    // Reserved words as names have kept an older message.
    return new Mismatch(
      message.replace(/no viable alternative at input '.(true|false|null)'/, "mismatched input '$1' expecting IDENTIFIER"),
      offending,
    )
  }

  // The text of a stretch without what is no token in it.
  #textBetween(from: number, to: number): string {
    let text = ''
    let at = from
    for (const problem of this.#scanned.problems) {
      if (problem.offset < at || problem.offset >= to) continue
      text += this.#source.text.slice(at, problem.offset)
      at = problem.offset + problem.text.length
    }
    return text + this.#source.text.slice(at, to)
  }

  #mismatch(next: TokenSet): Mismatch {
    return new Mismatch(`mismatched input ${this.#display()} expecting ${formatTokenSet(this.#expected(next))}`, this.#at)
  }

  // What can come next, through the ends of rules.
  #expected(next: TokenSet): TokenSet {
    let expected = next
    for (let i = this.#follows.length - 1; i > 0 && (expected & ruleEnd) !== 0n; i--) expected = (expected & ~ruleEnd) | this.#follows[i]!
    return (expected & ruleEnd) !== 0n ? (expected & ~ruleEnd) | setOf(T.eof) : expected
  }

  #recoverySet(): TokenSet {
    return this.#follows.slice(1).reduce((all, follow) => all | follow, 0n) & ~ruleEnd
  }

  #reportError({ message, offending }: Mismatch): void {
    if (this.#recovering) return
    this.#recovering = true
    this.#report(offending, message)
  }

  #recover(state: string): void {
    this.#countRecovery()
    const skipped = { count: 0 }
    if (this.#lastErrorAt === this.#at && this.#lastErrorStates.has(state)) this.#skip(skipped)
    this.#lastErrorAt = this.#at
    this.#lastErrorStates.add(state)
    this.#skipTo(this.#recoverySet(), skipped)
  }

  #recoverInline(wanted: TokenSet, next: TokenSet): Leaf {
    this.#countRecovery()
    if (this.#deleteToken(wanted)) {
      const token = this.#tokenAt(this.#at)
      this.#consume()
      return this.#leaf(token)
    }
    if (!hasToken(this.#expected(next), this.peek())) throw this.#mismatch(wanted)
    if (!this.#recovering) {
      this.#recovering = true
      this.#report(this.#at, `missing ${formatTokenSet(wanted)} at ${this.#display()}`)
    }
    return { text: '<missing undefined>', start: this.offset }
  }

  #deleteToken(wanted: TokenSet): boolean {
    if (!hasToken(wanted, this.peek(2))) return false
    this.#reportUnwanted(wanted)
    this.#consume()
    this.#endError()
    return true
  }

  #reportUnwanted(next: TokenSet): void {
    if (this.#recovering) return
    this.#recovering = true
    this.#report(this.#at, `extraneous input ${this.#display()} expecting ${formatTokenSet(this.#expected(next))}`)
  }

  #endError(): void {
    this.#recovering = false
    this.#lastErrorAt = -1
    this.#lastErrorStates = new Set()
  }

  #countRecovery(): void {
    const { maxRecoveries } = this.#limits
    if (this.#recoveries++ < maxRecoveries) return
    this.#report(this.#at, `error recovery attempt limit exceeded: ${maxRecoveries}`)
    throw new Stop()
  }

  #skipTo(set: TokenSet, skipped: { count: number } | undefined): void {
    while (this.peek() !== T.eof && !hasToken(set, this.peek())) this.#skip(skipped)
  }

  #skip(skipped: { count: number } | undefined): void {
    const { maxSkipped } = this.#limits
    if (skipped && skipped.count++ >= maxSkipped) this.#giveUp(`error recovery token lookahead limit exceeded: ${maxSkipped}`)
    this.#consume()
  }

  #consume(): void {
    if (this.#tokenAt(this.#at).type !== T.eof) this.#at++
    this.#fetch(this.#at)
  }

  #giveUp(message: string): never {
    this.issues.push({ location: nowhere, message })
    throw new Stop()
  }

  #report(at: number, message: string): void {
    this.#tell(this.#tokenAt(at).start, message)
  }

  #tell(offset: number, message: string): void {
    const location = this.#source.locate(offset)
    if (this.#reports++ < maxReports) {
      this.issues.push({ location, message: `Syntax error: ${message}` })
      return
    }
    this.issues.push({ location, message: `Syntax error: More than ${maxReports} syntax errors` })
    throw new Stop()
  }

  #tokenAt(index: number): Token {
    const { tokens } = this.#scanned
    const at = Math.min(index, tokens.length - 1)
    this.#fetch(at)
    return tokens[at]!
  }

  // Tokens are told to be read one by one, and with them what lies between them and is none.
  #fetch(index: number): void {
    if (index <= this.#fetched) return
    this.#fetched = index
    const { tokens, problems } = this.#scanned
    const until = tokens[index]!.start
    while (this.#lexicalTold < problems.length && (problems[this.#lexicalTold]!.offset < until || tokens[index]!.type === T.eof)) {
      const { offset, text } = problems[this.#lexicalTold++]!
      this.#tell(offset, `token recognition error at: '${text}'`)
    }
  }

  #leaf({ start, end }: Token): Leaf {
    return { text: this.#source.text.slice(start, end), start }
  }

  #display(): string {
    const token = this.#tokenAt(this.#at)
    return quote(token.type === T.eof ? '<EOF>' : this.#leaf(token).text)
  }
}

const quote = (text: string): string => `'${text.replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r')}'`
