import assert from 'node:assert/strict'
import test from 'node:test'
import {
  conditionOf,
  definitions,
  isEstablished,
  openCustomBench,
  widget,
  widgetDefinition,
  widgets,
} from '../../test/kits/custom-kinds.ts'
import { NOW } from '../../test/kits/registry.ts'
import { ClusterRole } from '../kinds/rbac/clusterrole.ts'
import { MemoryStore } from '../storage/memory.ts'

test('a definition is established, and its kind is there when it says so', async t => {
  const { send, define, errors } = await openCustomBench(t)
  assert.equal((await send(`GET ${widgets()}`)).code, 404)
  await define(widgetDefinition([{}], { names: { shortNames: ['wi'], categories: ['all'] } }))
  const { body } = await send(`GET ${definitions('/widgets.stable.example.com')}`)
  assert.deepEqual(body.status.acceptedNames, {
    plural: 'widgets',
    singular: 'widget',
    shortNames: ['wi'],
    kind: 'Widget',
    listKind: 'WidgetList',
    categories: ['all'],
  })
  assert.deepEqual(body.status.storedVersions, ['v1'])
  const said = body.status.conditions.map((c: any) => [c.type, c.status, c.reason, c.message])
  assert.deepEqual(said, [
    ['NamesAccepted', 'True', 'NoConflicts', 'no conflicts found'],
    ['Established', 'True', 'InitialNamesAccepted', 'the initial names have been accepted'],
  ])
  assert.equal((await send(`POST ${widgets()}`, widget('a', { color: 'red' }))).code, 201)
  assert.deepEqual((await send(`GET ${widgets('/a')}`)).body.spec, { color: 'red' })
  assert.deepEqual(errors, [])
})

test('names that another definition has are refused until they are free', async t => {
  const { send, define, until } = await openCustomBench(t)
  await define(widgetDefinition([{}], { names: { shortNames: ['wi'] } }))
  const rival = widgetDefinition([{}], { names: { plural: 'gadgets', singular: 'widget', kind: 'Gadget', shortNames: ['wi', 'ga'] } })
  await send(`POST ${definitions()}`, rival)
  const read = async () => (await send(`GET ${definitions('/gadgets.stable.example.com')}`)).body
  await until(async () => conditionOf(await read(), 'NamesAccepted') !== undefined)
  const refused = await read()
  assert.deepEqual(
    [conditionOf(refused, 'NamesAccepted').reason, conditionOf(refused, 'NamesAccepted').message],
    ['ShortNamesConflict', '"wi" is already in use'],
  )
  assert.equal(conditionOf(refused, 'Established').reason, 'NotAccepted')
  assert.deepEqual(refused.status.acceptedNames, { plural: 'gadgets', kind: 'Gadget', listKind: 'GadgetList' })
  assert.equal((await send('GET /apis/stable.example.com/v1/gadgets')).code, 404)
  await send(`DELETE ${definitions('/widgets.stable.example.com')}`)
  await until(async () => isEstablished(await read()))
  assert.equal((await send('GET /apis/stable.example.com/v1/gadgets')).code, 200)
})

test('objects and kinds are there again after a restart, those written between crash and establishing too', async t => {
  const store = new MemoryStore()
  const closes = store.close.bind(store)
  store.close = async () => {}
  const scopes: (() => unknown)[] = []
  const first = await openCustomBench({ after: undo => scopes.push(undo) }, { store })
  await first.define(widgetDefinition())
  await first.send(`POST ${widgets()}`, widget('a', { color: 'red' }))
  for (const undo of scopes) await undo()
  // A definition that has not been reconciled yet.
  const bare = widgetDefinition([{}], { names: { plural: 'gadgets', kind: 'Gadget' } })
  const key = '/apiextensions.k8s.io/customresourcedefinitions/gadgets.stable.example.com'
  const { kind, apiVersion, metadata, ...rest } = bare
  const stored = {
    kind,
    apiVersion,
    metadata: { ...metadata, uid: 'u', resourceVersion: '', generation: 1 },
    ...rest,
    status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
  }
  await store.swap(key, { expect: 0, value: Buffer.from(JSON.stringify(stored)) })
  const second = await openCustomBench(t, { store })
  store.close = closes
  assert.deepEqual((await second.send(`GET ${widgets('/a')}`)).body.spec, { color: 'red' })
  assert.equal((await second.send('GET /apis/stable.example.com/v1/gadgets')).code, 200)
  assert.equal(isEstablished((await second.send(`GET ${definitions('/gadgets.stable.example.com')}`)).body), true)
})

test('the objects of a deleted definition are deleted, and it waits for those with finalizers', async t => {
  const { send, define, until, caches, catalog, errors } = await openCustomBench(t)
  await define(widgetDefinition())
  for (const name of ['a', 'b']) await send(`POST ${widgets()}`, widget(name))
  await send(`POST ${widgets()}`, widget('held', {}, { metadata: { finalizers: ['example.com/hold'] } }))
  const resource = catalog.find('stable.example.com', 'v1', 'widgets')!
  const deleted = await send(`DELETE ${definitions('/widgets.stable.example.com')}`)
  assert.deepEqual([deleted.code, conditionOf(deleted.body, 'Terminating').reason], [200, 'InstanceDeletionPending'])
  await until(() => caches.of(resource).count === 1)
  const terminating = (await send(`GET ${definitions('/widgets.stable.example.com')}`)).body
  assert.equal(conditionOf(terminating, 'Terminating').reason, 'InstanceDeletionInProgress')
  assert.deepEqual(resource.def.custom!.advertised, ['delete', 'deletecollection', 'get', 'list', 'watch'])
  const refused = await send(`POST ${widgets()}`, widget('late'))
  assert.deepEqual(
    [refused.code, refused.body.message],
    [403, 'widgets.stable.example.com "late" is forbidden: create not allowed while custom resource definition is terminating'],
  )
  assert.equal((await send(`PATCH ${widgets('/held')}`, { metadata: { finalizers: null } })).code, 200)
  await until(async () => (await send(`GET ${definitions('/widgets.stable.example.com')}`)).code === 404)
  await until(() => catalog.find('stable.example.com', 'v1', 'widgets') === undefined)
  assert.equal(caches.has(resource), false)
  assert.equal((await send(`GET ${widgets()}`)).code, 404)
  assert.deepEqual(errors, [])
})

test('after a minute a condition says that objects remain, and their deletion is tried again', async t => {
  let now = NOW
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { send, define, until } = await openCustomBench(t, { now: () => now })
  await define(widgetDefinition())
  await send(`POST ${widgets()}`, widget('held', {}, { metadata: { finalizers: ['example.com/hold'] } }))
  await send(`DELETE ${definitions('/widgets.stable.example.com')}`)
  const terminating = async () => conditionOf((await send(`GET ${definitions('/widgets.stable.example.com')}`)).body, 'Terminating')
  const isMarked = async () => (await send(`GET ${widgets('/held')}`)).body.metadata.deletionTimestamp !== undefined
  await until(isMarked)
  assert.equal((await terminating()).reason, 'InstanceDeletionInProgress')
  now = new Date(NOW.getTime() + 61_000)
  await until(async () => {
    t.mock.timers.tick(61_000)
    return (await terminating()).reason === 'InstanceDeletionCheck'
  })
  assert.equal((await terminating()).message, 'could not confirm zero CustomResources remaining: context deadline exceeded')
  await send(`PATCH ${widgets('/held')}`, { metadata: { finalizers: null } })
  await until(async () => (await send(`GET ${definitions('/widgets.stable.example.com')}`)).code === 404)
})

test('a definition can be created again after it was deleted, without the objects it had', async t => {
  const { send, define, until } = await openCustomBench(t)
  for (const color of ['red', 'blue']) {
    await define(widgetDefinition())
    assert.deepEqual((await send(`GET ${widgets()}`)).body.items, [])
    assert.equal((await send(`POST ${widgets()}`, widget('a', { color }))).code, 201)
    await send(`DELETE ${definitions('/widgets.stable.example.com')}`)
    await until(async () => (await send(`GET ${definitions('/widgets.stable.example.com')}`)).code === 404)
  }
})

test('a definition of what is built in changes nothing', async t => {
  const { send, until, catalog } = await openCustomBench(t)
  const before = catalog.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions')
  const names = { plural: 'customresourcedefinitions', kind: 'Other' }
  const definition = widgetDefinition([{}], { group: 'apiextensions.k8s.io', names, scope: 'Cluster' })
  const annotated = {
    ...definition,
    metadata: { ...definition.metadata, annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' } },
  }
  assert.equal((await send(`POST ${definitions()}`, annotated)).code, 201)
  const name = '/customresourcedefinitions.apiextensions.k8s.io'
  await until(async () => isEstablished((await send(`GET ${definitions(name)}`)).body))
  const { body } = await send(`GET ${definitions(name)}`)
  assert.equal(conditionOf(body, 'KubernetesAPIApprovalPolicyConformant').reason, 'UnapprovedAnnotation')
  assert.equal(catalog.find('apiextensions.k8s.io', 'v1', 'customresourcedefinitions'), before)
  await send(`DELETE ${definitions(name)}`)
  await until(async () => (await send(`GET ${definitions(name)}`)).code === 404)
})

test('a definition in a built-in group version is established and never served, and takes no kind over', async t => {
  const { define, send, catalog } = await openCustomBench(t, { kinds: [ClusterRole] })
  const definition = {
    ...widgetDefinition([{ name: 'v1' }, { name: 'v9', storage: false }], {
      group: 'rbac.authorization.k8s.io',
      names: { plural: 'shadows', kind: 'ClusterRole' },
      scope: 'Cluster',
    }),
  }
  const annotations = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/1' }
  await define({ ...definition, metadata: { ...definition.metadata, annotations } })
  const path = (version: string) => `/apis/rbac.authorization.k8s.io/${version}/shadows`
  assert.equal((await send(`GET ${path('v1')}`)).code, 404)
  assert.equal((await send(`GET ${path('v9')}`)).code, 200)
  assert.equal(catalog.findKind('rbac.authorization.k8s.io/v1', 'ClusterRole')?.plural, 'clusterroles')
})

test('a kind is served from the write of its Established condition on, and nothing is written to its definition afterwards', async t => {
  const { send, catalog, caches, until } = await openCustomBench(t)
  const seen: boolean[] = []
  const isServed = () => catalog.find('stable.example.com', 'v1', 'widgets') !== undefined
  caches.observe(
    { changed: (_, { object }) => void seen.push(isEstablished(object) === isServed()), joined: () => {} },
    AbortSignal.timeout(60_000),
  )
  const { body } = await send(`POST ${definitions()}`, widgetDefinition())
  await until(isServed)
  const stored = (await send(`GET ${definitions(`/${body.metadata.name}`)}`)).body
  assert.deepEqual(
    stored.status.conditions.map(({ type }: any) => type),
    ['NamesAccepted', 'Established'],
  )
  const { code } = await send(`PUT ${definitions(`/${body.metadata.name}`)}`, {
    ...stored,
    metadata: { ...stored.metadata, labels: { a: 'b' } },
  })
  assert.equal(code, 200)
  assert.ok(seen.length >= 2 && seen.every(Boolean), String(seen))
})
