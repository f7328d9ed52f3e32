// @kubernetes/client-node against the real server: typed calls, pages, watches, and an informer that outlives the server.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  ApiException,
  AppsV1Api,
  type Configuration,
  CoreV1Api,
  type Informer,
  KubeConfig,
  makeInformer,
  type ObjectCache,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  VersionApi,
  Watch,
} from '@kubernetes/client-node'
import { eventually, patient, type ServedHere, serveHere } from './kit.ts'

const namespace = 'default'
const named = (name: string, data: Record<string, string> = {}): V1ConfigMap => ({ metadata: { name }, data })

function configOf(server: ServedHere): KubeConfig {
  const config = new KubeConfig()
  config.loadFromFile(server.kubeconfig)
  return config
}

async function connect(t: TestContext) {
  const server = await serveHere(t)
  const config = configOf(server)
  return { server, config, core: config.makeApiClient(CoreV1Api), apps: config.makeApiClient(AppsV1Api) }
}

const hasCode = (code: number, reason: string) => (error: unknown) => {
  assert.ok(error instanceof ApiException, String(error))
  const status = typeof error.body === 'string' ? JSON.parse(error.body) : error.body
  assert.deepEqual([error.code, status.reason], [code, reason])
  return true
}

test('typed objects are created, read, replaced, patched and deleted', patient, async t => {
  const { core, config } = await connect(t)
  assert.match((await config.makeApiClient(VersionApi).getCode()).gitVersion, /^v1\.37\./)
  const made = await core.createNamespacedConfigMap({ namespace, body: named('typed', { a: '1' }) })
  assert.equal(made.metadata?.creationTimestamp instanceof Date, true)
  assert.deepEqual(await core.readNamespacedConfigMap({ namespace, name: 'typed' }), made)
  await assert.rejects(core.createNamespacedConfigMap({ namespace, body: named('typed') }), hasCode(409, 'AlreadyExists'))

  const replaced = await core.replaceNamespacedConfigMap({ namespace, name: 'typed', body: { ...made, data: { b: '2' } } })
  assert.deepEqual(replaced.data, { b: '2' })
  const stale = core.replaceNamespacedConfigMap({ namespace, name: 'typed', body: { ...made, data: {} } })
  await assert.rejects(stale, hasCode(409, 'Conflict'))

  const as = (strategy: string): Configuration => setHeaderOptions('Content-Type', strategy) as unknown as Configuration
  const patch = (strategy: string, body: object) => core.patchNamespacedConfigMap({ namespace, name: 'typed', body }, as(strategy))
  await patch(PatchStrategy.MergePatch, { data: { merge: '1' } })
  await patch(PatchStrategy.StrategicMergePatch, { data: { strategic: '1' } })
  const patched = await patch(PatchStrategy.JsonPatch, [{ op: 'remove', path: '/data/b' }])
  assert.deepEqual(patched.data, { merge: '1', strategic: '1' })

  assert.equal((await core.deleteNamespacedConfigMap({ namespace, name: 'typed' })).status, 'Success')
  await assert.rejects(core.readNamespacedConfigMap({ namespace, name: 'typed' }), hasCode(404, 'NotFound'))
})

test('defaults are returned with types, and invalid objects are rejected with causes', patient, async t => {
  const { apps } = await connect(t)
  const labels = { app: 'agent' }
  const body = (image: string) => ({
    metadata: { name: 'agent' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } } },
  })
  const made = await apps.createNamespacedDaemonSet({ namespace, body: body('agent:1') })
  assert.equal(made.spec?.updateStrategy?.rollingUpdate?.maxUnavailable, 1)
  assert.equal(made.spec?.template.spec?.restartPolicy, 'Always')
  assert.equal(made.metadata?.generation, 1)
  const wrong = apps.createNamespacedDaemonSet({ namespace, body: { ...body(''), metadata: { name: 'Wrong Name' } } })
  await assert.rejects(wrong, error => {
    hasCode(422, 'Invalid')(error)
    const { details } = JSON.parse((error as ApiException<string>).body)
    const fields = details.causes.map((cause: { field: string }) => cause.field)
    assert.ok(fields.includes('metadata.name') && fields.includes('spec.template.spec.containers[0].image'), fields.join())
    return true
  })
})

test('the pages of a list are one snapshot', patient, async t => {
  const { core } = await connect(t)
  const names = Array.from({ length: 11 }, (_, i) => `page-${String(i).padStart(2, '0')}`)
  for (const name of names) await core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels: { pages: 'yes' } } } })
  const page = (_continue?: string) =>
    core.listNamespacedConfigMap({ namespace, labelSelector: 'pages=yes', limit: 4, ...(_continue && { _continue }) })
  const first = await page()
  assert.equal(first.items.length, 4)
  assert.notEqual(first.metadata?._continue ?? '', '')
  await core.deleteNamespacedConfigMap({ namespace, name: names[9]! })
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'page-05b', labels: { pages: 'yes' } } } })
  const seen = [first]
  for (let at = first; at.metadata?._continue; seen.push(at)) at = await page(at.metadata._continue)
  assert.deepEqual(
    seen.flatMap(({ items }) => items.map(item => item.metadata?.name)),
    names,
  )
  assert.equal(new Set(seen.map(({ metadata }) => metadata?.resourceVersion)).size, 1)
})

test('a watch sends changes in order', patient, async t => {
  const { core, config } = await connect(t)
  const { metadata } = await core.listNamespacedConfigMap({ namespace })
  const events: string[] = []
  const query = { resourceVersion: metadata?.resourceVersion }
  const note = (type: string, object: V1ConfigMap) => events.push(`${type} ${object.metadata?.name} ${object.data?.['step']}`)
  const watching = await new Watch(config).watch(`/api/v1/namespaces/${namespace}/configmaps`, query, note, () => {})
  t.after(() => watching.abort())
  await core.createNamespacedConfigMap({ namespace, body: named('seen', { step: '1' }) })
  await core.replaceNamespacedConfigMap({ namespace, name: 'seen', body: named('seen', { step: '2' }) })
  await core.deleteNamespacedConfigMap({ namespace, name: 'seen' })
  await eventually('the deletion in the watch', () => events.at(-1)?.startsWith('DELETED') || undefined)
  assert.deepEqual(events, ['ADDED seen 1', 'MODIFIED seen 2', 'DELETED seen 2'])
})

test('an informer survives a restart of the server: it ends up with the current state', patient, async t => {
  const { server, config, core } = await connect(t)
  await core.createNamespacedConfigMap({ namespace, body: named('before') })
  await core.createNamespacedConfigMap({ namespace, body: named('doomed') })
  const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () => core.listNamespacedConfigMap({ namespace }))
  keepRunning(t, informer)
  await informer.start()
  await holds(informer, ['before', 'doomed'])
  await server.stop()
  const again = await serveHere(t, { dataDir: server.dataDir, port: server.port })
  const later = configOf(again).makeApiClient(CoreV1Api)
  await later.deleteNamespacedConfigMap({ namespace, name: 'doomed' })
  await later.createNamespacedConfigMap({ namespace, body: named('after') })
  await holds(informer, ['after', 'before'])
})

/** Starts it again whenever it fails, as its users do. */
function keepRunning(t: TestContext, informer: Informer<V1ConfigMap>): void {
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  informer.on('error', () => {
    if (!stopped) timer = setTimeout(() => informer.start(), 100)
  })
  t.after(() => {
    stopped = true
    clearTimeout(timer)
    return informer.stop()
  })
}

const holds = (informer: ObjectCache<V1ConfigMap>, names: string[]) =>
  eventually(`an informer that holds ${names}`, () => {
    const held = informer
      .list()
      .map(object => object.metadata?.name)
      .sort()
    return held.join() === names.join() || undefined
  })
