// An etcd that is restored from a backup, or emptied, while servers run: they notice, read everything again and end watches.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { StartOptions } from '../src/public.d.ts'
import { startServer } from '../src/server/start.ts'
import { configOf } from '../src/start-options.ts'
import { ask, CONFIG_MAPS, configMap, eventually, patient, type Scope, type Target, targetOf, Watching } from './kit.ts'
import { type EtcdMember, startEtcd } from './kits/etcd.ts'
import { testWith, testWithAll } from './programs.ts'

async function serve(t: Scope, endpoints: readonly string[], more: StartOptions = {}): Promise<Target> {
  const config = { store: 'etcd', etcdServers: endpoints, controllers: ['none'], nodes: 0, logLevel: 'silent', ...more } as const
  const server = await startServer(configOf(config as StartOptions))
  t.after(() => server.close())
  return targetOf(server.kubeconfig)
}

async function make(target: Target, path: string, body: object): Promise<any> {
  const { status, json, text } = await ask(target, path, { method: 'POST', body })
  assert.equal(status, 201, text)
  return json
}

const names = async (target: Target) => {
  const { status, json } = await ask(target, CONFIG_MAPS)
  return status === 200 ? json.items.map((item: any) => item.metadata.name).filter((name: string) => name !== 'kube-root-ca.crt') : status
}
const ready = (target: Target) => eventually('ready', async () => ((await ask(target, '/readyz')).status === 200 ? true : undefined))

/** The code of the error that ends a watch; 0 without one. */
async function endOf(watching: Watching): Promise<number> {
  for (;;) {
    const event = await watching.next()
    if (!event) return 0
    if (event.type === 'ERROR') return event.object.code
  }
}

testWithAll(
  ['etcd', 'etcdctl'],
  'servers notice that etcd was restored from a backup, also one that nobody asks',
  patient,
  async (t, { etcd: program, etcdctl }) => {
    const folder = mkdtempSync(join(tmpdir(), 'keelson-back-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const { endpoints, members, ...etcd } = await startEtcd({ program })
    t.after(() => etcd[Symbol.asyncDispose]())
    const [member] = members as [EtcdMember]
    const control = (...args: string[]) =>
      promisify(execFile)(etcdctl, args, { env: { ...process.env, ETCDCTL_API: '3', ETCDCTL_ENDPOINTS: endpoints[0] } })
    const [one, idle] = [await serve(t, endpoints), await serve(t, endpoints)]
    const kept = await make(one, CONFIG_MAPS, configMap('kept', { a: '1' }))
    const backup = join(folder, 'backup.db')
    await control('snapshot', 'save', backup)
    // More revisions than the servers themselves write to the restored etcd until the end of the test, however slow the machine is:
    // a revision that was reached again is known.
    await Promise.all(Array.from({ length: 300 }, (_, i) => make(one, CONFIG_MAPS, configMap(`later-${i}`))))
    const RBAC = '/apis/rbac.authorization.k8s.io/v1'
    await make(one, `${RBAC}/clusterroles`, {
      metadata: { name: 'late' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['*'] }],
    })
    await make(one, `${RBAC}/clusterrolebindings`, {
      metadata: { name: 'late' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'late' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }],
    })
    const asEve = { headers: { 'impersonate-user': 'eve' } }
    const allowed = (target: Target) =>
      eventually('eve may', async () => ((await ask(target, CONFIG_MAPS, asEve)).status === 200 ? true : undefined))
    await Promise.all([allowed(one), allowed(idle)])
    assert.equal((await ask(one, `${CONFIG_MAPS}/kept`, { method: 'DELETE' })).status, 200)
    const page = (await ask(one, `${CONFIG_MAPS}?limit=2`)).json.metadata
    const watches = await Promise.all(
      [one, idle].map(target => Watching.open(t, target, `${CONFIG_MAPS}?watch=true&resourceVersion=${page.resourceVersion}`)),
    )

    await member.kill()
    rmSync(member.dataDir, { recursive: true })
    await control('snapshot', 'restore', backup, ...member.restoreFlags, '--data-dir', member.dataDir)
    await member.restart()

    // At 6256f0f1 both went on with those, without the one, for good; watches stayed open, and eve's role was in force.
    for (const watching of watches) assert.equal(await endOf(watching), 410)
    for (const target of [one, idle]) {
      await ready(target)
      assert.deepEqual(await names(target), ['kept'])
      assert.deepEqual((await ask(target, `${CONFIG_MAPS}/kept`)).json, kept)
      assert.equal((await ask(target, CONFIG_MAPS, asEve)).status, 403)
      const exact = await ask(target, `${CONFIG_MAPS}?resourceVersion=${page.resourceVersion}&resourceVersionMatch=Exact`)
      assert.deepEqual([exact.status, exact.json.reason], [410, 'Expired'])
      const next = await ask(target, `${CONFIG_MAPS}?limit=2&continue=${encodeURIComponent(page.continue)}`)
      assert.deepEqual([next.status, next.json.reason], [410, 'Expired'])
      const watch = await ask(target, `${CONFIG_MAPS}?watch=true&resourceVersion=${page.resourceVersion}&timeoutSeconds=5`)
      assert.equal(JSON.parse(watch.text.split('\n')[0]!).object.code, 410)
    }
    // At 6256f0f1 this was a 409.
    await make(one, CONFIG_MAPS, configMap('later-0'))
    assert.deepEqual(await names(idle), ['kept', 'later-0'])
  },
)

testWith('etcd', 'servers notice that etcd was emptied', patient, async (t, program) => {
  const { endpoints, members, ...etcd } = await startEtcd({ program })
  t.after(() => etcd[Symbol.asyncDispose]())
  const [member] = members as [EtcdMember]
  const [one, idle] = [await serve(t, endpoints), await serve(t, endpoints)]
  await make(one, CONFIG_MAPS, configMap('a'))
  const { resourceVersion } = (await ask(one, CONFIG_MAPS)).json.metadata
  const watching = await Watching.open(t, idle, `${CONFIG_MAPS}?watch=true&resourceVersion=${resourceVersion}`)
  await member.kill()
  rmSync(member.dataDir, { recursive: true })
  await member.restart()
  assert.equal(await endOf(watching), 410)
  for (const target of [one, idle]) {
    await ready(target)
    assert.deepEqual(await names(target), [])
  }
})

testWith('etcd', 'a member that lags behind is not taken for an etcd that went back', patient, async (t, program) => {
  const { endpoints, members, ...etcd } = await startEtcd({ program, members: 3 })
  t.after(() => etcd[Symbol.asyncDispose]())
  const [one, other] = [await serve(t, endpoints), await serve(t, endpoints)]
  let count = 0
  for (const member of members) {
    member.pause()
    for (let i = 0; i < 20; i++) {
      const { status } = await ask(one, CONFIG_MAPS, { method: 'POST', body: configMap(`m-${count}`) })
      if (status === 201) count++
    }
    member.resume()
    // Whichever member is asked now, also the one that has missed something.
    for (let i = 0; i < 5; i++) assert.equal((await names(other)).length, count)
  }
  for (const target of [one, other]) {
    const text = (await ask(target, '/metrics')).text
    assert.match(text, /keelson_store_generation 0\n/)
  }
})
