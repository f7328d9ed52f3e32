import assert from 'node:assert/strict'
import test from 'node:test'
import { openBench } from '../../test/kits/registry.ts'
import { Deployment } from '../kinds/apps/deployment.ts'

const TYPES = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

const deployment = {
  metadata: { name: 'd', labels: { app: 'd' } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'd' } },
    template: {
      metadata: { labels: { app: 'd' } },
      spec: { containers: [{ name: 'c', image: 'i', resources: { limits: { cpu: '1', memory: 1048576 } } }] },
    },
  },
}

/** Patches that are made, and some that are refused. */
const PATCHES: readonly (readonly [keyof typeof TYPES, object, string?])[] = [
  ['merge', { metadata: { labels: { app: null, tier: 'x' } }, spec: { replicas: 3 } }],
  ['merge', { spec: { template: { spec: { containers: [{ name: 'c', image: 'other', unknown: 1 }] } } } }, 'fieldValidation=Strict'],
  ['merge', { spec: { replicas: 'many' } }],
  ['strategic', { spec: { template: { spec: { containers: [{ name: 'side', image: 's' }], $setElementOrder: undefined } } } }],
  ['strategic', { spec: { template: { spec: { containers: [{ name: 'c', $patch: 'delete' }] } } } }],
  [
    'json',
    [
      { op: 'replace', path: '/spec/replicas', value: 7 },
      { op: 'test', path: '/spec/replicas', value: 7 },
    ],
  ],
  ['json', [{ op: 'remove', path: '/spec/nothing' }]],
  ['json', { op: 'remove' }],
  ['apply', { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' }, spec: { replicas: 9 } }, 'fieldManager=m'],
  ['apply', { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' }, spec: { replicas: 9 } }, 'fieldManager=m&force=true'],
  ['apply', { apiVersion: 'apps/v1', kind: 'Deployment', ...deployment, metadata: { name: 'new' } }, 'fieldManager=m'],
]

/** The uids that the kit makes; they count on. */
const UID = /0{8}-0{4}-0{4}-0{4}-\d{12}/g

test('a patch that a component hands over is answered as its text', async () => {
  for (const [type, patch, query = ''] of PATCHES) {
    const answers: string[] = []
    for (const isHandedOver of [false, true]) {
      const { send, close } = await openBench([Deployment])
      assert.equal((await send('POST deployments', deployment)).code, 201)
      const name = (patch as { metadata?: { name?: string } }).metadata?.name ?? 'd'
      const { code, body } = await send(`PATCH deployments/${name}?${query}`, patch, { type: TYPES[type], isHandedOver })
      answers.push(JSON.stringify({ code, body }).replaceAll(UID, 'uid'))
      await close()
    }
    assert.equal(answers[1], answers[0])
  }
})

test('patches that are made again after another write came first are whole each time, and stay as they were handed over', async () => {
  const { send, close } = await openBench([Deployment])
  await send('POST deployments', deployment)
  const template = { metadata: { annotations: { by: 'patch' } } }
  const patches = Array.from({ length: 8 }, (_, i) => ({ metadata: { labels: { [`l${i}`]: 'x' } }, spec: { template } }))
  const before = structuredClone(patches)
  const answers = await Promise.all(patches.map(patch => send('PATCH deployments/d', patch, { isHandedOver: true })))
  assert.deepEqual(new Set(answers.map(({ code }) => code)), new Set([200]))
  assert.deepEqual(patches, before)
  const { metadata, spec } = (await send('GET deployments/d')).body
  assert.equal(Object.keys(metadata.labels).length, 9)
  assert.deepEqual(spec.template.metadata, { labels: { app: 'd' }, annotations: { by: 'patch' } })
  await close()
})
