import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Bench, openBench } from '../../../test/kits/registry.ts'
import { Pod } from '../core/pod/pod.ts'
import { PodDisruptionBudget } from './poddisruptionbudget.ts'

let bench: Bench
before(async () => {
  bench = await openBench([Pod, PodDisruptionBudget])
})
after(() => bench.close())

const spec = { containers: [{ name: 'c', image: 'i' }], terminationGracePeriodSeconds: 0 }

async function runPod(name: string, labels: object, status: object = {}): Promise<void> {
  const { body } = await bench.send('POST pods', { metadata: { name, labels }, spec })
  const running = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], ...status }
  await bench.send(`PUT pods/${name}/status`, { ...body, status: running })
}

async function budget(name: string, labels: object, status?: object): Promise<void> {
  const { body } = await bench.send('POST poddisruptionbudgets', {
    metadata: { name },
    spec: { selector: { matchLabels: labels }, minAvailable: 1 },
  })
  const counts = { observedGeneration: 1, disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 }
  if (status) await bench.send(`PUT poddisruptionbudgets/${name}/status`, { ...body, status: { ...counts, ...status } })
}

const evict = (name: string, query = '', deleteOptions?: object) =>
  bench.send(`POST pods/${name}/eviction${query}`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, deleteOptions })

test('a budget is used up by evictions', async () => {
  const app = { app: 'a' }
  await runPod('a1', app)
  await runPod('a2', app)
  await budget('a', app, {})
  assert.equal((await evict('a1')).code, 201)
  const { status } = (await bench.send('GET poddisruptionbudgets/a')).body
  assert.deepEqual(
    [status.disruptionsAllowed, Object.keys(status.disruptedPods), status.conditions[0].reason],
    [0, ['a1'], 'InsufficientPods'],
  )
  const { code, body } = await evict('a2')
  assert.deepEqual(
    [code, body.reason, body.message],
    [429, 'TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget."],
  )
  assert.deepEqual(body.details.causes, [
    { reason: 'DisruptionBudget', message: 'The disruption budget a does not allow evicting pods currently' },
  ])
  assert.equal((await bench.send('GET pods/a2')).code, 200)
})

test('a budget that the controller has not observed yet allows no disruptions', async () => {
  await runPod('b1', { app: 'b' })
  await budget('b', { app: 'b' })
  const { code, body } = await evict('b1')
  assert.deepEqual([code, body.details.retryAfterSeconds], [429, 10])
})

test('pods that have ended or do not run yet, or that no budget selects, go freely', async () => {
  await runPod('b2', { app: 'b' }, { phase: 'Succeeded' })
  await runPod('c1', { app: 'c' })
  for (const name of ['b2', 'c1']) assert.equal((await evict(name)).code, 201, name)
})

test('pods that are not ready go where that is no loss', async () => {
  const notReady = { conditions: [{ type: 'Ready', status: 'False' }] }
  await runPod('d1', { app: 'd' }, notReady)
  await budget('d', { app: 'd' }, { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 })
  assert.equal((await evict('d1')).code, 201)
  await runPod('e1', { app: 'e' }, notReady)
  await budget('e', { app: 'e' }, { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1 })
  const { code, body } = await evict('e1')
  assert.deepEqual([code, body.details.causes[0].message], [429, 'The disruption budget e needs 1 healthy pods and has 0 currently'])
})

test('two budgets for one pod are one too many', async () => {
  await runPod('f1', { app: 'f' })
  await budget('f', { app: 'f' }, {})
  await budget('g', { app: 'f' }, {})
  const { code, body } = await evict('f1')
  assert.deepEqual(
    [code, body.message],
    [500, 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.'],
  )
})

test('a dry run takes nothing', async () => {
  await runPod('h1', { app: 'h' })
  await budget('h', { app: 'h' }, {})
  assert.equal((await evict('h1', '?dryRun=All')).code, 201)
  assert.equal((await evict('h1', '', { dryRun: ['All'] })).code, 201)
  assert.equal((await bench.send('GET poddisruptionbudgets/h')).body.status.disruptionsAllowed, 1)
  assert.equal((await bench.send('GET pods/h1')).code, 200)
})

test('an eviction may have the resourceVersion of the pod as a precondition', async () => {
  await runPod('j1', { app: 'j' })
  const { body } = await bench.send('GET pods/j1')
  assert.equal((await evict('j1', '', { preconditions: { resourceVersion: '1' } })).code, 409)
  assert.equal((await bench.send('GET pods/j1')).body.metadata.resourceVersion, body.metadata.resourceVersion)
  assert.equal((await evict('j1', '', { preconditions: { resourceVersion: body.metadata.resourceVersion } })).code, 201)
  assert.equal((await bench.send('GET pods/j1')).code, 404)
})

test('of two evictions at once one gets the last disruption', async () => {
  for (const name of ['i1', 'i2', 'i3']) await runPod(name, { app: 'i' })
  await budget('i', { app: 'i' }, {})
  const codes = await Promise.all(['i1', 'i2', 'i3'].map(async name => (await evict(name)).code))
  assert.deepEqual(codes.sort(), [201, 429, 429])
})

test('an eviction may be of the version that it had first', async () => {
  const send = (apiVersion: string, name: string) =>
    bench.send(`POST pods/${name}/eviction?fieldValidation=Strict`, { apiVersion, kind: 'Eviction', metadata: { name } })
  for (const apiVersion of ['policy/v1beta1', 'policy/v1', '']) {
    await runPod('k1', { app: 'k' })
    assert.equal((await send(apiVersion, 'k1')).code, 201, apiVersion)
    assert.equal((await bench.send('GET pods/k1')).code, 404)
  }
  const { code, body } = await send('policy/v2', 'k1')
  assert.deepEqual(
    [code, body.message],
    [
      400,
      'Eviction in version "v2" cannot be handled as a Eviction: no kind "Eviction" is registered for version "policy/v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
    ],
  )
  assert.equal((await send('policy/v1beta1', 'nobody')).code, 404)
})
