import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bench, openBench } from '../../../test/kits/registry.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Event as CoreEvent } from '../../kinds/core/event.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { Event } from '../../kinds/events/event.ts'
import { keyOf, resourceOf } from '../../schema/resource.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'

const namespaces = resourceOf(Namespace, 'k8s.io')

const MAP = { plural: 'configmaps', draft: { metadata: { name: 'new' } } }
const label = (send: Bench['send']) => send('PATCH namespaces/inside', { metadata: { labels: { a: 'b' } } })

type Draft = { readonly plural: string; readonly draft: object; readonly apiVersion?: string }

/** Creates an object; once its namespace was looked at, something happens. The answer, and how often admission looked. */
async function createWhile(meanwhile: (send: Bench['send']) => Promise<unknown>, { plural, draft, ...version }: Draft = MAP) {
  let looked = 0
  const bench: Bench = await openBench([Namespace, ConfigMap, CoreEvent, Event], {
    plugins: [
      namespaceLifecycle(name => bench.caches.of(namespaces).get(keyOf(namespaces, '', name))?.object),
      {
        name: 'Slow',
        *mutate({ resource }) {
          if (resource.plural === plural && ++looked === 1) yield meanwhile(bench.send)
        },
      },
    ],
  })
  const inside = { namespace: 'inside', ...version }
  await bench.send('POST namespaces', { metadata: { name: 'inside', finalizers: ['example.com/kept'] } })
  const { code, body } = await bench.send(`POST ${plural}`, draft, inside)
  const { items } = (await bench.send(`GET ${plural}`, undefined, inside)).body
  await bench.close()
  return { code, message: body.message, stored: items.length, looked }
}

test('an object is created in a namespace that stays as it was', async () => {
  assert.deepEqual(await createWhile(async () => {}), { code: 201, message: undefined, stored: 1, looked: 1 })
})

test('a namespace that changes while an object is admitted is looked at again', async () => {
  assert.deepEqual(await createWhile(label), { code: 201, message: undefined, stored: 1, looked: 2 })
  const about = { regarding: { kind: 'Pod', namespace: 'inside', name: 'web' }, reason: 'Started', action: 'Starting', type: 'Normal' }
  const from = { reportingController: 'tester', reportingInstance: 'tester-1', eventTime: '2026-07-01T12:00:00.000000Z' }
  const converted = { plural: 'events', draft: { metadata: { name: 'new' }, ...about, ...from }, apiVersion: 'events.k8s.io/v1' }
  assert.deepEqual(await createWhile(label, converted), { code: 201, message: undefined, stored: 1, looked: 2 })
})

test('nothing is created in a namespace that is deleted while the object is admitted', async () => {
  const { code, message, stored } = await createWhile(send => send('DELETE namespaces/inside'))
  assert.deepEqual({ code, stored }, { code: 403, stored: 0 })
  assert.match(message, /because it is being terminated$/)
})
