/** The compared part of a response: equivalent responses of two servers have equal outcomes. */
import type { Outcome, Step } from './case.ts'

export type Received = {
  readonly code: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** Reduces a response to its compared part. */
export function outcomeOf(step: Step, { code, headers, text }: Received): Outcome {
  const type = String(headers['content-type'] ?? '').split(';')[0] ?? ''
  const warnings = warningsIn(headers['warning'])
  return { code, type, ...(warnings.length > 0 && { warnings }), ...(step.watch ? { events: eventsIn(step, text) } : bodyOf(step, text)) }
}

const warningsIn = (header: string | string[] | undefined): string[] =>
  [header ?? []]
    .flat()
    .flatMap(value => value.split(/,\s*(?=299 )/))
    .filter(warning => warning !== '')
    .sort()

function eventsIn(step: Step, text: string): unknown[] {
  const events = text
    .split('\n')
    .filter(line => line !== '')
    .map(line => (parsed(line) ?? { type: 'UNPARSABLE', object: line }) as { type: string })
  return events.filter(({ type }) => step.bookmarks || type !== 'BOOKMARK').map(event => normalised(event))
}

function bodyOf(step: Step, text: string): { body?: unknown } {
  const json = parsed(text)
  if (json === undefined) return step.text === false ? {} : { body: text }
  const body = normalised(json)
  if (step.pick)
    return { body: Object.fromEntries(step.pick.map(path => [path, valueAt(body, path)] as const).filter(([, v]) => v !== undefined)) }
  for (const path of step.ignore ?? []) remove(body, path)
  return { body }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The value at a path such as `metadata.resourceVersion`. */
export const valueAt = (value: unknown, path: string): unknown => path.split('.').reduce((inner: any, key) => inner?.[key], value)

function remove(value: unknown, path: string): void {
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  const holder: any = keys.length === 0 ? value : valueAt(value, keys.join('.'))
  if (holder) delete holder[last]
}

const UID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b/g
const WHOLE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const AGE = /^\d+[smhdy](\d+[smhdy])?$/

/** Replaces values that differ between servers, and sorts unordered lists. */
function normalised(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return normalisedList(value, key)
  if (typeof value === 'object' && value !== null) return normalisedObject(value)
  return typeof value === 'string' ? normalisedText(value, key) : value
}

function normalisedList(list: readonly unknown[], key: string): unknown[] {
  const items = list.map(item => normalised(item))
  if (key === 'cells') return items.map(cell => (typeof cell === 'string' && AGE.test(cell) ? '<age>' : cell))
  if (key === 'managedFields') return sortedBy(items, m => `${m.manager}|${m.operation}|${m.subresource ?? ''}|${m.apiVersion}`)
  if (key === 'causes') return sortedBy(items, c => `${c.field}|${c.reason}|${c.message}`)
  return items
}

function sortedBy(items: readonly unknown[], textOf: (item: any) => string): unknown[] {
  return items
    .map(item => [textOf(item), item] as const)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, item]) => item)
}

function normalisedObject(object: object): Record<string, unknown> {
  const result = Object.fromEntries(Object.entries(object).map(([key, value]) => [key, normalised(value, key)]))
  const { generateName: prefix, name } = object as { generateName?: unknown; name?: unknown }
  if (typeof prefix === 'string' && typeof name === 'string' && name.startsWith(prefix) && name.length > prefix.length)
    result['name'] = '<generated>'
  return result
}

function normalisedText(text: string, key: string): string {
  if (key === 'uid' && /^[0-9a-f]{8}-/.test(text)) return '<uid>'
  if (key === 'resourceVersion' && /^[1-9]\d*$/.test(text)) return '<rv>'
  if (key === 'continue' && text !== '') return '<continue>'
  if (WHOLE_TIME.test(text)) return text.includes('.') ? '<microtime>' : '<time>'
  return text.replace(TIME, '<time>').replace(UID, '<uid>')
}
