// Deletion step by step: a pod and a namespace are marked before they are removed, and watchers see it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectMeta } from '../src/schema/object-meta.ts'
import { ask, patient, type Scope, serverOfFile, Watching } from './kit.ts'

const PODS = '/api/v1/namespaces/default/pods'
const NAMESPACES = '/api/v1/namespaces'
const server = serverOfFile({ store: 'memory', controllers: ['none'], disableAdmissionPlugins: ['ServiceAccount'] })

const pod = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }], automountServiceAccountToken: false, ...spec },
})

/** The events of one object up to its end, as `TYPE grace generation`. */
async function eventsOf(t: Scope, path: string, { name, since }: { name: string; since: string }): Promise<string[]> {
  const watching = await Watching.open(t, server, `${path}?watch=true&resourceVersion=${since}&fieldSelector=metadata.name=${name}`)
  const seen: string[] = []
  for (let event = await watching.next(); event; event = event.type === 'DELETED' ? undefined : await watching.next()) {
    const { metadata, status } = event.object as unknown as { metadata: ObjectMeta; status: { phase: string } }
    const mark = metadata.deletionTimestamp ? (metadata.deletionGracePeriodSeconds ?? 'marked') : '-'
    seen.push(`${event.type} ${mark} ${metadata.generation ?? status.phase}`)
  }
  return seen
}

async function create(path: string, body: object): Promise<string> {
  const created = await ask(server, path, { method: 'POST', body })
  assert.equal(created.status, 201, created.text)
  return String(Number(created.json.metadata.resourceVersion) - 1)
}

test('a pod without a grace period is marked, then removed', patient, async t => {
  const since = await create(PODS, pod('unbound'))
  const tried = await ask(server, `${PODS}/unbound?dryRun=All`, { method: 'DELETE' })
  assert.deepEqual([tried.status, tried.json.metadata.deletionGracePeriodSeconds, tried.json.metadata.generation], [200, 0, 2])
  const { status, json } = await ask(server, `${PODS}/unbound`, { method: 'DELETE' })
  assert.deepEqual([status, json.metadata.deletionGracePeriodSeconds, json.metadata.generation], [200, 0, 2])
  assert.deepEqual(await eventsOf(t, PODS, { name: 'unbound', since }), ['ADDED - 1', 'MODIFIED 0 2', 'DELETED 0 2'])
})

test('a pod whose grace period is cut to nothing is marked with it, then removed', patient, async t => {
  const since = await create(PODS, pod('bound', { nodeName: 'n' }))
  for (const [query, left] of [
    ['', 30],
    ['?gracePeriodSeconds=5', 5],
    ['?gracePeriodSeconds=0', 0],
  ] as const)
    assert.equal((await ask(server, `${PODS}/bound${query}`, { method: 'DELETE' })).json.metadata.deletionGracePeriodSeconds, left)
  assert.deepEqual(await eventsOf(t, PODS, { name: 'bound', since }), [
    'ADDED - 1',
    'MODIFIED 30 2',
    'MODIFIED 5 2',
    'MODIFIED 0 2',
    'DELETED 0 2',
  ])
})

test('a deletion that names the revision of a pod removes it, though marking it makes another revision', patient, async () => {
  await create(PODS, pod('named'))
  const { uid, resourceVersion } = (await ask(server, `${PODS}/named`)).json.metadata
  const { status } = await ask(server, `${PODS}/named`, { method: 'DELETE', body: { preconditions: { uid, resourceVersion } } })
  assert.equal(status, 200)
  assert.equal((await ask(server, `${PODS}/named`)).status, 404)
})

test('a namespace is marked by the first deletion, even when nothing holds it', patient, async t => {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'free' } }
  const since = await create(NAMESPACES, namespace)
  assert.equal((await ask(server, `${NAMESPACES}/free/finalize`, { method: 'PUT', body: namespace })).status, 200)
  const first = await ask(server, `${NAMESPACES}/free`, { method: 'DELETE' })
  assert.deepEqual([first.status, first.json.status.phase], [200, 'Terminating'])
  assert.equal((await ask(server, `${NAMESPACES}/free`)).status, 200)
  assert.equal((await ask(server, `${NAMESPACES}/free`, { method: 'DELETE' })).status, 200)
  assert.deepEqual(await eventsOf(t, NAMESPACES, { name: 'free', since }), [
    'ADDED - Active',
    'MODIFIED - Active',
    'MODIFIED marked Terminating',
    'DELETED marked Terminating',
  ])
})

test('an update does not mark an object as being deleted', patient, async () => {
  const path = '/api/v1/namespaces/default/configmaps'
  const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' } }
  await create(path, configMap)
  const marked = { ...configMap, metadata: { name: 'kept', deletionTimestamp: '2020-01-01T00:00:00Z' } }
  const { status, json } = await ask(server, `${path}/kept`, { method: 'PUT', body: marked })
  assert.deepEqual(
    [status, json.message],
    [422, 'ConfigMap "kept" is invalid: metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable'],
  )
})

test('a deletion of a job that does not name a propagation policy is warned about', patient, async () => {
  const path = '/apis/batch/v1/namespaces/default/jobs'
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
  await create(path, { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j' }, spec: { template } })
  const warned = async (at: string) => String((await ask(server, at, { method: 'DELETE' })).headers['warning'] ?? '')
  assert.match(await warned(`${path}/j?dryRun=All`), /^299 - "child pods are preserved by default when jobs are deleted/)
  assert.match(await warned(`${path}?dryRun=All`), /^299 - "child pods are preserved by default/)
  assert.equal(await warned(`${path}/j?propagationPolicy=Background`), '')
})
