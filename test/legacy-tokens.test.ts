// Generated tokens of service accounts that nobody uses: invalid after a year, deleted after another.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { INVALID_SINCE } from '../src/controllers/legacytokencleaner/reconcile.ts'
import { ApiError, start } from '../src/index.ts'
import { patient } from './kit.ts'

test('an unused token becomes invalid after a year and is deleted after another; one made by hand stays', patient, async t => {
  const server = await start({ controllers: ['legacy-serviceaccount-token-cleaner-controller'], nodes: 0 })
  t.after(() => server.close())
  const account = await server.create({
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'old' },
    secrets: [{ name: 'generated' }],
  })
  const annotations = { 'kubernetes.io/service-account.name': 'old', 'kubernetes.io/service-account.uid': account.metadata.uid }
  for (const name of ['generated', 'by-hand'])
    await server.create({ apiVersion: 'v1', kind: 'Secret', metadata: { name, annotations }, type: 'kubernetes.io/service-account-token' })
  const invalidSince = async (name: string) => (await server.get(`secret/${name}`)).metadata['labels']?.[INVALID_SINCE]
  await server.clock.advance('8640h')
  assert.equal(await invalidSince('generated'), undefined)
  await server.clock.advance('240h')
  assert.match(await invalidSince('generated'), /^\d{4}-\d{2}-\d{2}$/)
  await server.clock.advance('8880h')
  await assert.rejects(server.get('secret/generated'), error => error instanceof ApiError && error.status === 404)
  assert.equal(await invalidSince('by-hand'), undefined)
})
