/** Findings of a check, as text, JSON and SARIF. */
import { VERSION } from '../../version.ts'

export type Finding = {
  readonly file: string
  /** Counted from one. */
  readonly line: number
  readonly column: number
  readonly level: 'error' | 'warning'
  /** The reason of the API, such as `Invalid` or `Forbidden`, or `UnknownField`, `DuplicateField`, `UnknownKind`, `Unreadable`, `Warning`. */
  readonly rule: string
  /** `Deployment shop/web`; empty for a text that is no object. */
  readonly object: string
  /** Empty where the API names none. */
  readonly field: string
  readonly message: string
}

const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? '' : 's'}`

export function textOf(findings: readonly Finding[], objects: number): string {
  const lines = findings.map(({ file, line, column, level, object, field, message }) => {
    const subject = [object, field].filter(Boolean).join(': ')
    return `${file}:${line}:${column}: ${level}: ${subject ? `${subject}: ` : ''}${message}\n`
  })
  const errors = findings.filter(({ level }) => level === 'error').length
  const summary = findings.length === 0 ? 'nothing is wrong' : `${count(errors, 'error')}, ${count(findings.length - errors, 'warning')}`
  return `${lines.join('')}${count(objects, 'object')}: ${summary}\n`
}

export const jsonOf = (findings: readonly Finding[], objects: number): string => `${JSON.stringify({ objects, findings }, undefined, 2)}\n`

/** SARIF 2.1.0, which code hosts show beside the lines. */
export function sarifOf(findings: readonly Finding[]): string {
  const rules = [...new Set(findings.map(({ rule }) => rule))].sort().map(id => ({ id }))
  const results = findings.map(({ file, line, column, level, rule, object, field, message }) => ({
    ruleId: rule,
    level,
    message: { text: [object, field, message].filter(Boolean).join(': ') },
    locations: [{ physicalLocation: { artifactLocation: { uri: uriOf(file) }, region: { startLine: line, startColumn: column } } }],
  }))
  const driver = { name: 'keelson check', version: VERSION, rules }
  const document = { $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs: [{ tool: { driver }, results }] }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

const uriOf = (file: string): string => file.split('\\').join('/').split('/').map(encodeURIComponent).join('/')
