// --scheduler-config-file: profiles and extenders, on real servers with real files and extenders that the tests serve.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type StartOptions, start } from '../src/index.ts'
import { ask, eventually, patient, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { addNode, create } from './kits/ready-nodes.ts'

const PODS = '/api/v1/namespaces/default/pods'

function fileWith(t: TestContext, fields: object): string {
  const file = join(temporaryDirectory(t), 'scheduler.yaml')
  writeFileSync(file, JSON.stringify({ apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration', ...fields }))
  return file
}

const open = (t: TestContext, fields: object, options: StartOptions = {}) =>
  startInProcess(t, {
    ...{ store: 'memory', port: 0, nodes: 0, controllers: ['*', 'scheduler'], schedulerConfigFile: fileWith(t, fields) },
    ...options,
  })

const addPod = (server: Target, name: string, { requests = {}, ...spec }: any = {}) =>
  create(server, PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'main', image: 'i', resources: { requests, limits: limitsOf(requests) } }], ...spec },
  })
/** Extended resources need limits that equal the requests. */
const limitsOf = (requests: Record<string, string>) => Object.fromEntries(Object.entries(requests).filter(([name]) => name.includes('/')))

const podOf = async (server: Target, name: string) => (await ask(server, `${PODS}/${name}`)).json
const placed = (server: Target, name: string): Promise<string> =>
  eventually(`a node for ${name}`, async () => (await podOf(server, name)).spec.nodeName || undefined)
const rejected = (server: Target, name: string): Promise<any> =>
  eventually(`a reason why ${name} has no node`, async () =>
    (await podOf(server, name)).status.conditions?.find(({ type, status }: any) => type === 'PodScheduled' && status === 'False'),
  )
const reportedBy = (server: Target, name: string, reason: string): Promise<string> =>
  eventually(`an event ${reason} about ${name}`, async () => {
    const path = `/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name=${name}`
    return (await ask(server, path)).json.items.find((event: any) => event.reason === reason)?.reportingController
  })

test('profiles place the pods that name them, each by its plugins and their arguments', patient, async t => {
  const server = await open(t, {
    profiles: [
      { schedulerName: 'default-scheduler' },
      {
        schedulerName: 'packing',
        plugins: { score: { disabled: [{ name: 'NodeResourcesBalancedAllocation' }] } },
        pluginConfig: [
          {
            name: 'NodeResourcesFit',
            args: { scoringStrategy: { type: 'MostAllocated', resources: [{ name: 'cpu' }] }, ignoredResources: ['example.com/elsewhere'] },
          },
        ],
      },
      { schedulerName: 'fearless', plugins: { filter: { disabled: [{ name: 'TaintToleration' }] } } },
    ],
  })
  await addNode(server, 'tainted', { taints: [{ key: 'k', effect: 'NoSchedule' }], cpu: '4' })
  await addPod(server, 'careful')
  assert.match((await rejected(server, 'careful')).message, /^0\/1 nodes are available: 1 node\(s\) had untolerated taint\(s\)\./)
  await addPod(server, 'brave', { schedulerName: 'fearless' })
  assert.equal(await placed(server, 'brave'), 'tainted')

  await addNode(server, 'full', { cpu: '4' })
  await addPod(server, 'first', { requests: { cpu: '2' }, nodeSelector: { 'kubernetes.io/hostname': 'full' } })
  await placed(server, 'first')
  await placed(server, 'careful')
  await addNode(server, 'empty', { cpu: '4' })
  await addPod(server, 'spread', { requests: { cpu: '500m' } })
  await addPod(server, 'packed', { requests: { cpu: '500m' }, schedulerName: 'packing' })
  assert.deepEqual([await placed(server, 'spread'), await placed(server, 'packed')], ['empty', 'full'])
  await addPod(server, 'ignored', { requests: { 'example.com/elsewhere': '1' }, schedulerName: 'packing' })
  assert.equal(await placed(server, 'ignored'), 'full')

  // No profile has the name of this one.
  await addPod(server, 'foreign', { schedulerName: 'nobody' })
  await addPod(server, 'last')
  await placed(server, 'last')
  assert.equal((await podOf(server, 'foreign')).status.conditions, undefined)
  assert.equal(await reportedBy(server, 'spread', 'Scheduled'), 'default-scheduler')
  assert.equal(await reportedBy(server, 'packed', 'Scheduled'), 'packing')
  const { text } = await ask(server, '/metrics')
  const counted = text.split('\n').filter(line => line.startsWith('scheduler_schedule_attempts_total{') && line.includes('"packing"'))
  assert.deepEqual(
    counted.map(line => line.split(' ')[1]),
    ['2'],
  )
})

type Call = { readonly verb: string; readonly args: any }

/** An extender whose answers the test decides; it notes the calls. */
async function extender(t: TestContext, answer: (call: Call) => unknown) {
  const calls: Call[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const call = { verb: request.url!.slice(1), args: JSON.parse(text) }
    calls.push(call)
    const given = await answer(call)
    response.statusCode = typeof given === 'number' ? given : 200
    response.end(typeof given === 'number' ? '' : JSON.stringify(given))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return { calls, urlPrefix: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const managing = (name: string) => [{ name: `example.com/${name}`, ignoredByScheduler: true }]
const asking = (name: string) => ({ requests: { [`example.com/${name}`]: '1' } })

test('extenders filter and score nodes, and bind; failures are reported unless they may be ignored', patient, async t => {
  let bound: ((call: Call) => Promise<unknown>) | undefined
  const { calls, urlPrefix } = await extender(t, call => {
    const { Nodes, NodeNames } = call.args
    const names: string[] = NodeNames ?? Nodes?.items.map(({ metadata }: any) => metadata.name) ?? []
    switch (call.verb) {
      case 'filter':
        return { NodeNames: names.filter(name => name !== 'a'), FailedNodes: { a: 'not a' } }
      case 'none':
        return { nodes: { items: [] }, failedAndUnresolvableNodes: Object.fromEntries(names.map(name => [name, 'not today'])) }
      case 'prioritize':
        return names.map(name => ({ Host: name, Score: name === 'c' ? 10 : 0 }))
      case 'bind':
        return bound?.(call)
      default:
        return 500
    }
  })
  const server = await open(t, {
    extenders: [
      { urlPrefix: 'http://127.0.0.1:1', filterVerb: 'filter', ignorable: true },
      {
        urlPrefix,
        filterVerb: 'filter',
        prioritizeVerb: 'prioritize',
        weight: 100,
        nodeCacheCapable: true,
        managedResources: managing('some'),
      },
      { urlPrefix: `${urlPrefix}/`, filterVerb: 'none', managedResources: managing('none') },
      { urlPrefix, filterVerb: 'broken', managedResources: managing('broken') },
      { urlPrefix, bindVerb: 'bind', managedResources: managing('bind') },
    ],
  })
  bound = async ({ args: { PodName, PodNamespace, PodUID, Node } }) => {
    const metadata = { name: PodName, namespace: PodNamespace, uid: PodUID }
    const body = { apiVersion: 'v1', kind: 'Binding', metadata, target: { kind: 'Node', name: Node } }
    const { status, text } = await ask(server, `${PODS}/${PodName}/binding`, { method: 'POST', body })
    return { Error: status === 201 ? '' : text }
  }
  for (const name of ['a', 'b', 'c']) await addNode(server, name, { cpu: '4' })

  await addPod(server, 'some', asking('some'))
  assert.equal(await placed(server, 'some'), 'c')
  const [filtered, scored] = calls.filter(({ args }) => args.Pod?.metadata.name === 'some')
  assert.deepEqual([filtered!.verb, filtered!.args.NodeNames.sort(), filtered!.args.Nodes], ['filter', ['a', 'b', 'c'], null])
  assert.deepEqual([scored!.verb, scored!.args.NodeNames.sort()], ['prioritize', ['b', 'c']])
  assert.equal(filtered!.args.Pod.spec.containers[0].image, 'i')

  await addPod(server, 'none', asking('none'))
  const none = await rejected(server, 'none')
  assert.equal(none.reason, 'Unschedulable')
  assert.match(
    none.message,
    /^0\/3 nodes are available: 3 not today\. preemption: 0\/3 nodes are available: 3 Preemption is not helpful for scheduling\./,
  )
  const whole = calls.find(({ verb }) => verb === 'none')!.args
  assert.deepEqual([whole.Nodes.items.length, whole.NodeNames, whole.Nodes.items[0].status.allocatable.cpu], [3, null, '4'])

  await addPod(server, 'broken', asking('broken'))
  const broken = await rejected(server, 'broken')
  assert.deepEqual([broken.reason, broken.message], ['SchedulerError', `failed broken with extender at URL ${urlPrefix}/broken, code 500`])
  assert.equal(await reportedBy(server, 'broken', 'FailedScheduling'), 'default-scheduler')

  await addPod(server, 'bind', asking('bind'))
  const node = await placed(server, 'bind')
  assert.equal(calls.find(({ verb }) => verb === 'bind')!.args.Node, node)
  assert.equal(await reportedBy(server, 'bind', 'Scheduled'), 'default-scheduler')
})

test('extenders filter and score nodes for the pods of a gang, which are bound together or not at all', patient, async t => {
  let isRefusing = true
  const { calls, urlPrefix } = await extender(t, ({ verb, args: { NodeNames } }) => {
    const names: string[] = NodeNames
    if (verb === 'prioritize') return names.map(Host => ({ Host, Score: Host === 'c' ? 10 : 0 }))
    return { NodeNames: names.filter(name => name !== 'a' && !(isRefusing && name === 'b')), FailedNodes: { a: 'not a' } }
  })
  const server = await open(
    t,
    { extenders: [{ urlPrefix, filterVerb: 'filter', prioritizeVerb: 'prioritize', weight: 100, nodeCacheCapable: true }] },
    { featureGates: 'GenericWorkload=true', runtimeConfig: 'scheduling.k8s.io/v1beta1=true' },
  )
  for (const name of ['a', 'b', 'c']) await addNode(server, name, { cpu: '1' })
  await create(server, '/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups', {
    apiVersion: 'scheduling.k8s.io/v1beta1',
    kind: 'PodGroup',
    metadata: { name: 'gang' },
    spec: { schedulingPolicy: { gang: { minCount: 2 } } },
  })
  const names = ['gang-1', 'gang-2']
  for (const name of names) await addPod(server, name, { requests: { cpu: '600m' }, schedulingGroup: { podGroupName: 'gang' } })
  for (const name of names) assert.equal((await rejected(server, name)).reason, 'Unschedulable')
  for (const name of names) assert.equal((await podOf(server, name)).spec.nodeName, undefined)
  isRefusing = false
  assert.deepEqual((await Promise.all(names.map(name => placed(server, name)))).sort(), ['b', 'c'])
  const asked = new Set(calls.map(({ verb, args }) => `${verb} ${args.Pod.metadata.name}`))
  assert.ok(names.every(name => asked.has(`filter ${name}`)))
  assert.ok(names.some(name => asked.has(`prioritize ${name}`)))
})

test('an extender has a say in which pods are preempted', patient, async t => {
  const { calls, urlPrefix } = await extender(t, ({ args }) => {
    const { b } = args.NodeNameToMetaVictims
    return { NodeNameToMetaVictims: { b } }
  })
  const server = await open(t, { extenders: [{ urlPrefix, preemptVerb: 'preempt', nodeCacheCapable: true }] })
  for (const name of ['a', 'b', 'c']) {
    await addNode(server, name, { cpu: '1' })
    // Nobody ends containers here.
    const terminationGracePeriodSeconds = 0
    await addPod(server, `on-${name}`, {
      requests: { cpu: '1' },
      terminationGracePeriodSeconds,
      nodeSelector: { 'kubernetes.io/hostname': name },
    })
    await placed(server, `on-${name}`)
  }
  await create(server, '/apis/scheduling.k8s.io/v1/priorityclasses', {
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: 'high' },
    value: 1000,
  })
  await addPod(server, 'important', { requests: { cpu: '1' }, priorityClassName: 'high' })
  assert.equal(await placed(server, 'important'), 'b')
  const { args } = calls[0]!
  assert.deepEqual([Object.keys(args.NodeNameToMetaVictims).sort(), args.NodeNameToVictims], [['a', 'b', 'c'], null])
  assert.deepEqual([(await podOf(server, 'on-a')).spec.nodeName, (await podOf(server, 'on-c')).spec.nodeName], ['a', 'c'])
})

test('a mistake in the file ends the start with the message of kube-scheduler', patient, async t => {
  const refused = async (schedulerConfigFile: string, message: string) =>
    assert.rejects(start({ store: 'memory', schedulerConfigFile }), { message })
  const file = fileWith(t, { profiles: [{ plugins: { filter: { enabled: [{ name: 'Mine' }] } } }] })
  await refused(
    file,
    `schedulerConfigFile: ${file}: initializing profiles: creating profile for scheduler name default-scheduler: FilterPlugin "Mine" does not exist`,
  )
  const strict = fileWith(t, { nope: 1 })
  await refused(strict, `schedulerConfigFile: ${strict}: strict decoding error: unknown field "nope"`)
  const trust = fileWith(t, { extenders: [{ urlPrefix: 'https://x', tlsConfig: { caFile: '/nowhere/ca' } }] })
  await refused(trust, `schedulerConfigFile: ${trust}: couldn't build extenders: open /nowhere/ca: no such file or directory`)
  const missing = join(temporaryDirectory(t), 'none')
  await refused(missing, `schedulerConfigFile: cannot read ${missing}: ENOENT: no such file or directory, open '${missing}'`)
})
