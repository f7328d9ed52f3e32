/** The pages, in one place: the form of their address, and the chunk that is loaded when one is opened. */
import type { ComponentType } from 'preact'
import type { IconName } from '../parts/icons.tsx'

export type Params = Readonly<Record<string, string>>
export type PageProps = { readonly params: Params }

export type Page = {
  /** Segments of the path; one that begins with a colon is a parameter. */
  readonly route: string
  readonly title: string
  /** An entry in the side bar, with the key that opens it behind `g`. */
  readonly nav?: { readonly icon: IconName; readonly key: string }
  /** A page that is offered only where the server has it and the user may: the nonResourceURL that is asked for. */
  readonly needs?: string
  load(): Promise<{ default: ComponentType<PageProps> }>
}

export const PAGES: readonly Page[] = [
  { route: '/', title: 'Overview', nav: { icon: 'gauge', key: 'o' }, load: () => import('./overview/overview.tsx') },
  { route: '/nodes', title: 'Nodes and devices', nav: { icon: 'server', key: 'n' }, load: () => import('./nodes/nodes.tsx') },
  { route: '/relations', title: 'Relations', nav: { icon: 'graph', key: 'r' }, load: () => import('./relations/namespace-graph.tsx') },
  { route: '/past', title: 'History', nav: { icon: 'history', key: 'h' }, load: () => import('./history/past.tsx') },
  { route: '/try', title: 'Try a request', nav: { icon: 'flask', key: 't' }, load: () => import('./try/try.tsx') },
  {
    route: '/requests',
    title: 'Requests',
    nav: { icon: 'network', key: 'q' },
    needs: '/keelson/v1/requests',
    load: () => import('./requests/requests.tsx'),
  },
  { route: '/access', title: 'Access', nav: { icon: 'key', key: 'a' }, load: () => import('./access/access.tsx') },
  {
    route: '/faults',
    title: 'Faults and clock',
    nav: { icon: 'bolt', key: 'f' },
    needs: '/keelson/faults',
    load: () => import('./faults/faults.tsx'),
  },
  { route: '/list/:group/:version/:plural', title: 'List', load: () => import('./list/list.tsx') },
  { route: '/create/:group/:version/:plural', title: 'Create', load: () => import('./create/create.tsx') },
  { route: '/object/:group/:version/:plural/:namespace/:name', title: 'Object', load: () => import('./object/object.tsx') },
]

/** The page of a path, with its parameters. */
export function pageOf(path: string): { page: Page; params: Params } | undefined {
  const segments = split(path)
  for (const page of PAGES) {
    const wanted = split(page.route)
    if (wanted.length !== segments.length) continue
    const params: Record<string, string> = {}
    const fits = wanted.every((text, i) => {
      if (!text.startsWith(':')) return text === segments[i]
      params[text.slice(1)] = segments[i]!
      return true
    })
    if (fits) return { page, params }
  }
  return undefined
}

function split(path: string): string[] {
  return path
    .split('/')
    .filter(text => text !== '')
    .map(text => {
      try {
        return decodeURIComponent(text)
      } catch {
        return text
      }
    })
}
