// keelson migrate: a cluster moves from a data directory to etcd and back, also when it is cut off.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodeStored } from '../src/codec/stored-bytes.ts'
import type { StartOptions } from '../src/public.d.ts'
import { startServer } from '../src/server/start.ts'
import { configOf } from '../src/start-options.ts'
import { openEmbeddedStore } from '../src/storage/embedded/embedded.ts'
import { openEtcdStore } from '../src/storage/etcd/etcd.ts'
import type { Store } from '../src/storage/store.ts'
import { ask, eventually, KEELSON, patient, ROOT, run, type Scope, type Target, targetOf, temporaryDirectory } from './kit.ts'
import { commandLines, keelsonHere } from './kits/command-here.ts'
import { type EtcdCluster, startEtcd } from './kits/etcd.ts'
import { plainFormat } from './kits/storage/plain-format.ts'
import { testWith } from './programs.ts'
import { WIDGETS } from './samples.ts'

const migrate = (...args: string[]) => keelsonHere('migrate', ...args)

async function inEtcd(t: Scope, program: string): Promise<EtcdCluster> {
  const cluster = await startEtcd({ program })
  t.after(() => cluster[Symbol.asyncDispose]())
  return cluster
}

type Running = Target & { close(): Promise<void> }

async function serve(options: StartOptions): Promise<Running> {
  const server = await startServer(configOf({ controllers: ['none'], nodes: 0, ...options }))
  return { ...targetOf(server.kubeconfig), close: () => server.close() }
}

const pod = {
  containers: [
    {
      name: 'c',
      image: 'example.com/c',
      resources: { limits: { memory: '1Gi' } },
      livenessProbe: { httpGet: { path: '/', port: 'http' } },
    },
  ],
}
const MADE: readonly [path: string, body: object][] = [
  ['/api/v1/namespaces', { metadata: { name: 'team' } }],
  [
    '/api/v1/namespaces/team/configmaps',
    { metadata: { name: 'c', labels: { z: '1', a: '2' }, annotations: { n: '<&>' } }, data: { '10': 'x', '9': 'ü\n"' } },
  ],
  ['/api/v1/namespaces/team/secrets', { metadata: { name: 's' }, data: { k: 'AAEC' } }],
  [
    '/api/v1/namespaces/team/services',
    { metadata: { name: 'svc' }, spec: { type: 'NodePort', selector: { a: 'b' }, ports: [{ port: 80 }] } },
  ],
  [
    '/apis/apps/v1/namespaces/team/deployments',
    { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: pod } } },
  ],
  [
    '/apis/apps/v1/namespaces/team/statefulsets',
    {
      metadata: { name: 'st' },
      spec: {
        serviceName: 'svc',
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: pod },
        volumeClaimTemplates: [
          { metadata: { name: 'v' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } },
        ],
      },
    },
  ],
  [
    '/apis/autoscaling/v2/namespaces/team/horizontalpodautoscalers',
    { metadata: { name: 'h' }, spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' } } },
  ],
  [
    '/apis/events.k8s.io/v1/namespaces/team/events',
    {
      metadata: { name: 'e' },
      eventTime: '2026-01-01T00:00:00.000001Z',
      regarding: { kind: 'Pod', name: 'p', namespace: 'team' },
      reason: 'R',
      action: 'A',
      type: 'Normal',
      reportingController: 'x.org/c',
      reportingInstance: 'i',
    },
  ],
  [
    '/apis/example.com/v1/namespaces/team/widgets',
    { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec: { a: [1, { b: null }], n: 1.5 } },
  ],
]

async function fill(server: Target): Promise<void> {
  assert.equal(
    (await ask(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: WIDGETS })).status,
    201,
  )
  await eventually('widgets are served', async () =>
    (await ask(server, '/apis/example.com/v1/namespaces/default/widgets')).status === 200 ? true : undefined,
  )
  for (const [path, body] of MADE) {
    const answer = await ask(server, path, { method: 'POST', body })
    assert.equal(answer.status, 201, `${path}: ${answer.text}`)
  }
}

/** Everything a user made, without resourceVersions. */
async function contentOf(server: Target): Promise<unknown[]> {
  const paths = [
    ...MADE.map(([path, body]) => `${path}/${(body as { metadata: { name: string } }).metadata.name}`),
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com',
    '/api/v1/namespaces/kube-system',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin',
    '/apis/networking.k8s.io/v1/servicecidrs/kubernetes',
  ]
  return Promise.all(
    paths.map(path =>
      eventually(path, async () => {
        const { status, text, json } = await ask(server, path)
        if (status === 404) return undefined
        assert.equal(status, 200, `${path}: ${text}`)
        delete json.metadata.resourceVersion
        return json
      }),
    ),
  )
}

testWith('etcd', 'a cluster moves to etcd and back, with its keys, and nothing is written over', patient, async (t, program) => {
  const [first, second] = [join(temporaryDirectory(t), 'first'), join(temporaryDirectory(t), 'second')]
  const cluster = await inEtcd(t, program)
  const etcd = `etcd:${cluster.endpoints.join(',')}`
  const before = await serve({ store: 'embedded', dataDir: first })
  await fill(before)
  const content = await contentOf(before)
  await before.close()

  const there = await migrate('--from', `embedded:${first}`, '--to', etcd)
  assert.equal(there.code, 0, there.stderr)
  assert.match(there.stdout, /^copied \d+ records of \d+ resources from .* to etcd at .*, and counted them there\n/)
  assert.match(there.stdout, /resourceVersions are new/)
  assert.match(there.stdout, /were copied: ca, front-proxy-ca, service-accounts/)
  assert.match(there.stderr, /100 %/)

  const onEtcd = await serve({ store: 'etcd', etcdServers: cluster.endpoints })
  // Credentials and trust of the cluster are still valid.
  const known = { url: onEtcd.url, credentials: before.credentials }
  assert.deepEqual(await contentOf(known as Target), content)
  const { json: service } = await ask(onEtcd, '/api/v1/namespaces/team/services/svc')
  const taken = await ask(onEtcd, '/api/v1/namespaces/team/services', {
    method: 'POST',
    body: { metadata: { name: 'other' }, spec: { type: 'NodePort', ports: [{ port: 1, nodePort: service.spec.ports[0].nodePort }] } },
  })
  assert.equal(taken.status, 422, 'ports that were given out are known')
  const running = await migrate('--from', etcd, '--to', `embedded:${second}`)
  assert.equal(running.code, 1)
  assert.match(running.stderr, /servers are running on etcd at .*; stop them first/)
  await onEtcd.close()

  const again = await migrate('--from', `embedded:${first}`, '--to', etcd)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /etcd at .* is not empty \(.*\); nothing is written over: name an empty etcd, or another --etcd-prefix/)
  const beside = await migrate('--from', `embedded:${first}`, '--to', etcd, '--etcd-prefix', '/beside')
  assert.equal(beside.code, 0, beside.stderr)

  const back = await migrate(`--from=${etcd}`, `--to=embedded:${second}`)
  assert.equal(back.code, 0, back.stderr)
  const after = await serve({ store: 'embedded', dataDir: second })
  assert.deepEqual(await contentOf({ ...after, credentials: before.credentials }), content)
  await after.close()
  assert.equal(
    readFileSync(join(second, 'pki/service-accounts.pem'), 'utf8'),
    readFileSync(join(first, 'pki/service-accounts.pem'), 'utf8'),
  )
  const refused = await migrate(`--from=${etcd}`, `--to=embedded:${second}`)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /is not empty/)
})

/** More than two pages, so that a migration has begun and not ended when it prints its first line. */
const MANY = 1_200
const keyOf = (i: number) => `/core/configmaps/default/c${String(i).padStart(5, '0')}`
const configMap = (i: number, data = 'x') =>
  encodeStored({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: `c${String(i).padStart(5, '0')}`, namespace: 'default', uid: `u${i}`, creationTimestamp: '2026-01-01T00:00:00Z' },
    data: { data },
  })

async function put(store: Store, key: string, value: Uint8Array | null): Promise<void> {
  const { entry } = await store.get(key)
  assert.ok((await store.swap(key, { expect: entry?.modified ?? 0, value })).ok)
}

testWith('etcd', 'a migration that was killed goes on when it is run again, in either direction', patient, async (t, program) => {
  const [first, second] = [join(temporaryDirectory(t), 'first'), join(temporaryDirectory(t), 'second')]
  const cluster = await inEtcd(t, program)
  const etcd = `etcd:${cluster.endpoints.join(',')}`
  const change = async (work: (store: Store) => Promise<unknown>) => {
    const store = await openEmbeddedStore({ dir: join(first, 'store') })
    await work(store)
    await store.close()
  }
  const namespace = (uid: string) =>
    encodeStored({ kind: 'Namespace', apiVersion: 'v1', metadata: { name: 'kube-system', uid }, spec: {}, status: {} })
  await change(async store => {
    await put(store, '/core/namespaces/kube-system', namespace('cluster-1'))
    await Promise.all(Array.from({ length: MANY }, (_, i) => put(store, keyOf(i), configMap(i))))
  })
  await killedAtFirstLine('--from', `embedded:${first}`, '--to', etcd)
  await assert.rejects(
    serve({ store: 'etcd', etcdServers: cluster.endpoints }),
    /migration was not finished; run the same keelson migrate again/,
  )
  // Meanwhile the source has changed.
  await change(async store => {
    await put(store, keyOf(0), null)
    await put(store, keyOf(1), configMap(1, 'changed'))
    await put(store, keyOf(MANY), configMap(MANY))
  })
  const resumed = await migrate('--from', `embedded:${first}`, '--to', etcd)
  assert.equal(resumed.code, 0, resumed.stderr)
  assert.match(resumed.stdout, new RegExp(`^copied ${MANY + 1} records of 2 resources .* it continued an earlier run`))
  const server = await serve({ store: 'etcd', etcdServers: cluster.endpoints })
  assert.equal((await ask(server, '/api/v1/namespaces/default/configmaps/c00000')).status, 404)
  assert.equal((await ask(server, '/api/v1/namespaces/default/configmaps/c00001')).json.data.data, 'changed')
  assert.equal((await ask(server, '/api/v1/namespaces/default/configmaps?limit=1')).json.metadata.remainingItemCount, MANY - 1)
  await server.close()

  await killedAtFirstLine('--from', etcd, '--to', `embedded:${second}`)
  const other = join(temporaryDirectory(t), 'other')
  const foreign = await openEmbeddedStore({ dir: join(other, 'store') })
  await put(foreign, '/core/namespaces/kube-system', namespace('cluster-2'))
  await foreign.close()
  const mixed = await migrate('--from', `embedded:${other}`, '--to', `embedded:${second}`)
  assert.match(mixed.stderr, /holds a part of another cluster than .*, whose migration was not finished/)
  const done = await migrate('--from', etcd, '--to', `embedded:${second}`)
  assert.equal(done.code, 0, done.stderr)
  const back = await serve({ store: 'embedded', dataDir: second })
  assert.equal((await ask(back, '/api/v1/namespaces/default/configmaps?limit=1')).json.metadata.remainingItemCount, MANY - 1)
  assert.equal((await ask(back, '/api/v1/namespaces/default/configmaps/c00002')).json.metadata.uid, 'u2')
  await back.close()
})

/** A migration that kills itself with its first line: a signal from here might come when it is done. */
async function killedAtFirstLine(...args: string[]): Promise<void> {
  const hook = `data:text/javascript,process.stderr.write=()=>process.kill(process.pid,'SIGKILL')`
  const { signal, stdout } = await run(process.execPath, ['--import', hook, KEELSON, 'migrate', ...args])
  assert.equal(signal, 'SIGKILL', stdout)
}

testWith('etcd', 'unreadable records are named, and left behind on request', patient, async (t, program) => {
  const cluster = await inEtcd(t, program)
  const plain = await openEtcdStore({ endpoints: cluster.endpoints, prefix: '/registry', format: plainFormat })
  await put(plain, '/secrets/default/sealed', Buffer.from('k8s:enc:aesgcm:v1:key1:x'))
  const [line = ''] = readFileSync(join(ROOT, 'test/recorded/etcd/objects.jsonl'), 'utf8').split('\n')
  await put(plain, '/configmaps/default/a', Buffer.from(JSON.parse(line).value, 'base64'))
  await plain.close()
  const target = `embedded:${join(temporaryDirectory(t), 'data')}`
  const from = `etcd:${cluster.endpoints.join(',')}`
  const refused = await migrate('--from', from, '--to', target)
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /\/core\/secrets\/default\/sealed in etcd at .* cannot be read: data from the storage is not transformable revision=0: identity transformer.*; --skip-unreadable/,
  )
  const skipped = await migrate('--from', from, '--to', target, '--skip-unreadable')
  assert.equal(skipped.code, 0, skipped.stderr)
  assert.match(skipped.stdout, /skipped, because they cannot be read: \/core\/secrets\/default\/sealed/)
  assert.match(skipped.stdout, /there were no keys of the cluster to copy/)
})

test('mistakes on the command line are told in one line', patient, async () => {
  const cases = [
    [[], /--from is missing: keelson migrate --from/],
    [['--from', 'embedded:/a'], /--to is missing/],
    [['--from', 'lmdb:/a', '--to', 'embedded:/b'], /--from takes embedded:DIR or etcd:URL,URL, not "lmdb:\/a"/],
    [['--from', 'embedded:/a', '--to', 'embedded:/a'], /are the same/],
    [['--from', 'embedded:/nowhere', '--to', 'embedded:/b'], /there is no data in \/nowhere/],
    [['--from', 'etcd:ftp://x', '--to', 'embedded:/b'], /--etcd-servers takes addresses/],
    [['--form', 'embedded:/a'], /unknown argument --form/],
  ] as const
  const ended = await commandLines(cases.map(([args]) => ['migrate', ...args]))
  for (const [i, [, problem]] of cases.entries()) {
    const { code, stderr } = ended[i]!
    // A command line that cannot be understood is told apart by its exit code.
    assert.equal(code, /is missing|takes embedded|unknown argument/.test(stderr) ? 2 : 1)
    assert.match(stderr, problem)
    assert.equal(stderr.trim().split('\n').length, 1, stderr)
  }
})
