/**
 * Objects as lines of YAML, each with the path of its field: for blame, differences and the editor. Items of lists are named by their key
 * where they have one, so that a path means the same item in two revisions.
 */
import { formatFloat, resolveScalar } from '../../src/codec/yaml-scalar.ts'

/** Steps from the root: names of fields, `[name=web]` for items with a key, `[2]` for others. */
export type Path = readonly string[]

export type YamlLine = {
  readonly text: string
  readonly path: Path
  /** Whether the line opens a mapping or list; its value stands on the lines below. */
  readonly isOpening: boolean
}

/** Fields that identify an item of a list, the first that all items have with different values. */
const ITEM_KEYS = [
  'name',
  'type',
  'uid',
  'key',
  'containerPort',
  'port',
  'mountPath',
  'devicePath',
  'ip',
  'topologyKey',
  'manager',
] as const

export function itemKey(list: readonly unknown[]): string | undefined {
  if (list.length === 0 || !list.every(item => typeof item === 'object' && item !== null && !Array.isArray(item))) return undefined
  return ITEM_KEYS.find(key => {
    const values = list.map(item => (item as Record<string, unknown>)[key])
    return values.every(value => value !== undefined && typeof value !== 'object') && new Set(values).size === values.length
  })
}

export const itemStep = (list: readonly unknown[], index: number, key = itemKey(list)): string =>
  key === undefined ? `[${index}]` : `[${key}=${String((list[index] as Record<string, unknown>)[key])}]`

export const pathText = (path: Path): string =>
  path.reduce((text, step) => (step.startsWith('[') || text === '' ? text + step : `${text}.${step}`), '')

/** The order that people read: identity first, status last. */
const FIRST = ['apiVersion', 'kind', 'metadata', 'spec', 'data']
const FIRST_OF_METADATA = ['name', 'namespace', 'labels', 'annotations']
const orderOf = (keys: string[], first: readonly string[], last = ''): string[] => {
  const rank = (key: string) => (key === last ? 100 : first.includes(key) ? first.indexOf(key) : 50)
  return keys.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : a > b ? 1 : 0))
}

export function yamlLines(value: unknown): YamlLine[] {
  const lines: YamlLine[] = []
  writeBlock(lines, value, '', [], '')
  return lines
}

export const yamlText = (value: unknown): string =>
  yamlLines(value)
    .map(({ text }) => `${text}\n`)
    .join('')

const isBlock = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && (Array.isArray(value) ? value.length > 0 : Object.keys(value).length > 0)

/** `lead` is the beginning of the first line where it differs from the indentation: behind a dash. */
function writeBlock(lines: YamlLine[], value: unknown, indent: string, path: Path, lead: string): void {
  if (!isBlock(value)) {
    pushScalar(lines, lead === '' ? indent : lead, value, indent, path)
    return
  }
  let start = lead === '' ? indent : lead
  if (Array.isArray(value)) {
    const key = itemKey(value)
    value.forEach((item, i) => {
      const below = [...path, itemStep(value, i, key)]
      if (isBlock(item)) writeBlock(lines, item, `${indent}  `, below, `${start}- `)
      else pushScalar(lines, `${start}- `, item, indent, below)
      start = indent
    })
    return
  }
  const keys = Object.keys(value).filter(key => (value as Record<string, unknown>)[key] !== undefined)
  const sorted =
    path.length === 0
      ? orderOf(keys, FIRST, 'status')
      : path.length === 1 && path[0] === 'metadata'
        ? orderOf(keys, FIRST_OF_METADATA)
        : orderOf(keys, ['name', 'type'])
  for (const key of sorted) {
    const item = (value as Record<string, unknown>)[key]
    const below = [...path, key]
    const head = `${start}${/^[\w./][\w./@+-]*$/.test(key) ? plain(key) : quoted(key)}:`
    if (isBlock(item)) {
      lines.push({ text: head, path: below, isOpening: true })
      writeBlock(lines, item, Array.isArray(item) ? indent : `${indent}  `, below, '')
    } else pushScalar(lines, `${head} `, item, indent, below)
    start = indent
  }
}

function pushScalar(lines: YamlLine[], head: string, value: unknown, indent: string, path: Path): void {
  if (typeof value === 'string' && value.includes('\n') && isLiteral(value)) {
    const chomp = value.endsWith('\n') ? (/\n\n$|^\n$/.test(value) ? '+' : '') : '-'
    const step = /^[ \n]/.test(value) ? '2' : ''
    lines.push({ text: `${head}|${step}${chomp}`, path, isOpening: false })
    const body = value.endsWith('\n') ? value.slice(0, -1) : value
    for (const line of body.split('\n')) lines.push({ text: line === '' ? '' : `${indent}  ${line}`, path, isOpening: false })
    return
  }
  lines.push({ text: head + scalarText(value), path, isOpening: false })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a literal block cannot hold them.
const isLiteral = (text: string): boolean => !/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufeff]/.test(text)

export function scalarText(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (typeof value === 'string') return plain(value)
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : formatFloat(value)
  if (typeof value === 'object') return Array.isArray(value) ? '[]' : '{}'
  return String(value)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are written as escapes.
const ESCAPED = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\ufeff]|\p{Surrogate}/u

/** Text without quotes where it reads as the same text, else quoted. */
function plain(text: string): string {
  if (ESCAPED.test(text)) return JSON.stringify(text)
  const isPlain =
    text !== '' &&
    !/^[\s\-?:,[\]{}#&*!|>'"%@`]/.test(text.replace(/^[-?:](?=[^\s])/, 'x')) &&
    // Brackets are plain text in blocks, but the editor's parser takes some of them for flow collections.
    !/: |:$| #|\s$|[[\]{}]/.test(text) &&
    !['timestamp', 'null', 'bool', 'int', 'float', 'merge'].includes(resolveScalar(text).tag)
  return isPlain ? text : quoted(text)
}

function quoted(text: string): string {
  if (ESCAPED.test(text)) return JSON.stringify(text)
  return text.includes("'") && !text.includes('"') && !text.includes('\\') ? `"${text}"` : `'${text.replaceAll("'", "''")}'`
}

/** The value at a path, or undefined. */
export function valueAt(object: unknown, path: Path): unknown {
  let value = object
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined
    if (step.startsWith('[') && Array.isArray(value)) value = value[indexOf(value, step)]
    else value = Object.hasOwn(value, step) ? (value as Record<string, unknown>)[step] : undefined
  }
  return value
}

function indexOf(list: readonly unknown[], step: string): number {
  const inner = step.slice(1, -1)
  const equals = inner.indexOf('=')
  if (equals < 0) return Number(inner)
  const [key, wanted] = [inner.slice(0, equals), inner.slice(equals + 1)]
  return list.findIndex(item => typeof item === 'object' && item !== null && String((item as Record<string, unknown>)[key]) === wanted)
}

/** The object for people: without the bookkeeping of managers, and without fields that change with every write if asked. */
export function forPeople(object: any, { isStable = false } = {}): any {
  const { managedFields: _, ...metadata } = object.metadata ?? {}
  if (isStable) delete metadata.resourceVersion
  return { ...object, metadata }
}
