/** Selectors as strings, as in lists and watches: `app=web,tier in (a,b),!old` for labels, `metadata.name=x` for fields. */
import { goQuote } from '../lib/go-text.ts'
import { isQualifiedName, isValidLabelValue } from '../lib/names.ts'
import { type FieldError, invalid, refTo } from './refs.ts'
import { badRequest } from './status-error.ts'

export type LabelOperator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt'
/** One condition on one label. `values` are sorted; `exists` and `!` have none, `in` and `notin` at least one, the others one. */
export type LabelTerm = { readonly key: string; readonly operator: LabelOperator; readonly values: readonly string[] }
/** Conditions that must all be met, sorted by key; the empty list matches everything. */
export type LabelTerms = readonly LabelTerm[]

/** One condition on one selectable field; an absent field counts as the empty string. */
export type FieldTerm = { readonly field: string; readonly operator: '=' | '!='; readonly value: string }
export type FieldTerms = readonly FieldTerm[]

/** Parses a label selector; throws a 400 that names the unexpected token and the expected ones. */
export function parseLabelSelector(text: string): LabelTerms {
  try {
    return sortedByKey(new LabelParser(text).parse())
  } catch (error) {
    throw error instanceof SelectorError ? badRequest(error.message) : error
  }
}

/** Formats a label selector so that parsing it gives the same terms. */
export function printLabelSelector(terms: LabelTerms): string {
  return terms.map(printLabelTerm).join(',')
}

/** Whether labels match every term. */
export function matchesLabelTerms(terms: LabelTerms, labels: Readonly<Record<string, string>> | null | undefined): boolean {
  if (terms.length > FEW || terms.some(({ values }) => values.length > FEW)) return conditionsOf(terms).hold(labels ?? NO_LABELS)
  return terms.every(term => meets(term, labels && Object.hasOwn(labels, term.key) ? labels[term.key] : undefined))
}

/** The number of terms, and of values of one, that are tested one after the other. */
const FEW = 8
const NO_LABELS: Readonly<Record<string, string>> = {}
const knownConditions = new WeakMap<LabelTerms, LabelConditions>()

function conditionsOf(terms: LabelTerms): LabelConditions {
  let conditions = knownConditions.get(terms)
  if (!conditions) {
    conditions = new LabelConditions(terms)
    knownConditions.set(terms, conditions)
  }
  return conditions
}

/** The combination of all terms about one label. */
type LabelCondition = {
  isRequired: boolean
  isForbidden: boolean
  /** The only allowed values; undefined for any. */
  allowed: ReadonlySet<string> | undefined
  readonly refused: Set<string>
  /** Exclusive bounds of a numeric value. */
  above: bigint | undefined
  below: bigint | undefined
}

/**
 * Many terms, combined by label. Objects have few labels and selectors may have thousands of terms: the cost of one object depends on its
 * labels, not on the terms.
 */
class LabelConditions {
  readonly #byKey = new Map<string, LabelCondition>()
  readonly #required: number

  constructor(terms: LabelTerms) {
    for (const term of terms) this.#add(term)
    this.#required = [...this.#byKey.values()].filter(({ isRequired }) => isRequired).length
  }

  #add({ key, operator, values }: LabelTerm): void {
    let condition = this.#byKey.get(key)
    if (!condition) {
      condition = { isRequired: false, isForbidden: false, allowed: undefined, refused: new Set(), above: undefined, below: undefined }
      this.#byKey.set(key, condition)
    }
    const { allowed } = condition
    if (operator === '!') condition.isForbidden = true
    else if (operator === '!=' || operator === 'notin') for (const value of values) condition.refused.add(value)
    else {
      condition.isRequired = true
      if (operator === 'exists') return
      if (operator !== 'gt' && operator !== 'lt') {
        condition.allowed = new Set(allowed ? values.filter(value => allowed.has(value)) : values)
        return
      }
      const bound = integerOf(values[0])
      if (bound === undefined) condition.isForbidden = true
      else if (operator === 'gt') condition.above = condition.above === undefined || bound > condition.above ? bound : condition.above
      else condition.below = condition.below === undefined || bound < condition.below ? bound : condition.below
    }
  }

  hold(labels: Readonly<Record<string, string>>): boolean {
    let found = 0
    // Some objects have more labels than a selector has terms.
    const keys = this.#byKey.size > MANY ? Object.keys(labels) : this.#byKey.keys()
    for (const key of keys) {
      const condition = this.#byKey.get(key)
      if (!condition || !Object.hasOwn(labels, key)) continue
      if (!allows(condition, labels[key]!)) return false
      if (condition.isRequired) found++
    }
    return found === this.#required
  }
}

const MANY = 64

/** Whether an existing label may have a value. */
function allows({ isForbidden, allowed, refused, above, below }: LabelCondition, value: string): boolean {
  if (isForbidden || refused.has(value) || (allowed && !allowed.has(value))) return false
  if (above === undefined && below === undefined) return true
  const number = integerOf(value)
  return number !== undefined && (above === undefined || number > above) && (below === undefined || number < below)
}

/** A term of these parts, with all their errors. */
export function labelTerm(key: string, operator: LabelOperator, values: readonly string[]): { term: LabelTerm; errors: FieldError[] } {
  // Created only for errors: selectors can have thousands of terms.
  const at = () => refTo({ key, values }, '')
  const errors: FieldError[] = []
  const keyFaults = isQualifiedName(key)
  if (keyFaults.length > 0) errors.push(invalid(at().key, keyFaults.join('; ')))
  if ((operator === 'in' || operator === 'notin') && values.length === 0)
    errors.push(invalid(at().values, "for 'in', 'notin' operators, values set can't be empty"))
  if ((operator === 'exists' || operator === '!') && values.length > 0)
    errors.push(invalid(at().values, 'values set must be empty for exists and does not exist'))
  for (const [i, value] of values.entries()) {
    if ((operator === 'gt' || operator === 'lt') && integerOf(value) === undefined)
      errors.push(invalid(at().values[i]!, "for 'Gt', 'Lt' operators, the value must be an integer"))
    const faults = isValidLabelValue(value)
    if (faults.length > 0) errors.push(invalid(refTo(value, `values[${i}][${key}]`), faults.join('; ')))
  }
  return { term: { key, operator, values: values.length < 2 ? values : [...values].sort() }, errors }
}

/** Terms in their canonical order. */
export function sortedByKey(terms: readonly LabelTerm[]): LabelTerms {
  return [...terms].sort((a, b) => compare(a.key, b.key))
}

/** Parses a field selector; throws a 400 for invalid syntax. Whether the fields exist is not checked here. */
export function parseFieldSelector(text: string): FieldTerms {
  const terms: FieldTerm[] = []
  for (const part of splitFieldTerms(text).sort(compare)) {
    if (part === '') continue
    const match = /^(.*?)(!=|==|=)(.*)$/s.exec(part)
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`)
    const [, field = '', operator, value = ''] = match
    terms.push({ field, operator: operator === '!=' ? '!=' : '=', value: unescapeFieldValue(value) })
  }
  return terms
}

/** Whether fields match every term. */
export function matchesFieldTerms(terms: FieldTerms, fieldOf: (field: string) => string): boolean {
  if (terms.length <= FEW) return terms.every(({ field, operator, value }) => (fieldOf(field) === value) === (operator === '='))
  for (const [field, { required, refused }] of fieldConditionsOf(terms)) {
    const value = fieldOf(field)
    if (refused.has(value) || required.size > 1 || (required.size === 1 && !required.has(value))) return false
  }
  return true
}

/** The combination of all terms about one field: it cannot have more than one value. */
type FieldCondition = { readonly required: Set<string>; readonly refused: Set<string> }
const knownFieldConditions = new WeakMap<FieldTerms, ReadonlyMap<string, FieldCondition>>()

function fieldConditionsOf(terms: FieldTerms): ReadonlyMap<string, FieldCondition> {
  const known = knownFieldConditions.get(terms)
  if (known) return known
  const conditions = new Map<string, FieldCondition>()
  for (const { field, operator, value } of terms) {
    const condition = conditions.get(field) ?? { required: new Set(), refused: new Set() }
    conditions.set(field, condition)
    ;(operator === '=' ? condition.required : condition.refused).add(value)
  }
  knownFieldConditions.set(terms, conditions)
  return conditions
}

/** The value that a field must have, if the terms require one. */
export function requiredFieldValue(terms: FieldTerms, field: string): string | undefined {
  return terms.find(term => term.field === field && term.operator === '=')?.value
}

/** The selectable fields: the name, where `namespaced` the namespace, and `selectable`; without the latter, the name and the namespace. */
export type SelectableFields = {
  readonly namespaced: boolean
  readonly selectable?: readonly string[]
  /** The error of a kind with `selectable` for other fields, if it differs from the usual one. */
  readonly refusal?: (field: string) => string
}

/** Throws a 400 for the first field that is not selectable. */
export function assertSelectable(terms: FieldTerms, { namespaced, selectable, refusal }: SelectableFields): void {
  for (const { field } of terms) {
    if (field === 'metadata.name') continue
    if (selectable === undefined) {
      if (field !== 'metadata.namespace')
        throw badRequest(`${goQuote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`)
    } else if (!(selectable.includes(field) || (namespaced && field === 'metadata.namespace')))
      throw badRequest(refusal?.(field) ?? `field label not supported: ${field}`)
  }
}

class SelectorError extends Error {}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

function meets({ operator, values }: LabelTerm, value: string | undefined): boolean {
  switch (operator) {
    case '=':
    case '==':
    case 'in':
      return value !== undefined && values.includes(value)
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value)
    case 'exists':
      return value !== undefined
    case '!':
      return value === undefined
    case 'gt':
    case 'lt': {
      const [left, right] = [integerOf(value), integerOf(values[0])]
      if (left === undefined || right === undefined) return false
      return operator === 'gt' ? left > right : left < right
    }
  }
}

/** A 64-bit integer. */
function integerOf(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?\d+$/.test(text)) return undefined
  const value = text.startsWith('+') ? BigInt(text.slice(1)) : BigInt(text)
  return BigInt.asIntN(64, value) === value ? value : undefined
}

const SYMBOLS = { '=': '=', '==': '==', '!=': '!=', gt: '>', lt: '<' }
function printLabelTerm({ key, operator, values }: LabelTerm): string {
  switch (operator) {
    case 'exists':
      return key
    case '!':
      return `!${key}`
    case 'in':
    case 'notin':
      return `${key} ${operator} (${values.join(',')})`
    default:
      return `${key}${SYMBOLS[operator]}${values[0] ?? ''}`
  }
}

type Token = { readonly type: 'symbol' | 'word' | 'end'; readonly text: string }
const END: Token = { type: 'end', text: '' }

/** A zero byte ends the text, except right behind a token, where it is skipped; the lexer of Kubernetes does this. */
function tokensOf(text: string): Token[] {
  const token = /[ \t\r\n]*(?:([=!]=|[=!(),<>])|([^ \t\r\n=!(),<>\0]+))\0?/y
  const tokens: Token[] = []
  for (let match = token.exec(text); match; match = token.exec(text))
    tokens.push(match[1] === undefined ? { type: 'word', text: match[2]! } : { type: 'symbol', text: match[1] })
  return [...tokens, END]
}

const BINARY: Readonly<Record<string, LabelOperator>> = { in: 'in', notin: 'notin', '=': '=', '==': '==', '!=': '!=', '>': 'gt', '<': 'lt' }

/** Terms separated by commas: `[!]key`, `key OP value` or `key in (values)`. */
class LabelParser {
  readonly #tokens: readonly Token[]
  #position = 0

  constructor(text: string) {
    this.#tokens = tokensOf(text)
  }

  parse(): LabelTerm[] {
    const terms: LabelTerm[] = []
    if (this.#next.type === 'end') return terms
    if (!this.#startsTerm) throw new SelectorError(`found '${this.#next.text}', expected: !, identifier, or 'end of string'`)
    for (;;) {
      terms.push(this.#term())
      const token = this.#take()
      if (token.type === 'end') return terms
      if (token.text !== ',') throw new SelectorError(`found '${token.text}', expected: ',' or 'end of string'`)
      if (!this.#startsTerm) throw new SelectorError(`found '${this.#next.text}', expected: identifier after ','`)
    }
  }

  #term(): LabelTerm {
    const negated = this.#skip('!')
    const key = this.#take()
    if (key.type !== 'word') throw unparsable(`found '${key.text}', expected: identifier`)
    const faults = isQualifiedName(key.text)
    if (faults.length > 0) throw unparsable(messageOf(invalid(refTo(key.text, '<nil>'), faults.join('; '))))
    if (negated) return { key: key.text, operator: '!', values: [] }
    if (this.#next.type === 'end' || this.#next.text === ',') return { key: key.text, operator: 'exists', values: [] }
    const sign = this.#take()
    const operator = Object.hasOwn(BINARY, sign.text) ? BINARY[sign.text]! : undefined
    if (operator === undefined) throw unparsable(`found '${sign.text}', expected: in, notin, =, ==, !=, gt, lt`)
    const values = operator === 'in' || operator === 'notin' ? this.#values() : [this.#value()]
    const { term, errors } = labelTerm(key.text, operator, values.sort())
    const messages = [...new Set(errors.map(messageOf))]
    if (messages.length > 0) throw unparsable(messages.length === 1 ? messages[0]! : `[${messages.join(', ')}]`)
    return term
  }

  #value(): string {
    if (this.#next.type === 'end' || this.#next.text === ',') return ''
    const token = this.#take()
    if (token.type !== 'word') throw unparsable(`found '${token.text}', expected: identifier`)
    return token.text
  }

  /** `(a,b)`, where every empty element stands for the empty value. */
  #values(): string[] {
    const open = this.#take()
    if (open.text !== '(') throw unparsable(`found '${open.text}' expected: '('`)
    if (this.#skip(')')) return ['']
    if (this.#next.type !== 'word' && this.#next.text !== ',')
      throw unparsable(`found '${this.#next.text}', expected: ',', ')' or identifier`)
    const values = new Set<string>()
    for (;;) {
      const token = this.#take()
      if (token.type === 'word') {
        values.add(token.text)
        if (this.#skip(')')) return [...values]
        if (this.#next.text !== ',') throw unparsable(`found '${this.#next.text}', expected: ',' or ')'`)
      } else if (token.text === ',') {
        if (values.size === 0 || this.#next.text === ',') values.add('')
        if (this.#skip(')')) return [...values.add('')]
      } else throw unparsable(`found '${token.text}', expected: ',', or identifier`)
    }
  }

  get #next(): Token {
    return this.#tokens[this.#position] ?? END
  }
  get #startsTerm(): boolean {
    return this.#next.type === 'word' || this.#next.text === '!'
  }
  #take(): Token {
    const token = this.#next
    this.#position++
    return token
  }
  #skip(symbol: string): boolean {
    if (this.#next.type !== 'symbol' || this.#next.text !== symbol) return false
    this.#position++
    return true
  }
}

const unparsable = (detail: string) => new SelectorError(`unable to parse requirement: ${detail}`)
const messageOf = ({ field, message }: FieldError) => `${field}: ${message}`

/** Splits at commas that are not escaped. */
function splitFieldTerms(text: string): string[] {
  return text.match(/(?:[^\\,]|\\.|\\$)+/gs) ?? []
}

function unescapeFieldValue(text: string): string {
  return text.replace(/\\(.?)|=/gsu, (found, escaped: string | undefined) => {
    if (found === '=') throw badRequest('invalid field selector: unescaped character in value: 61')
    if (!escaped || !'\\,='.includes(escaped)) throw badRequest(`invalid field selector: invalid escape sequence: ${found}`)
    return escaped
  })
}
