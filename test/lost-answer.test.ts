// The example of docs/testing-controllers.md: a controller whose bug only a lost answer shows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { start } from '../src/index.ts'
import { patient } from './kit.ts'

const SECRETS = '/api/v1/namespaces/default/secrets'
const CLAIM = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'claim' } }

for (const [names, expected] of [
  ['generated', 2],
  ['that follow from the claim', 1],
] as const)
  test(`with names ${names}, a lost answer leaves ${expected} secrets`, patient, async t => {
    const server = await start({ controllers: ['none'] })
    t.after(() => server.close())
    const [claim] = await server.apply(CLAIM)
    const metadata = names === 'generated' ? { generateName: 'claim-' } : { name: `claim-${claim!.metadata.uid}` }
    server.faults.add({ verb: 'create', resource: 'secrets', loseAnswer: true, times: 1 })
    const reconcile = async (): Promise<boolean> => {
      try {
        const { status } = await server.fetch(SECRETS, { method: 'POST', body: JSON.stringify({ metadata }) })
        return status === 201 || status === 409
      } catch {
        return false
      }
    }
    while (!(await reconcile())) {}
    assert.equal(server.faults.report()[0]!.hits, 1)
    assert.equal(server.changes().filter(({ kind, type }) => kind === 'Secret' && type === 'added').length, expected)
  })
