/** Completions of label and field selectors, from the rows at hand. */
import type { Kind } from '../../core/discovery.ts'
import type { Row } from '../../core/live.ts'

type Completion = { readonly text: string; readonly hint?: string }

/** The terms before the one that is typed, and that one. */
function split(text: string): { before: string; term: string } {
  const at = text.lastIndexOf(',')
  return { before: at < 0 ? '' : text.slice(0, at + 1), term: text.slice(at + 1).trimStart() }
}

export function completeLabels(text: string, rows: readonly Row[]): readonly Completion[] {
  const { before, term } = split(text)
  const [, key, operator, value = ''] = /^([^=!\s]+)(==?|!=)(.*)$/.exec(term) ?? []
  const counts = new Map<string, number>()
  for (const { metadata } of rows)
    for (const [name, content] of Object.entries(metadata.labels ?? {})) {
      const text = key === undefined ? name : name === key ? content : undefined
      if (text !== undefined) counts.set(text, (counts.get(text) ?? 0) + 1)
    }
  return [...counts]
    .filter(([text]) => text.toLowerCase().includes((key === undefined ? term : value).toLowerCase()))
    .sort((a, b) => b[1] - a[1])
    .map(([text, count]) => ({ text: key === undefined ? `${before}${text}=` : `${before}${key}${operator}${text}`, hint: String(count) }))
}

/** Fields that the server can select by, of well-known kinds; all kinds have the first two. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  pods: {
    'spec.nodeName': [],
    'status.phase': ['Pending', 'Running', 'Succeeded', 'Failed'],
    'spec.schedulerName': [],
    'spec.serviceAccountName': [],
    'spec.restartPolicy': ['Always', 'OnFailure', 'Never'],
    'status.podIP': [],
  },
  events: { type: ['Normal', 'Warning'], reason: [], 'involvedObject.kind': [], 'involvedObject.name': [], 'involvedObject.uid': [] },
  nodes: { 'spec.unschedulable': ['true', 'false'] },
  secrets: { type: [] },
  namespaces: { 'status.phase': ['Active', 'Terminating'] },
  jobs: { 'status.successful': [] },
  certificatesigningrequests: { 'spec.signerName': [] },
  replicasets: { 'status.replicas': [] },
}

export function completeFields(text: string, kind: Kind, rows: readonly Row[]): readonly Completion[] {
  const { before, term } = split(text)
  const [, key, operator, value = ''] = /^([^=!\s]+)(==?|!=)(.*)$/.exec(term) ?? []
  const known: Readonly<Record<string, readonly string[]>> = {
    'metadata.name': [],
    ...(kind.namespaced ? { 'metadata.namespace': [] } : {}),
    ...FIELDS[kind.plural],
  }
  if (key === undefined)
    return Object.keys(known)
      .filter(name => name.toLowerCase().includes(term.toLowerCase()))
      .map(name => ({ text: `${before}${name}=` }))
  const values =
    key === 'metadata.name'
      ? rows.map(({ metadata }) => metadata.name)
      : key === 'metadata.namespace'
        ? [...new Set(rows.map(({ metadata }) => metadata.namespace ?? ''))]
        : (known[key] ?? [])
  return values
    .filter(text => text.toLowerCase().includes(value.toLowerCase()))
    .slice(0, 50)
    .map(text => ({ text: `${before}${key}${operator}${text}` }))
}
