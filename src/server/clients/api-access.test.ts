import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverIdentity } from '../../client/identity.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Catalog } from '../../registry/catalog.ts'
import { resourcesOf } from '../../schema/resource.ts'
import { type ApiAccessParts, apiAccess } from './api-access.ts'

// At 6256f0f1 the garbage collector asked for `pods/web/proxy/` in its own name when an owner was called `web/proxy/`.
test('a name with a slash leads a controller to no subresource', async () => {
  const asked: string[] = []
  const api = apiAccess({
    catalog: new Catalog(resourcesOf([Pod], 'k8s.io')),
    registry: {
      handle: async ({ name, subresource }: { name: string; subresource: string }) => {
        asked.push(`${name} ${subresource}`)
        return { type: 'status', status: {} }
      },
    },
    authorizer: { authorize: () => ({ verdict: 'allow' }) },
    registrations: { at: () => undefined, find: () => undefined, all: () => [] },
    groupDomain: 'k8s.io',
    gate: () => false,
    now: () => new Date(0),
  } as unknown as ApiAccessParts)
  const get = (name: string) =>
    api.send(
      serverIdentity(),
      { method: 'GET', path: `/api/v1/namespaces/a/pods/${encodeURIComponent(name)}` },
      new AbortController().signal,
    )
  for (const name of ['web/proxy/', 'web/log', '../../b/pods/web', '/']) await assert.rejects(get(name), { code: 400 }, name)
  assert.deepEqual(asked, [])
  await get('web')
  assert.deepEqual(asked, ['web '])
})
