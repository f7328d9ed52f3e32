// Backup and restore of etcd with its own tool, as docs/etcd.md has it.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startServer } from '../src/server/start.ts'
import { configOf } from '../src/start-options.ts'
import { ask, CONFIG_MAPS, configMap, patient, type Scope, type Target, targetOf } from './kit.ts'
import { startEtcd } from './kits/etcd.ts'
import { testWithAll } from './programs.ts'

const SERVICES = '/api/v1/namespaces/default/services'
const service = (name: string) => ({ metadata: { name }, spec: { type: 'NodePort', ports: [{ port: 80 }] } })

async function serve(t: Scope, endpoints: readonly string[]): Promise<Target & { close(): Promise<void> }> {
  const config = { store: 'etcd', etcdServers: endpoints, controllers: ['none'], nodes: 0, serviceClusterIpRange: ['10.0.0.0/28'] } as const
  const server = await startServer(configOf(config))
  t.after(() => server.close())
  return { ...targetOf(server.kubeconfig), close: () => server.close() }
}

async function make(target: Target, path: string, body: object): Promise<any> {
  const { status, json, text } = await ask(target, path, { method: 'POST', body })
  assert.equal(status, 201, text)
  return json
}

testWithAll(
  ['etcd', 'etcdctl'],
  'a snapshot of etcd has all of a cluster, and can be gone back to',
  patient,
  async (t, { etcd: program, etcdctl }) => {
    const folder = mkdtempSync(join(tmpdir(), 'keelson-backup-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const { endpoints, members, ...etcd } = await startEtcd({ program })
    t.after(() => etcd[Symbol.asyncDispose]())
    const [member] = members as [(typeof members)[number]]
    const backup = join(folder, 'backup.db')
    const control = (...args: string[]) =>
      promisify(execFile)(etcdctl, args, { env: { ...process.env, ETCDCTL_API: '3', ETCDCTL_ENDPOINTS: endpoints[0] } })

    const before = await serve(t, endpoints)
    const kept = await make(before, CONFIG_MAPS, configMap('kept'))
    const first = await make(before, SERVICES, service('first'))
    await control('snapshot', 'save', backup)
    await make(before, CONFIG_MAPS, configMap('later'))
    await make(before, SERVICES, service('second'))
    assert.equal((await ask(before, `${CONFIG_MAPS}/kept`, { method: 'DELETE' })).status, 200)
    await before.close()

    await member.kill()
    rmSync(member.dataDir, { recursive: true })
    await control('snapshot', 'restore', backup, ...member.restoreFlags, '--data-dir', member.dataDir)
    await member.restart()

    const after = await serve(t, endpoints)
    // Keys and certificates are in the backup, too: what clients have is still good.
    const asBefore = { ...after, credentials: before.credentials }
    assert.deepEqual((await ask(asBefore, `${CONFIG_MAPS}/kept`)).json, kept)
    assert.equal((await ask(asBefore, `${CONFIG_MAPS}/later`)).status, 404)
    assert.deepEqual((await ask(asBefore, `${SERVICES}/first`)).json.spec, first.spec)
    const third = await make(asBefore, SERVICES, service('third'))
    assert.notEqual(third.spec.clusterIP, first.spec.clusterIP)
    assert.notEqual(third.spec.ports[0].nodePort, first.spec.ports[0].nodePort)
  },
)
