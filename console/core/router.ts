/** Addresses below /console/ by the history API, and links to them. */
import { batch, signal } from '@preact/signals'
import type { Kind } from './discovery.ts'

export const BASE = '/console'

/** The path below the console's, beginning with a slash. */
export const path = signal(pathNow())
export const query = signal(new URLSearchParams(location.search))

function pathNow(): string {
  const below = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : '/'
  return below === '' ? '/' : below
}

function read(): void {
  batch(() => {
    path.value = pathNow()
    query.value = new URLSearchParams(location.search)
  })
}

/** Asked before the page is left; answers whether it may be. */
let guard: (() => boolean | Promise<boolean>) | undefined
export function guardLeaving(ask: () => boolean | Promise<boolean>): () => void {
  guard = ask
  return () => {
    if (guard === ask) guard = undefined
  }
}

/** Goes to a path below the console's. */
export async function navigate(to: string, { replace = false } = {}): Promise<void> {
  if (!replace && guard && !(await guard())) return
  if (replace) history.replaceState(null, '', BASE + to)
  else history.pushState(null, '', BASE + to)
  read()
  if (!replace) window.scrollTo(0, 0)
}

/** Changes parameters of the present address, without a step in the history. */
export function setQuery(changes: Record<string, string | undefined>): void {
  const next = new URLSearchParams(query.value)
  for (const [name, value] of Object.entries(changes))
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  const text = next.toString()
  history.replaceState(null, '', `${BASE}${path.value}${text === '' ? '' : `?${text}`}`)
  query.value = next
}

export function startRouter(): void {
  addEventListener('popstate', read)
  // Links are plain anchors: they can be opened in a new tab and are read as links.
  document.addEventListener('click', event => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = (event.target as Element | null)?.closest?.('a[href]')
    if (!(link instanceof HTMLAnchorElement) || link.target !== '' || link.hasAttribute('download')) return
    if (link.origin !== location.origin || !link.pathname.startsWith(`${BASE}/`)) return
    event.preventDefault()
    void navigate(link.pathname.slice(BASE.length) + link.search)
  })
}

/** `core` stands for the group without a name. */
const groupInPath = (group: string) => (group === '' ? 'core' : group)
export const groupFromPath = (text: string) => (text === 'core' ? '' : text)

type Named = Pick<Kind, 'group' | 'version' | 'plural'>
export const toList = (kind: Named, query?: Record<string, string>): string => {
  const text = new URLSearchParams(query).toString()
  return `/list/${groupInPath(kind.group)}/${kind.version}/${kind.plural}${text === '' ? '' : `?${text}`}`
}
export const toCreate = (kind: Named, namespace?: string): string =>
  `/create/${groupInPath(kind.group)}/${kind.version}/${kind.plural}${namespace ? `?ns=${encodeURIComponent(namespace)}` : ''}`
/** A hyphen stands for no namespace. */
export const toObject = (kind: Named, namespace: string | undefined, name: string, tab?: string): string =>
  `/object/${groupInPath(kind.group)}/${kind.version}/${kind.plural}/${namespace ? encodeURIComponent(namespace) : '-'}/${encodeURIComponent(name)}${tab ? `?tab=${tab}` : ''}`

/** The address of a path below the console's, for anchors. */
export const href = (to: string): string => BASE + to
