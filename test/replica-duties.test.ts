// State that several servers share over one store: keys, the service of the API, controllers that one of them runs, addresses and quota.
import assert from 'node:assert/strict'
import { Agent } from 'node:https'
import { test } from 'node:test'
import { MemoryStore } from '../src/storage/memory.ts'
import { ask, CONFIG_MAPS, eventually, patient } from './kit.ts'
import { type Replica, startReplica, startReplicas } from './kits/replicas.ts'

const create = async (replica: Replica, path: string, body: object): Promise<any> => {
  const { status, json, text } = await ask(replica, path, { method: 'POST', body })
  assert.equal(status, 201, text)
  return json
}

test('a kubeconfig and a token of one server are valid on all servers', patient, async t => {
  const replicas = await startReplicas(t, 3)
  const [a, b, c] = replicas as [Replica, Replica, Replica]
  assert.equal((await ask({ url: b.url, credentials: a.credentials }, '/api')).status, 200)
  assert.equal((await ask({ url: a.url, credentials: c.credentials }, '/api')).status, 200)
  await create(a, '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'bot' } })
  const { status } = await create(b, '/api/v1/namespaces/default/serviceaccounts/bot/token', { spec: {} })
  const headers = { authorization: `Bearer ${status.token}` }
  for (const replica of replicas) {
    const { json } = await ask(replica, '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      method: 'POST',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      headers,
      cert: undefined as never,
      key: undefined as never,
    })
    assert.equal(json.status?.userInfo?.username, 'system:serviceaccount:default:bot', JSON.stringify(json))
  }
  // A list that one server began is continued by another.
  for (const name of ['a', 'b', 'c']) await create(a, CONFIG_MAPS, { metadata: { name } })
  const first = await ask(a, `${CONFIG_MAPS}?limit=2`)
  const second = await ask(b, `${CONFIG_MAPS}?limit=2&continue=${first.json.metadata.continue}`)
  assert.deepEqual(
    second.json.items.map((item: any) => item.metadata.name),
    ['c'],
  )
})

test('only creates tell the store that nobody else writes the same, so that one whose answer is lost can be found', patient, async t => {
  const told = new Map<string, (boolean | undefined)[]>()
  class AttentiveStore extends MemoryStore {
    override swap(...[key, change]: Parameters<MemoryStore['swap']>) {
      told.set(key, [...(told.get(key) ?? []), change.unique])
      return super.swap(key, change)
    }
  }
  const replica = await startReplica(t, new AttentiveStore(), { controllers: ['none'] })
  const map = await create(replica, CONFIG_MAPS, { metadata: { name: 'a' } })
  const { status } = await ask(replica, `${CONFIG_MAPS}/a`, { method: 'PUT', body: { ...map, data: { a: 'b' } } })
  assert.equal(status, 200)
  const key = [...told.keys()].find(key => key.endsWith('/default/a'))
  assert.deepEqual(told.get(key!), [true, false])
})

test('the service of the API leads to all servers that are alive, and each has an identity lease', patient, async t => {
  const store = new MemoryStore()
  const start = (advertiseAddress: string) =>
    startReplica(t, store, { controllers: ['none'], nodes: 0, advertiseAddress, tlsSans: ['127.0.0.1'] })
  const local = (replica: Replica) => ({ ...replica, url: `https://127.0.0.1:${replica.port}` })
  const a = local(await start('192.0.2.1'))
  const b = local(await start('192.0.2.2'))
  const c = local(await start('192.0.2.3'))
  const addresses = async () => {
    const { json } = await ask(a, '/api/v1/namespaces/default/endpoints/kubernetes')
    const { json: slice } = await ask(a, '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes')
    const listed = (json.subsets ?? []).flatMap((subset: any) => subset.addresses.map(({ ip }: any) => ip))
    const sliced = (slice.endpoints ?? []).flatMap((endpoint: any) => endpoint.addresses)
    return String(listed) === String(sliced) ? String(listed) : `${listed} but ${sliced}`
  }
  const become = (wanted: string) => eventually(`addresses are ${wanted}`, async () => ((await addresses()) === wanted ? true : undefined))
  await become('192.0.2.1,192.0.2.2,192.0.2.3')
  const leases = async () => {
    const { json } = await ask(
      a,
      '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io/identity=kube-apiserver',
    )
    return json.items
  }
  await eventually('each has a lease', async () => ((await leases()).length === 3 ? true : undefined))
  for (const { metadata, spec } of await leases()) {
    assert.match(metadata.name, /^apiserver-[a-z2-7]{26}$/)
    assert.match(spec.holderIdentity, new RegExp(`^${metadata.name}_[0-9a-f-]{36}$`))
    assert.equal(spec.leaseDurationSeconds, 3600)
  }
  await b.close()
  await become('192.0.2.1,192.0.2.3')
  assert.equal((await leases()).length, 2)
  // One that is gone without a word is missed after a while.
  c.view.cut()
  await become('192.0.2.1')
})

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager'
const REPLICA_SETS = '/apis/apps/v1/namespaces/default/replicasets'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'

test(
  'one server runs the controllers; another takes over when it ends or is cut off; nothing of the last one arrives late',
  patient,
  async t => {
    const store = new MemoryStore()
    const options = { controllers: ['*'], nodes: 1 }
    const replicas = await Promise.all([1, 2, 3].map(() => startReplica(t, store, options)))
    const observer = await startReplica(t, store, { controllers: ['none'], nodes: 0 })
    const terms = async () => (await ask(observer, LEASE)).json.spec
    const ready = (name: string, wanted: number, path = DEPLOYMENTS) =>
      eventually(`${name} has ${wanted} pods`, async () => {
        const { json } = await ask(observer, `${path}/${name}`)
        return json.status?.readyReplicas === wanted ? true : undefined
      })
    const deployment = (name: string, count: number) => ({
      metadata: { name },
      spec: {
        replicas: count,
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    })
    const holders = async () => {
      const found = []
      for (const each of [...replicas, observer]) found.push({ each, metrics: (await ask(each, '/metrics')).text })
      return found.filter(({ metrics }) => /workqueue_adds_total\{[^}]*name="deployment-controller"/.test(metrics)).map(({ each }) => each)
    }
    await create(observer, DEPLOYMENTS, deployment('one', 3))
    await ready('one', 3)
    const [first, ...more] = await holders()
    assert.equal(more.length, 0, 'one server runs the controllers')
    assert.ok(first)
    const before = await terms()

    if (first === observer) throw new Error('a server without controllers leads')
    await first.close()
    await create(observer, DEPLOYMENTS, deployment('two', 3))
    await ready('two', 3)
    const after = await terms()
    assert.notEqual(after.holderIdentity, before.holderIdentity)

    replicas.splice(replicas.indexOf(first), 1)
    const [second] = await holders()
    if (second === undefined || second === observer) throw new Error('nobody leads')
    const { view } = second as Replica
    view.holdWrites()
    const { spec } = deployment('three', 3)
    await create(observer, REPLICA_SETS, { metadata: { name: 'three' }, spec })
    const heldPod = () => view.heldWrites.find(key => key.startsWith('/core/pods/default/three-'))
    const late = await eventually('a pod is on its way', async () => heldPod())
    view.cut()
    await ready('three', 3, REPLICA_SETS)
    const last = await terms()
    assert.notEqual(last.holderIdentity, after.holderIdentity)
    assert.ok(last.leaseTransitions > after.leaseTransitions)
    await view.deliverWrites()
    view.mend()
    assert.equal((await store.get(late)).entry, undefined, 'the pod that arrived late was not created')
    const pods = await ask(observer, '/api/v1/namespaces/default/pods')
    assert.equal(pods.json.items.length, 9, 'no pod was created twice')
  },
)

/** As clients do: a server whose cache is far behind, as on a busy machine, says so before it does anything, and when to ask again. */
async function askAgain(...[replica, path, options]: Parameters<typeof ask>): ReturnType<typeof ask> {
  for (;;) {
    const answer = await ask(replica, path, options)
    if (answer.status !== 504 || !answer.text.includes('Too large resource version')) return answer
  }
}

test('services of three servers never share an address or a node port', patient, async t => {
  const store = new MemoryStore()
  const options = { controllers: ['none'], nodes: 0, serviceClusterIpRange: ['10.0.0.0/22'] }
  const replicas = [await startReplica(t, store, options), await startReplica(t, store, options), await startReplica(t, store, options)]
  const agents = replicas.map(() => new Agent({ keepAlive: true, maxSockets: 40 }))
  t.after(() => {
    for (const agent of agents) agent.destroy()
  })
  const answers = await Promise.all(
    Array.from({ length: 1000 }, (_, i) =>
      askAgain(replicas[i % 3]!, '/api/v1/namespaces/default/services', {
        method: 'POST',
        agent: agents[i % 3]!,
        body: { metadata: { name: `s-${i}` }, spec: { type: 'NodePort', ports: [{ port: 80 }] } },
      }),
    ),
  )
  assert.deepEqual(
    answers.filter(({ status }) => status !== 201).map(({ text }) => text),
    [],
  )
  const addresses = answers.map(({ json }) => json.spec.clusterIP)
  const ports = answers.map(({ json }) => json.spec.ports[0].nodePort)
  assert.equal(new Set(addresses).size, 1000)
  assert.equal(new Set(ports).size, 1000)
})

test('three servers never let more through than a quota allows, while objects are counted again and again', patient, async t => {
  const store = new MemoryStore()
  const options = { controllers: ['resourcequota-controller'], nodes: 0 }
  const replicas = await Promise.all([1, 2, 3].map(() => startReplica(t, store, options)))
  const [a] = replicas as [Replica]
  const path = '/api/v1/namespaces/default/resourcequotas'
  const hard = { 'count/configmaps': '40' }
  await create(a, path, { metadata: { name: 'few' }, spec: { hard } })
  await eventually('the quota is in force', async () => (await ask(a, `${path}/few`)).json.status?.hard?.['count/configmaps'])
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, i) =>
        ask(replicas[i % 3]!, CONFIG_MAPS, { method: 'POST', body: { metadata: { name: `c-${round}-${i}` } } }),
      ),
    )
    const made = answers.filter(({ status }) => status === 201)
    // On a busy machine some give up before it is their turn.
    const refusals: Readonly<Record<number, string>> = { 403: 'exceeded quota: few', 500: 'resource quota evaluation timed out' }
    for (const { status, text } of answers) assert.ok(status === 201 || text.includes(refusals[status] ?? '\n'), text)
    const { items } = (await ask(a, CONFIG_MAPS)).json
    assert.ok(items.length <= 40, `${items.length} config maps`)
    assert.ok(made.length > 0)
    // Deletions are counted by the controller, while other servers create.
    await Promise.all(
      made.slice(0, 30).map(({ json }, i) => ask(replicas[i % 3]!, `${CONFIG_MAPS}/${json.metadata.name}`, { method: 'DELETE' })),
    )
    await eventually('the deletions are counted', async () => {
      const used = Number((await ask(a, `${path}/few`)).json.status.used['count/configmaps'])
      return used === (await ask(a, CONFIG_MAPS)).json.items.length ? true : undefined
    })
  }
})
