/**
 * `/keelson/v1/openapi.json`: one OpenAPI document of the endpoints below `/keelson/v1` that a server has. Each part is described beside its
 * endpoints; a path without a description is named all the same, so that a test finds it.
 */
import { methodNotAllowed } from '../../schema/status-error.ts'
import { VERSION } from '../../version.ts'
import type { EndpointRule } from '../endpoints.ts'
import { bytesResponse } from '../message.ts'

export const OWN_API = '/keelson/v1'

/** Paths of the document, and the schemas that they refer to. */
export type ApiPart = { readonly paths: Readonly<Record<string, object>>; readonly schemas?: Readonly<Record<string, object>> }

/** `rules` are the endpoints of the server, of all paths. */
export const ownApiEndpoint = (rules: () => readonly EndpointRule[]): EndpointRule => ({
  path: `${OWN_API}/openapi.json`,
  hidden: true,
  describe: async () => ({
    paths: { [`${OWN_API}/openapi.json`]: { get: { summary: 'This document', responses: { 200: { description: 'OpenAPI 3.0' } } } } },
  }),
  async answer({ method }) {
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed()
    return bytesResponse(200, 'application/json', Buffer.from(`${JSON.stringify(await documentOf(rules()))}\n`))
  },
})

async function documentOf(rules: readonly EndpointRule[]): Promise<object> {
  const own = rules.filter(({ path }) => path.startsWith(`${OWN_API}/`))
  const parts = await Promise.all(own.map(({ describe }) => describe?.()))
  const named = Object.fromEntries(own.map(({ path }) => [path, {}]))
  const paths: Record<string, object> = Object.assign(named, ...parts.map(part => part?.paths))
  return {
    openapi: '3.0.0',
    info: {
      title: 'Keelson: what a server does, its state for tests, and workspaces',
      version: VERSION,
      description: 'For administrators. Errors are Status objects of v1.',
    },
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: { schemas: Object.assign({}, ...parts.map(part => part?.schemas)) as object },
  }
}
