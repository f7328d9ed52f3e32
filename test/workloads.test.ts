// Workloads on a simulated node, by a real server and a real kubectl; and servers that are killed in the middle of a rollout.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ask, eventually, PATIENCE_MS, run, type Scope, serveHere, startProcess, type Target } from './kit.ts'
import { testWith } from './programs.ts'

const patient = { timeout: 2 * PATIENCE_MS }
const APPS = '/apis/apps/v1/namespaces/default'
const PODS = '/api/v1/namespaces/default/pods'

async function open(t: Scope, program: string, nodes = 1) {
  const server = await serveHere(t, { flags: [`--nodes=${nodes}`] })
  const kubectl = async (...args: string[]) => {
    const result = await run(program, ['--kubeconfig', server.kubeconfig, '--cache-dir', join(server.dataDir, 'cache'), ...args])
    assert.equal(result.code, 0, `kubectl ${args.join(' ')}: ${result.stdout}${result.stderr}`)
    return result.stdout
  }
  return { server, kubectl }
}
const read = async (server: Target, path: string) => (await ask(server, path)).json
const images = async (server: Target) => {
  const { items } = await read(server, PODS)
  return [...new Set(items.filter((pod: any) => !pod.metadata.deletionTimestamp).map((pod: any) => pod.spec.containers[0].image))]
}

testWith('kubectl', 'a deployment is created, updated, undone, paused, resumed, restarted and scaled', patient, async (t, program) => {
  const { server, kubectl } = await open(t, program)
  const done = () => kubectl('rollout', 'status', 'deployment/web', '--timeout=60s')
  await kubectl('create', 'deployment', 'web', '--image=app:1', '--replicas=3')
  assert.match(await done(), /successfully rolled out/)
  await kubectl('wait', '--for=condition=Available', 'deployment/web', '--timeout=60s')
  await kubectl('annotate', 'deployment/web', 'kubernetes.io/change-cause=first')
  await kubectl('set', 'image', 'deployment/web', 'app=app:2')
  await kubectl('annotate', '--overwrite', 'deployment/web', 'kubernetes.io/change-cause=second')
  await done()
  assert.deepEqual(await images(server), ['app:2'])
  assert.match(await kubectl('rollout', 'history', 'deployment/web'), /^1 +first\n2 +second$/m)
  assert.match(await kubectl('rollout', 'history', 'deployment/web', '--revision=1'), /Image:\s+app:1/)
  await kubectl('rollout', 'undo', 'deployment/web')
  await done()
  assert.deepEqual(await images(server), ['app:1'])
  assert.match(await kubectl('rollout', 'history', 'deployment/web'), /^2 +second\n3 +first$/m)
  await kubectl('rollout', 'pause', 'deployment/web')
  await kubectl('set', 'image', 'deployment/web', 'app=app:3')
  await kubectl('scale', 'deployment/web', '--replicas=4')
  await eventually('the fourth pod', async () =>
    (await read(server, `${APPS}/deployments/web`)).status.readyReplicas === 4 ? true : undefined,
  )
  assert.deepEqual(await images(server), ['app:1'])
  await kubectl('rollout', 'resume', 'deployment/web')
  await done()
  assert.deepEqual(await images(server), ['app:3'])
  await kubectl('rollout', 'restart', 'deployment/web')
  await done()
  await kubectl('rollout', 'undo', 'deployment/web', '--to-revision=2')
  await done()
  assert.deepEqual(await images(server), ['app:2'])
  await kubectl('delete', 'deployment', 'web', '--cascade=foreground', '--timeout=60s')
  assert.deepEqual((await read(server, `${APPS}/replicasets`)).items, [])
})

testWith('kubectl', 'a node is drained within the disruption budget, and comes back', patient, async (t, program) => {
  const { server, kubectl } = await open(t, program, 2)
  await kubectl('create', 'deployment', 'web', '--image=app:1', '--replicas=4')
  await kubectl('rollout', 'status', 'deployment/web', '--timeout=60s')
  // The oldest kubectl that is tested would ask for a version that is gone.
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: 'web' },
    spec: { minAvailable: 3, selector: { matchLabels: { app: 'web' } } },
  }
  assert.equal((await ask(server, '/apis/policy/v1/namespaces/default/poddisruptionbudgets', { method: 'POST', body: budget })).status, 201)
  await kubectl('autoscale', 'deployment', 'web', '--min=4', '--max=8', '--cpu-percent=80')
  const nodesOf = async () => {
    const { items } = await read(server, PODS)
    return items.filter(({ metadata }: any) => !metadata.deletionTimestamp).map(({ spec }: any) => spec.nodeName)
  }
  assert.equal(new Set(await nodesOf()).size, 2)
  await kubectl('drain', 'simulated-1', '--timeout=90s')
  await kubectl('rollout', 'status', 'deployment/web', '--timeout=60s')
  assert.deepEqual([...new Set(await nodesOf())], ['simulated-2'])
  await kubectl('uncordon', 'simulated-1')
  await kubectl('rollout', 'restart', 'deployment/web')
  await kubectl('rollout', 'status', 'deployment/web', '--timeout=60s')
  assert.equal(new Set(await nodesOf()).size, 2)
})

testWith('kubectl', 'a stateful set is updated in order, undone and scaled', patient, async (t, program) => {
  const { server, kubectl } = await open(t, program)
  const labels = { app: 'db' }
  const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'db:1' }] } }
  const spec = { serviceName: 'db', replicas: 2, selector: { matchLabels: labels }, template }
  assert.equal((await ask(server, `${APPS}/statefulsets`, { method: 'POST', body: { metadata: { name: 'db' }, spec } })).status, 201)
  const done = () => kubectl('rollout', 'status', 'statefulset/db', '--timeout=60s')
  await done()
  await kubectl('set', 'image', 'statefulset/db', 'c=db:2')
  await done()
  assert.deepEqual(await images(server), ['db:2'])
  assert.match(await kubectl('rollout', 'history', 'statefulset/db'), /^1 .*\n2 /m)
  await kubectl('rollout', 'undo', 'statefulset/db')
  await done()
  assert.deepEqual(await images(server), ['db:1'])
  await kubectl('scale', 'statefulset/db', '--replicas=3')
  await done()
  assert.match(await kubectl('get', 'pods', '-o', 'name'), /^pod\/db-0\npod\/db-1\npod\/db-2$/m)
})

test('after kill -9 in the middle of rollouts everything converges, and nothing is there twice', patient, async t => {
  const REPLICAS = 20
  let server = await startProcess(t, { flags: ['--nodes=1'] })
  const workload = (name: string, image: string) => {
    const labels = { app: name }
    const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image }] } }
    return { metadata: { name }, spec: { replicas: REPLICAS, selector: { matchLabels: labels }, template } }
  }
  const begin = async (kind: string, object: object) =>
    assert.equal((await ask(server, `${APPS}/${kind}`, { method: 'POST', body: object })).status, 201)
  await begin('deployments', workload('web', 'a:1'))
  const db = workload('db', 'a:1')
  await begin('statefulsets', { ...db, spec: { ...db.spec, serviceName: 'db', podManagementPolicy: 'Parallel' } })
  const pods = async () => (await read(server, PODS)).items as any[]
  const killed = async () => {
    await server.stop('SIGKILL')
    server = await startProcess(t, { dataDir: server.dataDir, flags: ['--nodes=1'] })
  }
  // Pods of both, as a workload that has not begun has no revision of its first template.
  await eventually('the first pods', async () => {
    const names: string[] = (await pods()).map(({ metadata }) => metadata.name)
    return ['web-', 'db-'].every(prefix => names.filter(name => name.startsWith(prefix)).length > 1) ? true : undefined
  })
  await killed()
  const change = { spec: { template: { spec: { containers: [{ name: 'c', image: 'a:2' }] } } } }
  const headers = { 'content-type': 'application/strategic-merge-patch+json' }
  for (const path of ['deployments/web', 'statefulsets/db'])
    assert.equal((await ask(server, `${APPS}/${path}`, { method: 'PATCH', body: change, headers })).status, 200)
  await eventually('the first new pods', async () =>
    (await pods()).some(({ spec }) => spec.containers[0].image === 'a:2') ? true : undefined,
  )
  await killed()
  for (const path of ['deployments/web', 'statefulsets/db'])
    await eventually(`${path} is rolled out`, async () => {
      const { metadata, status } = await read(server, `${APPS}/${path}`)
      const counts = [status.replicas, status.updatedReplicas, status.availableReplicas]
      return status.observedGeneration === metadata.generation && counts.every(count => count === REPLICAS) ? true : undefined
    })
  await eventually('the end of old pods', async () => ((await pods()).length === 2 * REPLICAS ? true : undefined))
  const left = await pods()
  assert.ok(left.every(({ spec }) => spec.containers[0].image === 'a:2'))
  assert.ok(left.every(({ metadata }) => metadata.ownerReferences.length === 1))
  const sets = (await read(server, `${APPS}/replicasets`)).items
  assert.equal(sets.length, 2)
  assert.deepEqual(
    sets.map(({ spec }: any) => spec.replicas).sort((a: number, b: number) => a - b),
    [0, REPLICAS],
  )
  assert.equal((await read(server, `${APPS}/controllerrevisions`)).items.length, 2)
})
