// A test of a controller's world: a custom kind, a conflict on demand, and a day that passes in a moment.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type RunningServer, start } from 'keelson'

const SETTINGS = '/apis/example.com/v1/namespaces/default/settings'

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'settings.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'settings', singular: 'setting', kind: 'Setting' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: { replicas: { type: 'integer', default: 1 } },
                'x-kubernetes-validations': [{ rule: 'self.replicas <= 5', message: 'five at most' }],
              },
            },
          },
        },
      },
    ],
  },
}

let server: RunningServer
before(async () => {
  server = await start()
  await server.apply(definition)
})
after(() => server.close())

test('defaults and rules of the kind hold', async () => {
  const [stored] = await server.apply({ apiVersion: 'example.com/v1', kind: 'Setting', metadata: { name: 'a' }, spec: {} })
  assert.equal(stored?.['spec'].replicas, 1)
  const body = JSON.stringify({ apiVersion: 'example.com/v1', kind: 'Setting', metadata: { name: 'b' }, spec: { replicas: 9 } })
  const refused = await server.fetch(SETTINGS, { method: 'POST', body })
  assert.equal(refused.status, 422)
  assert.match(await refused.text(), /five at most/)
})

test('the next update conflicts, and the one after it does not', async () => {
  server.faults.add({ verb: 'update', resource: 'settings.example.com', status: 409, times: 1 })
  const setting = await server.waitFor('setting/a')
  const put = () => server.fetch(`${SETTINGS}/a`, { method: 'PUT', body: JSON.stringify({ ...setting, spec: { replicas: 2 } }) })
  assert.deepEqual([(await put()).status, (await put()).status], [409, 200])
})

test('a day passes at once', async () => {
  const before = server.clock.now().getTime()
  await server.clock.advance('24h')
  assert.ok(server.clock.now().getTime() - before >= 24 * 3_600_000)
})
