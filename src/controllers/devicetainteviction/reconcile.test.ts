import assert from 'node:assert/strict'
import test from 'node:test'
import type { TaintRule } from '../../devices/device-taints.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { evictionOf, ruleCondition, type World } from './reconcile.ts'

const T = Date.parse('2026-01-01T00:00:00Z')
const taint = (key: string, effect = 'NoExecute') => ({ key, effect, timeAdded: '2026-01-01T00:00:00Z' })
const pod = {
  metadata: { namespace: 'ns', name: 'p', uid: 'u' },
  spec: { nodeName: 'n', resourceClaims: [{ name: 'gpu', resourceClaimName: 'c' }] },
  status: {},
} as unknown as Pod
const rule = (selector: object | undefined, effect = 'NoExecute') =>
  ({
    metadata: { name: 'r', uid: 'rule', generation: 3 },
    spec: { deviceSelector: selector, taint: taint('rule', effect) },
  }) as unknown as TaintRule

function world(taints: object[], rules: TaintRule[] = [], tolerations: object[] = [], reservedFor: object[] = [{ uid: 'u' }]): World {
  const results = [{ request: 'r', driver: 'd', pool: 'p', device: 'x', tolerations }]
  const claim = { metadata: { name: 'c' }, status: { allocation: { devices: { results } }, reservedFor } } as unknown as ResourceClaim
  return { claim: () => claim, taintsOf: () => taints as never, rules: () => rules, hasGroupClaims: true }
}

test('a pod has to go when a taint on one of its devices is not tolerated, or no longer', () => {
  assert.equal(evictionOf(pod, world([])), undefined)
  assert.equal(evictionOf(pod, world([taint('a', 'NoSchedule')])), undefined)
  assert.equal(evictionOf(pod, world([taint('a')]))?.at, T)
  assert.equal(evictionOf(pod, world([taint('a')], [], [{ key: 'a', operator: 'Exists', effect: 'NoExecute' }])), undefined)
  const some = [
    { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
    { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 },
  ]
  assert.equal(evictionOf(pod, world([taint('a')], [], some))?.at, T + 30_000)
  assert.equal(evictionOf(pod, world([taint('a'), taint('b')], [], [some[0]!]))?.at, T)
  assert.equal(evictionOf({ ...pod, spec: { ...pod.spec, nodeName: '' } } as Pod, world([taint('a')])), undefined)
  assert.equal(evictionOf(pod, world([taint('a')], [], [], [])), undefined, 'the claim is not reserved for it')
  assert.deepEqual(evictionOf(pod, world([], [rule({ driver: 'd', device: 'x' })]))?.rules, new Set(['rule']))
  for (const other of [undefined, { driver: 'e' }, { pool: 'q' }, { device: 'y' }])
    assert.equal(evictionOf(pod, world([], [rule(other)])), undefined)
})

test('a pod of a group uses the claims that are reserved for the group, if groups can have claims', () => {
  const member = { ...pod, spec: { ...pod.spec, schedulingGroup: { podGroupName: 'g' } } } as unknown as Pod
  const reservedFor = (name: string) => [{ apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name, uid: 'group' }]
  const tainted = (name: string) => world([taint('a')], [], [], reservedFor(name))
  assert.equal(evictionOf(member, tainted('g'))?.at, T)
  assert.equal(evictionOf(member, tainted('other')), undefined)
  assert.equal(evictionOf(pod, tainted('g')), undefined)
  assert.equal(evictionOf(member, { ...tainted('g'), hasGroupClaims: false }), undefined)
})

test('the condition of a rule says how far it is', () => {
  const none = { pods: 0, namespaces: 0, published: 0, allocated: 0, evicted: 0 }
  const shown = (effect: string, more: object) => {
    const { status, reason, message } = ruleCondition(rule({}, effect), { ...none, ...more })
    return [status, reason, message]
  }
  assert.deepEqual(shown('NoExecute', {}), ['False', 'NotStarted', ''])
  assert.deepEqual(shown('NoExecute', { pods: 3, namespaces: 2, evicted: 1 }), [
    'True',
    'PodsPendingEviction',
    '3 pods need to be evicted in 2 different namespaces. 1 pod evicted since starting the controller.',
  ])
  assert.deepEqual(shown('NoExecute', { evicted: 2 }), ['False', 'Completed', '2 pods evicted since starting the controller.'])
  assert.deepEqual(shown('NoSchedule', {}), ['False', 'OtherEffect', 'Eviction only happens for the NoExecute effect.'])
  assert.equal(shown('None', { published: 2 })[1], 'NoEffect')
})
