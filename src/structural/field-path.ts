/** Paths such as `.spec.size` and `['a.b'].c` that name a field of a schema. */
import { CONTROL_CHARACTERS } from '../lib/go-text.ts'
import { getOwn } from '../lib/json-value.ts'
import type { JsonSchema } from './schema.ts'

export type FoundField = {
  /** The names on the way, the path in its usual form, and the schema of the field. */
  readonly names: readonly string[]
  readonly path: string
  readonly schema: JsonSchema | undefined
}

/** The field that a path names, or the fault of the path. */
export function fieldAt(path: string, schema: JsonSchema, { brackets = true } = {}): FoundField | { readonly fault: string } {
  const tokens = tokensOf(path)
  const names: string[] = []
  let text = ''
  let at: JsonSchema | undefined = schema
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!
    if (token !== '.' && token !== '[') return { fault: `expected [ or . but got: ${token}` }
    if (token === '[' && !brackets) return { fault: 'array notation is not allowed' }
    const next = tokens[++i]
    if (next === undefined) return { fault: 'unexpected end of JSON path' }
    const name = token === '[' ? unquoted(next) : { text: next }
    if ('fault' in name) return name
    const into = step(at, name.text)
    if (!into) return { fault: 'does not refer to a valid field' }
    names.push(name.text)
    text += into.isKey ? `[${name.text}]` : text === '' ? name.text : `.${name.text}`
    at = into.schema
    if (token === '.') continue
    const end = tokens[++i]
    if (end === undefined) return { fault: 'unexpected end of JSON path' }
    if (end !== ']') return { fault: `expected ] but got ${end}` }
  }
  return { names, path: text, schema: at }
}

/** The fault of a path; undefined when it names a field. */
export function faultOfPath(path: string, schema: JsonSchema): string | undefined {
  const found = fieldAt(path, schema)
  return 'fault' in found ? found.fault : undefined
}

/** The schema one name further in: a member that is described, or any of members that are all alike. */
function step(schema: JsonSchema | undefined, name: string): { schema: JsonSchema | undefined; isKey: boolean } | undefined {
  if (schema?.properties) {
    const member = getOwn(schema.properties, name)
    return member && { schema: member, isKey: false }
  }
  if (schema?.additionalProperties === undefined) return undefined
  return { schema: typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined, isKey: true }
}

/** Dots and brackets as tokens, and the text between them; within single quotes they are text. */
function tokensOf(path: string): string[] {
  const tokens: string[] = []
  for (let from = 0; from < path.length; ) {
    const to = endOfToken(path, from)
    tokens.push(path.slice(from, to))
    from = to
  }
  return tokens
}

function endOfToken(path: string, from: number): number {
  if (path[from] === "'") {
    for (let i = from + 1; i < path.length; i++) if (path[i] === "'" && path[i - 1] !== '\\') return i + 1
    return path.length
  }
  for (let i = from; i < path.length; i++) if (path[i] === '.' || path[i] === '[' || path[i] === ']') return Math.max(i, from + 1)
  return path.length
}

const ESCAPES: Readonly<Record<string, string>> = { ...CONTROL_CHARACTERS, "'": "'", '\\': '\\' }

function unquoted(token: string): { readonly text: string } | { readonly fault: string } {
  if (token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) return { fault: `expected single quoted string but got ${token}` }
  let fault: string | undefined
  const text = token.slice(1, -1).replace(/\\./gsu, escaped => {
    const meant = ESCAPES[escaped.slice(1)]
    if (meant === undefined) fault ??= `invalid string literal: invalid escape char ${escaped}`
    return meant ?? ''
  })
  return fault === undefined ? { text } : { fault }
}
