// Extenders: the format of the calls, the meaning of the answers, and the messages about failures.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { clusterOf, cycleOf, nodeOf, podOf } from '../../../test/kits/scheduler.ts'
import { webhook } from '../../../test/kits/webhooks.ts'
import { WebhookTransport } from '../../transport/webhook-transport.ts'
import { extendersFrom } from '../configuration/extenders.ts'
import { KeptResults } from '../local-results.ts'
import { Nominations } from '../nominations.ts'
import { podInfoOf } from '../pod-info.ts'
import { DEFAULT_PROFILE } from '../profile.ts'
import { Extenders } from './extenders.ts'

type Answer = (asked: any, response: ServerResponse) => unknown

/** A server whose answers are by verb: a value, or nothing when it answers itself. */
async function serve(t: TestContext, answers: Readonly<Record<string, Answer>>): Promise<string> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const given = await answers[request.url!.slice(1)]!(JSON.parse(text), response)
    if (given !== undefined) response.end(JSON.stringify(given))
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function open(t: TestContext, ...configured: Parameters<typeof extendersFrom>[0][number][]): Extenders {
  const transport = new WebhookTransport()
  t.after(() => transport[Symbol.dispose]())
  return new Extenders(extendersFrom(configured), { transport, signal: new AbortController().signal })
}

const parts = () => ({
  profile: DEFAULT_PROFILE,
  nominations: new Nominations(),
  random: () => 0,
  rotation: { next: 0 },
  kept: new KeptResults(),
})
const twoNodes = () => cycleOf(podOf(), clusterOf([nodeOf('a'), nodeOf('b')]))
const failureOf = async (extenders: Extenders): Promise<string> => {
  try {
    return JSON.stringify(await extenders.schedulePod(twoNodes(), parts()))
  } catch (error) {
    return (error as Error).message
  }
}

test('without a usable answer the attempt fails with the message of kube-scheduler', async t => {
  const urlPrefix = await serve(t, {
    status: (_, response) => void response.writeHead(503).end(),
    busy: (_, response) => void response.writeHead(429, { 'retry-after': '600' }).end(),
    empty: (_, response) => void response.end(),
    nonsense: (_, response) => void response.end('nonsense'),
    error: () => ({ Error: 'no idea' }),
    list: () => [],
    names: () => ({ nodenames: 'a' }),
    unknown: () => ({ NodeNames: ['z'] }),
    slow: () => undefined,
  })
  const told = (filterVerb: string, more = {}) => failureOf(open(t, { urlPrefix, filterVerb, nodeCacheCapable: true, ...more }))
  assert.equal(await told('status'), `failed status with extender at URL ${urlPrefix}/status, code 503`)
  assert.equal(await told('busy'), `failed busy with extender at URL ${urlPrefix}/busy, code 429`)
  assert.equal(await told('empty'), 'EOF')
  assert.equal(await told('nonsense'), "invalid character 'o' in literal null (expecting 'u')")
  assert.equal(await told('error'), 'no idea')
  assert.equal(await told('list'), 'json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult')
  assert.equal(await told('names'), 'json: cannot unmarshal string into Go struct field ExtenderFilterResult.NodeNames of type []string')
  assert.equal(await told('unknown'), `extender "${urlPrefix}" claims a filtered node "z" which is not found in the input node list`)
  assert.equal(
    await told('slow', { httpTimeout: '50ms' }),
    `Post "${urlPrefix}/slow": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  )
  assert.equal(
    await told('x', { urlPrefix: 'http://127.0.0.1:1' }),
    'Post "http://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused',
  )
  assert.equal(await told('x', { urlPrefix: 'nowhere' }), 'Post "nowhere/x": unsupported protocol scheme ""')
  assert.equal(await told('status', { ignorable: true }), '{"type":"placed","node":"a"}')
})

test('names of fields are read whatever their case, and whole nodes by their names', async t => {
  const urlPrefix = await serve(t, {
    filter: ({ Nodes, NodeNames }) => ({ nodes: { items: NodeNames === null ? [Nodes.items[1]] : [] }, failedNodes: { a: 'why' } }),
  })
  assert.deepEqual(await open(t, { urlPrefix, filterVerb: 'filter' }).schedulePod(twoNodes(), parts()), { type: 'placed', node: 'b' })
})

test('a node that an extender rejects may be preempted on, unless it says that this is no use', async t => {
  const urlPrefix = await serve(t, {
    filter: () => ({ NodeNames: [], FailedNodes: { a: 'full', b: 'full' }, FailedAndUnresolvableNodes: { b: 'wrong' } }),
  })
  const placement = await open(t, { urlPrefix, filterVerb: 'filter', nodeCacheCapable: true }).schedulePod(twoNodes(), parts())
  assert.ok(placement.type === 'rejected')
  const { byNode, rejectors } = placement.diagnosis
  assert.deepEqual(Object.fromEntries(byNode), {
    a: { plugin: 'Extender', reasons: ['full'], isUnresolvable: false },
    b: { plugin: 'Extender', reasons: ['wrong'], isUnresolvable: true },
  })
  assert.deepEqual([...rejectors], ['Extender'])
})

test('scores count by weight, ten times as much as written; a failure to score is no failure', async t => {
  const urlPrefix = await serve(t, {
    b: () => [{ Host: 'b', Score: 1 }],
    a: () => [{ host: 'a', score: 2 }],
    broken: (_, response) => void response.writeHead(500).end(),
  })
  const scoring = (prioritizeVerb: string, weight: number) => ({ urlPrefix, prioritizeVerb, weight })
  const place = async (...all: Parameters<typeof open>[1][]) => open(t, ...all).schedulePod(twoNodes(), parts())
  assert.deepEqual(await place(scoring('b', 1), scoring('broken', 1)), { type: 'placed', node: 'b' })
  assert.deepEqual(await place(scoring('b', 1), scoring('a', 1)), { type: 'placed', node: 'a' })
  assert.deepEqual(await place(scoring('b', 3), scoring('a', 1)), { type: 'placed', node: 'b' })
})

test('an extender is asked only about pods that ask for its resources', async t => {
  const urlPrefix = await serve(t, { filter: () => ({ NodeNames: [] }) })
  const managedResources = [{ name: 'example.com/x' }]
  const extenders = open(t, { urlPrefix, filterVerb: 'filter', managedResources, nodeCacheCapable: true })
  assert.equal((await extenders.schedulePod(twoNodes(), parts())).type, 'placed')
  const asking = podOf({ spec: { containers: [{ name: 'c', image: 'i', resources: { limits: { 'example.com/x': '1' } } }] } })
  const rejected = await extenders.schedulePod(cycleOf(asking, clusterOf([nodeOf('a')])), parts())
  // Without a reason, any change is worth another attempt.
  assert.deepEqual(rejected.type === 'rejected' && [...rejected.diagnosis.rejectors], ['Extender'])
})

test('victims are sent whole, unless the extender knows them, and come back by their uid', async t => {
  const asked: any[] = []
  const urlPrefix = await serve(t, {
    keep: body => {
      asked.push(body)
      return { NodeNameToMetaVictims: { a: { Pods: [{ UID: 'default/x' }], NumPDBViolations: 2 } } }
    },
    stranger: () => ({ NodeNameToMetaVictims: { a: { Pods: [{ UID: 'stranger' }] } } }),
    nobody: () => ({ NodeNameToMetaVictims: { a: { Pods: [] } } }),
    none: () => ({ NodeNameToMetaVictims: {} }),
  })
  const pods = [podOf({ name: 'x', node: 'a' }), podOf({ name: 'y', node: 'b' })]
  const cycle = cycleOf(podOf({ name: 'new', priority: 10 }), clusterOf([nodeOf('a'), nodeOf('b')], pods))
  const candidates = pods.map(pod => ({ node: pod.spec.nodeName!, victims: [podInfoOf(pod)], violations: 1 }))
  const read = ({ uid }: { uid: string }) => pods.find(({ metadata }) => metadata.uid === uid)
  const outcome = async (preemptVerb: string, more = {}) =>
    (await open(t, { urlPrefix, preemptVerb, ...more }).preempt(cycle, candidates, { now: 0, read })).message
  const found = 'preemption: found a potential placement for pod on node a, preempting 1 victims'
  assert.equal(await outcome('keep'), found)
  assert.equal(await outcome('keep', { nodeCacheCapable: true }), found)
  const [whole, known] = asked
  assert.deepEqual([whole.NodeNameToVictims.a.Pods[0].metadata.name, whole.NodeNameToVictims.a.NumPDBViolations], ['x', 1])
  assert.deepEqual([whole.NodeNameToMetaVictims, known.NodeNameToVictims], [null, null])
  assert.deepEqual(known.NodeNameToMetaVictims.b, { Pods: [{ UID: 'default/y' }], NumPDBViolations: 1 })
  assert.equal(
    await outcome('stranger'),
    `preemption: extender: ${urlPrefix} claims to preempt pod (UID: &{stranger}) on node: a, but the pod is not found on that node`,
  )
  assert.equal(await outcome('nobody'), 'preemption: expected at least one victim pod on node "a"')
  assert.equal(await outcome('nobody', { ignorable: true }), 'preemption: no candidate node for preemption')
  assert.equal(await outcome('none'), 'preemption: no candidate node for preemption')
})

test('an https extender is verified by the authority of the configuration, or not at all without one', async t => {
  const answer = (_: unknown, response: ServerResponse) => void response.end(JSON.stringify({ NodeNames: ['b'] }))
  const { port, clientConfig } = await webhook(t, answer)
  const urlPrefix = `https://127.0.0.1:${port}/deep/`
  const place = (more: object) => failureOf(open(t, { urlPrefix, filterVerb: 'filter', nodeCacheCapable: true, ...more }))
  const placed = '{"type":"placed","node":"b"}'
  assert.equal(await place({ tlsConfig: { caData: clientConfig.caBundle } }), placed)
  assert.equal(await place({ enableHTTPS: true }), placed)
  assert.equal(await place({ tlsConfig: { insecure: true } }), placed)
  assert.match(await place({}), /^Post "https:\/\/127\.0\.0\.1:\d+\/deep\/filter": tls: failed to verify certificate: x509: /)
})
