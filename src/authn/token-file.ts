/** Authenticates static tokens from a CSV file: token,user,uid,"group1,group2". */
import { createHash } from 'node:crypto'
import type { TokenFinding } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import { sharedAudiences, type TokenAuthenticator } from './token.ts'

/** Tokens of a file have no audiences of their own: they are valid for those of the server. */
export class TokenFile implements TokenAuthenticator {
  // Looked up by hash, so that the time of a lookup does not reveal how much of a guess was right.
  readonly #users: ReadonlyMap<string, User>
  readonly #audiences: readonly string[]

  constructor(users: ReadonlyMap<string, User>, audiences: readonly string[]) {
    this.#users = users
    this.#audiences = audiences
  }

  authenticate(token: string, wanted: readonly string[]): TokenFinding {
    const audiences = sharedAudiences(this.#audiences, wanted)
    const user = audiences.length === 0 ? undefined : this.#users.get(digest(token))
    return user === undefined ? { outcome: 'none' } : { outcome: 'user', user, audiences }
  }
}

/** Reads a token file; a malformed one throws an error that names file and line, never a token. */
export function parseTokenFile(text: string, file: string): ReadonlyMap<string, User> {
  const users = new Map<string, User>()
  for (const { line, fields } of csvRecords(text, file)) {
    if (fields.length < 3)
      throw new Error(`${file}:${line}: a token needs at least 3 columns (token, user name, user uid), found ${fields.length}`)
    const [token = '', name = '', uid = '', groups = ''] = fields
    if (token === '') throw new Error(`${file}:${line}: the token is empty`)
    if (name === '') throw new Error(`${file}:${line}: the user name is empty`)
    const key = digest(token)
    if (users.has(key)) throw new Error(`${file}:${line}: the token appears a second time`)
    users.set(key, { name, ...(uid === '' ? {} : { uid }), groups: groups.split(',').filter(g => g !== '') })
  }
  return users
}

const digest = (token: string) => createHash('sha256').update(token).digest('base64')

type CsvRecord = { readonly line: number; readonly fields: readonly string[] }

/** Parses records of RFC 4180, skips `#` comments and blank lines, and drops leading space of a field. */
function* csvRecords(text: string, file: string): Generator<CsvRecord> {
  let line = 0
  for (const row of text.split(/\r?\n/)) {
    line++
    if (row.trim() !== '' && !row.startsWith('#')) yield { line, fields: csvFields(row, `${file}:${line}`) }
  }
}

function csvFields(row: string, where: string): string[] {
  const fields: string[] = []
  let at = 0
  for (;;) {
    while (row[at] === ' ') at++
    if (row[at] === '"') {
      const { value, next } = quotedField(row, at + 1, where)
      fields.push(value)
      at = next
    } else {
      const comma = row.indexOf(',', at)
      const end = comma === -1 ? row.length : comma
      const value = row.slice(at, end)
      if (value.includes('"')) throw new Error(`${where}: a quote stands inside a field that does not begin with one`)
      fields.push(value)
      at = end
    }
    if (at >= row.length) return fields
    if (row[at] !== ',') throw new Error(`${where}: a comma is missing after a quoted field`)
    at++
  }
}

function quotedField(row: string, start: number, where: string): { value: string; next: number } {
  let value = ''
  for (let at = start; at < row.length; at++) {
    if (row[at] !== '"') value += row[at]
    else if (row[at + 1] === '"') value += row[at++]
    else return { value, next: at + 1 }
  }
  throw new Error(`${where}: a quoted field is not closed`)
}
