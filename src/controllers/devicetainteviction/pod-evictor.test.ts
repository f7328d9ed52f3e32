import assert from 'node:assert/strict'
import test from 'node:test'
import { listRecorder, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { DeviceTaintRule } from '../../kinds/resource/devicetaintrule.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourceSlice } from '../../kinds/resource/resourceslice.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { DeviceUsers } from './device-users.ts'
import { PodEvictor } from './pod-evictor.ts'
import type { World } from './reconcile.ts'
import { RuleReporter } from './rule-reporter.ts'

const START = '2030-01-01T00:00:00Z'
const TAINT = { key: 'broken', effect: 'NoExecute', timeAdded: START }

/** A pod `p` on a node that uses device `d` through claim `c`, which tolerates taints for some seconds. */
async function open(t: Scope, tolerationSeconds?: number) {
  let nowMs = Date.parse(START)
  const { client } = await openControllerBench(t, [Pod, ResourceClaim, ResourceSlice, DeviceTaintRule], {
    now: () => new Date(nowMs),
    gate: () => true,
  })
  const [pods, claims] = [client.of(Pod), client.of(ResourceClaim)]
  const [slices, rules] = [client.of(ResourceSlice), client.of(DeviceTaintRule)]
  const recorder = listRecorder()
  const users = new DeviceUsers(client, { hasGroupClaims: false })
  const world: World = {
    claim: (namespace, name) => users.claim(namespace, name),
    taintsOf: device => users.taintsOf(device),
    rules: () => rules.list(),
    hasGroupClaims: false,
  }
  const reporter = new RuleReporter({ client, manager: 'test', users, world })
  const reported: string[] = []
  const evictor = new PodEvictor({ client, recorder, world, onEvicted: uids => void reported.push(...reporter.countEviction(uids)) })
  const pod = await pods.create({
    metadata: { namespace: 'default', name: 'p' },
    spec: {
      nodeName: 'n',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'main', image: 'i' }],
      resourceClaims: [{ name: 'c', resourceClaimName: 'c' }],
    },
  })
  const claim = await claims.create({
    metadata: { namespace: 'default', name: 'c' },
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'x' } }] } },
  })
  const tolerations = tolerationSeconds === undefined ? [] : [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds }]
  const result = { request: 'r', driver: 'driver', pool: 'pool', device: 'd', tolerations }
  const reservedFor = [{ resource: 'pods', name: 'p', uid: pod!.object.metadata.uid! }]
  await claims.updateStatus({ ...claim!.object, status: { allocation: { devices: { results: [result] } }, reservedFor } } as ResourceClaim)
  return {
    ...{ users, evictor, reporter, reported, events: recorder.events },
    pass: (ms: number) => (nowMs += ms),
    isThere: () => pods.exists({ namespace: 'default', name: 'p' }),
    addSlice: (name: string, generation: number, taints: readonly object[]) =>
      slices.create({
        metadata: { name },
        spec: {
          driver: 'driver',
          nodeName: 'n',
          pool: { name: 'pool', generation, resourceSliceCount: 1 },
          devices: [{ name: 'd', taints }],
        },
      } as never),
    addRule: (effect: string) =>
      rules.create({
        metadata: { name: 'rule' },
        spec: { deviceSelector: { driver: 'driver' }, taint: { key: 'k', effect, timeAdded: START } },
      } as never),
    condition() {
      const {
        status = '',
        reason = '',
        message = '',
      } = conditionOf(rules.get({ name: 'rule' })?.status.conditions, 'EvictionInProgress') ?? {}
      return `${status} ${reason}: ${message}`
    },
  }
}

test('a pod goes when the time that its claim tolerates the taint is over', async t => {
  const { evictor, addSlice, pass, isThere, events } = await open(t, 30)
  await addSlice('s', 1, [TAINT])
  assert.equal(await evictor.reconcile('default/p'), 30_000)
  assert.equal(isThere(), true)
  pass(30_000)
  assert.equal(await evictor.reconcile('default/p'), undefined)
  assert.equal(isThere(), false)
  assert.deepEqual(events, ['p Normal DeviceTaintManagerEviction: Marking for deletion'])
})

test('an eviction is cancelled when the taint goes before its time', async t => {
  const { evictor, addSlice, isThere, events } = await open(t, 30)
  await addSlice('s', 1, [TAINT])
  await evictor.reconcile('default/p')
  await addSlice('newer', 2, [])
  assert.equal(await evictor.reconcile('default/p'), undefined)
  await evictor.reconcile('default/p')
  assert.deepEqual([isThere(), events], [true, ['p Normal DeviceTaintManagerEviction: Cancelling deletion']])
})

test('only slices of the highest generation of a pool count', async t => {
  const { users, addSlice } = await open(t)
  const device = { driver: 'driver', pool: 'pool', device: 'd' }
  await addSlice('old', 1, [TAINT])
  assert.deepEqual(
    users.taintsOf(device).map(({ key }) => key),
    ['broken'],
  )
  await addSlice('new', 2, [])
  assert.deepEqual(users.taintsOf(device), [])
  assert.deepEqual([users.count(() => true), users.ofDevices(() => true)], [{ published: 1, allocated: 1 }, ['default/p']])
})

test('the pods of a group are the users of a claim that is reserved for the group', async t => {
  const { client } = await openControllerBench(t, [Pod, ResourceClaim, ResourceSlice], { gate: () => true })
  for (const [name, podGroupName] of Object.entries({ a: 'g', b: 'g', c: 'other' }))
    await client.of(Pod).create({
      metadata: { namespace: 'default', name },
      spec: { containers: [{ name: 'main', image: 'i' }], schedulingGroup: { podGroupName } },
    })
  const reservedFor = [{ apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name: 'g', uid: 'u' }]
  const claim = { metadata: { namespace: 'default', name: 'c' }, status: { reservedFor } } as ResourceClaim
  const usersWith = (hasGroupClaims: boolean) => new DeviceUsers(client, { hasGroupClaims }).ofClaim(claim)
  assert.deepEqual(usersWith(true).sort(), ['default/a', 'default/b'])
  assert.deepEqual(usersWith(false), [])
})

test('a rule reports the pods that it has to evict, and later those that it has evicted', async t => {
  const { evictor, reporter, reported, addRule, pass, condition } = await open(t)
  await addRule('NoExecute')
  assert.equal(await reporter.reconcile('rule'), undefined)
  assert.equal(condition(), 'True PodsPendingEviction: 1 pod needs to be evicted in 1 namespace.')
  await evictor.reconcile('default/p')
  assert.deepEqual(reported, ['rule'])
  pass(4000)
  assert.equal(await reporter.reconcile('rule'), 6000)
  pass(6000)
  await reporter.reconcile('rule')
  assert.equal(condition(), 'False Completed: 1 pod evicted since starting the controller.')
})

test('a rule without an effect reports what it would do', async t => {
  const { evictor, reporter, addRule, addSlice, condition, isThere } = await open(t)
  await addSlice('s', 1, [])
  await addRule('None')
  await reporter.reconcile('rule')
  assert.match(
    condition(),
    /^False NoEffect: 1 published device selected\. 1 allocated device selected\. 1 pod would be evicted in 1 namespace if/,
  )
  await evictor.reconcile('default/p')
  assert.equal(isThere(), true)
})
