/** Completion and documentation of fields from the schema: where the cursor is, and what may stand there. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import type { Text } from '@codemirror/state'
import { type KindSchema, resolve, type Schema, schemaAt, typeName } from '../../core/openapi.ts'

/**
 * The path of the mapping around a line, by indentation: works in text that no parser would take. A key is around it if it stands before
 * the column `key`, a dash before the column `dash`: a list may stand at the column of its key, and its other items are not around it.
 */
export function pathAt(doc: Text, lineNumber: number, limits: { readonly key: number; readonly dash: number }): string[] {
  const path: string[] = []
  let { key: keyLimit, dash: dashLimit } = limits
  for (let n = lineNumber - 1; n >= 1 && keyLimit > 0; n--) {
    const { text } = doc.line(n)
    if (text.trim() === '' || text.trimStart().startsWith('#')) continue
    const { spaces, dashes, rest } = partsOf(text)
    const column = spaces + dashes
    const key = /^("[^"]*"|'[^']*'|[^\s:#][^:]*):(\s|$)/.exec(rest)?.[1]
    if (key !== undefined && column < keyLimit) {
      path.unshift(unquote(key))
      keyLimit = dashLimit = column
    }
    if (dashes > 0 && spaces < dashLimit) {
      path.unshift('[]')
      keyLimit = spaces + 1
      dashLimit = spaces
    }
  }
  return path
}

/** The indentation of a line, the width of its dash, and the rest. */
function partsOf(text: string): { spaces: number; dashes: number; rest: string } {
  const [, spaces = '', dashes = '', rest = ''] = /^(\s*)((?:- +)?)(.*)$/.exec(text) ?? []
  return { spaces: spaces.length, dashes: dashes.length, rest }
}

const unquote = (text: string): string => text.replace(/^["']|["']$/g, '')

export type Place = {
  /** The path of the mapping. */
  readonly path: string[]
  /** The field whose value is being written; undefined while its name is. */
  readonly field: string | undefined
  readonly from: number
}

export function placeAt(doc: Text, pos: number): Place {
  const line = doc.lineAt(pos)
  const { spaces, dashes, rest } = partsOf(line.text.slice(0, pos - line.from))
  const path =
    dashes === 0
      ? pathAt(doc, line.number, { key: spaces, dash: spaces })
      : [...pathAt(doc, line.number, { key: spaces + 1, dash: spaces }), '[]']
  const [, key, value] = /^([^\s:#][^:]*):\s+(.*)$/.exec(rest) ?? []
  if (key !== undefined) return { path, field: unquote(key), from: pos - value!.length }
  return { path, field: undefined, from: pos - rest.length }
}

export const completeFrom =
  (schema: () => KindSchema | undefined) =>
  (context: CompletionContext): CompletionResult | null => {
    const known = schema()
    if (!known) return null
    const { path, field, from } = placeAt(context.state.doc, context.pos)
    if (field !== undefined) {
      const at = schemaAt(known, [...path, field])
      const values = at?.enum?.map(String) ?? (at?.type === 'boolean' ? ['true', 'false'] : [])
      if (values.length === 0) return null
      return { from, options: values.map(label => ({ label, type: 'enum' })), validFor: /^[\w.-]*$/ }
    }
    const at = schemaAt(known, path)
    if (!at?.properties || (!context.explicit && !context.matchBefore(/\w+/) && context.state.doc.lineAt(context.pos).text.trim() !== ''))
      return null
    const options = Object.entries(at.properties).map(([label, below]): Completion => {
      const found = resolve(below, known.all)
      return {
        label,
        type: 'property',
        detail: typeName(below, known.all),
        apply: applied(label, found, context),
        boost: at.required?.includes(label) ? 10 : 0,
        info: () => documentation(label, found, known.all),
      }
    })
    return { from, options, validFor: /^[\w.-]*$/ }
  }

/** The name with its colon and, for a mapping or list, the next line. */
function applied(label: string, schema: Schema | undefined, context: CompletionContext): string {
  const indent = ' '.repeat(/^[\s-]*/.exec(context.state.doc.lineAt(context.pos).text)![0].length)
  if (schema?.type === 'array') return `${label}:\n${indent}- `
  if (schema?.properties || (schema?.type === 'object' && schema.additionalProperties)) return `${label}:\n${indent}  `
  return `${label}: `
}

/** Documentation of a field as elements: text from the server is never markup. */
export function documentation(label: string, schema: Schema | undefined, all: KindSchema['all']): HTMLElement {
  const box = document.createElement('div')
  box.className = 'docs'
  const head = box.appendChild(document.createElement('div'))
  head.appendChild(document.createElement('b')).textContent = label
  head.appendChild(document.createElement('span')).textContent = ` ${typeName(schema, all)}`
  if (schema?.description) box.appendChild(document.createElement('p')).textContent = schema.description
  return box
}
