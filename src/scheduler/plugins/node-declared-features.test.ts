import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, filterResults, nodeOf, podOf } from '../../../test/kits/scheduler.ts'
import { nodeDeclaredFeatures } from './node-declared-features.ts'

test('fields that only some nodes know keep pods on those', () => {
  const cluster = clusterOf([nodeOf('new', { features: ['UserNamespacesHostNetworkSupport'] }), nodeOf('old')])
  const pod = podOf({ spec: { hostNetwork: true, hostUsers: false } })
  assert.deepEqual(filterResults(nodeDeclaredFeatures, cycleOf(pod, cluster)), {
    new: 'ok',
    old: "unresolvable: node(s) didn't match Pod's required features",
  })
  assert.equal(filterResults(nodeDeclaredFeatures, cycleOf(podOf(), cluster)), 'nothing to say')
})
