// Several servers over one store: a write through one is visible through the others, including objects that decide about requests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, eventually, patient, Watching } from './kit.ts'
import { type Replica, startReplica, startReplicas } from './kits/replicas.ts'

const create = async (replica: Replica, path: string, body: object): Promise<any> => {
  const { status, json, text } = await ask(replica, path, { method: 'POST', body })
  assert.equal(status, 201, text)
  return json
}
/** Sends a read, and resolves when the server has asked its store how far it must be to answer. */
const readOnItsWay = async (replica: Replica, path: string) => {
  const { questions } = replica.view
  const read = { isAnswered: false, answer: ask(replica, path) }
  void read.answer.then(() => (read.isAnswered = true))
  await eventually('the question', () => replica.view.questions > questions || undefined)
  return read
}

test('a read through one server sees what another has acknowledged, however late its cache is', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  b.view.hold()
  const made = await create(a, CONFIG_MAPS, configMap('new', { a: '1' }))
  const reads: Awaited<ReturnType<typeof readOnItsWay>>[] = []
  for (const path of ['/new', '', '?labelSelector=!none']) reads.push(await readOnItsWay(b, CONFIG_MAPS + path))
  // Sent after them and answered: they would have been, too.
  const stale = await ask(b, `${CONFIG_MAPS}/new?resourceVersion=0`)
  assert.equal(stale.status, 404, 'any revision will do, and this server knows none')
  for (const read of reads) assert.equal(read.isAnswered, false)
  b.view.release()
  const [read, list, selected] = await Promise.all(reads.map(({ answer }) => answer))
  assert.deepEqual(read!.json, made)
  for (const { json } of [list!, selected!]) assert.deepEqual(json.items.map(nameOf), ['new'])
  const known = await ask(b, `${CONFIG_MAPS}/new?resourceVersion=${made.metadata.resourceVersion}`)
  assert.deepEqual(known.json, made)
})

const nameOf = ({ metadata }: any) => metadata.name

test('reads ask the store once each at most, and those of any revision never', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  await create(a, CONFIG_MAPS, configMap('read'))
  const before = b.view.questions
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask(b, `${CONFIG_MAPS}/read`)))
  assert.ok(answers.every(({ status }) => status === 200))
  assert.ok(b.view.questions - before <= 200)
  const asked = b.view.questions
  await Promise.all(Array.from({ length: 20 }, () => ask(b, `${CONFIG_MAPS}/read?resourceVersion=0`)))
  assert.equal(b.view.questions, asked, 'a read of any revision asks for nothing')
})

test('a write through one server is about what another has stored', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  b.view.hold()
  const made = await create(a, CONFIG_MAPS, configMap('contested', { a: '1' }))
  const patched = ask(b, `${CONFIG_MAPS}/contested`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { data: { b: '2' } },
  })
  const replaced = ask(b, `${CONFIG_MAPS}/contested`, { method: 'PUT', body: { ...made, data: { a: '1', b: '2' } } })
  b.view.release()
  const statuses = (await Promise.all([patched, replaced])).map(({ status }) => status).sort()
  // The replacement names a version, so that it must come first or not at all.
  assert.ok(String(statuses) === '200,200' || String(statuses) === '200,409', String(statuses))
  assert.deepEqual((await ask(a, `${CONFIG_MAPS}/contested`)).json.data, { a: '1', b: '2' })
})

test('a write that shortly follows another does not ask the store how new the cache is', patient, async t => {
  const [a] = (await startReplicas(t, 1)) as [Replica]
  let writes = 0
  await eventually('a write asks for nothing', async () => {
    const before = a.view.questions
    await create(a, CONFIG_MAPS, configMap(`one-by-one-${writes++}`))
    return a.view.questions === before || undefined
  })
})

test(
  'a server that is a little behind neither rejects a write that is possible by now nor makes one that no longer is',
  patient,
  async t => {
    const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
    await create(a, '/api/v1/namespaces', { metadata: { name: 'going' } })
    const made = await create(a, CONFIG_MAPS, configMap('same', { a: '1' }))
    // Its own write shows that the server is up to date; from here on it learns of nothing.
    await create(b, CONFIG_MAPS, configMap('recent'))
    b.view.hold()
    await create(a, '/api/v1/namespaces', { metadata: { name: 'coming' } })
    assert.equal((await ask(a, '/api/v1/namespaces/going', { method: 'DELETE' })).status, 200)
    const changed = await ask(a, `${CONFIG_MAPS}/same`, { method: 'PUT', body: { ...made, data: { a: '2' } } })
    const answers = Promise.all([
      ask(b, '/api/v1/namespaces/coming/configmaps', { method: 'POST', body: configMap('new') }),
      ask(b, '/api/v1/namespaces/going/configmaps', { method: 'POST', body: configMap('late') }),
      // For this server's cache the write changes nothing.
      ask(b, `${CONFIG_MAPS}/same`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { data: { a: '1' } },
      }),
    ])
    b.view.release()
    const [coming, going, same] = await answers
    assert.equal(coming.status, 201, coming.text)
    assert.ok(going.status === 403 || going.status === 404, going.text)
    assert.deepEqual((await ask(a, '/api/v1/namespaces/going/configmaps')).json.items, [])
    assert.equal(same.json.data.a, '1')
    assert.ok(Number(same.json.metadata.resourceVersion) > Number(changed.json.metadata.resourceVersion), 'it was changed back')
  },
)

test('counters that all servers increment lose no increment', patient, async t => {
  const replicas = await startReplicas(t, 3)
  await create(replicas[0]!, CONFIG_MAPS, configMap('counter'))
  const add = (replica: Replica, i: number) =>
    ask(replica, `${CONFIG_MAPS}/counter`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { data: { [`key-${i}`]: 'x' } },
    })
  const answers = await Promise.all(Array.from({ length: 90 }, (_, i) => add(replicas[i % 3]!, i)))
  assert.deepEqual(
    answers.filter(({ status }) => status !== 200).map(({ text }) => text),
    [],
  )
  const { json } = await ask(replicas[1]!, `${CONFIG_MAPS}/counter`)
  assert.equal(Object.keys(json.data).length, 90)
})

test('changes of namespaces, roles, definitions and policies apply on every server', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  for (let round = 0; round < 5; round++) {
    const [first, second] = round % 2 === 0 ? [a, b] : [b, a]
    const namespace = `ns-${round}`
    await create(first, '/api/v1/namespaces', { metadata: { name: namespace } })
    await create(second, `/api/v1/namespaces/${namespace}/configmaps`, configMap('there'))

    const asUser = { headers: { 'impersonate-user': `user-${round}` } }
    const path = `/api/v1/namespaces/${namespace}/configmaps/there`
    assert.equal((await ask(second, path, asUser)).status, 403)
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
    await create(first, `${rbac}/roles`, {
      metadata: { name: 'reader' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
    })
    await create(first, `${rbac}/rolebindings`, {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `user-${round}` }],
    })
    assert.equal((await ask(second, path, asUser)).status, 200)
    assert.equal((await ask(first, `${rbac}/rolebindings/reader`, { method: 'DELETE' })).status, 200)
    assert.equal((await ask(second, path, asUser)).status, 403)

    const group = `g${round}.example.com`
    await create(first, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(group))
    await eventually('the definition is established', async () => {
      const { json } = await ask(first, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`)
      const found = json.status?.conditions?.find((each: any) => each.type === 'Established')
      return found?.status === 'True' || undefined
    })
    await create(second, `/apis/${group}/v1/namespaces/${namespace}/widgets`, {
      apiVersion: `${group}/v1`,
      kind: 'Widget',
      metadata: { name: 'w' },
    })

    assert.equal((await ask(first, `/api/v1/namespaces/${namespace}`, { method: 'DELETE' })).status, 200)
    const late = await ask(second, `/api/v1/namespaces/${namespace}/configmaps`, { method: 'POST', body: configMap('late') })
    assert.ok(late.status === 403 || late.status === 404, late.text)
  }
})

test('an object that is on its way while its definition is deleted is not stored', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  const group = 'late.example.com'
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.${group}`
  const widgets = `/apis/${group}/v1/namespaces/default/widgets`
  const widget = (name: string) => ({ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } })
  await create(a, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(group))
  const isServed = async () => ((await ask(b, widgets)).status === 200 ? true : undefined)
  await eventually('the kind is served', isServed)
  await create(b, widgets, widget('early'))
  b.view.holdWrites()
  const creating = ask(b, widgets, { method: 'POST', body: widget('late') })
  await eventually('the write is on its way', () => b.view.heldWrites.find(key => key.endsWith('/late')))
  assert.equal((await ask(a, path, { method: 'DELETE' })).status, 200)
  await eventually('the definition is gone', async () => ((await ask(a, path)).status === 404 ? true : undefined))
  await b.view.deliverWrites()
  const { status, text } = await creating
  assert.ok(status === 403 || status === 404, text)
  assert.deepEqual((await a.store.list(`/${group}/widgets/`)).entries, [])
})

const definition = (group: string) => ({
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
})

test('a server that ends decides its last requests by the newest roles', patient, async t => {
  const [a, b] = (await startReplicas(t, 2, { controllers: ['none'], nodes: 0, authorizationMode: ['RBAC'] })) as [Replica, Replica]
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
  const asReader = { headers: { 'impersonate-user': 'reader' } }
  await create(a, `${rbac}/roles`, {
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
  })
  await create(a, `${rbac}/rolebindings`, {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'reader' }],
  })
  assert.equal((await ask(b, CONFIG_MAPS, asReader)).status, 200)
  b.view.hold()
  assert.equal((await ask(a, `${rbac}/rolebindings/reader`, { method: 'DELETE' })).status, 200)
  // It tells the others that it ends, and answers requests until that is written.
  b.view.holdWrites()
  const ended = b.close()
  b.view.release()
  assert.equal((await ask(b, CONFIG_MAPS, asReader)).status, 403)
  await b.view.deliverWrites()
  await ended
})

test('a watch goes on through another server, also one that is behind', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  const one = await create(a, CONFIG_MAPS, configMap('one'))
  b.view.hold()
  const two = await create(a, CONFIG_MAPS, configMap('two'))
  const three = await create(a, CONFIG_MAPS, configMap('three'))
  const from = (revision: string) => `${CONFIG_MAPS}?watch=true&resourceVersion=${revision}`
  const all = await Watching.open(t, b, from(one.metadata.resourceVersion))
  const ahead = await Watching.open(t, b, from(two.metadata.resourceVersion))
  b.view.release()
  assert.deepEqual([nameOf((await all.next())!.object), nameOf((await all.next())!.object)], ['two', 'three'])
  assert.deepEqual((await ahead.next())!.object, three, 'what came before the named version is not sent')
})

test('a server without its store says so, answers what may be old, and recovers by itself', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  await create(a, CONFIG_MAPS, configMap('kept'))
  assert.equal((await ask(b, `${CONFIG_MAPS}/kept`)).status, 200)
  const watching = await Watching.open(t, b, `${CONFIG_MAPS}?watch=true&resourceVersion=0`)
  assert.equal(nameOf((await watching.next())!.object), 'kept')
  b.view.cut()
  for (const sent of [{}, { method: 'DELETE' }, { method: 'PUT', body: configMap('kept') }]) {
    const refused = await ask(b, `${CONFIG_MAPS}/kept`, sent)
    assert.deepEqual([refused.status, refused.json.reason], [503, 'ServiceUnavailable'], refused.text)
    assert.match(refused.json.message, /the store cannot be reached/)
  }
  assert.equal((await ask(b, `${CONFIG_MAPS}/kept?resourceVersion=0`)).status, 200)
  assert.equal((await ask(b, `${CONFIG_MAPS}?resourceVersion=0`)).json.items.length, 1)
  await eventually('it is not ready', async () => (await ask(b, '/readyz')).status === 500 || undefined)
  const meanwhile = await create(a, CONFIG_MAPS, configMap('meanwhile'))
  b.view.mend()
  assert.deepEqual((await ask(b, `${CONFIG_MAPS}/meanwhile`)).json, meanwhile)
  assert.deepEqual((await watching.next())!.object, meanwhile, 'the watch has gone on')
  await eventually('it is ready again', async () => (await ask(b, '/readyz')).status === 200 || undefined)
})

test('a server that was disconnected for longer than the history of the store reloads everything', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  const change = (name: string, value: string) =>
    ask(a, `${CONFIG_MAPS}/${name}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { data: { value } },
    })
  for (const name of ['changed', 'deleted', 'kept']) await create(a, CONFIG_MAPS, configMap(name))
  const before = (await ask(b, CONFIG_MAPS)).json
  assert.equal(before.items.length, 3)
  const resumed = `${CONFIG_MAPS}?watch=true&resourceVersion=${before.metadata.resourceVersion}`
  const watching = await Watching.open(t, b, resumed)

  b.view.lose()
  await change('changed', 'while it was away')
  await ask(a, `${CONFIG_MAPS}/deleted`, { method: 'DELETE' })
  await create(a, CONFIG_MAPS, configMap('new'))
  await create(a, '/api/v1/namespaces', { metadata: { name: 'meanwhile' } })
  const { newest } = await a.store.extent()
  await a.store.compact(newest)
  const after = await change('kept', 'after the compaction')
  b.view.mend()

  assert.deepEqual((await ask(b, CONFIG_MAPS)).json, (await ask(a, CONFIG_MAPS)).json)
  assert.equal(await watching.next(), undefined, 'the watch has ended: what it would have to send is lost')
  const again = await Watching.open(t, b, resumed)
  assert.equal((await again.next())!.object.code, 410)
  // The remaining history can be watched, and the caches that decide about requests are up to date.
  const late = await Watching.open(t, b, `${CONFIG_MAPS}?watch=true&resourceVersion=${newest}`)
  assert.deepEqual((await late.next())!.object, after.json)
  await create(b, '/api/v1/namespaces/meanwhile/configmaps', configMap('there'))
})

test('a version that is not there yet is waited for, then refused', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  const { metadata } = await create(a, CONFIG_MAPS, configMap('x'))
  const future = Number(metadata.resourceVersion) + 1_000_000
  const { status, json } = await ask(b, `${CONFIG_MAPS}?resourceVersion=${future}&resourceVersionMatch=NotOlderThan`)
  assert.deepEqual([status, json.reason, json.details.causes[0].reason], [504, 'Timeout', 'ResourceVersionTooLarge'])
})

test('exact versions and pages from before the history of a server are read from the store', patient, async t => {
  const [a] = (await startReplicas(t, 1)) as [Replica]
  const { store } = a
  for (const name of ['a', 'b', 'c', 'd', 'e']) await create(a, CONFIG_MAPS, configMap(name, { value: 'first' }))
  const whole = (await ask(a, CONFIG_MAPS)).json
  const { resourceVersion } = whole.metadata
  const page = (await ask(a, `${CONFIG_MAPS}?limit=2`)).json
  const headers = { 'content-type': 'application/merge-patch+json' }
  await ask(a, `${CONFIG_MAPS}/b`, { method: 'PATCH', headers, body: { data: { value: 'second' } } })
  await ask(a, `${CONFIG_MAPS}/d`, { method: 'DELETE' })
  // More than a server reads of the past when it starts.
  for (let i = 0; i < 10_001; i++) await store.swap(`/keelson/filler/${i}`, { expect: 0, value: new Uint8Array(1) })
  const late = await startReplica(t, store)
  assert.equal((await ask(late, `${CONFIG_MAPS}/b`)).json.data.value, 'second')
  for (const replica of [a, late]) {
    const exact = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`
    assert.deepEqual((await ask(replica, `${CONFIG_MAPS}?${exact}`)).json, whole)
    const first = (await ask(replica, `${CONFIG_MAPS}?${exact}&limit=3`)).json
    const second = (await ask(replica, `${CONFIG_MAPS}?limit=3&continue=${first.metadata.continue}`)).json
    assert.deepEqual([...first.items, ...second.items], whole.items)
    const rest = (await ask(replica, `${CONFIG_MAPS}?continue=${page.metadata.continue}`)).json
    assert.deepEqual([...page.items, ...rest.items], whole.items, 'the pages of one list are of one version')
    assert.equal(rest.metadata.resourceVersion, page.metadata.resourceVersion)
    for (const name of ['b', 'd']) {
      const read = await ask(replica, `${CONFIG_MAPS}/${name}?${exact}`)
      const listed = whole.items.find((item: any) => nameOf(item) === name)
      assert.deepEqual(read.json, { kind: 'ConfigMap', apiVersion: 'v1', ...listed })
    }
  }
  await store.compact((await store.extent()).newest)
  for (const query of [`resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`, `continue=${page.metadata.continue}`]) {
    const { status, json } = await ask(late, `${CONFIG_MAPS}?${query}`)
    assert.deepEqual([status, json.reason], [410, 'Expired'], 'the store has forgotten it, too')
  }
})

test('the revision of a server never goes backwards, however far behind it falls', patient, async t => {
  const [a, b] = (await startReplicas(t, 2)) as [Replica, Replica]
  const path = `${CONFIG_MAPS}/counter`
  const { metadata } = await create(a, CONFIG_MAPS, configMap('counter', { value: '0' }))
  const watching = await Watching.open(t, b, `${CONFIG_MAPS}?watch=true&resourceVersion=${metadata.resourceVersion}`)
  const WRITES = 60
  let acknowledged = 0
  const write = async () => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    for (let value = 1; value <= WRITES; value++) {
      if (value % 10 === 3) b.view.hold()
      const { status, text } = await ask(a, path, { method: 'PATCH', headers, body: { data: { value: `${value}` } } })
      assert.equal(status, 200, text)
      acknowledged = value
      if (value % 10 === 7) b.view.release()
    }
  }
  const countOf = (object: any) => Number(object.data.value)
  /** Reads continuously; results must not be older than earlier ones. */
  const read = async (query: string, least: () => number) => {
    for (let seen = 0; seen < WRITES; ) {
      const wanted = Math.max(seen, least())
      const object = await ask(b, path + query)
      const list = await ask(b, CONFIG_MAPS + query)
      for (const shown of [countOf(object.json), countOf(list.json.items.find((item: any) => nameOf(item) === 'counter'))]) {
        assert.ok(shown >= Math.max(wanted, seen), `${query} showed ${shown} after ${wanted}, ${seen}`)
        seen = shown
      }
    }
  }
  const watch = async () => {
    for (let value = 1; value <= WRITES; value++) assert.equal(countOf((await watching.next())!.object), value)
  }
  await Promise.all([write(), read('?resourceVersion=0', () => 0), read('', () => acknowledged), watch()])
})
