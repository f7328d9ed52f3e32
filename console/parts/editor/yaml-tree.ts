/** YAML text with the position of every field, from the editor's own parser: it reads unfinished text as well. */

import type { SyntaxNode, Tree } from '@lezer/common'
import { parser } from '@lezer/yaml'
import { resolveScalar } from '../../../src/codec/yaml-scalar.ts'
import { itemStep } from '../../core/yaml-lines.ts'

export type Span = { readonly from: number; readonly to: number }
export type YamlProblem = Span & { readonly message: string }

export type ParsedYaml = {
  readonly value: any
  /** The positions of keys and items, by path: names joined by dots, `[2]` and `[name=web]` for items. */
  readonly spans: ReadonlyMap<string, Span>
  readonly problems: readonly YamlProblem[]
}

type Reader = { readonly text: string; readonly spans: Map<string, Span>; readonly problems: YamlProblem[] }

export function parseYaml(text: string, tree: Tree = parser.parse(text)): ParsedYaml {
  const reader: Reader = { text, spans: new Map(), problems: [] }
  const documents = tree.topNode.getChildren('Document')
  if (documents.length > 1) reader.problems.push({ from: documents[1]!.from, to: documents[1]!.to, message: 'One document at a time.' })
  const content = documents[0] && firstContent(documents[0])
  const value = content ? read(reader, content, '') : undefined
  tree.iterate({
    enter(node) {
      if (node.type.isError) {
        const at = Math.min(node.from, Math.max(0, text.length - 1))
        reader.problems.push({ from: at, to: Math.max(node.to, at + 1), message: 'This is not valid YAML.' })
      }
    },
  })
  return { value, spans: reader.spans, problems: reader.problems }
}

const NO_CONTENT = new Set([
  'Comment',
  'Key',
  ':',
  '-',
  '?',
  ',',
  '{',
  '}',
  '[',
  ']',
  'Anchor',
  'Tag',
  'Tagged',
  'Anchored',
  'DirectiveEnd',
  'DocEnd',
  '⚠',
])

function firstContent(node: SyntaxNode): SyntaxNode | undefined {
  for (let child = node.firstChild; child; child = child.nextSibling)
    if (!NO_CONTENT.has(child.name) || child.name === 'Tagged' || child.name === 'Anchored') return child
  return undefined
}

function read(reader: Reader, node: SyntaxNode, path: string): unknown {
  const { text, spans, problems } = reader
  const source = text.slice(node.from, node.to)
  switch (node.name) {
    case 'BlockMapping':
    case 'FlowMapping': {
      const object: Record<string, unknown> = {}
      for (const pair of node.getChildren('Pair')) {
        const key = pair.getChild('Key')
        const name = key ? String(read(reader, firstContent(key) ?? key, '\u0000') ?? '') : ''
        const at = path === '' ? name : `${path}.${name}`
        if (Object.hasOwn(object, name))
          problems.push({ from: pair.from, to: key?.to ?? pair.to, message: `The field ${JSON.stringify(name)} is there twice.` })
        if (path !== '\u0000') spans.set(at, { from: key?.from ?? pair.from, to: key?.to ?? pair.to })
        const value = firstContent(pair)
        Object.defineProperty(object, name, {
          value: value ? read(reader, value, at) : null,
          enumerable: true,
          configurable: true,
          writable: true,
        })
      }
      return object
    }
    case 'BlockSequence':
    case 'FlowSequence': {
      const items = node.getChildren('Item')
      const found: { value: unknown; span: Span }[] = items.map((item, i) => {
        const content = firstContent(item)
        return { value: content ? read(reader, content, `${path}[${i}]`) : null, span: { from: item.from, to: lineEnd(text, item.from) } }
      })
      const list = found.map(({ value }) => value)
      found.forEach(({ span }, i) => {
        spans.set(`${path}[${i}]`, span)
        spans.set(`${path}${itemStep(list, i)}`, span)
      })
      return list
    }
    case 'QuotedLiteral':
      return quoted(source)
    case 'BlockLiteral':
      return block(text, node)
    case 'Literal':
    case 'Key':
      return plainValue(source.replace(/[ \t]*\n[ \t]*/g, ' ').trim())
    case 'Alias':
      problems.push({ from: node.from, to: node.to, message: 'Aliases are not understood here: write the value.' })
      return null
    case 'Tagged':
    case 'Anchored': {
      const inner = [...children(node)].find(child => !['Tag', 'Anchor'].includes(child.name))
      return inner ? read(reader, inner, path) : null
    }
    default:
      return null
  }
}

function* children(node: SyntaxNode) {
  for (let child = node.firstChild; child; child = child.nextSibling) yield child
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end < 0 ? text.length : end
}

function plainValue(text: string): unknown {
  const resolved = resolveScalar(text)
  if (resolved.tag === 'null') return null
  if (resolved.tag === 'bool' || resolved.tag === 'float') return resolved.value
  if (resolved.tag === 'int') return Number(resolved.value)
  return text
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '0': '\0',
  a: '\u0007',
  b: '\b',
  e: '\u001b',
  f: '\f',
  v: '\v',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  N: '\u0085',
  _: '\u00a0',
}

function quoted(source: string): string {
  const isSingle = source.startsWith("'")
  const inner = source.slice(1, source.endsWith(source[0]!) && source.length > 1 ? -1 : undefined)
  const joined = inner.replace(/[ \t]*\n([ \t]*\n)*[ \t]*/g, breaks =>
    breaks.match(/\n/g)!.length > 1 ? '\n'.repeat(breaks.match(/\n/g)!.length - 1) : ' ',
  )
  if (isSingle) return joined.replaceAll("''", "'")
  return joined.replace(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/g, (_, x, u, long, one) =>
    one === undefined ? String.fromCodePoint(Number.parseInt(x ?? u ?? long, 16)) : (ESCAPES[one] ?? one),
  )
}

/** A literal or folded block. Its lines are taken from the text itself: the tree leaves blank lines at its end out. */
function block(text: string, node: SyntaxNode): string {
  const [head = '', ...following] = text.slice(node.from).split('\n')
  // The text behind the last line break is no line.
  if (following.at(-1) === '') following.pop()
  const outer = columnOf(text, node)
  const indentOf = (line: string) => /^ */.exec(line)![0].length
  const explicit = /^[|>][-+]?([1-9])/.exec(head)?.[1]
  const first = following.find(line => line.trim() !== '')
  const indent =
    explicit === undefined ? Math.max(outer + 1, first === undefined ? 0 : indentOf(first)) : Math.max(0, outer) + Number(explicit)
  const end = following.findIndex(line => line.trim() !== '' && indentOf(line) < indent)
  const lines = (end < 0 ? following : following.slice(0, end)).map(line => line.slice(indent))
  const blank = lines.length - 1 - lines.findLastIndex(line => line !== '')
  const content = lines.slice(0, lines.length - blank)
  const body = head.startsWith('>') ? folded(content) : content.join('\n')
  if (/^[|>][1-9]?-/.test(head)) return body
  const isKept = /^[|>][1-9]?\+/.test(head)
  if (content.length === 0) return isKept ? '\n'.repeat(blank) : ''
  return `${body}\n${isKept ? '\n'.repeat(blank) : ''}`
}

/** The column of the mapping or list that a value is in; -1 at the top. */
function columnOf(text: string, { parent }: SyntaxNode): number {
  if (!parent || parent.name === 'Document') return -1
  const lineStart = text.lastIndexOf('\n', parent.from - 1) + 1
  // An item begins at or behind its dash.
  if (parent.name === 'Item') return text.lastIndexOf('-', parent.from) - lineStart
  if (parent.name === 'Pair') return parent.from - lineStart
  return columnOf(text, parent)
}

/** Lines become one, but for those that are indented further; a blank line is a line break. */
function folded(lines: readonly string[]): string {
  let text = ''
  let before: string | undefined
  let blank = 0
  for (const line of lines) {
    if (line === '') {
      blank++
      continue
    }
    const isApart = /^[ \t]/.test(line) || (before !== undefined && /^[ \t]/.test(before))
    if (before === undefined) text += '\n'.repeat(blank)
    else text += isApart ? '\n'.repeat(blank + 1) : blank === 0 ? ' ' : '\n'.repeat(blank)
    text += line
    before = line
    blank = 0
  }
  return text
}

/** The span of a field, or of the nearest one around it that is in the text. `spec.containers[0].image`, as errors name it. */
export function spanOf({ spans }: ParsedYaml, field: string): Span | undefined {
  const steps = [...field.matchAll(/[^.[\]]+|\[[^\]]*\]/g)].map(([step]) => step)
  for (let length = steps.length; length > 0; length--) {
    const tries = [steps.slice(0, length), steps.slice(0, length).map(keyInBrackets)]
    for (const path of tries) {
      const found = spans.get(path.reduce((text, step) => (step.startsWith('[') || text === '' ? text + step : `${text}.${step}`), ''))
      if (found) return found
    }
  }
  return undefined
}

/** Errors write keys of maps in brackets, too: `metadata.labels[app]`. */
const keyInBrackets = (step: string): string => (/^\[[^=]*[^\d=][^=]*\]$/.test(step) ? step.slice(1, -1) : step)
