import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { tolerationsInEffect } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import { drivingTaints, evictionPatch, timeToLeave } from './reconcile.ts'

const ALL = tolerationsInEffect(() => true)
const podOf = (...tolerations: object[]) => ({ metadata: { uid: 'u', generation: 3 }, spec: { tolerations } }) as unknown as Pod
const taint = (key: string, effect = 'NoExecute') => ({ key, value: 'v', effect })

test('only NoExecute taints evict pods', () => {
  assert.deepEqual(drivingTaints([taint('a'), taint('b', 'NoSchedule')]), [taint('a')])
  assert.equal(timeToLeave(podOf(), [], ALL), undefined)
})

test('a pod leaves at once, after the shortest of its tolerations, or never', () => {
  assert.equal(timeToLeave(podOf(), [taint('a')], ALL), 0)
  assert.equal(timeToLeave(podOf({ key: 'a', operator: 'Exists' }), [taint('a'), taint('b')], ALL), 0)
  assert.equal(
    timeToLeave(
      podOf({ key: 'a', operator: 'Exists', tolerationSeconds: 30 }, { key: 'b', operator: 'Exists', tolerationSeconds: 3 }),
      [taint('a'), taint('b')],
      ALL,
    ),
    3000,
  )
  assert.equal(timeToLeave(podOf({ operator: 'Exists' }), [taint('a'), taint('b')], ALL), undefined)
  assert.equal(timeToLeave(podOf({ key: 'a', operator: 'Equal', value: 'v', tolerationSeconds: -5 }), [taint('a')], ALL), 0)
})

test('comparisons of numbers count with their gate alone', () => {
  const pod = podOf({ key: 'a', operator: 'Gt', value: '3' })
  const taints = [{ key: 'a', value: '5', effect: 'NoExecute' }]
  assert.equal(timeToLeave(pod, taints, ALL), undefined)
  assert.equal(
    timeToLeave(
      pod,
      taints,
      tolerationsInEffect(name => name !== 'TaintTolerationComparisonOperators'),
    ),
    0,
  )
})

test('the condition DisruptionTarget says why', () => {
  assert.deepEqual((evictionPatch(podOf(), 'now') as any).status.conditions[0], {
    type: 'DisruptionTarget',
    observedGeneration: 3,
    status: 'True',
    lastTransitionTime: 'now',
    reason: 'DeletionByTaintManager',
    message: 'Taint manager: deleting due to NoExecute taint',
  })
})
