// Traps of client-node's informer that docs/informers.md names, as its current version has them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CoreV1Api, type Informer, KubeConfig, makeInformer, type ObjectCache, type V1ConfigMap } from '@kubernetes/client-node'
import type { RunningServer } from '../src/index.ts'
import { eventually, freshServer, patient, type Scope } from './kit.ts'

const configMap = (name: string, data: Record<string, string> = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data })

type Opened = Informer<V1ConfigMap> & ObjectCache<V1ConfigMap> & { readonly seen: string[] }

/** An informer of the config maps in default; `seen` has its events. */
function informerFor(t: Scope, server: RunningServer): Opened {
  const config = new KubeConfig()
  config.loadFromOptions(server.kubeConfig)
  const core = config.makeApiClient(CoreV1Api)
  const list = () => core.listNamespacedConfigMap({ namespace: 'default' })
  const informer = makeInformer(config, '/api/v1/namespaces/default/configmaps', list)
  const seen: string[] = []
  for (const type of ['add', 'update', 'delete'] as const) informer.on(type, object => seen.push(`${type} ${object.metadata?.name}`))
  informer.on('error', () => seen.push('error'))
  t.after(() => informer.stop())
  return Object.assign(informer, { seen })
}

const sees = (informer: Opened, events: readonly string[]) =>
  eventually(`the events ${events.join(', ')}`, () => (informer.seen.join() === events.join() ? true : undefined))

test('it stops after an error, and goes on when it is started again', patient, async t => {
  const server = await freshServer(t)
  const informer = informerFor(t, server)
  server.faults.add({ verb: 'watch', resource: 'configmaps', status: 500 })
  await informer.start()
  await sees(informer, ['error'])
  server.faults.clear()
  await server.create(configMap('unseen'))
  await server.settled()
  assert.deepEqual(informer.seen, ['error'])
  await informer.start()
  await sees(informer, ['error', 'add unseen'])
})

test('start resolves although the list failed', patient, async t => {
  const server = await freshServer(t)
  await server.create(configMap('present'))
  server.faults.add({ verb: 'list', resource: 'configmaps', status: 500 })
  const informer = informerFor(t, server)
  await informer.start()
  assert.deepEqual([informer.seen, informer.list()], [['error'], []])
})

test('times of the list are Dates, those of the watch are strings', patient, async t => {
  const server = await freshServer(t)
  await server.create(configMap('listed'))
  const informer = informerFor(t, server)
  await informer.start()
  await server.create(configMap('watched'))
  await sees(informer, ['add listed', 'add watched'])
  const timeOf = (name: string): unknown => informer.get(name, 'default')?.metadata?.creationTimestamp
  assert.ok(timeOf('listed') instanceof Date)
  assert.equal(typeof timeOf('watched'), 'string')
})

test('a stop is an error, and an object that was replaced meanwhile is an update', patient, async t => {
  const server = await freshServer(t)
  await server.create(configMap('one'))
  const informer = informerFor(t, server)
  await informer.start()
  const uid = informer.get('one', 'default')?.metadata?.uid
  await informer.stop()
  await server.delete('configmap/one')
  await server.create(configMap('one'))
  // A watch that cannot be continued is followed by a list.
  server.faults.add({ verb: 'watch', resource: 'configmaps', status: 410, times: 1 })
  await informer.start()
  await sees(informer, ['add one', 'error', 'update one'])
  assert.notEqual(informer.get('one', 'default')?.metadata?.uid, uid)
})
