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
      return block(source)
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
  const folded = inner.replace(/[ \t]*\n([ \t]*\n)*[ \t]*/g, breaks =>
    breaks.match(/\n/g)!.length > 1 ? '\n'.repeat(breaks.match(/\n/g)!.length - 1) : ' ',
  )
  if (isSingle) return folded.replaceAll("''", "'")
  return folded.replace(/\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/g, (_, x, u, long, one) =>
    one === undefined ? String.fromCodePoint(Number.parseInt(x ?? u ?? long, 16)) : (ESCAPES[one] ?? one),
  )
}

function block(source: string): string {
  const [head = '', ...lines] = source.split('\n')
  const isFolded = head.startsWith('>')
  const explicit = /[1-9]/.exec(head)?.[0]
  const first = lines.find(line => line.trim() !== '') ?? ''
  // An indicator counts from the parent, which is two columns less in all that this console writes.
  const indent = /^ */.exec(first)![0].length
  const depth = explicit === undefined ? indent : Math.min(indent, shortest(lines))
  const body = lines.map(line => line.slice(depth))
  let text = isFolded ? body.join('\n').replace(/(\S)\n(?=\S)/g, '$1 ') : body.join('\n')
  text = text.replace(/\n*$/, '')
  if (head.includes('-')) return text
  const trailing = /\n*$/.exec(source)![0].length
  return head.includes('+') ? text + '\n'.repeat(Math.max(1, trailing)) : `${text}\n`
}

function shortest(lines: readonly string[]): number {
  const lengths = lines.filter(line => line.trim() !== '').map(line => /^ */.exec(line)![0].length)
  return lengths.length === 0 ? 0 : Math.min(...lengths)
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
