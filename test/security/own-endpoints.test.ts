// Endpoints beside objects, and access that outlives a permission: the server's own paths, explanations, pages, history and watches.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anonymous, ask, freshServer, patient, targetOf, Watching } from '../kit.ts'
import { type Attack, NS, runAttacks, startArena, tokenOf } from '../kits/attacks.ts'

const FAULTS = '/keelson/faults'
const CONFIG_MAPS = `/api/v1/namespaces/${NS}/configmaps`
const explained = { 'keelson-explain': 'admission' }
const map = (name: string) => [CONFIG_MAPS, { metadata: { name } }] as const

const ROWS: readonly Attack[] = [
  { name: 'the users behind writes', send: 'GET /keelson/writes?revisions=1,2,3', answer: 403 },
  {
    name: 'the users behind writes, with the rights on all objects',
    mayAnywhere: ['* *'],
    send: 'GET /keelson/writes?revisions=1',
    answer: 403,
  },
  {
    name: 'a write to that path with the right to read it',
    mayAnywhere: ['get /keelson/writes'],
    send: 'POST /keelson/writes',
    body: {},
    answer: 403,
  },
  { name: 'faults are read', send: `GET ${FAULTS}`, answer: 403 },
  {
    name: 'a fault is added with the right to read them',
    mayAnywhere: [`get ${FAULTS}`],
    send: `POST ${FAULTS}`,
    body: { status: 500 },
    answer: 403,
  },
  { name: 'faults are removed with the right to read them', mayAnywhere: [`get ${FAULTS}`], send: `DELETE ${FAULTS}`, answer: 403 },
  {
    name: 'faults by another path',
    mayAnywhere: ['* /keelson/writes'],
    send: `POST /keelson/writes/../faults`,
    body: { status: 500 },
    answer: [403, 404],
  },
  { name: 'the requests of everybody', send: 'GET /keelson/v1/requests', answer: 403 },
  {
    name: 'the requests of everybody, with the rights on all objects',
    mayAnywhere: ['* *'],
    send: 'GET /keelson/v1/requests',
    answer: 403,
  },
  {
    name: 'the bodies of requests, with the right to see requests and the rights on all objects',
    mayAnywhere: ['* *', 'get /keelson/v1/requests'],
    send: 'GET /keelson/v1/requests/bodies',
    answer: 403,
  },
  { name: 'the watches of everybody', send: 'GET /keelson/v1/watches', answer: 403 },
  { name: 'the watches of everybody, with the rights on all objects', mayAnywhere: ['* *'], send: 'GET /keelson/v1/watches', answer: 403 },
  { name: 'who may read secrets', send: 'GET /keelson/v1/access?verb=get&resource=secrets', answer: 403 },
  {
    name: 'who may read secrets, with the rights on all objects',
    mayAnywhere: ['* *'],
    send: 'GET /keelson/v1/access?verb=get&resource=secrets',
    answer: 403,
  },
  { name: 'a snapshot of everything', send: 'GET /keelson/v1/store/snapshot', answer: 403 },
  {
    name: 'a snapshot of everything, with the rights on all objects',
    mayAnywhere: ['* *'],
    send: 'GET /keelson/v1/store/snapshot',
    answer: 403,
  },
  {
    name: 'a snapshot with the right to something below it',
    mayAnywhere: ['get /keelson/v1/store/snapshot/*'],
    send: 'GET /keelson/v1/store/snapshot',
    answer: 403,
  },
  { name: 'the report of the doctor', mayAnywhere: ['* *', 'get /keelson/v1/store/*'], send: 'GET /keelson/v1/doctor', answer: 403 },
  { name: 'metrics', send: 'GET /metrics', answer: 403 },
  { name: 'metrics of health', send: 'GET /metrics/slis', answer: 403 },
  { name: 'profiles', mayAnywhere: ['get /debug/*'], send: 'GET /debug/pprof/heap', answer: 404 },
  { name: 'a log file', mayAnywhere: ['get /logs/*'], send: 'GET /logs/../../etc/passwd', answer: [403, 404], hides: /root:/ },
  {
    name: 'an explanation without the right to it',
    may: ['create configmaps'],
    send: `POST ${CONFIG_MAPS}`,
    body: { metadata: { name: 'x' } },
    headers: explained,
    answer: 201,
  },
]

test('the paths of the server itself have rights of their own', patient, async t => {
  const arena = await startArena(t, ROWS, { enableFaultInjection: true })
  await runAttacks(t, arena, ROWS)
  assert.deepEqual((await arena.admin({ send: `GET ${FAULTS}` })).json.faults ?? [], [], 'nobody has added a fault')
})

test('anonymous clients learn nothing but health and version', patient, async t => {
  const arena = await startArena(t, [], { enableFaultInjection: true })
  const paths = [
    '/',
    '/api',
    '/apis',
    '/api/v1',
    '/openapi/v2',
    '/openapi/v3',
    '/metrics',
    FAULTS,
    '/keelson/writes',
    '/keelson/v1/store/snapshot',
    '/keelson/v1/doctor',
    '/openid/v1/jwks',
    '/.well-known/openid-configuration',
  ]
  for (const path of paths) await t.test(path, async () => assert.equal((await ask(arena, path, anonymous)).status, 403))
})

test('an explanation is for those who may see it, and impersonation does not lend that right', patient, async t => {
  const rows: readonly Attack[] = [
    { name: 'user', may: ['create configmaps'], send: '', answer: 0 },
    { name: 'impersonator', may: ['create configmaps'], mayAnywhere: ['impersonate users explainer'], send: '', answer: 0 },
    { name: 'explainer', user: 'explainer', may: ['create configmaps'], mayAnywhere: ['get /explain/admission'], send: '', answer: 0 },
  ]
  const arena = await startArena(t, rows)
  const bind = (name: string, path: string, body: object) =>
    arena.admin({ send: `POST /apis/rbac.authorization.k8s.io/v1/${path}`, body: { metadata: { name }, ...body } })
  await bind('maps', 'clusterroles', { rules: [{ verbs: ['create'], apiGroups: [''], resources: ['configmaps'] }] })
  await bind('maps', 'clusterrolebindings', {
    roleRef: { kind: 'ClusterRole', name: 'maps' },
    subjects: [{ kind: 'Group', name: 'system:authenticated' }],
  })
  await bind('explain', 'clusterroles', {
    rules: [
      { verbs: ['get'], nonResourceURLs: ['/explain/admission'] },
      { verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['plain'] },
    ],
  })
  await bind('explain', 'clusterrolebindings', {
    roleRef: { kind: 'ClusterRole', name: 'explain' },
    subjects: [{ kind: 'User', name: 'explainer' }],
  })
  await bind('act', 'clusterroles', {
    rules: [{ verbs: ['impersonate'], apiGroups: [''], resources: ['users'], resourceNames: ['explainer'] }],
  })
  await bind('act', 'clusterrolebindings', {
    roleRef: { kind: 'ClusterRole', name: 'act' },
    subjects: [{ kind: 'User', name: 'mallory-1' }],
  })
  const explanation = async (row: number, more: Record<string, string> = {}) => {
    const sending = {
      send: 'POST /api/v1/namespaces/default/configmaps?dryRun=All',
      body: { metadata: { name: 'c' } },
      headers: { ...explained, ...more },
    }
    const { status, headers, text } = await arena.as(tokenOf(row), sending)
    assert.equal(status, 201, text)
    return String(headers['keelson-explain'])
  }
  assert.match(await explanation(0), /cannot get path/)
  assert.match(await explanation(1, { 'impersonate-user': 'explainer' }), /cannot get path/)
  assert.doesNotMatch(await explanation(2), /cannot get path/)
})

test('a token of a page is for the list that it belongs to', patient, async t => {
  const rows: readonly Attack[] = [{ name: 'reader', may: ['list configmaps,secrets'], send: '', answer: 0 }]
  const arena = await startArena(t, rows)
  await runAttacks(t, arena, [{ ...rows[0]!, given: [map('a'), map('b'), map('c')], send: `GET ${CONFIG_MAPS}?limit=1`, answer: 200 }])
  const make = (path: string, name: string) => arena.admin({ send: `POST ${path}`, body: { metadata: { name } } })
  for (const name of ['x', 'y', 'z'])
    for (const plural of ['configmaps', 'secrets']) await make(`/api/v1/namespaces/default/${plural}`, name)
  const tokenFrom = async (path: string) => (await arena.admin({ send: `GET ${path}?limit=1` })).json.metadata.continue
  const own = '/api/v1/namespaces/row-0/configmaps'
  for (const foreign of [
    '/api/v1/configmaps',
    '/api/v1/namespaces/default/configmaps',
    '/api/v1/namespaces/default/secrets',
    '/api/v1/secrets',
  ])
    await t.test(`a token of ${foreign}`, async () => {
      const { status, text } = await arena.as(tokenOf(0), {
        send: `GET ${own}?limit=9&continue=${encodeURIComponent(await tokenFrom(foreign))}`,
      })
      assert.equal(status, 400, text)
    })
  await t.test('a token that is changed', async () => {
    const token: string = await tokenFrom(own)
    const bytes = Buffer.from(token, 'base64url')
    for (const at of [0, 15, 16, bytes.length - 2]) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      const { status } = await arena.as(tokenOf(0), { send: `GET ${own}?limit=9&continue=${changed.toString('base64url')}` })
      assert.equal(status, 400, `byte ${at}`)
    }
  })
})

test(
  'a right that is taken away counts at once, for history too; open watches go on until they end, as in Kubernetes',
  patient,
  async t => {
    const server = await freshServer(t)
    const reader = targetOf(server.kubeconfigFor('reader'))
    const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
    const own = '/api/v1/namespaces/default/configmaps'
    const make = async (path: string, body: object) => assert.equal((await ask(server, path, { method: 'POST', body })).status, 201)
    const rules = [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['configmaps'] }]
    await make(`${RBAC}/roles`, { metadata: { name: 'reads' }, rules })
    const subjects = [{ kind: 'User', name: 'reader' }]
    await make(`${RBAC}/rolebindings`, { metadata: { name: 'reads' }, roleRef: { kind: 'Role', name: 'reads' }, subjects })
    await make(own, { metadata: { name: 'a' } })
    const { resourceVersion } = (await ask(reader, own)).json.metadata
    const watching = await Watching.open(t, reader, `${own}?watch=1`)
    await watching.until(({ object }) => object.metadata.name === 'a')
    await ask(server, `${RBAC}/rolebindings/reads`, { method: 'DELETE' })
    const exact = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`
    for (const path of [own, `${own}/a`, `${own}?watch=1`, `${own}?${exact}`, `${own}/a?${exact}`])
      assert.equal((await ask(reader, path)).status, 403, path)
    await make(own, { metadata: { name: 'later' } })
    await watching.until(({ object }) => object.metadata.name === 'later')
  },
)
