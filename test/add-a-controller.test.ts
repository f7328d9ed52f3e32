// Adding a controller takes a pure reconcile and a short file beside it, as docs/adding-a-controller.md shows: here it runs in a real server.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { namedBy, queueKey } from '../src/client/change.ts'
import { OWNER_INDEX } from '../src/client/informer.ts'
import { defineController, watch } from '../src/controllers/controller.ts'
import { ConfigMap } from '../src/kinds/core/configmap.ts'
import { Secret } from '../src/kinds/core/secret.ts'
import { DEFAULTS } from '../src/server/config.ts'
import { startServer } from '../src/server/start.ts'
import { ask, eventually, patient, targetOf } from './kit.ts'

type Template = ConfigMap
type Copy = Secret

/** The copies of a ConfigMap that requests some: those to create, and those to delete. */
function reconcileCopies({ metadata, data = {} }: Template, copies: readonly Copy[]) {
  const wanted = Math.min(Number(metadata.annotations?.['example.com/copies'] ?? 0), 100)
  const names = Array.from({ length: wanted }, (_, i) => `${metadata.name}-${i}`)
  const has = new Set(copies.map(copy => copy.metadata.name))
  return {
    create: names.filter(name => !has.has(name)).map(name => ({ name, stringData: data })),
    remove: copies.filter(copy => !names.includes(copy.metadata.name!)),
  }
}

const copier = defineController({
  name: 'config-copier',
  identity: 'config-copier',
  workers: 5,
  create({ client, recorder }) {
    const [templates, copies] = [client.of(ConfigMap), client.of(Secret)]
    return {
      watches: [
        watch(ConfigMap),
        watch(Secret, ({ current }) =>
          current.object?.metadata.ownerReferences?.map(({ name }) => queueKey({ namespace: current.namespace, name })),
        ),
      ],
      async reconcile(key) {
        const template = templates.get(namedBy(key))
        if (!template || template.metadata.deletionTimestamp) return
        const { namespace = '', name = '', uid = '' } = template.metadata
        const { create, remove } = reconcileCopies(template, [...copies.byIndex(OWNER_INDEX, uid)])
        const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, controller: true }]
        for (const { name, stringData } of create) await copies.create({ metadata: { namespace, name, ownerReferences }, stringData })
        for (const copy of remove) await copies.delete(copy)
        if (create.length > 0) recorder.event(template, 'Normal', 'Copied', `Created ${create.length} copies`)
      },
    }
  },
})

const RIGHTS = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['create', 'delete'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
]

/** A server with the controller, which has the given rights. */
async function open(t: TestContext, rights: readonly object[]) {
  const server = await startServer({ ...DEFAULTS, store: 'memory', port: 0, logLevel: 'silent' }, { controllers: [copier] })
  t.after(() => server.close())
  const target = targetOf(server.kubeconfig)
  const send = (method: string, path: string, body?: object) =>
    ask(target, path, { method, ...(body && { body, headers: { 'content-type': method === 'PATCH' ? MERGE : 'application/json' } }) })
  const rbac = '/apis/rbac.authorization.k8s.io/v1'
  const metadata = { name: 'config-copier' }
  await send('POST', `${rbac}/clusterroles`, { metadata, rules: rights })
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', ...metadata }
  const subjects = [{ kind: 'ServiceAccount', namespace: 'kube-system', ...metadata }]
  await send('POST', `${rbac}/clusterrolebindings`, { metadata, roleRef, subjects })
  const secretNames = async () => (await send('GET', SECRETS)).json.items.map((item: any) => item.metadata.name)
  const has = (...names: string[]) =>
    eventually(names.join(' '), async () => (String(await secretNames()) === String(names) ? true : undefined))
  return { send, has, target }
}
const MERGE = 'application/merge-patch+json'
const SECRETS = '/api/v1/namespaces/default/secrets'
const MAPS = '/api/v1/namespaces/default/configmaps'
const template = (copies: number) => ({ metadata: { name: 'a', annotations: { 'example.com/copies': String(copies) } }, data: { k: 'v' } })

test('a reconcile is decided by values alone', () => {
  const of = (copies: number) => ({ kind: '', apiVersion: '', ...template(copies) }) as never
  const copy = (name: string) => ({ metadata: { name } }) as never
  assert.deepEqual(reconcileCopies(of(2), [copy('a-1'), copy('a-7')]), {
    create: [{ name: 'a-0', stringData: { k: 'v' } }],
    remove: [copy('a-7')],
  })
})

test('the controller watches its objects and those it owns, and records events', patient, async t => {
  const { send, has } = await open(t, RIGHTS)
  await send('POST', MAPS, template(2))
  await has('a-0', 'a-1')
  await send('DELETE', `${SECRETS}/a-0`)
  await has('a-0', 'a-1')
  await send('PATCH', `${MAPS}/a`, template(1))
  await has('a-0')
  const { json } = await send('GET', '/api/v1/namespaces/default/events?fieldSelector=reason%3DCopied')
  assert.deepEqual(json.items[0].source, { component: 'config-copier' })
  await send('DELETE', `${MAPS}/a`)
  await has()
})

test('without permissions its writes are rejected, and it continues once it has them', patient, async t => {
  const { send, has } = await open(t, [])
  await send('POST', MAPS, template(1))
  assert.deepEqual((await send('GET', SECRETS)).json.items, [])
  await send('PATCH', '/apis/rbac.authorization.k8s.io/v1/clusterroles/config-copier', { rules: RIGHTS })
  await has('a-0')
})

test('its queue is in the metrics', patient, async t => {
  const { send, has, target } = await open(t, RIGHTS)
  await send('POST', MAPS, template(1))
  await has('a-0')
  const { text } = await ask(target, '/metrics')
  assert.match(text, /^workqueue_adds_total\{name="config-copier"\} [1-9]/m)
  assert.match(text, /^workqueue_work_duration_seconds_count\{name="config-copier"\} [1-9]/m)
})
