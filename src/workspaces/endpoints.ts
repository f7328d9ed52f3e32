/** Workspaces over HTTP: `/keelson/v1/workspaces`. Authorization protects the path as a nonResourceURL, which administrators alone may use. */
import type { EndpointRule } from '../http/endpoints.ts'
import { isObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { choose, json, type Methods, readFields } from '../library/json-endpoints.ts'
import { badRequest } from '../schema/status-error.ts'
import type { WorkspaceOptions, Workspaces } from './workspaces.ts'

export const WORKSPACE_PATHS = '/keelson/v1/workspaces'

export function workspaceEndpoints(workspaces: Workspaces): EndpointRule[] {
  const all: Methods = {
    GET: async () => json(200, { workspaces: workspaces.list() }),
    POST: async request => json(201, await workspaces.create(optionsIn(await readFields(request, FIELDS)))),
  }
  const one = (name: string): Methods => ({
    GET: async () => json(200, workspaces.get(name)),
    DELETE: async () => json(200, await workspaces.delete(name)),
  })
  return [
    {
      path: WORKSPACE_PATHS,
      below: true,
      hidden: true,
      describe: async () => (await import('./document.ts')).WORKSPACES_API,
      answer(request, { path, query }) {
        const [name = '', ...more] = path.slice(`${WORKSPACE_PATHS}/`.length).split('/')
        if (more.length > 0) return undefined
        return choose(name === '' ? all : one(name), request)(request, query)
      },
    },
  ]
}

const FIELDS = ['name', 'from', 'controllers', 'nodes', 'api'] as const
const SETS = ['none', 'minimal', 'all'] as const

/** The options of a new workspace. Throws StatusError, which names the field. */
export function optionsIn({
  name,
  from,
  controllers,
  nodes,
  api,
}: Readonly<Partial<Record<(typeof FIELDS)[number], unknown>>>): WorkspaceOptions {
  if (name !== undefined && typeof name !== 'string') throw badRequest('name must be a text')
  if (controllers !== undefined && !(Array.isArray(controllers) && controllers.every(each => typeof each === 'string')))
    throw badRequest('controllers must be a list of names, such as ["*"] or ["namespace", "garbagecollector"]')
  if (nodes !== undefined && !(Number.isSafeInteger(nodes) && Number(nodes) >= 0 && Number(nodes) <= LIMITS.simulatedNodes))
    throw badRequest(`nodes must be a whole number between 0 and ${LIMITS.simulatedNodes}`)
  const set = SETS.find(each => each === api)
  if (api !== undefined && set === undefined) throw badRequest(`api must be one of ${SETS.join(', ')}`)
  return { name, from: originIn(from), controllers, nodes: nodes as number | undefined, api: set }
}

function originIn(from: unknown): WorkspaceOptions['from'] {
  if (from === undefined) return undefined
  const [key, ...more] = isObject(from) ? Object.keys(from) : []
  const value = isObject(from) && key !== undefined ? from[key] : undefined
  if (more.length > 0 || typeof value !== 'string' || (key !== 'snapshot' && key !== 'workspace'))
    throw badRequest('from must be {"snapshot": NAME} or {"workspace": NAME}')
  return key === 'snapshot' ? { snapshot: value } : { workspace: value }
}
