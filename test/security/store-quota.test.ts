/** A user without a quota cannot fill the store, nor take the server down by it; a full store can be read and emptied. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, ask, CONFIG_MAPS, configMap, launch, patient, startInProcess, type Target, temporaryDirectory } from '../kit.ts'

const MIB = 1 << 20
const QUOTA = 16 * MIB
const LARGE = 'x'.repeat(MIB)

for (const store of ['embedded', 'memory'] as const)
  test(`a full ${store} store refuses creates and growth, and can be read and emptied`, patient, async t => {
    const server = await startInProcess(t, { store, dataDir: temporaryDirectory(t), quotaBackendBytes: QUOTA, logLevel: 'silent' })
    await ok(ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('growing', { x: 'small' }) }), 201)
    const { created, refused } = await fill(server, 'default')
    // At 6256f0f1 nothing was refused: 1,500 of them were 1.8 GB of memory.
    assert.ok(created > 5 && created < 16, `${created} were created`)
    assert.equal(refused.status, 500)
    assert.equal(refused.json.reason ?? '', '')
    assert.match(refused.json.message, /^etcdserver: mvcc: database space exceeded: 1\d MiB are in use, --quota-backend-bytes is 16 MiB/)
    assert.match(refused.json.message, /delete some/)
    await assertAlarm(server, true)

    // Reads go on, and so does what does not grow.
    assert.equal((await ask(server, `${CONFIG_MAPS}/large-0`)).json.data.x.length, MIB)
    assert.equal((await ask(server, CONFIG_MAPS)).json.items.length, created + 1)
    // Before anything shrinks: that makes room as soon as its history is given up.
    assert.equal((await merge(server, `${CONFIG_MAPS}/growing`, { data: { x: LARGE } })).status, 500)
    assert.equal((await merge(server, `${CONFIG_MAPS}/large-0`, { data: { x: 'small' } })).status, 200)

    for (let i = 0; i < created; i++) assert.equal((await ask(server, `${CONFIG_MAPS}/large-${i}`, { method: 'DELETE' })).status, 200)
    await alarmIs(server, false)
    assert.equal((await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('large', { x: LARGE }) })).status, 201)
  })

test('finalizers and namespaces come to their end in a full store', patient, async t => {
  const server = await startInProcess(t, { dataDir: temporaryDirectory(t), quotaBackendBytes: QUOTA, logLevel: 'silent' })
  for (const name of ['doomed', 'other'])
    await ok(ask(server, '/api/v1/namespaces', { method: 'POST', body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name } } }), 201)
  const maps = '/api/v1/namespaces/doomed/configmaps'
  const held = configMap('held', { x: LARGE }, { finalizers: ['example.org/hold'] })
  await ok(ask(server, maps, { method: 'POST', body: held }), 201)
  await fill(server, 'other')
  await assertAlarm(server, true)
  await ok(ask(server, '/api/v1/namespaces/doomed', { method: 'DELETE' }), 200)
  await until(async () => (await ask(server, `${maps}/held`)).json.metadata.deletionTimestamp !== undefined)
  await ok(merge(server, `${maps}/held`, { metadata: { finalizers: null } }), 200)
  await until(async () => (await ask(server, '/api/v1/namespaces/doomed')).status === 404)
})

test('a server whose store is full starts again, is ready, and can be emptied', patient, async t => {
  const dataDir = temporaryDirectory(t)
  const options = { dataDir, quotaBackendBytes: QUOTA, logLevel: 'silent' as const }
  const first = await startInProcess(t, options)
  const { created } = await fill(first, 'default')
  await first.close()
  const server = await startInProcess(t, options)
  assert.equal((await fill(server, 'kube-public')).created, 0)
  await assertAlarm(server, true)
  assert.equal((await ask(server, CONFIG_MAPS)).json.items.length, created)
  await ok(ask(server, CONFIG_MAPS, { method: 'DELETE' }), 200)
  await alarmIs(server, false)
  await ok(ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('large', { x: LARGE }) }), 201)
})

test('updates that keep their size do not use up the quota: history is given up before', patient, async t => {
  const server = await startInProcess(t, { dataDir: temporaryDirectory(t), quotaBackendBytes: QUOTA, logLevel: 'silent' })
  await ok(ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('one', { x: LARGE }) }), 201)
  let refused = 0
  // Those that meet a full store have its history compacted at once, and succeed when they are tried again.
  for (let i = 0; i < 60; i++)
    for (;;) {
      const { status } = await merge(server, `${CONFIG_MAPS}/one`, { data: { x: `${i}`.padEnd(MIB, 'x') } })
      if (status === 200) break
      assert.equal(status, 500)
      assert.ok(++refused < 1000)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  await alarmIs(server, false)
})

test('a quota is not for a store in etcd, which has its own', patient, async t => {
  const flags = ['--store=etcd', '--etcd-servers=http://127.0.0.1:1', '--quota-backend-bytes=1000']
  const { exited, stderr } = launch(t, { dataDir: temporaryDirectory(t), flags })
  assert.notEqual((await exited).code, 0)
  assert.match(stderr(), /--quota-backend-bytes is for the stores of this server; with --store etcd, start etcd with it/)
})

/** Creates config maps of a megabyte until one is refused. */
async function fill(server: Target, namespace: string): Promise<{ created: number; refused: Answer }> {
  for (let created = 0; ; created++) {
    const body = configMap(`large-${created}`, { x: LARGE })
    const answer = await ask(server, `/api/v1/namespaces/${namespace}/configmaps`, { method: 'POST', body })
    if (answer.status !== 201) return { created, refused: answer }
    assert.ok(created < 50, 'nothing was refused')
  }
}

const merge = (server: Target, path: string, body: unknown) =>
  ask(server, path, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body })

async function ok(answer: Promise<Answer>, status: number): Promise<void> {
  const { status: got, text } = await answer
  assert.equal(got, status, text.slice(0, 500))
}

/** The server stays ready, or a load balancer would keep deletions from it; the alarm is a warning there, and a metric. */
async function assertAlarm(server: Target, isRaised: boolean): Promise<void> {
  const ready = await ask(server, '/readyz?verbose')
  assert.equal(ready.status, 200)
  assert.match(ready.text, /\[\+\]etcd-quota ok/)
  assert.equal(/warn: etcd-quota: alarm NOSPACE/.test(ready.text), isRaised, ready.text)
  assert.equal(/NOSPACE/.test((await ask(server, '/readyz/etcd-quota')).text), isRaised)
  const metrics = (await ask(server, '/metrics')).text
  assert.match(metrics, new RegExp(`^keelson_store_alarm\\{alarm="NOSPACE"\\} ${Number(isRaised)}$`, 'm'))
  assert.match(metrics, new RegExp(`^etcd_server_quota_backend_bytes ${QUOTA}$`, 'm'))
  assert.match(metrics, /^apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} \d/m)
}

async function alarmIs(server: Target, isRaised: boolean): Promise<void> {
  await until(async () => /NOSPACE/.test((await ask(server, '/readyz/etcd-quota')).text) === isRaised)
  await assertAlarm(server, isRaised)
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setTimeout(resolve, 50))
}
