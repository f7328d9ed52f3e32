// Writes from a client's view: evictions, the scale of an object, reviews, and the options of creates.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, freshServer, patient, type Target } from './kit.ts'

const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const PODS = '/api/v1/namespaces/default/pods'
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

const send = (target: Target, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  ask(target, path, { method, headers, ...(body !== undefined && { body }) })
const server = (t: Parameters<typeof freshServer>[0]) => freshServer(t, { controllers: ['none'] })
const template = (labels: object) => ({
  metadata: { labels },
  spec: { automountServiceAccountToken: false, containers: [{ name: 'c', image: 'i' }] },
})

async function runPod(target: Target, name: string, labels: object, status: object = {}): Promise<void> {
  const { metadata, spec } = template(labels)
  const created = await send(target, 'POST', PODS, { metadata: { ...metadata, name }, spec: { ...spec, terminationGracePeriodSeconds: 0 } })
  assert.equal(created.status, 201, created.text)
  const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], ...status }
  assert.equal((await send(target, 'PUT', `${PODS}/${name}/status`, { ...created.json, status: running })).status, 200)
}

async function addBudget(target: Target, name: string, labels: object, { spec = {}, status = {} } = {}): Promise<void> {
  const wanted = { metadata: { name }, spec: { selector: { matchLabels: labels }, minAvailable: 1, ...spec } }
  const { json } = await send(target, 'POST', BUDGETS, wanted)
  const counts = { observedGeneration: 1, disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 }
  assert.equal((await send(target, 'PUT', `${BUDGETS}/${name}/status`, { ...json, status: { ...counts, ...status } })).status, 200)
}

const evict = (target: Target, name: string, { query = '', version = 'v1', ...deleteOptions }: Record<string, any> = {}) =>
  send(target, 'POST', `${PODS}/${name}/eviction${query}`, {
    apiVersion: `policy/${version}`,
    kind: 'Eviction',
    metadata: { name },
    deleteOptions,
  })
const account = { metadata: { name: 'default' } }

test('an eviction is recorded in the budget, and refused when the budget allows no more', patient, async t => {
  const target = await server(t)
  await send(target, 'POST', '/api/v1/namespaces/default/serviceaccounts', account)
  const labels = { app: 'a' }
  for (const name of ['a1', 'a2']) await runPod(target, name, labels)
  await addBudget(target, 'a', labels, { status: { currentHealthy: 1 } })
  const dry = await evict(target, 'a1', { query: '?dryRun=All' })
  assert.deepEqual([dry.status, dry.json.status], [201, 'Success'])
  assert.equal((await send(target, 'GET', `${BUDGETS}/a`)).json.status.disruptionsAllowed, 1)
  assert.equal((await evict(target, 'a1', { version: 'v1beta1' })).status, 201)
  assert.equal((await send(target, 'GET', `${PODS}/a1`)).status, 404)
  const { json: budget } = await send(target, 'GET', `${BUDGETS}/a`)
  assert.deepEqual([budget.status.disruptionsAllowed, Object.keys(budget.status.disruptedPods)], [0, ['a1']])
  assert.deepEqual(
    budget.metadata.managedFields.filter((entry: any) => entry.manager === 'kube-apiserver').map((entry: any) => entry.subresource),
    ['status'],
  )
  const refused = await evict(target, 'a2')
  assert.equal(refused.status, 429)
  assert.deepEqual(
    [refused.json.reason, refused.json.message, refused.json.details.causes],
    [
      'TooManyRequests',
      "Cannot evict pod as it would violate the pod's disruption budget.",
      [{ reason: 'DisruptionBudget', message: 'The disruption budget a needs 1 healthy pods and has 1 currently' }],
    ],
  )
  assert.equal((await send(target, 'GET', `${PODS}/a2`)).status, 200)
})

test('a budget that is not up to date is 429, and two budgets are an error', patient, async t => {
  const target = await server(t)
  await send(target, 'POST', '/api/v1/namespaces/default/serviceaccounts', account)
  const labels = { app: 'b' }
  await runPod(target, 'b', labels)
  await addBudget(target, 'b', labels, { status: { observedGeneration: 0 } })
  const refused = await evict(target, 'b')
  assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '10'])
  assert.equal(refused.json.details.causes[0].message, 'The disruption budget b is still being processed by the server.')
  await addBudget(target, 'b2', labels)
  const two = await evict(target, 'b')
  assert.deepEqual(
    [two.status, two.json.message],
    [500, 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'],
  )
})

test('a pod that is not ready is evicted where its budget allows it, and where enough others are healthy', patient, async t => {
  const target = await server(t)
  await send(target, 'POST', '/api/v1/namespaces/default/serviceaccounts', account)
  const unready = { conditions: [{ type: 'Ready', status: 'False' }] }
  const none = { disruptionsAllowed: 0 }
  for (const [app, policy, counts, status] of [
    ['c', 'AlwaysAllow', { currentHealthy: 0 }, 201],
    ['d', 'IfHealthyBudget', { currentHealthy: 1 }, 201],
    ['e', undefined, { currentHealthy: 0 }, 429],
  ] as const) {
    await runPod(target, app, { app }, unready)
    await addBudget(target, app, { app }, { spec: policy ? { unhealthyPodEvictionPolicy: policy } : {}, status: { ...none, ...counts } })
    const { status: answered } = await evict(target, app)
    assert.equal(answered, status, app)
    assert.equal((await send(target, 'GET', `${BUDGETS}/${app}`)).json.status.disruptedPods, undefined)
  }
})

test('an eviction keeps the preconditions of its deletion', patient, async t => {
  const target = await server(t)
  await send(target, 'POST', '/api/v1/namespaces/default/serviceaccounts', account)
  await runPod(target, 'f', { app: 'f' })
  const { json: pod } = await send(target, 'GET', `${PODS}/f`)
  assert.equal((await evict(target, 'f', { preconditions: { uid: 'other' } })).status, 409)
  assert.equal((await evict(target, 'f', { preconditions: { resourceVersion: '1' } })).status, 409)
  const { uid, resourceVersion } = pod.metadata
  assert.equal((await evict(target, 'f', { preconditions: { uid, resourceVersion } })).status, 201)
})

test('a scale as a table shows its size', patient, async t => {
  const target = await server(t)
  const labels = { app: 'g' }
  const spec = { replicas: 3, selector: { matchLabels: labels }, template: template(labels) }
  await send(target, 'POST', DEPLOYMENTS, { metadata: { name: 'g' }, spec })
  const read = await send(target, 'GET', `${DEPLOYMENTS}/g/scale`, undefined, { accept: TABLE })
  const scaled = await send(
    target,
    'PATCH',
    `${DEPLOYMENTS}/g/scale`,
    { spec: { replicas: 5 } },
    {
      accept: TABLE,
      'content-type': 'application/merge-patch+json',
    },
  )
  for (const { json } of [read, scaled])
    assert.deepEqual(
      json.columnDefinitions.map((column: any) => column.name),
      ['Name', 'Desired', 'Available', 'Age'],
    )
  assert.deepEqual(
    [read.json.rows[0].cells.slice(0, 3), scaled.json.rows[0].cells.slice(0, 3)],
    [
      ['g', 3, 0],
      ['g', 5, 0],
    ],
  )
})

test('reviews and messages to objects are not served as tables', patient, async t => {
  const target = await server(t)
  const review = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } }
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  assert.equal((await send(target, 'POST', path, review, { accept: TABLE })).status, 406)
  assert.equal((await send(target, 'POST', path, review, { accept: `${TABLE}, application/json` })).json.kind, 'SelfSubjectAccessReview')
  assert.equal((await send(target, 'POST', `${PODS}/x/eviction`, {}, { accept: TABLE })).status, 406)
})

test('sets and messages that may be absent have an entry of their own among the owned fields', patient, async t => {
  const target = await server(t)
  const fields = async (path: string, body: object) => {
    const { json } = await send(target, 'POST', path, body)
    return json.metadata.managedFields[0].fieldsV1['f:spec']
  }
  const binding = { metadata: { name: 'b' }, spec: { policyName: 'p', validationActions: ['Deny'] } }
  const actions = (await fields('/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings', binding))['f:validationActions']
  assert.deepEqual(actions, { '.': {}, 'v:"Deny"': {} })
  const parentRef = { resource: 'services', namespace: 'default', name: 'a' }
  const address = await fields('/apis/networking.k8s.io/v1/ipaddresses', { metadata: { name: '10.9.9.9' }, spec: { parentRef } })
  assert.deepEqual(Object.keys(address['f:parentRef']), ['.', 'f:name', 'f:namespace', 'f:resource'])
  const { json } = await send(target, 'GET', '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations/exempt')
  assert.ok(!('.' in json.metadata.managedFields[0].fieldsV1['f:spec']))
  // An empty list that is always written is owned by its sender, and stored as none.
  const ranges = '/api/v1/namespaces/default/limitranges'
  const sent = { metadata: { name: 'none' }, spec: { limits: [] } }
  const { json: none } = await send(target, 'POST', ranges, sent)
  assert.deepEqual([none.spec, none.metadata.managedFields[0].fieldsV1], [{ limits: null }, { 'f:spec': { 'f:limits': {} } }])
  const { json: same } = await send(target, 'PUT', `${ranges}/none`, { ...none, ...sent, metadata: none.metadata })
  assert.equal(same.metadata.resourceVersion, none.metadata.resourceVersion, 'nothing has changed')
})

test('a config map that is too large is reported as a whole', patient, async t => {
  const target = await server(t)
  const { status, json } = await send(target, 'POST', CONFIG_MAPS, { metadata: { name: 'a' }, data: { a: 'x'.repeat(1_050_000) } })
  assert.deepEqual([status, json.message], [422, 'ConfigMap "a" is invalid: []: Too long: may not be more than 1048576 bytes'])
})
