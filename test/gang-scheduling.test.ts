// Pods of a pod group get nodes together or not at all, by a real server over HTTPS with the rights of kube-scheduler.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { StartOptions } from '../src/index.ts'
import { ask, eventually, freshServer, patient, type Scope, type Target } from './kit.ts'
import { addNode, create } from './kits/ready-nodes.ts'

const PODS = '/api/v1/namespaces/default/pods'
const GROUPS = '/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups'
const MERGE = { 'content-type': 'application/merge-patch+json' }

const ALL = ',TopologyAwareWorkloadScheduling=true,CompositePodGroup=true,WorkloadWithJob=true'

const open = (t: Scope, more = '', options: StartOptions = {}) =>
  freshServer(t, {
    store: 'memory',
    port: 0,
    nodes: 0,
    ...options,
    controllers: ['*', 'scheduler'],
    featureGates: `GenericWorkload=true${more}`,
    runtimeConfig: 'scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true',
  })

const addGroup = (server: Target, name: string, { minCount = 0, ...spec }: any = {}) =>
  create(server, GROUPS, {
    apiVersion: 'scheduling.k8s.io/v1beta1',
    kind: 'PodGroup',
    metadata: { name },
    spec: { schedulingPolicy: minCount ? { gang: { minCount } } : { basic: {} }, ...spec },
  })

const addPod = (server: Target, name: string, { cpu = '1', group = '', ...spec }: any = {}) =>
  create(server, PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'example/image', resources: { requests: { cpu } } }],
      ...(group && { schedulingGroup: { podGroupName: group } }),
      ...spec,
    },
  })

const remove = async (server: Target, name: string) =>
  assert.equal((await ask(server, `${PODS}/${name}`, { method: 'DELETE' })).status, 200)
const podOf = async (server: Target, name: string) => (await ask(server, `${PODS}/${name}`)).json
const placed = (server: Target, name: string) =>
  eventually(`a node for ${name}`, async () => (await podOf(server, name)).spec.nodeName || undefined)

/** How many pods of a group have a node. */
async function placedOf(server: Target, group: string): Promise<number> {
  const { json } = await ask(server, PODS)
  return json.items.filter(({ spec }: any) => spec.schedulingGroup?.podGroupName === group && spec.nodeName).length
}

const podCondition = async (server: Target, name: string) =>
  (await podOf(server, name)).status.conditions?.find(({ type }: any) => type === 'PodScheduled')

const groupCondition = async (server: Target, name: string) =>
  (await ask(server, `${GROUPS}/${name}`)).json.status?.conditions?.find(({ type }: any) => type === 'PodGroupInitiallyScheduled')

const reported = (server: Target, name: string, message: RegExp) =>
  eventually(`a condition of ${name}`, async () => {
    const condition = await groupCondition(server, name)
    return message.test(condition?.message ?? '') ? condition : undefined
  })

/** The value of a metric; undefined when it is not there. */
async function counted(server: Target, sample: string): Promise<number | undefined> {
  const line = (await ask(server, '/metrics')).text.split('\n').find(each => each.startsWith(`${sample} `))
  return line === undefined ? undefined : Number(line.slice(sample.length))
}

const priorityClass = (server: Target, name: string, value: number) =>
  create(server, '/apis/scheduling.k8s.io/v1/priorityclasses', {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    value,
  })

test('a gang waits for its group and for all its pods', patient, async t => {
  const server = await open(t)
  await addNode(server, 'node-1', { cpu: '4' })
  for (const name of ['a', 'b']) await addPod(server, name, { group: 'gang' })
  // A pod that comes after them and has its node was tried after them.
  await addPod(server, 'single')
  await placed(server, 'single')
  assert.equal(await placedOf(server, 'gang'), 0)
  assert.equal(await counted(server, 'scheduler_pending_pods{queue="incomplete"}'), 2)
  const { metadata } = await addGroup(server, 'gang', { minCount: 3 })
  await addPod(server, 'single-2')
  await placed(server, 'single-2')
  assert.equal(await placedOf(server, 'gang'), 0)
  assert.equal(await groupCondition(server, 'gang'), undefined)
  await remove(server, 'single')
  await remove(server, 'single-2')
  await addPod(server, 'c', { group: 'gang' })
  for (const name of ['a', 'b', 'c']) assert.equal(await placed(server, name), 'node-1')
  const condition = await eventually('the condition', () => groupCondition(server, 'gang'))
  const { status, reason, message, observedGeneration } = condition
  assert.deepEqual([status, reason, message, observedGeneration], ['True', 'Scheduled', '', metadata.generation])
})

test('no pod of a gang is bound while only some fit; all are when room appears', patient, async t => {
  const server = await open(t)
  await addNode(server, 'node-1', { cpu: '2' })
  await addGroup(server, 'gang', { minCount: 3 })
  for (const name of ['a', 'b', 'c']) await addPod(server, name, { group: 'gang' })
  const condition = await reported(server, 'gang', /./)
  assert.deepEqual([condition.status, condition.reason], ['False', 'Unschedulable'])
  const why = 'minCount (3) cannot be satisfied: 2 scheduled, 0 remaining'
  const rest = 'pod group preemption: No preemption victims found for incoming preemptor'
  assert.equal(condition.message, `${why}, ${rest}`)
  const messages = await eventually('a reason for each pod', async () => {
    const conditions = await Promise.all(['a', 'b', 'c'].map(name => podCondition(server, name)))
    return conditions.every(Boolean) ? conditions.map(each => each.message).sort() : undefined
  })
  const text = `pod group is unschedulable, ${why}, ${rest}`
  assert.deepEqual(messages, ['0/1 nodes are available: 1 Insufficient cpu.', text, text])
  const events = await eventually('events', async () => {
    const { json } = await ask(server, '/apis/events.k8s.io/v1/namespaces/default/events')
    const failed = json.items.filter(({ reason }: any) => reason === 'FailedScheduling')
    return new Set(failed.map(({ regarding }: any) => regarding.name)).size === 3 ? failed : undefined
  })
  assert.deepEqual([...new Set(events.map(({ note }: any) => note))].sort(), ['0/1 nodes are available: 1 Insufficient cpu.', text])
  assert.equal(await placedOf(server, 'gang'), 0)
  // The room that the gang does not use is free for others.
  await addPod(server, 'single')
  assert.equal(await placed(server, 'single'), 'node-1')
  await addNode(server, 'node-2')
  for (const name of ['a', 'b', 'c']) await placed(server, name)
  const scheduled = await eventually('success', async () => {
    const now = await groupCondition(server, 'gang')
    return now.status === 'True' ? now : undefined
  })
  assert.equal(scheduled.reason, 'Scheduled')
})

test('of two gangs that compete for the same room one is placed as a whole and the other not at all', patient, async t => {
  const server = await open(t)
  await addNode(server, 'node-1', { cpu: '2' })
  await addNode(server, 'node-2', { cpu: '1' })
  for (const gang of ['red', 'blue']) await addGroup(server, gang, { minCount: 2 })
  for (const i of [1, 2]) for (const gang of ['red', 'blue']) await addPod(server, `${gang}-${i}`, { group: gang })
  const counts = await eventually('both gangs tried', async () => {
    const conditions = await Promise.all(['red', 'blue'].map(gang => groupCondition(server, gang)))
    const counted = await Promise.all(['red', 'blue'].map(gang => placedOf(server, gang)))
    return conditions.every(Boolean) && counted.includes(2) ? counted : undefined
  })
  assert.deepEqual([...counts].sort(), [0, 2])
  const [winner, loser] = counts[0] === 2 ? ['red', 'blue'] : ['blue', 'red']
  assert.equal((await groupCondition(server, loser!)).status, 'False')
  for (const i of [1, 2]) await remove(server, `${winner}-${i}`)
  for (const i of [1, 2]) await placed(server, `${loser}-${i}`)
})

test('a gang that has lost a pod waits again, and is placed with another one; its condition stays true', patient, async t => {
  const server = await open(t)
  await addGroup(server, 'gang', { minCount: 2 })
  await addPod(server, 'a', { group: 'gang' })
  await addPod(server, 'b', { group: 'gang' })
  await reported(server, 'gang', /./)
  await remove(server, 'b')
  await addNode(server, 'node-1', { cpu: '2' })
  await addPod(server, 'single', { cpu: '10m' })
  await placed(server, 'single')
  assert.equal(await placedOf(server, 'gang'), 0)
  await addPod(server, 'c', { group: 'gang', cpu: '500m' })
  for (const name of ['a', 'c']) await placed(server, name)
  await eventually('success', async () => ((await groupCondition(server, 'gang')).status === 'True' ? true : undefined))
  // One that comes later and does not fit changes nothing about the group.
  await addPod(server, 'late', { group: 'gang', cpu: '4' })
  const { message } = await eventually('a reason', () => podCondition(server, 'late'))
  assert.equal(message, '0/1 nodes are available: 1 Insufficient cpu.')
  assert.equal((await groupCondition(server, 'gang')).status, 'True')
})

test('the pods of a basic group are placed as far as they fit', patient, async t => {
  const server = await open(t)
  await addNode(server, 'node-1', { cpu: '2' })
  await addGroup(server, 'basic')
  for (const name of ['a', 'b', 'c']) await addPod(server, name, { group: 'basic' })
  await eventually('two pods with a node', async () => ((await placedOf(server, 'basic')) === 2 ? true : undefined))
  assert.equal((await eventually('the condition', () => groupCondition(server, 'basic'))).status, 'True')
  await addNode(server, 'node-2')
  await eventually('the third', async () => ((await placedOf(server, 'basic')) === 3 ? true : undefined))
})

test('pods of a group must agree with it in priority', patient, async t => {
  const server = await open(t)
  await addNode(server, 'node-1')
  await priorityClass(server, 'important', 1000)
  await addGroup(server, 'gang', { minCount: 1 })
  await addPod(server, 'a', { group: 'gang', priorityClassName: 'important' })
  const condition = await reported(server, 'gang', /./)
  const message = "all pods in a single pod group should have the same priority as the pod group's priority, got 1000 and 0"
  assert.deepEqual([condition.status, condition.reason, condition.message], ['False', 'SchedulerError', message])
  assert.equal((await eventually('a reason', () => podCondition(server, 'a'))).reason, 'SchedulerError')
})

test('a gang takes the place of less important pods, and a group that is disrupted as a whole loses all its pods', patient, async t => {
  const server = await open(t)
  await priorityClass(server, 'important', 1000)
  for (const name of ['node-1', 'node-2']) await addNode(server, name, { cpu: '2' })
  await addGroup(server, 'lesser', { minCount: 2, disruptionMode: { all: {} } })
  for (const name of ['l1', 'l2']) await addPod(server, name, { group: 'lesser', cpu: '1500m' })
  for (const name of ['l1', 'l2']) await placed(server, name)
  await addPod(server, 'small', { cpu: '100m' })
  await placed(server, 'small')
  const { metadata } = await addGroup(server, 'gang', { minCount: 2, priorityClassName: 'important' })
  for (const name of ['a', 'b']) await addPod(server, name, { group: 'gang', priorityClassName: 'important' })
  for (const name of ['a', 'b']) await placed(server, name)
  for (const name of ['l1', 'l2']) assert.equal((await ask(server, `${PODS}/${name}`)).status, 404)
  assert.ok((await podOf(server, 'small')).spec.nodeName)
  const preempted = await eventually('events', async () => {
    const { json } = await ask(server, '/apis/events.k8s.io/v1/namespaces/default/events')
    const found = json.items.filter(({ reason }: any) => reason === 'Preempted')
    return found.length === 2 ? found : undefined
  })
  assert.deepEqual(new Set(preempted.map(({ note }: any) => note)), new Set([`Preempted by podgroup ${metadata.uid} on node cluster`]))
  assert.deepEqual(new Set(preempted.map(({ related }: any) => related.name)), new Set(['gang']))
  const by = (result: string) => `scheduler_podgroup_schedule_attempts_total{result="${result}",profile="default-scheduler"}`
  assert.ok((await counted(server, by('waiting_on_preemption')))! > 0)
  assert.ok((await counted(server, by('scheduled')))! > 0)
  assert.equal(await counted(server, 'scheduler_workload_preemption_victims_sum'), 2)
  assert.equal(await counted(server, 'scheduler_preemption_workload_disruptions_sum{preemptor="podgroup"}'), 1)
  assert.ok((await counted(server, 'scheduler_preemption_execution_duration_seconds_count{preemptor="podgroup",result="success"}'))! > 0)
})

test('a gang with a topology constraint is placed in one domain', patient, async t => {
  const server = await open(t, ALL)
  for (const [name, rack, cpu] of [
    ['a1', 'a', '1'],
    ['a2', 'a', '1'],
    ['b1', 'b', '1'],
    ['c1', 'c', '3'],
  ] as const)
    await addNode(server, name, { cpu, labels: { rack } })
  const constrained = { schedulingConstraints: { topology: [{ key: 'rack' }] } }
  await addGroup(server, 'gang', { minCount: 3, ...constrained })
  for (const name of ['a', 'b', 'c']) await addPod(server, name, { group: 'gang' })
  for (const name of ['a', 'b', 'c']) assert.equal(await placed(server, name), 'c1')
  await addGroup(server, 'large', { minCount: 3, ...constrained })
  for (const name of ['d', 'e', 'f']) await addPod(server, name, { group: 'large' })
  const { message } = await reported(server, 'large', /./)
  assert.match(message, /^pod group is unschedulable, 0\/3 placements are available, first placement status: minCount \(3\) cannot be/)
  assert.equal(await placedOf(server, 'large'), 0)
})

test('the groups of a composite group are placed together', patient, async t => {
  const server = await open(t, ALL)
  await addNode(server, 'node-1', { cpu: '3' })
  const ref = (templateName: string) => ({ workloadRef: { workloadName: 'work', templateName } })
  const composites = '/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups'
  const top = { apiVersion: 'scheduling.k8s.io/v1alpha3', kind: 'CompositePodGroup', metadata: { name: 'top' } }
  for (const name of ['g1', 'g2']) await addGroup(server, name, { minCount: 2, parentCompositePodGroupName: 'top', ...ref(name) })
  for (const name of ['g1', 'g2']) for (const i of [1, 2]) await addPod(server, `${name}-${i}`, { group: name })
  await addPod(server, 'single', { cpu: '10m' })
  await placed(server, 'single')
  assert.equal((await placedOf(server, 'g1')) + (await placedOf(server, 'g2')), 0)
  await create(server, composites, { ...top, spec: { schedulingPolicy: { gang: { minGroupCount: 2 } }, ...ref('top') } })
  for (const name of ['g1', 'g2']) assert.equal((await reported(server, name, /./)).status, 'False')
  assert.equal((await placedOf(server, 'g1')) + (await placedOf(server, 'g2')), 0)
  await addNode(server, 'node-2')
  for (const name of ['g1', 'g2']) for (const i of [1, 2]) await placed(server, `${name}-${i}`)
})

test('a job gets a Workload and a PodGroup, and its pods are placed together', patient, async t => {
  const server = await open(t, ALL)
  await addNode(server, 'node-1', { cpu: '1' })
  const container = { name: 'main', image: 'example/image', resources: { requests: { cpu: '1' } } }
  const jobs = '/apis/batch/v1/namespaces/default/jobs'
  const job = await create(server, jobs, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'work' },
    spec: {
      parallelism: 2,
      completions: 2,
      scheduling: { schedulingPolicy: { gang: {} } },
      template: { spec: { restartPolicy: 'Never', containers: [container] } },
    },
  })
  const group = await eventually('a group', async () => (await ask(server, GROUPS)).json.items[0])
  const { json: workloads } = await ask(server, GROUPS.replace('podgroups', 'workloads'))
  const [workload] = workloads.items
  assert.equal(workloads.items.length, 1)
  assert.deepEqual(workload.spec.controllerRef, { apiGroup: 'batch', kind: 'Job', name: 'work' })
  assert.deepEqual(group.spec.schedulingPolicy, { gang: { minCount: 2 } })
  assert.deepEqual(group.spec.workloadRef, { workloadName: workload.metadata.name, templateName: 'work-pgt-0' })
  const owners = group.metadata.ownerReferences.map(({ kind, controller = false }: any) => `${kind} ${controller}`)
  assert.deepEqual([owners, workload.metadata.ownerReferences[0].uid], [['Job true', 'Workload false'], job.metadata.uid])
  await reported(server, group.metadata.name, /minCount \(2\) cannot be satisfied/)
  assert.equal(await placedOf(server, group.metadata.name), 0)
  // The pods that exist are enough for a smaller gang.
  const body = { spec: { scheduling: { schedulingPolicy: { gang: { minCount: 1 } } } } }
  const { status, text } = await ask(server, `${jobs}/work`, { method: 'PATCH', body, headers: MERGE })
  assert.equal(status, 200, text)
  await eventually('one pod', async () => ((await placedOf(server, group.metadata.name)) === 1 ? true : undefined))
  const changed = await ask(server, `${GROUPS}/${group.metadata.name}`)
  assert.deepEqual(changed.json.spec.schedulingPolicy, { gang: { minCount: 1 } })
})

test('the pods of a gang share a claim for devices that nobody has allocated before', patient, async t => {
  const server = await open(t, '', { nodes: 2, nodeDevices: ['gpu.example.com=1'] })
  const devices = '/apis/resource.k8s.io/v1'
  await create(server, `${devices}/deviceclasses`, { metadata: { name: 'gpu' }, spec: {} })
  await eventually('slices', async () => ((await ask(server, `${devices}/resourceslices`)).json.items.length === 2 ? true : undefined))
  const requests = [{ name: 'r', exactly: { deviceClassName: 'gpu' } }]
  const claims = `${devices}/namespaces/default/resourceclaims`
  await create(server, claims, { metadata: { name: 'shared' }, spec: { devices: { requests } } })
  await addGroup(server, 'gang', { minCount: 2 })
  const resourceClaims = [{ name: 'gpu', resourceClaimName: 'shared' }]
  for (const name of ['a', 'b']) await addPod(server, name, { group: 'gang', resourceClaims })
  const nodes = new Set([await placed(server, 'a'), await placed(server, 'b')])
  assert.equal(nodes.size, 1)
  const { status } = (await ask(server, `${claims}/shared`)).json
  assert.deepEqual(status.reservedFor.map(({ name }: any) => name).sort(), ['a', 'b'])
  assert.equal(status.allocation.devices.results.length, 1)
  assert.equal((await eventually('the condition', () => groupCondition(server, 'gang'))).status, 'True')
})
