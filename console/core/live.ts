/**
 * Live lists: a list in chunks, then a watch from its resourceVersion. Events are applied once per frame; a watch that ends is opened again
 * from the last revision, with back-off, and a revision that is gone is listed anew.
 */
import { type Signal, signal } from '@preact/signals'
import { ApiError, get, isSignedOut, lines, send, type WatchEvent } from './api.ts'
import type { KubeObject, ObjectMeta } from './object.ts'
import { now } from './time.ts'

export type LiveState =
  | { readonly phase: 'loading' }
  | { readonly phase: 'live' }
  /** The list is older than the server's: the watch is being opened again since then. */
  | { readonly phase: 'behind'; readonly since: number }
  | { readonly phase: 'failed'; readonly error: unknown }

export type Column = { readonly name: string; readonly type: string; readonly description?: string; readonly priority: number }

/** One row: the metadata of an object, with cells (Table) or with the object itself. */
export type Row = {
  readonly key: string
  readonly metadata: ObjectMeta
  readonly cells: readonly unknown[]
  readonly object: KubeObject | undefined
}

export type LiveList = {
  readonly state: Signal<LiveState>
  readonly columns: Signal<readonly Column[]>
  /** Replaced with every change; not sorted. */
  readonly rows: Signal<readonly Row[]>
  /** Rows that are known, of how many there are, while the first list is read. */
  readonly progress: Signal<{ readonly loaded: number; readonly total: number | undefined }>
  close(): void
}

export type LiveOptions = {
  readonly path: string
  readonly labels?: string
  readonly fields?: string
  /** Rows with cells, as the server prints them, instead of objects. */
  readonly asTable?: boolean
  /** Lists that cannot be watched are read again at this interval. */
  readonly isWatchable?: boolean
}

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
const MAX_CHUNK = 2000
const MAX_BACKOFF_MS = 15_000
const POLL_MS = 5_000

type Listed = {
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number }
  columnDefinitions?: { name: string; type: string; description?: string; priority: number }[]
  rows?: TableRow[]
  items?: KubeObject[]
}
type TableRow = { cells: unknown[]; object: { metadata: ObjectMeta } }

export function liveList(options: LiveOptions): LiveList {
  const { path, labels, fields, asTable = false, isWatchable = true } = options
  const state = signal<LiveState>({ phase: 'loading' })
  const columns = signal<readonly Column[]>([])
  const rows = signal<readonly Row[]>([])
  const progress = signal<{ loaded: number; total: number | undefined }>({ loaded: 0, total: undefined })
  const abort = new AbortController()
  const byKey = new Map<string, Row>()
  const accept = asTable ? TABLE : 'application/json'
  let frame: ReturnType<typeof setTimeout> | number | undefined

  const flush = () => {
    frame = undefined
    rows.value = [...byKey.values()]
  }
  /** A frame for small lists; large ones are sorted and copied less often. */
  const changed = () => {
    if (frame !== undefined) return
    frame = byKey.size > 5000 ? setTimeout(flush, 200) : requestAnimationFrame(flush)
    // A hidden page has no frames, and shall not grow a backlog either.
    if (document.hidden) flush()
  }
  const queryOf = (more: Record<string, string>) => {
    const query = new URLSearchParams(more)
    if (labels) query.set('labelSelector', labels)
    if (fields) query.set('fieldSelector', fields)
    return `${path}?${query}`
  }

  const rowsOf = (listed: Listed): Row[] => {
    if (listed.columnDefinitions?.length) columns.value = listed.columnDefinitions
    if (listed.rows) return listed.rows.map(tableRow)
    return (listed.items ?? []).map(objectRow)
  }

  async function readAll(): Promise<string> {
    const fresh = new Map<string, Row>()
    let token = ''
    let revision = ''
    const isFirst = byKey.size === 0
    do {
      const listed: Listed = await get(queryOf({ limit: String(MAX_CHUNK), ...(token ? { continue: token } : {}) }), {
        accept,
        signal: abort.signal,
      })
      for (const row of rowsOf(listed)) fresh.set(row.key, row)
      token = listed.metadata.continue ?? ''
      revision = listed.metadata.resourceVersion ?? ''
      if (isFirst) {
        for (const [key, row] of fresh) byKey.set(key, row)
        progress.value = { loaded: byKey.size, total: token ? byKey.size + (listed.metadata.remainingItemCount ?? 0) : byKey.size }
        flush()
      }
    } while (token)
    byKey.clear()
    for (const [key, row] of fresh) byKey.set(key, row)
    flush()
    return revision
  }

  /** Reads events until the watch ends; returns the last revision, or undefined when the list must be read anew. */
  async function follow(from: string): Promise<string | undefined> {
    let revision = from
    const response = await send(
      queryOf({
        watch: '1',
        allowWatchBookmarks: '1',
        resourceVersion: from,
        timeoutSeconds: String(240 + Math.floor(Math.random() * 60)),
      }),
      { accept, signal: abort.signal },
    )
    state.value = { phase: 'live' }
    for await (const texts of lines(response)) {
      for (const text of texts) {
        if (text === '') continue
        const event = JSON.parse(text) as WatchEvent<any>
        if (event.type === 'ERROR') {
          if (event.object.code === 410) return undefined
          throw new ApiError(event.object, event.object.code ?? 500)
        }
        if (event.object.columnDefinitions?.length) columns.value = event.object.columnDefinitions
        for (const row of event.object.rows ? event.object.rows.map(tableRow) : [objectRow(event.object)]) {
          revision = row.metadata.resourceVersion ?? revision
          if (event.type === 'BOOKMARK') continue
          if (event.type === 'DELETED') byKey.delete(row.key)
          else byKey.set(row.key, row)
        }
      }
      changed()
    }
    return revision
  }

  async function run(): Promise<void> {
    let revision: string | undefined
    let failures = 0
    while (!abort.signal.aborted)
      try {
        if (revision === undefined || revision === '' || !isWatchable) {
          revision = await readAll()
          state.value = { phase: 'live' }
        }
        failures = 0
        if (!isWatchable) await pause(POLL_MS, abort.signal)
        else revision = await follow(revision)
      } catch (error) {
        if (abort.signal.aborted) return
        const code = error instanceof ApiError ? error.code : 0
        if (code === 410) {
          revision = undefined
          continue
        }
        if (code === 401) {
          if (state.value.phase === 'live') state.value = { phase: 'behind', since: now.peek() }
          await signedIn(abort.signal)
          continue
        }
        // The same request would be refused again.
        if (code >= 400 && code < 500 && code !== 429) {
          state.value = { phase: 'failed', error }
          return
        }
        if (byKey.size === 0 && state.value.phase === 'loading') state.value = { phase: 'failed', error }
        else if (state.value.phase !== 'behind') state.value = { phase: 'behind', since: now.peek() }
        const wait = Math.min(MAX_BACKOFF_MS, 500 * 2 ** Math.min(failures++, 6))
        await pause(wait * (0.75 + Math.random() / 2), abort.signal)
        if (state.value.phase === 'failed') state.value = { phase: 'loading' }
      }
  }
  void run()

  return {
    state,
    columns,
    rows,
    progress,
    close() {
      abort.abort()
      if (typeof frame === 'number') cancelAnimationFrame(frame)
      clearTimeout(frame)
    },
  }
}

const keyOf = ({ uid, namespace = '', name }: ObjectMeta): string => uid ?? `${namespace}/${name}`

function tableRow({ cells, object }: TableRow): Row {
  const metadata = object.metadata
  // Most of the bytes of metadata, and never shown in a list.
  delete metadata.managedFields
  return { key: keyOf(metadata), metadata, cells, object: undefined }
}

function objectRow(object: KubeObject): Row {
  delete object.metadata.managedFields
  return { key: keyOf(object.metadata), metadata: object.metadata, cells: [], object }
}

/** Resolves when somebody has logged in again. */
function signedIn(abort: AbortSignal): Promise<void> {
  let stop = () => {}
  return new Promise<void>(resolve => {
    stop = isSignedOut.subscribe(isOut => {
      if (!isOut) resolve()
    })
    abort.addEventListener('abort', () => resolve())
  }).finally(() => stop())
}

export function pause(ms: number, abort: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    abort.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** One object, followed. `undefined` until it is read. */
export type LiveObject = {
  readonly state: Signal<LiveState | { readonly phase: 'deleted' }>
  readonly object: Signal<KubeObject | undefined>
  close(): void
}

export function liveObject(path: string, list: string, name: string): LiveObject {
  const state = signal<LiveState | { readonly phase: 'deleted' }>({ phase: 'loading' })
  const object = signal<KubeObject | undefined>(undefined)
  const abort = new AbortController()

  async function follow(revision: string): Promise<void> {
    const query = new URLSearchParams({
      watch: '1',
      allowWatchBookmarks: '1',
      resourceVersion: revision,
      fieldSelector: `metadata.name=${name}`,
      timeoutSeconds: '280',
    })
    const response = await send(`${list}?${query}`, { signal: abort.signal })
    state.value = { phase: 'live' }
    for await (const texts of lines(response))
      for (const text of texts) {
        if (text === '') continue
        const event = JSON.parse(text) as WatchEvent
        if (event.type === 'ERROR') return
        if (event.type === 'BOOKMARK') continue
        object.value = event.object
        state.value = { phase: event.type === 'DELETED' ? 'deleted' : 'live' }
      }
  }

  async function run(): Promise<void> {
    let failures = 0
    let mayWatch = true
    while (!abort.signal.aborted)
      try {
        const read = await get(path, { signal: abort.signal })
        object.value = read
        state.value = { phase: 'live' }
        failures = 0
        if (mayWatch)
          await follow(read.metadata.resourceVersion ?? '').catch(error => {
            if (error instanceof ApiError && error.code >= 400 && error.code < 500 && error.code !== 429 && error.code !== 401)
              mayWatch = false
            else throw error
          })
        else await pause(POLL_MS, abort.signal)
      } catch (error) {
        if (abort.signal.aborted) return
        const code = error instanceof ApiError ? error.code : 0
        if (code === 401) {
          if (state.value.phase === 'live') state.value = { phase: 'behind', since: now.peek() }
          await signedIn(abort.signal)
          continue
        }
        if (code === 404 && object.value) {
          state.value = { phase: 'deleted' }
          return
        }
        if (code >= 400 && code < 500 && code !== 429) {
          state.value = { phase: 'failed', error }
          return
        }
        if (object.value === undefined) state.value = { phase: 'failed', error }
        else if (state.value.phase !== 'behind') state.value = { phase: 'behind', since: now.peek() }
        await pause(Math.min(MAX_BACKOFF_MS, 500 * 2 ** Math.min(failures++, 6)), abort.signal)
      }
  }
  void run()
  return { state, object, close: () => abort.abort() }
}
