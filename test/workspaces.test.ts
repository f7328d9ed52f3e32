// Workspaces: servers in one process that know nothing of each other, behind one port.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import type { Workspace } from '../src/index.ts'
import {
  anonymous,
  ask,
  CONFIG_MAPS,
  configMap,
  eventually,
  keelson,
  patient,
  run,
  type Sent,
  serveHere,
  serverOfFile,
  startInProcess,
  temporaryDirectory,
} from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { testWith } from './programs.ts'

const host = serverOfFile({ workspaces: true, testEndpoints: true, store: 'memory', controllers: ['none'] })
const WORKSPACES = '/keelson/v1/workspaces'

let made = 0
/** A workspace of its own for a test. */
async function fresh(t: { after(undo: () => unknown): void }, options?: Parameters<typeof host.workspace>[1]): Promise<Workspace> {
  const workspace = await host.workspace(`test-${++made}`, options)
  t.after(() => workspace.delete())
  return workspace
}

const tokenOf = ({ kubeConfig }: Workspace) => kubeConfig.users[0]!.token!
/** A request with the token of a workspace, to any path of the port, which is sent as it is. */
const as = (workspace: Workspace, path: string, sent: Sent = {}) =>
  ask(host, path, { ...anonymous, ...sent, headers: { authorization: `Bearer ${tokenOf(workspace)}`, ...sent.headers } })
const namesIn = async ({ list }: Pick<Workspace, 'list'>, kind: string) =>
  (await list<any>(kind, { namespace: 'default' })).map(({ metadata }) => metadata.name)

const WIDGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}

test('administrators make, list, read and delete workspaces, and nobody else does', patient, async () => {
  const { status, json: created } = await ask(host, WORKSPACES, { method: 'POST', body: { name: 'crud' } })
  assert.equal(status, 201)
  assert.equal(created.url, `${host.url}/workspaces/crud`)
  assert.match(created.kubeconfig, /server: https:.*\/workspaces\/crud/)
  assert.ok(created.objects > 0)
  assert.equal((await ask(host, WORKSPACES, { method: 'POST', body: { name: 'crud' } })).json.reason, 'AlreadyExists')
  const { json: listed } = await ask(host, WORKSPACES)
  const found = listed.workspaces.find(({ name }: any) => name === 'crud')
  assert.equal(found.token, undefined)
  assert.equal((await ask(host, `${WORKSPACES}/crud`)).json.token, created.token)
  const unnamed = await ask(host, WORKSPACES, { method: 'POST' })
  assert.match(unnamed.json.name, /^workspace-/)
  await ask(host, `${WORKSPACES}/${unnamed.json.name}`, { method: 'DELETE' })

  for (const path of [WORKSPACES, `${WORKSPACES}/crud`]) {
    assert.equal((await ask(host, path, anonymous)).status, 403)
    const asUser = { ...anonymous, headers: { authorization: `Bearer ${created.token}` } }
    assert.equal((await ask(host, path, asUser)).status, 401, 'the token of a workspace is none of the server')
  }
  assert.equal((await ask(host, `${WORKSPACES}/crud`, { method: 'DELETE' })).status, 200)
  assert.equal((await ask(host, `${WORKSPACES}/crud`)).status, 404)
  assert.equal((await ask(host, `${WORKSPACES}/crud`, { method: 'DELETE' })).json.message, 'there is no workspace "crud"')
  assert.equal((await ask(host, '/workspaces/crud/version', anonymous)).status, 403)
  const document = (await ask(host, '/keelson/v1/openapi.json')).json
  for (const path of [WORKSPACES, '/keelson/v1/clock']) assert.ok(document.paths[path], path)
})

test('bad input is refused with the name of the field', patient, async () => {
  const refused = async (body: unknown) => {
    const { status, json } = await ask(host, WORKSPACES, { method: 'POST', body })
    assert.ok(status === 400 || status === 404, String(status))
    return json.message
  }
  assert.match(await refused({ name: 'A/b' }), /^name must be a DNS label/)
  assert.match(await refused({ name: '..' }), /^name must be/)
  assert.match(await refused({ controllers: 'all' }), /^controllers must be a list/)
  assert.match(await refused({ controllers: ['nothing'] }), /there is no controller "nothing"/)
  assert.match(await refused({ nodes: -1 }), /^nodes must be/)
  assert.match(await refused({ api: 'some' }), /^api must be one of none, minimal, all/)
  assert.match(await refused({ from: 'a' }), /^from must be/)
  assert.match(await refused({ from: { workspace: 'nowhere' } }), /there is no workspace "nowhere"/)
  assert.match(await refused({ from: { snapshot: 'nowhere' } }), /there is no snapshot "nowhere"/)
  assert.match(await refused({ kind: 'a' }), /unknown field "kind"/)
  assert.match(await refused({ name: 1 }), /^name must be a text/)
  await assert.rejects(host.workspace('A b'), /name must be a DNS label/)
})

test('objects, kinds, roles, revisions and watches of a workspace are its own', patient, async t => {
  const [a, b] = [await fresh(t), await fresh(t)]
  const revisionOf = async ({ fetch }: Workspace) => ((await (await fetch(CONFIG_MAPS)).json()) as any).metadata.resourceVersion
  const [before, hostBefore] = [await revisionOf(b), await ask(host, CONFIG_MAPS)]
  const watched = await b.fetch(`${CONFIG_MAPS}?watch=1&resourceVersion=${before}`)
  await a.create(configMap('only-a'))
  await a.create(WIDGETS)
  await eventually('the kind is served', async () => (await a.fetch('/apis/example.com/v1/widgets')).status === 200 || undefined)
  assert.equal((await b.fetch('/apis/example.com/v1/widgets')).status, 404)
  assert.equal((await ask(host, '/apis/example.com/v1/widgets')).status, 404)
  assert.deepEqual([await namesIn(a, 'configmaps'), await namesIn(b, 'configmaps')], [['only-a'], []])
  assert.equal(await revisionOf(b), before)
  assert.equal((await ask(host, CONFIG_MAPS)).json.metadata.resourceVersion, hostBefore.json.metadata.resourceVersion)
  await b.create(configMap('only-b'))
  const { value } = await (watched.body as any).getReader().read()
  assert.equal(JSON.parse(Buffer.from(value).toString().split('\n')[0]!).object.metadata.name, 'only-b')

  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'own' }, rules: [] }
  await a.create(role)
  assert.equal((await b.fetch('/apis/rbac.authorization.k8s.io/v1/clusterroles/own')).status, 404)
  assert.equal((await ask(host, '/apis/rbac.authorization.k8s.io/v1/clusterroles/own')).status, 404)
})

test('credentials of one workspace are none in another, nor those of the server in a workspace', patient, async t => {
  const a = await fresh(t)
  await a.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot', namespace: 'default' } })
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const issued = await as(a, `/workspaces/${a.name}/api/v1/namespaces/default/serviceaccounts/robot/token`, {
    method: 'POST',
    body: request,
  })
  const account = issued.json.status.token
  // A copy has the same account with the same uid.
  const b = await fresh(t, { from: a.name })
  const asAccount = (path: string) => ask(host, path, { ...anonymous, headers: { authorization: `Bearer ${account}` } })
  assert.equal((await asAccount(`/workspaces/${a.name}/version`)).status, 200)
  assert.equal((await asAccount(`/workspaces/${a.name}/api/v1/pods`)).status, 403)
  for (const path of [`/workspaces/${b.name}/version`, '/version', '/api/v1/pods']) assert.equal((await asAccount(path)).status, 401, path)
  for (const path of [`/workspaces/${b.name}/api/v1/namespaces`, '/api/v1/namespaces']) assert.equal((await as(a, path)).status, 401, path)
  assert.equal((await as(a, `/workspaces/${a.name}/api/v1/namespaces`)).status, 200)
  // The certificate of the server's administrator is nobody here.
  assert.equal((await ask(host, `/workspaces/${a.name}/api/v1/namespaces`)).status, 403)
  const whoIs = await a.create<any>({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} })
  assert.equal(whoIs.status.userInfo.username, 'workspace-admin')
})

test('policies, webhooks, quotas and endpoints of a workspace are its own, and a reset of the server leaves it alone', patient, async t => {
  const [a, b] = [await fresh(t, { controllers: ['resourcequota'] }), await fresh(t)]
  const admission = 'admissionregistration.k8s.io/v1'
  const rules = (resource: string) => [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: [resource] }]
  await a.create({
    apiVersion: admission,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'none' },
    spec: { matchConstraints: { resourceRules: rules('configmaps') }, validations: [{ expression: 'false' }] },
  })
  const binding = { policyName: 'none', validationActions: ['Deny'] }
  await a.create({ apiVersion: admission, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name: 'none' }, spec: binding })
  const hook = { name: 'none.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'], rules: rules('secrets') }
  const webhooks = [{ ...hook, clientConfig: { url: 'https://127.0.0.1:1/' }, timeoutSeconds: 1 }]
  await a.create({ apiVersion: admission, kind: 'ValidatingWebhookConfiguration', metadata: { name: 'none' }, webhooks })
  const hard = { 'count/serviceaccounts': '0' }
  await a.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none', namespace: 'default' }, spec: { hard } })
  const create = async (send: (path: string, body: object) => Promise<{ status: number }>) => {
    const statuses = ['configmaps', 'secrets', 'serviceaccounts'].map(async plural => {
      const path = `/api/v1/namespaces/default/${plural}?dryRun=All`
      return (await send(path, { metadata: { name: 'allowed' } })).status
    })
    return Promise.all(statuses)
  }
  const inWorkspace = (workspace: Workspace) =>
    create((path, body) => as(workspace, `/workspaces/${workspace.name}${path}`, { method: 'POST', body }))
  await eventually('all are enforced', async () => String(await inWorkspace(a)) === '422,500,403' || undefined)
  assert.deepEqual(await inWorkspace(b), [201, 201, 201])
  assert.deepEqual(await create((path, body) => ask(host, path, { method: 'POST', body })), [201, 201, 201])

  for (const path of ['requests', 'requests/bodies', 'watches', 'access?verb=get&path=/', 'doctor', 'store/snapshot', 'openapi.json']) {
    assert.equal((await as(a, `/workspaces/${a.name}/keelson/v1/${path}`)).status, 200, path)
    assert.equal((await as(a, `/workspaces/${b.name}/keelson/v1/${path}`)).status, 401, path)
    assert.equal((await as(a, `/keelson/v1/${path}`)).status, 401, path)
    assert.equal((await ask(host, `/workspaces/${a.name}/keelson/v1/${path}`)).status, 403, path)
  }
  for (const path of ['reset', 'clock', 'snapshots', 'faults', 'workspaces'])
    assert.equal((await as(a, `/workspaces/${a.name}/keelson/v1/${path}`, { method: 'POST' })).status, 404, path)

  await b.create(configMap('stays'))
  await host.create(configMap('goes'))
  await host.reset()
  assert.deepEqual([await namesIn(b, 'configmaps'), await namesIn(host as never, 'configmaps')], [['stays'], []])
  assert.deepEqual(await inWorkspace(a), [422, 500, 403])
})

test('no spelling of a path leads from one workspace to another or to the server', patient, async t => {
  const [a, b] = [await fresh(t), await fresh(t)]
  await b.create(configMap('secret-b'))
  await host.create(configMap('secret-host'))
  t.after(() => host.delete('configmap/secret-host'))
  const maps = 'api/v1/namespaces/default/configmaps'
  const below = `/workspaces/${a.name}`
  const paths = [
    ...['..', '%2e%2e', '%2E.', '.%2e', '..%2f', '..;'].flatMap(up => [`${below}/${up}/${b.name}/${maps}`, `${below}/${up}/${up}/${maps}`]),
    `${below}/../../${maps}`,
    `${below}//..//${b.name}/${maps}`,
    `${below}\\..\\${b.name}\\${maps}`,
    `${below}%2f..%2f${b.name}/${maps}`,
    `/workspaces/./${a.name}/../${b.name}/${maps}`,
    `/workspaces//${b.name}/${maps}`,
    `//workspaces/${b.name}/${maps}`,
    `/workspaces/${b.name}%00/${maps}`,
    `/workspaces/${b.name.toUpperCase()}/${maps}`,
    `/workspaces/%${b.name.charCodeAt(0).toString(16)}${b.name.slice(1)}/${maps}`,
    `${below}/workspaces/${b.name}/${maps}`,
    `${below}?/workspaces/${b.name}/${maps}`,
  ]
  for (const path of paths) {
    const answer = await as(a, path)
    assert.ok(answer.status >= 400 || path.includes('?'), `${path}: ${answer.status}`)
    assert.ok(!answer.text.includes('secret-'), path)
  }
  const disguised = await as(a, `${below}/${maps}`, {
    headers: { 'x-forwarded-prefix': `/workspaces/${b.name}`, 'x-remote-user': 'admin' },
  })
  assert.deepEqual(disguised.json.items, [])
})

test('a workspace begins with a snapshot or as a copy of another, and goes its own way', patient, async t => {
  const origin = await fresh(t)
  await origin.create(configMap('a', { key: 'before' }))
  await origin.create(WIDGETS)
  await eventually('the kind is served', async () => (await origin.fetch('/apis/example.com/v1/widgets')).status === 200 || undefined)
  await origin.create({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'default' } })
  const copy = await fresh(t, { from: origin.name })
  assert.deepEqual(await namesIn(copy, 'widgets'), ['w'])
  await copy.patch('configmap/a', { data: { key: 'after' } })
  assert.equal((await origin.get<any>('configmap/a')).data.key, 'before')

  await host.create(configMap('in-host'))
  t.after(() => host.delete('configmap/in-host'))
  const ofSnapshot = await fresh(t, { from: await host.snapshot() })
  assert.deepEqual(await namesIn(ofSnapshot, 'configmaps'), ['in-host'])
  assert.equal((await ask(host, '/keelson/v1/snapshots', { method: 'POST', body: { name: 'start' } })).status, 201)
  const over = await ask(host, WORKSPACES, { method: 'POST', body: { name: 'of-snapshot', from: { snapshot: 'start' } } })
  assert.equal(over.status, 201)
  assert.deepEqual(await namesIn(await host.workspace('of-snapshot'), 'configmaps'), ['in-host'])
  await ask(host, `${WORKSPACES}/of-snapshot`, { method: 'DELETE' })
})

test('controllers and simulated nodes run in a workspace that asks for them', patient, async t => {
  const workspace = await fresh(t, { controllers: ['*'], nodes: 1 })
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'c' }] } }
  const spec = { replicas: 1, selector: { matchLabels: labels }, template }
  await workspace.create({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'default' }, spec })
  await eventually('its pod runs', async () => (await workspace.get<any>('deployment/web')).status?.readyReplicas === 1 || undefined)
  assert.deepEqual(await namesIn(host as never, 'pods'), [])
})

test('another set of kinds may be served in a workspace', patient, async t => {
  const workspace = await fresh(t, { api: 'minimal' })
  assert.equal((await workspace.fetch('/apis/apps/v1/deployments')).status, 404)
  assert.equal((await workspace.fetch('/api/v1/secrets')).status, 200)
})

test('deleting a workspace ends its watches at once, and those of others go on', patient, async t => {
  const [a, b] = [await fresh(t), await fresh(t)]
  const watches = await Promise.all(Array.from({ length: 20 }, () => a.fetch(`${CONFIG_MAPS}?watch=1`)))
  const other = await b.fetch(`${CONFIG_MAPS}?watch=1`)
  const token = tokenOf(a)
  await a.delete()
  for (const watch of watches) await watch.text()
  await b.create(configMap('later'))
  const { value } = await (other.body as any).getReader().read()
  assert.match(Buffer.from(value).toString(), /"later"/)
  // A new one of the same name knows neither its objects nor its users.
  const again = await host.workspace(a.name, {})
  t.after(() => again.delete())
  const former = { ...anonymous, headers: { authorization: `Bearer ${token}` } }
  assert.equal((await ask(host, `/workspaces/${a.name}${CONFIG_MAPS}`, former)).status, 401)
})

test('an idle workspace has no timers', patient, async t => {
  await fresh(t)
  const timers = new Map<unknown, string>()
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 50
  const real = { setTimeout, setInterval, clearTimeout, clearInterval }
  const started =
    (start: typeof setTimeout): any =>
    (run: () => void, ms?: number) => {
      const once = () => {
        timers.delete(timer)
        run()
      }
      const timer = start(start === real.setTimeout ? once : run, ms)
      timers.set(timer, new Error(`after ${ms} ms`).stack!)
      return timer
    }
  const stopped =
    (stop: (timer: any) => void): any =>
    (timer: unknown) => {
      timers.delete(timer)
      stop(timer)
    }
  Object.assign(globalThis, {
    setTimeout: started(real.setTimeout),
    setInterval: started(real.setInterval as never),
    clearTimeout: stopped(real.clearTimeout),
    clearInterval: stopped(real.clearInterval),
  })
  try {
    const workspace = await fresh(t)
    await workspace.create(configMap('a'))
    await workspace.settled()
    assert.deepEqual(
      [...timers.values()].filter(stack => stack.includes('openWorkspace')),
      [],
    )
  } finally {
    Object.assign(globalThis, real)
    Error.stackTraceLimit = stackTraceLimit
  }
})

test('during a flood in one workspace, requests of another are answered, and none is refused', patient, async t => {
  const [busy, calm] = [await fresh(t), await fresh(t)]
  await Promise.all(Array.from({ length: 100 }, (_, i) => busy.create(configMap(`c-${i}`, { text: 'x'.repeat(1000) }))))
  let [asked, isOver] = [0, false]
  const flood = async (sent: Sent) => {
    while (!isOver) {
      const { status } = await as(busy, `/workspaces/${busy.name}${CONFIG_MAPS}?dryRun=All`, sent)
      asked++
      assert.ok([200, 201, 429].includes(status), `status ${status}`)
    }
  }
  const write = { method: 'POST', body: { metadata: { generateName: 'a-' } } }
  const clients = Array.from({ length: 60 }, (_, i) => flood(i % 2 ? write : {}))
  await eventually('the flood is there', () => asked > 200 || undefined)
  // src/workspaces/turns.test.ts shows in which order requests begin.
  for (let i = 0; i < 20; i++) assert.equal((await as(calm, `/workspaces/${calm.name}${CONFIG_MAPS}`)).status, 200)
  isOver = true
  await Promise.all(clients)
})

test('a workspace that fills the queue of the workers leaves that of another alone', patient, async t => {
  const [busy, calm] = [await fresh(t), await fresh(t)]
  // An anchor has it read in a worker.
  const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { generateName: a- }\ndata: { a: &a x, b: *a }\n'
  const create = async (workspace: Workspace) => {
    const sent = { method: 'POST', body, headers: { 'content-type': 'application/yaml' } }
    return (await as(workspace, `/workspaces/${workspace.name}${CONFIG_MAPS}?dryRun=All`, sent)).status
  }
  const seen = new Set<number>()
  let isOver = false
  const flood = async () => {
    while (!isOver) seen.add(await create(busy))
  }
  const clients = Array.from({ length: 40 }, flood)
  await eventually('the queue of the busy one is full', () => seen.has(429) || undefined)
  for (let i = 0; i < 10; i++) assert.equal(await create(calm), 201)
  isOver = true
  await Promise.all(clients)
})

test('metrics, logs and the audit name the workspace', patient, async t => {
  const folder = temporaryDirectory(t)
  const [policyFile, path] = [join(folder, 'policy.yaml'), join(folder, 'audit.log')]
  writeFileSync(policyFile, 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n')
  const server = await startInProcess(t, { workspaces: true, store: 'memory', controllers: ['none'], audit: { policyFile, log: { path } } })
  const workspace = await server.workspace('audited')
  await workspace.create(configMap('a'))
  const events = await eventually('the event is written', () => {
    const found = server.audit().filter(({ annotations }: any) => annotations?.['keelson.dev/workspace'] === 'audited')
    return found.some(({ verb, objectRef }: any) => verb === 'create' && objectRef?.name === 'a') ? found : undefined
  })
  assert.ok(events.every(({ user }: any) => user.username === 'workspace-admin'))
  const { text } = await ask(server, '/metrics')
  assert.match(text, /^keelson_workspaces 1$/m)
  assert.match(text, /^keelson_workspace_requests_total\{workspace="audited"\} [1-9]/m)
  assert.match(await (await workspace.fetch('/metrics')).text(), /apiserver_request_total/)
})

test('the server of a workspace ends with the server that has it, under open watches', patient, async t => {
  const server = await startInProcess(t, { workspaces: true, store: 'memory', controllers: ['none'] })
  const workspace = await server.workspace('a')
  const watch = await workspace.fetch(`${CONFIG_MAPS}?watch=1`)
  await server.close()
  await watch.text()
})

test('workspaces are refused on etcd and in several processes, and off by default', patient, async t => {
  const refused = (options: object) => startInProcess(t, options).then(undefined, ({ message }) => message)
  assert.match(await refused({ workspaces: true, store: 'etcd', etcdServers: ['http://127.0.0.1:1'] }), /servers on etcd are several/)
  const { code, stderr } = await keelson('serve', '--workspaces', '--processes', '2')
  assert.equal(code, 1)
  assert.match(stderr, /workspaces are in the memory of one process/)
  const plain = await startInProcess(t, { store: 'memory', controllers: ['none'] })
  assert.equal((await ask(plain, WORKSPACES)).status, 404)
  await assert.rejects(plain.workspace('a'), /option workspaces/)
})

test('client-node uses a workspace by its kubeconfig', patient, async t => {
  const workspace = await fresh(t)
  const config = new KubeConfig()
  config.loadFromString(workspace.kubeconfig)
  const core = config.makeApiClient(CoreV1Api)
  await core.createNamespacedConfigMap({ namespace: 'default', body: configMap('by-client-node') })
  const options = new KubeConfig()
  options.loadFromOptions(workspace.kubeConfig)
  const { items } = await options.makeApiClient(CoreV1Api).listNamespacedConfigMap({ namespace: 'default' })
  assert.deepEqual(
    items.map(({ metadata }) => metadata?.name),
    ['by-client-node'],
  )
})

testWith('kubectl', 'keelson workspace makes workspaces for kubectl, lists and deletes them', patient, async (t, kubectl) => {
  const server = await serveHere(t, { flags: ['--workspaces', '--controllers', 'none'] })
  const at = ['--kubeconfig', server.kubeconfig]
  const file = join(temporaryDirectory(t), 'a.kubeconfig')
  const created = await keelson('workspace', 'create', 'a', '--output', file, ...at)
  assert.equal(created.code, 0, created.stderr)
  const use = (...args: string[]) => run(kubectl, ['--kubeconfig', file, ...args])
  assert.equal((await use('create', 'configmap', 'a', '--from-literal=k=v')).stdout, 'configmap/a created\n')
  assert.match((await use('get', 'configmap', 'a', '-o', 'yaml')).stdout, /k: v/)
  assert.match((await use('explain', 'configmap.data')).stdout, /FIELD: data/)
  const second = await keelsonHere('workspace', 'create', 'b', '--from', 'workspace/a', ...at)
  assert.equal(second.code, 0, second.stderr)
  assert.match(second.stdout, /server: https:.*\/workspaces\/b/)
  assert.match((await keelsonHere('workspace', 'list', ...at)).stdout, /^NAME .*\na .*\nb /s)
  assert.equal((await keelsonHere('workspace', 'delete', 'a', ...at)).stdout, 'deleted a\n')
  assert.notEqual((await use('get', 'configmap', 'a')).code, 0)
  const unknown = await keelsonHere('workspace', 'delete', 'a', ...at)
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /there is no workspace "a"/)
})
