/** Any kind as a live table: filter, selectors, sort, columns; create, and delete several. */
import { type Signal, useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { may } from '../../core/access.ts'
import { ApiError, messageOf } from '../../core/api.ts'
import { findKind, type Kind, listPath, qualifiedName } from '../../core/discovery.ts'
import { useShortcuts } from '../../core/keys.ts'
import { type LiveList, liveList, type Row } from '../../core/live.ts'
import { namespace } from '../../core/namespace.ts'
import { groupFromPath, href, navigate, query, setQuery, toCreate, toObject } from '../../core/router.ts'
import { Empty, Problem, Spinner } from '../../parts/basics.tsx'
import { Combo } from '../../parts/combo.tsx'
import { useCrumbs } from '../../parts/crumbs.tsx'
import { pluralTitle } from '../../parts/frame.tsx'
import { Grid, type Sort } from '../../parts/grid.tsx'
import { Icon } from '../../parts/icons.tsx'
import { LiveMark } from '../../parts/live-state.tsx'
import { useActions } from '../../parts/palette.tsx'
import type { PageProps } from '../index.ts'
import { columnsOf, sortRows } from './columns.tsx'
import { confirmDeletion } from './deletion.tsx'
import { completeFields, completeLabels } from './selectors.ts'

export default function ListPage({ params }: PageProps) {
  const group = groupFromPath(params['group']!)
  const kind = findKind(group, params['plural']!, params['version'])
  if (!kind) return <UnknownKind name={group === '' ? params['plural']! : `${params['plural']}.${group}`} version={params['version']!} />
  if (!kind.verbs.includes('list'))
    return (
      <Empty icon="info" title={`${kind.kind} cannot be listed`} level={1}>
        <p>Its objects are answers to requests, and are not kept. {qualifiedName(kind)} can be tried on the page “Try a request”.</p>
      </Empty>
    )
  return <KindList key={`${group}/${kind.version}/${kind.plural}`} kind={kind} />
}

export function UnknownKind({ name, version }: { name: string; version: string }) {
  useCrumbs([{ text: 'Unknown kind' }])
  return (
    <Empty icon="ghost" title="The server does not know this kind" level={1}>
      <p>
        <code>{name}</code> in version <code>{version}</code> is not served. Its definition may have been deleted.
      </p>
      <p>
        <a href={href('/')}>Go to the overview</a>
      </p>
    </Empty>
  )
}

function KindList({ kind }: { kind: Kind }) {
  const title = pluralTitle(kind)
  const scope = kind.namespaced ? (query.value.get('ns') ?? namespace.value) : ''
  const choice = readChoice(query.value)
  const [turn, setTurn] = useState(0)
  useCrumbs([{ text: title }])
  const live = useLive({ path: listPath(kind, scope), ...choice, isWatchable: kind.verbs.includes('watch'), turn })
  const text = useSignal(query.value.get('name') ?? '')
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const filterBox = useRef<HTMLInputElement>(null)
  const mayCreate = kind.verbs.includes('create') && may({ verb: 'create', kind, namespace: scope }).value
  const mayDelete = kind.verbs.includes('delete') && may({ verb: 'delete', kind, namespace: scope }).value

  const { isWide, hidden, sort } = choice
  const state = live?.state.value ?? { phase: 'loading' as const }
  const rows = live?.rows.value ?? []
  const serverColumns = live?.columns.value ?? []
  const all = useMemo(
    () => columnsOf(kind, serverColumns, rows, kind.namespaced && scope === ''),
    // Widths are those of the first rows, so that columns do not move while rows come and go.
    [kind, serverColumns, rows.length === 0, scope],
  )
  const columns = all.filter(({ priority }) => isWide || priority === 0)
  const wanted = text.value.trim().toLowerCase()
  const shown = useMemo(() => sortRows(fitting(rows, wanted), all, sort), [rows, wanted, all, sort?.id, sort?.isDescending])
  const marked = useMemo(() => rows.filter(({ key }) => selected.has(key)), [rows, selected])
  const create = () => void navigate(toCreate(kind, scope))
  const deleteMarked = async () => {
    await confirmDeletion(kind, marked)
    setSelected(new Set())
  }
  useShortcuts(
    [
      { keys: 'f', title: 'Filter by name', run: () => filterBox.current?.focus() },
      { keys: 'w', title: 'Wide columns', run: () => toggleWide(isWide) },
      ...(mayCreate ? [{ keys: 'c', title: `Create ${kind.kind}`, run: create }] : []),
      ...(mayDelete ? [{ keys: 'Delete', title: 'Delete selected', run: () => void deleteMarked() }] : []),
    ],
    [isWide, mayCreate, mayDelete, marked],
  )
  useActions(mayCreate ? [{ title: `Create ${kind.kind}`, icon: 'plus', run: create }] : [], [mayCreate, scope])

  if (state.phase === 'failed' && rows.length === 0) {
    const { error } = state
    // A selector that the server does not know is mended where it is typed.
    if (!(error instanceof ApiError && error.code === 400))
      return <Problem error={error} subject={scope === '' ? title : `${title} in ${scope}`} onRetry={() => setTurn(turn + 1)} />
  }
  const problem = state.phase === 'failed' ? messageOf(state.error) : ''
  return (
    <div class="page page-fill">
      <div class="page-head list-head">
        <div class="row row-wrap">
          <h1>{title}</h1>
          <Count live={live} shown={shown.length} isFiltered={wanted !== ''} />
          <LiveMark state={state} />
          {kind.group !== '' && <span class="faint small hide-small">{`${kind.group}/${kind.version}`}</span>}
        </div>
        <div class="page-actions">
          {marked.length > 0 && mayDelete && (
            <button type="button" class="button button-danger" onClick={() => void deleteMarked()}>
              <Icon name="trash" /> Delete {marked.length}
            </button>
          )}
          {mayCreate && (
            <a class="button button-primary" href={href(toCreate(kind, scope))}>
              <Icon name="plus" /> Create
            </a>
          )}
        </div>
      </div>
      <Toolbar kind={kind} rows={rows} columns={columns} choice={choice} problem={problem} text={text} filterBox={filterBox} />
      {problem !== '' && (
        <p class="bad list-problem" role="alert">
          {problem}
        </p>
      )}
      <Grid<Row>
        label={title}
        rows={shown}
        columns={columns.filter(({ id }) => !hidden.includes(id))}
        keyOf={row => row.key}
        sort={sort}
        onSort={id => setQuery({ sort: sort?.id !== id ? id : sort.isDescending ? undefined : `-${id}` })}
        onOpen={({ metadata }) => void navigate(toObject(kind, metadata.namespace, metadata.name))}
        isFaded={({ metadata }) => metadata.deletionTimestamp !== undefined}
        {...(mayDelete ? { selected, onSelect: setSelected } : {})}
        empty={
          state.phase === 'loading' ? (
            <div class="empty">
              <Spinner />
            </div>
          ) : (
            <NoRows title={title} scope={scope} isFiltered={wanted !== '' || choice.labels !== '' || choice.fields !== ''} />
          )
        }
      />
    </div>
  )
}

/** The part of the address that says which objects are shown, and how. */
type Choice = {
  readonly labels: string
  readonly fields: string
  readonly isWide: boolean
  readonly hidden: readonly string[]
  readonly sort: Sort | undefined
}

const readChoice = (from: URLSearchParams): Choice => ({
  labels: from.get('labels') ?? '',
  fields: from.get('fields') ?? '',
  isWide: from.get('wide') === '1',
  hidden: (from.get('hide') ?? '').split(',').filter(Boolean),
  sort: readSort(from.get('sort')),
})

const toggleWide = (isWide: boolean) => setQuery({ wide: isWide ? undefined : '1' })

/** The rows whose name or namespace contains a text. */
function fitting(rows: readonly Row[], wanted: string): readonly Row[] {
  if (wanted === '') return rows
  return rows.filter(({ metadata: { name, namespace = '' } }) => [name, namespace].some(text => text.toLowerCase().includes(wanted)))
}

function Count({ live, shown, isFiltered }: { live: LiveList | undefined; shown: number; isFiltered: boolean }) {
  const all = live?.rows.value.length ?? 0
  const progress = live?.progress.value
  const isLoading = (live?.state.value.phase ?? 'loading') === 'loading'
  const [part, whole] = isLoading && progress?.total ? [progress.loaded, progress.total] : [shown, all]
  return (
    <span class="muted" role="status" data-testid="count">
      {isFiltered || part !== whole ? `${part.toLocaleString()} of ${whole.toLocaleString()}` : whole.toLocaleString()}
    </span>
  )
}

function NoRows({ title, scope, isFiltered }: { title: string; scope: string; isFiltered: boolean }) {
  return (
    <Empty title={isFiltered ? 'Nothing fits' : `No ${title}`}>
      <p>{isFiltered ? 'No object fits the filter.' : scope === '' ? 'There are none yet.' : `There are none in ${scope}.`}</p>
    </Empty>
  )
}

type ToolbarProps = {
  readonly kind: Kind
  readonly rows: readonly Row[]
  readonly columns: readonly { readonly id: string; readonly title: string }[]
  readonly choice: Choice
  /** Why the server refuses the selectors. */
  readonly problem: string
  /** The filter by name. */
  readonly text: Signal<string>
  readonly filterBox: RefObject<HTMLInputElement | null>
}

function Toolbar({ kind, rows, columns, choice: { labels, fields, isWide, hidden }, problem, text, filterBox }: ToolbarProps) {
  return (
    <div class="toolbar">
      <div class="combo-box grow">
        <Icon name="search" size={14} />
        <input
          ref={filterBox}
          class="input"
          type="search"
          aria-label="Filter by name"
          placeholder="Filter by name"
          spellcheck={false}
          value={text.value}
          onInput={event => {
            text.value = event.currentTarget.value
            setQuery({ name: text.value })
          }}
          onKeyDown={event => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
      </div>
      <Combo
        className="grow"
        label="Label selector"
        placeholder="Labels: app=web, tier!=cache"
        value={labels}
        complete={text => completeLabels(text, rows)}
        onCommit={labels => setQuery({ labels })}
        problem={problem}
      />
      <Combo
        className="grow"
        label="Field selector"
        placeholder="Fields: status.phase=Running"
        value={fields}
        complete={text => completeFields(text, kind, rows)}
        onCommit={fields => setQuery({ fields })}
        problem={problem}
      />
      <button type="button" class="button" aria-pressed={isWide} onClick={() => toggleWide(isWide)}>
        Wide
      </button>
      <ColumnMenu all={columns} hidden={hidden} />
    </div>
  )
}

function ColumnMenu({ all, hidden }: { all: readonly { id: string; title: string }[]; hidden: readonly string[] }) {
  return (
    <details class="menu-anchor column-menu">
      <summary class="button" aria-label="Columns">
        <Icon name="columns" /> <span class="hide-small">Columns</span>
      </summary>
      <div class="menu">
        {all
          .filter(({ id }) => id !== 'Name')
          .map(({ id, title }) => (
            <label class="menu-item" key={id}>
              <input
                type="checkbox"
                checked={!hidden.includes(id)}
                onChange={() => setQuery({ hide: (hidden.includes(id) ? hidden.filter(one => one !== id) : [...hidden, id]).join(',') })}
              />
              {title}
            </label>
          ))}
      </div>
    </details>
  )
}

function readSort(text: string | null): Sort | undefined {
  if (!text) return undefined
  return text.startsWith('-') ? { id: text.slice(1), isDescending: true } : { id: text, isDescending: false }
}

type LiveQuestion = { path: string; labels: string; fields: string; isWatchable: boolean; turn: number }

function useLive({ path, labels, fields, isWatchable, turn }: LiveQuestion): LiveList | undefined {
  const [live, setLive] = useState<LiveList | undefined>(undefined)
  useEffect(() => {
    const opened = liveList({ path, labels, fields, isWatchable, asTable: true })
    setLive(opened)
    return () => opened.close()
  }, [path, labels, fields, isWatchable, turn])
  return live
}
