// Three servers on three members of a real etcd: allocations, leader election of controllers, and behaviour without etcd.
import assert from 'node:assert/strict'
import { Agent } from 'node:https'
import { after } from 'node:test'
import { ask, CONFIG_MAPS, configMap, eventually, type Scope, type ServerProcess, startProcess } from './kit.ts'
import { type EtcdCluster, startEtcd } from './kits/etcd.ts'
import { testWith } from './programs.ts'

const patient = { timeout: 300_000 }

/** One cluster and three servers on it for all tests of the file, in order. */
let cluster: { readonly etcd: EtcdCluster; readonly servers: ServerProcess[] } | undefined
const ends: (() => unknown)[] = []
const untilTheEnd: Scope = { after: undo => void ends.push(undo) }
after(async () => {
  for (const end of ends.reverse()) await end()
})

async function clusterOf(program: string): Promise<NonNullable<typeof cluster>> {
  if (cluster === undefined) {
    const etcd = await startEtcd({ program, members: 3 })
    untilTheEnd.after(() => etcd[Symbol.asyncDispose]())
    cluster = { etcd, servers: [] }
  }
  const { etcd, servers } = cluster
  const flags = ['--store', 'etcd', '--etcd-servers', etcd.endpoints.join(','), '--service-cluster-ip-range', '10.0.0.0/22', '--nodes', '1']
  // A test may have killed one.
  servers.push(...(await Promise.all(Array.from({ length: 3 - servers.length }, () => startProcess(untilTheEnd, { flags })))))
  return cluster
}

const isUnavailable = (status: number) => [500, 503, 504].includes(status)

const DEPLOYMENT = '/apis/apps/v1/namespaces/default/deployments'
const deployment = (image: string) => ({
  metadata: { name: 'web' },
  spec: {
    replicas: 10,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image }] } },
  },
})

testWith('etcd', 'a rollout goes on when the server that runs the controllers is killed', patient, async (_, program) => {
  const { servers } = await clusterOf(program)
  const isLeading = async (server: ServerProcess) =>
    /workqueue_adds_total\{[^}]*name="deployment-controller"/.test((await ask(server, '/metrics')).text)
  const leaders = async () => {
    const found = []
    for (const server of servers) if (await isLeading(server)) found.push(server)
    return found
  }
  const rolledOut = (image: string) =>
    eventually(`all pods have ${image}`, async () => {
      const { status, metadata } = (await ask(servers[0]!, `${DEPLOYMENT}/web`)).json
      const isSeen = status?.observedGeneration === metadata?.generation
      if (!isSeen || status.availableReplicas !== 10 || status.updatedReplicas !== 10 || status.replicas !== 10) return undefined
      const { items } = (await ask(servers[0]!, '/api/v1/namespaces/default/pods?labelSelector=app=web')).json
      return items.length === 10 && items.every(({ spec }: any) => spec.containers[0].image === image) ? true : undefined
    })
  assert.equal((await ask(servers[0]!, DEPLOYMENT, { method: 'POST', body: deployment('one') })).status, 201)
  await rolledOut('one')
  const [leader, ...more] = await leaders()
  assert.equal(more.length, 0)
  servers.splice(servers.indexOf(leader!), 1)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const body = { spec: { template: deployment('two').spec.template } }
  assert.equal((await ask(servers[0]!, `${DEPLOYMENT}/web`, { method: 'PATCH', headers, body })).status, 200)
  await eventually('the rollout has begun', async () => {
    const { items } = (await ask(servers[0]!, '/apis/apps/v1/namespaces/default/replicasets')).json
    return items.length > 1 ? true : undefined
  })
  await leader!.stop('SIGKILL')
  await rolledOut('two')
  const next = await leaders()
  assert.equal(next.length, 1)
  const { items } = (await ask(servers[0]!, '/apis/apps/v1/namespaces/default/replicasets')).json
  assert.equal(items.length, 2, 'no replica set was created twice')
})

testWith(
  'etcd',
  'a thousand services that three servers create at once have each their own address and node port',
  patient,
  async (t, program) => {
    const { servers } = await clusterOf(program)
    const agents = servers.map(() => new Agent({ keepAlive: true, maxSockets: 50 }))
    t.after(() => {
      for (const agent of agents) agent.destroy()
    })
    const create = (i: number) =>
      eventually(`service ${i} is created`, async () => {
        const { status, text } = await ask(servers[i % 3]!, '/api/v1/namespaces/default/services', {
          method: 'POST',
          agent: agents[i % 3]!,
          body: { metadata: { name: `s-${i}` }, spec: { type: 'NodePort', ports: [{ port: 80 }] } },
        })
        // On a busy machine etcd may be without a leader for a moment, and a write then without an answer.
        if (isUnavailable(status)) return undefined
        assert.ok(status === 201 || status === 409, text)
        return true
      })
    await Promise.all(Array.from({ length: 1000 }, (_, i) => create(i)))
    for (const server of servers) {
      const { items } = (await ask(server, '/api/v1/services')).json
      const made = items.filter(({ metadata }: any) => metadata.name.startsWith('s-'))
      assert.equal(made.length, 1000)
      assert.equal(new Set(items.map(({ spec }: any) => spec.clusterIP)).size, items.length)
      assert.equal(new Set(made.map(({ spec }: any) => spec.ports[0].nodePort)).size, 1000)
    }
  },
)

testWith(
  'etcd',
  'without etcd a server is not ready and answers only what may be old; then it recovers by itself',
  patient,
  async (_, program) => {
    const { etcd, servers } = await clusterOf(program)
    const [a, b] = servers as [ServerProcess, ServerProcess]
    for (const name of ['kept', 'doubtful'])
      assert.equal((await ask(a, CONFIG_MAPS, { method: 'POST', body: configMap(name) })).status, 201)
    assert.equal((await ask(b, `${CONFIG_MAPS}/kept`)).status, 200)
    for (const member of etcd.members) member.pause()
    const isRefused = async (path: string, sent = {}) => {
      const { status, json } = await ask(b, path, sent)
      assert.ok(isUnavailable(status), `${path} was answered with ${status}`)
      assert.equal(json.kind, 'Status')
    }
    await Promise.all([
      isRefused(`${CONFIG_MAPS}/kept`),
      isRefused(CONFIG_MAPS),
      isRefused(CONFIG_MAPS, { method: 'POST', body: configMap('lost') }),
      // It may have been sent, and happen once etcd goes on.
      isRefused(`${CONFIG_MAPS}/doubtful`, { method: 'DELETE' }),
    ])
    assert.equal((await ask(b, `${CONFIG_MAPS}/kept?resourceVersion=0`)).status, 200)
    await eventually('it is not ready', async () => ((await ask(b, '/readyz')).status === 500 ? true : undefined))
    for (const member of etcd.members) member.resume()
    await eventually('it is ready again', async () => ((await ask(b, '/readyz')).status === 200 ? true : undefined))
    await eventually('writes work again', async () => {
      const { status } = await ask(b, CONFIG_MAPS, { method: 'POST', body: configMap(`again-${Date.now()}`) })
      return status === 201 ? true : undefined
    })
    assert.equal((await ask(b, `${CONFIG_MAPS}/kept`)).status, 200)
  },
)
