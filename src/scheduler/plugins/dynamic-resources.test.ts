import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, filterResults, nodeOf, podOf } from '../testing.ts'
import { dynamicResources } from './dynamic-resources.ts'

test('pods that claim devices wait, and say for what', () => {
  const cluster = clusterOf([nodeOf('n')])
  const pod = (claim: object, status: object = {}) => podOf({ spec: { resourceClaims: [{ name: 'gpu', ...claim }] }, status })
  const result = (...args: Parameters<typeof pod>) =>
    filterResults(dynamicResources, cycleOf(pod(...args), cluster, { resourceClaims: ['made'] }))
  assert.equal(result({ resourceClaimName: 'none' }), 'resourceclaim.resource.k8s.io "none" not found')
  assert.equal(result({ resourceClaimTemplateName: 't' }), 'pod "default/pod": ResourceClaim not created yet')
  const made = { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'made' }] }
  assert.deepEqual(result({ resourceClaimTemplateName: 't' }, made), { n: 'unresolvable: cannot allocate all claims' })
  assert.equal(filterResults(dynamicResources, cycleOf(podOf(), cluster)), 'nothing to say')
})
