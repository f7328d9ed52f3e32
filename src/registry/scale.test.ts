import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { openBench } from '../../test/kits/registry.ts'
import { defineKind } from '../schema/kind.ts'
import { int32, message } from '../schema/types.ts'

const Herd = defineKind({
  group: 'test.example',
  version: 'v1',
  kind: 'Herd',
  scope: 'Namespaced',
  names: { plural: 'herds' },
  generation: true,
  spec: message('HerdSpec', { replicas: [1, int32.optional().default(1).min(0), 'How many.'] }),
  status: message('HerdStatus', { replicas: [1, int32, 'How many there are.'] }),
  subresources: {
    status: {},
    scale: {
      replicas: o => o.spec.replicas,
      setReplicas: (o, replicas) => {
        o.spec.replicas = replicas
      },
      observed: o => o.status.replicas ?? 0,
      selector: () => 'app=cow',
    },
  },
})

async function bench(t: TestContext) {
  const opened = await openBench([Herd])
  t.after(() => opened.close())
  await opened.send('POST herds?fieldManager=creator', { metadata: { name: 'cows' }, spec: { replicas: 2 } })
  return opened.send
}
const scale = (replicas: number) => ({ apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'cows' }, spec: { replicas } })

test('a scale shows the desired size, the current size and the selector', async t => {
  const send = await bench(t)
  const { body } = await send('GET herds/cows/scale')
  assert.deepEqual(
    [body.kind, body.apiVersion, body.spec, body.status],
    ['Scale', 'autoscaling/v1', { replicas: 2 }, { replicas: 0, selector: 'app=cow' }],
  )
})

test('writing a scale resizes the object, moves its generation and gives the size a new owner', async t => {
  const send = await bench(t)
  assert.equal((await send('PUT herds/cows/scale?fieldManager=hpa', scale(5))).body.spec.replicas, 5)
  const { body } = await send('GET herds/cows')
  assert.deepEqual([body.spec.replicas, body.metadata.generation], [5, 2])
  assert.deepEqual(
    body.metadata.managedFields.map((m: { manager: string; subresource?: string; apiVersion: string }) => [
      m.manager,
      m.subresource,
      m.apiVersion,
    ]),
    [['hpa', 'scale', 'test.example/v1']],
  )
})

test('applying a scale conflicts with the owner of the size until it is forced', async t => {
  const send = await bench(t)
  const apply = (query: string) =>
    send(`PATCH herds/cows/scale?fieldManager=hpa${query}`, scale(7), { type: 'application/apply-patch+yaml' })
  const refused = await apply('')
  assert.deepEqual([refused.code, refused.body.reason, refused.body.details.causes[0].field], [409, 'Conflict', '.spec.replicas'])
  assert.equal((await apply('&force=true')).body.spec.replicas, 7)
})

test('a negative size and a version that is not the latest are refused', async t => {
  const send = await bench(t)
  const bad = await send('PATCH herds/cows/scale', { spec: { replicas: -1 } })
  assert.deepEqual([bad.code, bad.body.details.kind, bad.body.details.causes[0].field], [422, 'Scale', 'spec.replicas'])
  assert.equal((await send('PUT herds/cows/scale', { ...scale(3), metadata: { name: 'cows', resourceVersion: '1' } })).code, 409)
})
