import assert from 'node:assert/strict'
import test from 'node:test'
import { MemoryStore } from '../../storage/memory.ts'
import { claimData } from './data-identity.ts'

test('data is opened again under its own domain and refused under another', async () => {
  const store = new MemoryStore()
  const { claimed } = await claimData(store, { groupDomain: 'k8s.io', dataDir: '/data' })
  await claimed
  await claimData(store, { groupDomain: 'k8s.io', dataDir: '/data' })
  await assert.rejects(claimData(store, { groupDomain: 'example.org', dataDir: '/data' }), /was written with --group-domain k8s\.io/)
  await store.close()
})
