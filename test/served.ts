/** All resources of a server, by discovery, for tests that go through all of them. */
import assert from 'node:assert/strict'
import type { ClientHttp2Session } from 'node:http2'
import { eventually, type Scope, startInProcess, type Target } from './kit.ts'
import { customKind, sampleOf } from './samples.ts'
import { openSession, over } from './watch-transcripts.ts'

/** A served resource that can be watched. */
export type Served = {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  readonly isCustom: boolean
  /** `/api/v1` or `/apis/GROUP/VERSION`. */
  readonly root: string
}

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** A server of every version, without controllers, so that nothing else changes objects, and with two custom kinds; one connection to it. */
export async function openAll(t: Scope): Promise<{ server: Target; session: ClientHttp2Session; served: Served[] }> {
  const server = await startInProcess(t, { controllers: ['none'], runtimeConfig: 'api/all=true' })
  const session = openSession(t, server)
  const custom = [customKind('nears', { kind: 'Near', scope: 'Namespaced' }), customKind('fars', { kind: 'Far', scope: 'Cluster' })]
  for (const definition of custom) {
    const body = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', ...definition }
    assert.equal((await over(session, DEFINITIONS, { method: 'POST', body })).status, 201)
  }
  const served = await eventually('two custom kinds', async () => {
    const found = await servedBy(session)
    return found.filter(r => r.isCustom).length === 2 ? found : undefined
  })
  return { server, session, served }
}

async function servedBy(session: ClientHttp2Session): Promise<Served[]> {
  const { json } = await over(session, '/apis')
  const roots = ['/api/v1', ...json.groups.flatMap((g: any) => g.versions.map((v: any) => `/apis/${v.groupVersion}`))]
  const lists = await Promise.all(roots.map(async root => ({ root, list: (await over(session, root)).json })))
  return lists.flatMap(({ root, list }) =>
    list.resources
      .filter((r: any) => !r.name.includes('/') && r.verbs.includes('watch'))
      .map(({ name: plural, kind, namespaced, verbs }: any) => {
        const apiVersion = list.groupVersion
        return { root, apiVersion, kind, plural, namespaced, verbs, isCustom: apiVersion.startsWith('custom.') }
      }),
  )
}

/** The path of the collection below the root. */
export const collectionBelowRoot = ({ namespaced, plural }: Served) => (namespaced ? `namespaces/default/${plural}` : plural)
export const collectionOf = (served: Served) => `${served.root}/${collectionBelowRoot(served)}`

/** Creates the first sample; with several versions of the kind it may exist already. */
export async function make(session: ClientHttp2Session, resource: Served): Promise<void> {
  const { status, body } = await over(session, collectionOf(resource), { method: 'POST', body: sampleOf(resource, 1) })
  assert.ok(status === 201 || status === 409, body.toString())
}
