// Deletion by users, including all dependents: a real server with its controllers, and a real kubectl.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import {
  ask,
  eventually,
  type Finished,
  PATIENCE_MS,
  run,
  type Scope,
  type ServedHere,
  serveHere,
  startProcess,
  type Target,
} from './kit.ts'
import { testWith } from './programs.ts'
import { WIDGETS } from './samples.ts'

const patient = { timeout: 2 * PATIENCE_MS }

type Client = (input: object | object[] | undefined, ...args: string[]) => Promise<Finished>

/** A kubectl that speaks to a server. */
function kubectlOf(program: string, server: Pick<ServedHere, 'dataDir' | 'kubeconfig'>): Client {
  return async (input, ...args) => {
    const documents = Array.isArray(input) ? { apiVersion: 'v1', kind: 'List', items: input } : input
    const all = ['--kubeconfig', server.kubeconfig, '--cache-dir', join(server.dataDir, 'cache'), ...args]
    const result = await run(program, all, documents ? { input: JSON.stringify(documents) } : {})
    assert.equal(result.code, 0, `kubectl ${args.join(' ')}: ${result.stderr}`)
    return result
  }
}

const open = async (t: Scope, program: string) => {
  const server = await serveHere(t, { flags: ['--controllers=*'] })
  return { server, kubectl: kubectlOf(program, server) }
}
const statusOf = async (server: Target, path: string) => (await ask(server, path)).status
const gone = (server: Target, path: string) =>
  eventually(`the end of ${path}`, async () => ((await statusOf(server, path)) === 404 ? true : undefined))
const body = async (server: Target, path: string, method: string, sent: unknown) => {
  const { status, json } = await ask(server, path, { method, body: sent })
  assert.ok(status < 300, `${method} ${path}: ${JSON.stringify(json)}`)
  return json
}
const patch = (server: Target, path: string, sent: unknown) =>
  ask(server, path, { method: 'PATCH', body: sent as never, headers: { 'content-type': 'application/merge-patch+json' } })

const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
const selector = { matchLabels: { a: 'b' } }
const storage = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }

/** As many objects of each kind: more than one request of the namespace controller can have dealt with when the server is killed. */
const SOME = 8

/** Eleven kinds, one of them custom. */
const CONTENT: readonly (readonly [apiVersion: string, kind: string, more: object])[] = [
  ['v1', 'ConfigMap', {}],
  ['v1', 'Secret', {}],
  ['v1', 'ServiceAccount', {}],
  ['v1', 'Service', { spec: { ports: [{ port: 80 }] } }],
  ['v1', 'Pod', { spec: template.spec }],
  ['v1', 'PersistentVolumeClaim', { spec: storage }],
  ['apps/v1', 'Deployment', { spec: { selector, template } }],
  ['apps/v1', 'ReplicaSet', { spec: { selector, template } }],
  ['batch/v1', 'Job', { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } }],
  ['rbac.authorization.k8s.io/v1', 'Role', { rules: [] }],
  ['example.com/v1', 'Widget', {}],
]
const filled = (namespace: string, each: number) =>
  CONTENT.flatMap(([apiVersion, kind, more]) =>
    Array.from({ length: each }, (_, i) => ({ apiVersion, kind, metadata: { name: `${kind.toLowerCase()}-${i}`, namespace }, ...more })),
  )

async function fill(server: Target, kubectl: Client, namespace: string, each: number): Promise<void> {
  await kubectl(WIDGETS, 'apply', '-f', '-')
  await kubectl(undefined, 'wait', '--for=condition=Established', 'crd/widgets.example.com', '--timeout=30s')
  await kubectl(undefined, 'create', 'namespace', namespace)
  await eventually('the account of pods', async () =>
    (await statusOf(server, `/api/v1/namespaces/${namespace}/serviceaccounts/default`)) === 200 ? true : undefined,
  )
  await kubectl(filled(namespace, each), 'create', '-f', '-')
}

/** The remaining objects in a namespace, by listing every resource. */
async function left(kubectl: Client, namespace: string): Promise<string> {
  const kinds = 'cm,secret,sa,svc,pod,pvc,deploy,rs,job,role,widgets.example.com'
  return (await kubectl(undefined, 'get', kinds, '-n', namespace, '-o', 'name')).stdout
}

testWith('kubectl', 'a namespace goes with all that is in it, whatever it is', patient, async (t, program) => {
  const { server, kubectl } = await open(t, program)
  await fill(server, kubectl, 'full', SOME)
  await kubectl(undefined, 'delete', 'namespace', 'full', '--timeout=60s')
  assert.equal(await statusOf(server, '/api/v1/namespaces/full'), 404)
  assert.equal(await left(kubectl, 'full'), '')
  // Under the same name there can be another, and nothing of the former is in it.
  await kubectl(undefined, 'create', 'namespace', 'full')
  assert.equal((await ask(server, '/api/v1/namespaces/full/pods')).json.items.length, 0)
})

testWith('kubectl', 'a namespace waits for what somebody holds back, and says for what', patient, async (t, program) => {
  const { server, kubectl } = await open(t, program)
  await kubectl(undefined, 'create', 'namespace', 'held')
  const held = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'held', finalizers: ['example.com/keep'] } }
  await kubectl(held, 'create', '-f', '-')
  await kubectl(undefined, 'delete', 'namespace', 'held', '--wait=false')
  const status = await eventually('its conditions', async () => {
    const { json } = await ask(server, '/api/v1/namespaces/held')
    return json.status.conditions ? json.status : undefined
  })
  assert.equal(status.phase, 'Terminating')
  assert.deepEqual(
    status.conditions.map(({ type, status, message }: any) => (status === 'True' ? `${type}: ${message}` : status)),
    [
      'False',
      'False',
      'False',
      'NamespaceContentRemaining: Some resources are remaining: configmaps. has 1 resource instances',
      'NamespaceFinalizersRemaining: Some content in the namespace has finalizers remaining: example.com/keep in 1 resource instances',
    ],
  )
  const other = await ask(server, '/api/v1/namespaces/held/configmaps', { method: 'POST', body: { metadata: { name: 'b' } } })
  assert.equal(other.status, 403)
  await patch(server, '/api/v1/namespaces/held/configmaps/a', { metadata: { finalizers: null } })
  await gone(server, '/api/v1/namespaces/held')
})

testWith('kubectl', 'a deletion of a namespace that a kill -9 cut off is ended by the next server', patient, async (t, program) => {
  const first = await startProcess(t, { flags: ['--controllers=*'] })
  await fill(first, kubectlOf(program, first), 'cut', SOME)
  await ask(first, '/api/v1/namespaces/cut', { method: 'DELETE' })
  await first.stop('SIGKILL')
  const server = await startProcess(t, { dataDir: first.dataDir, flags: ['--controllers=*'] })
  await gone(server, '/api/v1/namespaces/cut')
  assert.equal(await left(kubectlOf(program, server), 'cut'), '')
})

const MAPS = '/api/v1/namespaces/default/configmaps'
const WIDGET_PATH = '/apis/example.com/v1/namespaces/default/widgets'

/** A deployment that owns a config map that owns a widget. */
async function family(server: Target, kubectl: Client, name: string): Promise<void> {
  const spec = { selector, template }
  const head = await body(server, '/apis/apps/v1/namespaces/default/deployments', 'POST', { metadata: { name }, spec })
  const owner = ({ kind, apiVersion, metadata }: any) => ({
    kind,
    apiVersion,
    name: metadata.name,
    uid: metadata.uid,
    blockOwnerDeletion: true,
  })
  const map = await body(server, MAPS, 'POST', { metadata: { name, ownerReferences: [owner(head)] } })
  const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name, ownerReferences: [owner(map)] } }
  await kubectl(widget, 'create', '-f', '-')
}

testWith('kubectl', 'kubectl deletes in the background, in the foreground and without dependents', patient, async (t, program) => {
  const { server, kubectl } = await open(t, program)
  await kubectl(WIDGETS, 'apply', '-f', '-')
  await kubectl(undefined, 'wait', '--for=condition=Established', 'crd/widgets.example.com', '--timeout=30s')
  for (const name of ['back', 'front', 'alone']) await family(server, kubectl, name)
  await kubectl(undefined, 'delete', 'deployment', 'back')
  await gone(server, `${WIDGET_PATH}/back`)
  assert.equal(await statusOf(server, `${MAPS}/back`), 404)
  await kubectl(undefined, 'delete', 'deployment', 'front', '--cascade=foreground')
  // The owner went last.
  assert.deepEqual([await statusOf(server, `${WIDGET_PATH}/front`), await statusOf(server, `${MAPS}/front`)], [404, 404])
  await kubectl(undefined, 'delete', 'deployment', 'alone', '--cascade=orphan')
  const { json } = await ask(server, `${MAPS}/alone`)
  assert.equal(json.metadata.ownerReferences, undefined)
  assert.equal(await statusOf(server, `${WIDGET_PATH}/alone`), 200)
  // Owners of a kind that is defined no more are gone as well.
  await body(server, MAPS, 'POST', {
    metadata: { name: 'owned', ownerReferences: [{ ...ownerOfWidget(await ask(server, `${WIDGET_PATH}/alone`)) }] },
  })
  await kubectl(undefined, 'delete', 'crd', 'widgets.example.com')
  await gone(server, `${MAPS}/owned`)
})
const ownerOfWidget = ({ json: { metadata } }: { json: any }) => ({
  kind: 'Widget',
  apiVersion: 'example.com/v1',
  name: metadata.name,
  uid: metadata.uid,
})

testWith('kubectl', 'claims, volumes and classes go when nobody uses them', patient, async (t, program) => {
  const { server, kubectl } = await open(t, program)
  const at = (plural: string) => `/api/v1/namespaces/default/${plural}`
  const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }]
  const user = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'user' }, spec: { ...template.spec, nodeName: 'here', volumes } }
  await kubectl(
    [
      { apiVersion: 'v1', kind: 'Node', metadata: { name: 'here' } },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'data' },
        spec: { ...storage, volumeAttributesClassName: 'gold' },
      },
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'free' }, spec: storage },
      {
        apiVersion: 'storage.k8s.io/v1',
        kind: 'VolumeAttributesClass',
        metadata: { name: 'gold' },
        driverName: 'd',
        parameters: { a: 'b' },
      },
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'pv' },
        spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
      },
      user,
    ],
    'create',
    '-f',
    '-',
  )
  await kubectl(undefined, 'delete', 'pvc', 'free', '--timeout=30s')
  await kubectl(undefined, 'delete', 'pv', 'pv', '--timeout=30s')
  await kubectl(undefined, 'delete', 'volumeattributesclass', 'gold', '--wait=false')
  await kubectl(undefined, 'delete', 'pvc', 'data', '--wait=false')
  assert.ok((await ask(server, `${at('persistentvolumeclaims')}/data`)).json.metadata.deletionTimestamp)
  await kubectl(undefined, 'delete', 'pod', 'user', '--force')
  await gone(server, `${at('persistentvolumeclaims')}/data`)
  await gone(server, '/apis/storage.k8s.io/v1/volumeattributesclasses/gold')
})

testWith('kubectl', 'pods whose node goes are ended, so that they can be deleted', patient, async (t, program) => {
  const { server, kubectl } = await open(t, program)
  const pod = (name: string, nodeName: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { ...template.spec, nodeName },
  })
  await kubectl([{ apiVersion: 'v1', kind: 'Node', metadata: { name: 'here' } }, pod('a', 'here'), pod('b', 'here')], 'create', '-f', '-')
  const path = '/api/v1/namespaces/default/pods'
  await kubectl(undefined, 'delete', 'pod', 'a', '--wait=false')
  // Its kubelet could still end it.
  assert.equal((await ask(server, `${path}/a`)).json.metadata.deletionGracePeriodSeconds, 30)
  await kubectl(undefined, 'delete', 'node', 'here')
  await gone(server, `${path}/a`)
  assert.equal((await ask(server, `${path}/b`)).json.metadata.deletionTimestamp, undefined)
  await kubectl(undefined, 'delete', 'pod', 'b', '--timeout=30s')
})

testWith('kubectl', 'APIServices tell of the groups that are served', patient, async (t, program) => {
  const { server, kubectl } = await open(t, program)
  const path = '/apis/apiregistration.k8s.io/v1/apiservices'
  const { groups } = (await ask(server, '/apis')).json
  const served = ['v1.', ...groups.flatMap(({ versions, name }: any) => versions.map((each: any) => `${each.version}.${name}`))]
  const names = (await ask(server, path)).json.items.map(({ metadata }: any) => metadata.name)
  assert.deepEqual(names, served.filter(name => name !== 'v1.apiregistration.k8s.io').sort())
  await kubectl(WIDGETS, 'apply', '-f', '-')
  const found = await eventually('the service of the new group', async () => {
    const answer = await ask(server, `${path}/v1.example.com`)
    return answer.status === 200 ? answer.json : undefined
  })
  assert.deepEqual(found.spec, { group: 'example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 })
  assert.deepEqual([found.status.conditions[0].type, found.status.conditions[0].status], ['Available', 'True'])
  await kubectl(undefined, 'delete', 'crd', 'widgets.example.com')
  await gone(server, `${path}/v1.example.com`)
})
