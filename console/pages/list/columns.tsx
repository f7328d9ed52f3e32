/** The columns of a list: those that the server prints, with ages that go on, and cells that show how a row is doing. */
import type { Kind } from '../../core/discovery.ts'
import { toneOf } from '../../core/health.ts'
import type { Column, Row } from '../../core/live.ts'
import { href, toObject } from '../../core/router.ts'
import { Age } from '../../parts/basics.tsx'
import type { GridColumn, Sort } from '../../parts/grid.tsx'

export type ListColumn = GridColumn<Row> & { readonly priority: number; sortKey(row: Row): string | number }

const STATUS = /^(status|phase|reason|state|condition|ready|available|established|synced|type)$/i
const isAge = (column: Column) => column.name === 'Age'

export function columnsOf(kind: Kind, columns: readonly Column[], rows: readonly Row[], showsNamespace: boolean): ListColumn[] {
  const sample = rows.slice(0, 300)
  const hasName = columns.some(({ name }) => name === 'Name')
  const name: ListColumn = {
    id: 'Name',
    title: 'Name',
    isName: true,
    priority: 0,
    width: widthOf(
      'Name',
      sample.map(({ metadata }) => metadata.name),
      1.6,
    ),
    sortKey: ({ metadata }) => metadata.name,
    cell: ({ metadata }) => (
      <a href={href(toObject(kind, metadata.namespace, metadata.name))} title={metadata.name} tabIndex={-1}>
        {metadata.name}
      </a>
    ),
  }
  const namespace: ListColumn = {
    id: 'Namespace',
    title: 'Namespace',
    priority: 0,
    width: widthOf(
      'Namespace',
      sample.map(({ metadata }) => metadata.namespace ?? ''),
      0.6,
    ),
    sortKey: ({ metadata }) => metadata.namespace ?? '',
    cell: ({ metadata }) => <span class="cut muted">{metadata.namespace}</span>,
  }
  const age: ListColumn = {
    id: 'Age',
    title: 'Age',
    priority: 0,
    width: 'minmax(4.5rem, 0.3fr)',
    // The newest first, as ages grow.
    sortKey: ({ metadata }) => -Date.parse(metadata.creationTimestamp ?? ''),
    cell: ({ metadata }) => <Age time={metadata.creationTimestamp} />,
  }
  const labels: ListColumn = {
    id: 'Labels',
    title: 'Labels',
    priority: 2,
    width: 'minmax(12rem, 1.5fr)',
    sortKey: ({ metadata }) => labelText(metadata.labels),
    cell: ({ metadata }) => (
      <span class="cut mono muted" title={labelText(metadata.labels)}>
        {labelText(metadata.labels)}
      </span>
    ),
  }
  const printed = columns.flatMap((column, i): ListColumn[] => {
    if (column.name === 'Name') return []
    if (isAge(column)) return [age]
    const isStatus = STATUS.test(column.name)
    return [
      {
        id: column.name,
        title: column.name,
        description: column.description,
        priority: column.priority,
        width: widthOf(
          column.name,
          sample.map(({ cells }) => textOf(cells[i])),
          0.7,
        ),
        sortKey: ({ cells }) => sortable(cells[i]),
        cell: ({ cells }) => <Cell value={cells[i]} isStatus={isStatus} />,
      },
    ]
  })
  const hasAge = columns.some(isAge)
  return [name, ...(showsNamespace ? [namespace] : []), ...(columns.length > 0 || hasName ? printed : []), ...(hasAge ? [] : [age]), labels]
}

const labelText = (labels: Record<string, string> = {}): string =>
  Object.entries(labels)
    .map(([key, value]) => (value === '' ? key : `${key}=${value}`))
    .join(', ')

export function Cell({ value, isStatus }: { value: unknown; isStatus: boolean }) {
  const text = textOf(value)
  if (text === '' || text === '<none>') return <span class="faint">–</span>
  const tone = isStatus ? statusTone(text) : 'plain'
  return tone === 'plain' ? (
    <span class="cut" title={text}>
      {text}
    </span>
  ) : (
    <span class={`row ${tone}`} title={text}>
      <span class={`dot dot-${tone}`} aria-hidden="true" />
      <span class="cut">{text}</span>
    </span>
  )
}

/** `2/3` is not all. */
function statusTone(text: string) {
  const [, some, all] = /^(\d+)\/(\d+)$/.exec(text) ?? []
  if (some !== undefined) return some === all ? 'plain' : 'warn'
  return toneOf(text)
}

const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)

function sortable(value: unknown): string | number {
  if (typeof value === 'number') return value
  const text = textOf(value)
  return /^\d+(\.\d+)?%?$/.test(text) ? Number.parseFloat(text) : text.toLowerCase()
}

const MAX_CH = 48

/** Wide enough for almost all of the sample; the rest is cut. */
function widthOf(title: string, texts: readonly string[], share: number): string {
  const lengths = texts.map(text => text.length).sort((a, b) => a - b)
  const most = lengths[Math.floor(lengths.length * 0.97)] ?? lengths.at(-1) ?? 0
  const ch = Math.min(MAX_CH, Math.max(title.length + 2, most) + 3)
  return `minmax(${Math.min(ch, 26)}ch, ${share}fr)`
}

export function sortRows(rows: readonly Row[], columns: readonly ListColumn[], sort: Sort | undefined): Row[] {
  const column = columns.find(({ id }) => id === sort?.id)
  const place = ({ metadata }: Row) => `${metadata.namespace ?? ''}/${metadata.name}`
  if (!column) {
    const keyed = rows.map(row => ({ row, key: place(row) }))
    return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ row }) => row)
  }
  const sign = sort?.isDescending ? -1 : 1
  const keyed = rows.map(row => ({ row, key: column.sortKey(row), place: place(row) }))
  keyed.sort((a, b) => {
    if (typeof a.key === typeof b.key) {
      if (a.key < b.key) return -sign
      if (a.key > b.key) return sign
    } else return typeof a.key === 'number' ? -sign : sign
    return a.place < b.place ? -1 : 1
  })
  return keyed.map(({ row }) => row)
}
