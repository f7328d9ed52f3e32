import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes } from '../../../test/kits/controllers.ts'
import { openServiceBench, type ServiceBench } from '../../../test/kits/services.ts'
import { serviceCIDRController } from './controller.ts'

async function controlled(act: (bench: ServiceBench) => Promise<void>): Promise<void> {
  const bench = await openServiceBench()
  await bench.run(serviceCIDRController).idle()
  try {
    await act(bench)
  } finally {
    bench.stop()
    await bench.close()
  }
}
const readyOf = ({ body }: { body: any }) => body.status?.conditions?.[0]

test('ranges get their finalizer and their condition', () =>
  controlled(async ({ send }) => {
    const { body } = await send('GET servicecidrs/kubernetes')
    assert.deepEqual(body.metadata.finalizers, ['networking.k8s.io/service-cidr-finalizer'])
    assert.deepEqual([readyOf({ body }).status, readyOf({ body }).message], ['True', 'Kubernetes Service CIDR is ready'])
    const manager = body.metadata.managedFields.find((m: any) => m.manager === 'service-cidr-controller')
    assert.deepEqual([manager.operation, manager.subresource], ['Apply', 'status'])
    await send('POST servicecidrs', { metadata: { name: 'more' }, spec: { cidrs: ['10.9.0.0/24'] } })
    await becomes(
      () => send('GET servicecidrs/more'),
      answer => readyOf(answer)?.status === 'True',
    )
  }))

test('a range in use is removed only when its last service has released its address', () =>
  controlled(async ({ send, serve }) => {
    for (const name of ['a', 'b']) await serve(name)
    assert.equal((await send('DELETE servicecidrs/kubernetes')).code, 200)
    const held = await becomes(
      () => send('GET servicecidrs/kubernetes'),
      answer => readyOf(answer).status === 'False',
    )
    assert.equal(readyOf(held).reason, 'Terminating')
    assert.match((await serve('c')).body.message, /range is full$/)
    await send('DELETE services/a')
    assert.equal((await send('GET servicecidrs/kubernetes')).code, 200)
    await send('DELETE services/b')
    await becomes(
      () => send('GET servicecidrs/kubernetes'),
      ({ code }) => code === 404,
    )
  }))

test('services created while their range is deleted are in a range or refused', () =>
  controlled(async ({ send, serve }) => {
    const creating = Array.from({ length: 20 }, (_, i) => serve(`s${i}`))
    await new Promise(setImmediate)
    await send('DELETE servicecidrs/kubernetes')
    const codes = (await Promise.all(creating)).map(({ code }) => code)
    const made = codes.filter(code => code === 201).length
    assert.equal(made + codes.filter(code => code === 500).length, 20)
    assert.equal((await send('GET services')).body.items.length, made)
    assert.equal((await send('GET ipaddresses')).body.items.length, made)
    if (made > 0) assert.equal((await send('GET servicecidrs/kubernetes')).code, 200)
    await send('DELETE services')
    await becomes(
      () => send('GET servicecidrs/kubernetes'),
      ({ code }) => code === 404,
    )
  }))
