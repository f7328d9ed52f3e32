// Plugins of kubelets on simulated nodes: sockets in a directory register, and nodes tell about the drivers behind them.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readFields, type Writer } from '../src/transport/grpc/wire.ts'
import { ask, eventually, freshServer, patient, type Scope, type Target, temporaryDirectory } from './kit.ts'
import { type GrpcMethods, type GrpcServer, grpcServer } from './kits/grpc-server.ts'

type Plugin = { readonly type?: string; readonly name: string; readonly endpoint?: string; readonly versions?: readonly string[] }
/** Statuses that a plugin was told: an error, or empty for success. */
type Registration = { readonly methods: GrpcMethods; readonly told: string[] }

function registration({ type = 'CSIPlugin', name, endpoint = '', versions = ['1.0.0'] }: Plugin): Registration {
  const told: string[] = []
  const methods: GrpcMethods = {
    '/pluginregistration.Registration/GetInfo'(_, answer) {
      answer.text(1, type).text(2, name).text(3, endpoint)
      for (const version of versions) answer.text(4, version)
    },
    '/pluginregistration.Registration/NotifyRegistrationStatus'(message) {
      let [isRegistered, error] = [false, '']
      readFields(message, field => {
        if (field.field === 1) isRegistered = field.number === 1
        else if (field.field === 2) error = field.bytes.toString()
      })
      told.push(isRegistered ? '' : error)
    },
  }
  return { methods, told }
}

const driver = (nodeID: string, topology: Readonly<Record<string, string>> = {}, maxVolumes = 0): GrpcMethods => ({
  '/csi.v1.Node/NodeGetInfo'(_, answer: Writer) {
    answer.text(1, nodeID)
    if (maxVolumes > 0) answer.number(2, maxVolumes)
    answer.begin(3)
    for (const [key, value] of Object.entries(topology)) answer.begin(1).text(1, key).text(2, value).end()
    answer.end()
  },
})

async function serve(t: Scope, path: string, methods: GrpcMethods): Promise<GrpcServer> {
  const server = await grpcServer(methods, path)
  t.after(() => server.stop())
  return server
}

const node = async (server: Target, name: string) => (await ask(server, `/api/v1/nodes/${name}`)).json
const driversOf = async (server: Target, name: string): Promise<any[]> =>
  (await ask(server, `/apis/storage.k8s.io/v1/csinodes/${name}`)).json.spec?.drivers ?? []
const idsOf = async (server: Target, name: string): Promise<string | undefined> =>
  (await node(server, name)).metadata.annotations['csi.volume.kubernetes.io/nodeid']

async function open(t: Scope): Promise<{ readonly server: Awaited<ReturnType<typeof freshServer>>; readonly folder: string }> {
  const folder = join(temporaryDirectory(t), 'plugins')
  mkdirSync(folder)
  const server = await freshServer(t, { store: 'memory', nodes: 2, nodePlugins: folder })
  for (const name of ['simulated-1', 'simulated-2'])
    await eventually(`the CSINode of ${name}`, async () => ((await driversOf(server, name)).length > 0 ? true : undefined))
  return { server, folder }
}

test('a CSI driver is registered on every node, and gone with its socket', patient, async t => {
  const { server, folder } = await open(t)
  const endpoint = join(folder, '../csi.sock')
  await serve(t, endpoint, driver('machine-7', { 'topology.example.com/zone': 'a' }, 12))
  const { methods, told } = registration({ name: 'disk.example.com', endpoint })
  const plugin = await serve(t, join(folder, 'disk-reg.sock'), methods)
  await eventually('the registration', () => (told.length > 0 ? true : undefined))
  assert.deepEqual(told, [''])
  for (const name of ['simulated-1', 'simulated-2']) {
    const [own, added] = await driversOf(server, name)
    assert.equal(own.name, 'csi.keelson.dev')
    const expected = {
      name: 'disk.example.com',
      nodeID: 'machine-7',
      topologyKeys: ['topology.example.com/zone'],
      allocatable: { count: 12 },
    }
    assert.deepEqual(added, expected)
    assert.equal((await node(server, name)).metadata.labels['topology.example.com/zone'], 'a')
    assert.equal(await idsOf(server, name), '{"disk.example.com":"machine-7"}')
  }
  await plugin.stop()
  for (const name of ['simulated-1', 'simulated-2']) {
    await eventually('the end of the driver', async () => ((await driversOf(server, name)).length === 1 ? true : undefined))
    await eventually('the end of the annotation', async () => ((await idsOf(server, name)) === undefined ? true : undefined))
    // As with a kubelet, labels stay.
    assert.equal((await node(server, name)).metadata.labels['topology.example.com/zone'], 'a')
  }
})

test('a plugin in the folder of a node belongs to that node; a new node gets those of all', patient, async t => {
  const { server, folder } = await open(t)
  mkdirSync(join(folder, 'simulated-2'))
  const one = registration({ name: 'one.example.com' })
  const all = registration({ name: 'all.example.com' })
  await serve(t, join(folder, 'simulated-2/one.sock'), { ...one.methods, ...driver('two') })
  await serve(t, join(folder, 'all.sock'), { ...all.methods, ...driver('any') })
  await eventually('both registrations', () => (one.told.length > 0 && all.told.length > 0 ? true : undefined))
  const names = async (name: string) => (await driversOf(server, name)).map(each => each.name).sort()
  assert.deepEqual(await names('simulated-1'), ['all.example.com', 'csi.keelson.dev'])
  assert.deepEqual(await names('simulated-2'), ['all.example.com', 'csi.keelson.dev', 'one.example.com'])
  const labels = { 'keelson.dev/simulated': 'true' }
  await ask(server, '/api/v1/nodes', { method: 'POST', body: { metadata: { name: 'later', labels } } })
  await eventually('the drivers of the new node', async () => ((await names('later')).length === 2 ? true : undefined))
  assert.deepEqual(await names('later'), ['all.example.com', 'csi.keelson.dev'])
})

test('plugins that a kubelet refuses are told why, and those for devices are accepted', patient, async t => {
  const { server, folder } = await open(t)
  const strange = registration({ name: 'x', type: 'StrangePlugin' })
  const old = registration({ name: 'old.example.com', versions: ['0.3.0'] })
  const failing = registration({ name: 'failing.example.com' })
  const devices = registration({ name: 'gpu.example.com', type: 'DRAPlugin', versions: ['v1.DRAPlugin'] })
  await ask(server, '/api/v1/nodes/simulated-1', {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { metadata: { labels: { 'topology.example.com/rack': '9' } } },
  })
  const clashing = registration({ name: 'clashing.example.com' })
  const sockets = { strange, old, failing, devices, clashing }
  for (const [name, { methods }] of Object.entries(sockets)) {
    const more = name === 'clashing' ? driver('c', { 'topology.example.com/rack': '1' }) : {}
    await serve(t, join(folder, `${name}.sock`), { ...methods, ...more })
  }
  const first = (name: keyof typeof sockets) =>
    eventually(`the answer to ${name}`, () => (sockets[name].told.length > 0 ? sockets[name].told : undefined))
  const at = (name: string) => join(folder, `${name}.sock`)
  assert.equal(
    (await first('strange'))[0],
    `RegisterPlugin error -- no handler registered for plugin type: StrangePlugin at socket ${at('strange')}`,
  )
  assert.match(
    (await first('old'))[0]!,
    /^RegisterPlugin error -- plugin validation failed with err: .*None of the versions specified \["0\.3\.0"\]/,
  )
  assert.match(
    (await first('failing'))[0]!,
    /^RegisterPlugin error -- plugin registration failed with err: rpc error: code = Unimplemented/,
  )
  assert.match(
    (await first('clashing'))[0]!,
    /^RegisterPlugin error -- plugin registration failed with err: .*detected topology value collision: driver reported "topology\.example\.com\/rack":"1"/,
  )
  assert.deepEqual(await first('devices'), [''])
  for (const name of ['simulated-1', 'simulated-2'])
    await eventually('no other driver', async () => ((await driversOf(server, name)).length === 1 ? true : undefined))
  rmSync(folder, { recursive: true })
})
