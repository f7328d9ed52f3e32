// Invariants of explore, in a state that breaks each of them.
import assert from 'node:assert/strict'
import test from 'node:test'
import { explore } from '../../src/index.ts'
import { patient } from '../kit.ts'

const configMap = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default', ...more },
  data: { key: 'x' },
})

test('a state that breaks invariants without any perturbation is reported with all of them', patient, async () => {
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'Secret', name: 'gone', uid: '11111111-2222-3333-4444-555555555555', controller: true },
  ]
  const explored = explore(
    async server => {
      await server.create(configMap('one', { labels: { app: 'a' } }))
      await server.create(configMap('two', { labels: { app: 'a' }, ownerReferences }))
    },
    {
      program: async () => {},
      server: { controllers: ['none'], nodes: 0, logLevel: 'silent' },
      quietMs: 20,
      patienceMs: 100,
      invariants: [
        { kind: 'ConfigMap', labels: { app: 'a' }, count: { max: 1 } },
        { kind: 'ConfigMap', labels: { app: 'a' }, noOrphans: true },
        { kind: 'ConfigMap', labels: { app: 'a' }, noDuplicatesBy: 'data.key' },
        { kind: 'ConfigMap', labels: { app: 'a' }, condition: 'Ready' },
        { kind: 'ConfigMap', labels: { app: 'b' }, count: 0 },
        async server => {
          if ((await server.get('configmap/one'))['data'].key !== 'y') throw new Error('the key is wrong')
        },
      ],
    },
  )
  const problems = [
    'there are 2 ConfigMap, not 0 to 1',
    'ConfigMap default/two is orphaned: its owner, Secret gone, is gone',
    'ConfigMap default/two is a duplicate of ConfigMap default/one: both have the same data.key',
    'ConfigMap default/one has no condition Ready',
    'ConfigMap default/two has no condition Ready',
    'the key is wrong',
  ]
  await assert.rejects(explored, { message: `without any perturbation: ${problems.join('; ')}` })
})

test('a workload or a program that fails without any perturbation is reported', patient, async () => {
  const server = { controllers: ['none'], nodes: 0, logLevel: 'silent' } as const
  const times = { quietMs: 20, patienceMs: 100 }
  const fail = async () => {
    throw new Error('something is wrong')
  }
  await assert.rejects(
    explore(fail, { program: async () => {}, server, ...times }),
    /without any perturbation: the workload failed: something is wrong/,
  )
  await assert.rejects(
    explore(async () => {}, { program: fail, server, ...times }),
    /without any perturbation the program failed: something is wrong/,
  )
  const invariants = [{ kind: 'Gizmo', count: 0 }]
  await assert.rejects(
    explore(async () => {}, { program: async () => {}, server, ...times, invariants }),
    /invariants: no kind Gizmo is served/,
  )
})

test('a program that renews a lease all the time comes to rest', patient, async () => {
  const lease = (holderIdentity: string) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'leader' },
    spec: { holderIdentity },
  })
  const report = await explore(async server => server.create(configMap('one')), {
    program: async (access, signal) => {
      await access.create(lease('0')).catch(() => {})
      for (let i = 1; !(signal as AbortSignal).aborted; i++) {
        await access.patch('lease/leader', { spec: { holderIdentity: String(i) } })
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    },
    server: { controllers: ['none'], nodes: 0, logLevel: 'silent' },
    quietMs: 50,
    patienceMs: 300,
  })
  assert.deepEqual(report.findings, [])
})
