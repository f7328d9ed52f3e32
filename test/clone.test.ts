// keelson clone: the objects of another cluster, here of another Keelson, on a server with simulated nodes of the same shape.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { freshServer, keelson, patient, ROOT, temporaryDirectory } from './kit.ts'
import { commandLines } from './kits/command-here.ts'
import { WIDGETS } from './samples.ts'

const SEND = [process.execPath, join(ROOT, 'test/explore/send.mjs')]

const NODE = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'worker-7', labels: { 'keelson.dev/simulated': 'true', zone: 'b' } },
  spec: { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] },
  status: { capacity: { cpu: '3', memory: '5Gi', pods: '17' } },
}
const WEBHOOK = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'hook' },
  webhooks: [],
}
const manifestIn = (object: object) => ({ 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(object) })
const SECRET = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'password', namespace: 'default', annotations: manifestIn({ stringData: { word: 'open-sesame' } }) },
  stringData: { word: 'open-sesame' },
}
const DEPLOYMENT = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web' }] } },
  },
}

test('a clone has the objects of the cluster, its nodes are simulated, and its secrets are masked', patient, async t => {
  const source = await freshServer(t, { nodes: 1 })
  // The pods go to a node whose name this server would not choose.
  await source.apply(NODE, { ...NODE, metadata: { name: 'worker-8', labels: NODE.metadata.labels }, spec: {} })
  await source.waitFor('node/worker-8', 'Ready')
  await source.delete('node/simulated-1')
  await source.apply(WIDGETS, WEBHOOK, SECRET, DEPLOYMENT)
  await source.create({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'default' }, spec: { size: 3 } })
  await source.waitFor('deployment/web', 'Available')
  await source.settled()
  const folder = temporaryDirectory(t)
  const kubeconfig = join(folder, 'source.kubeconfig')
  writeFileSync(kubeconfig, source.kubeconfig, { mode: 0o600 })
  const pods = await source.list('pods', { namespace: 'default' })

  const { code, stdout, stderr } = await keelson(
    'clone',
    `--from=${kubeconfig}`,
    '--log-level=silent',
    '--',
    ...SEND,
    'GET /keelson/v1/settled',
    'GET /api/v1/nodes',
    'GET /api/v1/namespaces/default/pods',
    'GET /apis/example.com/v1/namespaces/default/widgets/w',
    'GET /api/v1/namespaces/default/secrets/password',
    'GET /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    'POST /api/v1/namespaces/default/configmaps {"metadata": {"name": "new"}}',
    'POST /apis/example.com/v1/namespaces/default/widgets {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "another"}}',
  )
  assert.equal(code, 0, stdout + stderr)
  assert.match(stderr, /cloned \d+ objects from https:.*, 2 of them nodes that are simulated here; secrets masked/)
  assert.match(stderr, /not cloned: validatingwebhookconfigurations.admissionregistration.k8s.io: their webhooks are not here/)
  const [, nodes, clonedPods, widget, secret, webhooks] = stdout
    .split('\n')
    .map(line => (line === '' ? undefined : JSON.parse(line.slice(4))))
  assert.deepEqual(
    nodes.items.map((node: any) => node.metadata.name),
    ['worker-7', 'worker-8'],
  )
  const worker = nodes.items[0]
  assert.equal(worker.metadata.labels.zone, 'b')
  assert.deepEqual(worker.status.capacity.cpu, '3')
  assert.ok(worker.spec.taints.some(({ key }: any) => key === 'gpu'))
  assert.ok(worker.status.conditions.some(({ type, status }: any) => type === 'Ready' && status === 'True'))
  // Pods are the same ones, on the same nodes: nothing has been made anew.
  const shape = ({ metadata: { uid, name }, spec: { nodeName } }: any) => ({ uid, name, nodeName })
  assert.deepEqual(clonedPods.items.map(shape), pods.map(shape))
  assert.deepEqual(widget.spec, { size: 3 })
  assert.equal(Buffer.from(secret.data.word, 'base64').toString(), 'masked')
  assert.ok(!JSON.stringify(secret).includes('sesame'))
  assert.deepEqual(webhooks.items, [])
  // The source is only read.
  const sent = source.requests().filter(({ userAgent }) => userAgent === 'keelson-clone')
  assert.ok(sent.length > 20 && sent.every(({ method }) => method === 'GET'))
})

test('a user who may not read everything clones the rest, and secrets come along if they are asked for', patient, async t => {
  const source = await freshServer(t, { controllers: ['none'], nodes: 0 })
  await source.apply(
    SECRET,
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'r' },
      rules: [{ apiGroups: [''], resources: ['secrets', 'configmaps'], verbs: ['list'] }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'r' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' }],
    },
  )
  const kubeconfig = join(temporaryDirectory(t), 'jane.kubeconfig')
  writeFileSync(kubeconfig, source.kubeconfigFor('jane'), { mode: 0o600 })
  const flags = ['--include-secrets', '--nodes=0', '--controllers=none', '--log-level=silent']
  const { code, stdout, stderr } = await keelson(
    'clone',
    '--from',
    kubeconfig,
    ...flags,
    '--',
    ...SEND,
    'GET /api/v1/namespaces/default/secrets/password',
  )
  assert.equal(code, 0, stdout + stderr)
  assert.equal(Buffer.from(JSON.parse(stdout.slice(4)).data.word, 'base64').toString(), 'open-sesame')
  assert.match(stderr, /secrets as they are/)
  assert.match(stderr, /not cloned: pods: 403: pods is forbidden: User "jane" cannot list resource "pods"/)
})

test('a source that cannot be used is refused, and says why', patient, async t => {
  const folder = temporaryDirectory(t)
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const config = (server: string, user: object) =>
    JSON.stringify({
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      clusters: [{ name: 'c', cluster: { server } }],
      users: [{ name: 'u', user }],
    })
  const cases: [args: string[], message: RegExp][] = [
    [['--from', join(folder, 'missing')], /cannot read .*missing/],
    [['--from', file('empty', '{}')], /is no kubeconfig that leads to a cluster: it has no current-context/],
    [['--from', file('a', config('https://localhost:1', {})), '--context', 'other'], /there is no context "other"/],
    [['--from', file('exec', config('https://localhost:1', { exec: {} }))], /keelson clone does not connect with exec credentials/],
    [['--from', file('closed', config('http://127.0.0.1:1', { token: 'x' }))], /http:\/\/127.0.0.1:1 cannot be read: .*ECONNREFUSED/],
    [['--from'], /--from needs a value/],
  ]
  const results = await commandLines(cases.map(([args]) => ['clone', ...args]))
  for (const [i, [, message]] of cases.entries()) {
    assert.match(results[i]!.stderr, message)
    assert.notEqual(results[i]!.code, 0)
  }
})
