import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forbidden } from './forbidden.ts'

const resource = { group: 'apps', version: 'v1', plural: 'daemonsets', subresource: '', namespace: 'ns', name: '' }

test('a forbidden message names the user, the verb, the resource and the scope', () => {
  const eve = { name: '<eve>', groups: [] }
  assert.equal(
    forbidden(eve, { verb: 'update', path: '/', resource: { ...resource, subresource: 'status', name: 'd' } }, 'no role').message,
    'daemonsets.apps "d" is forbidden: User "&lt;eve&gt;" cannot update resource "daemonsets/status" in API group "apps" in the namespace "ns": no role',
  )
  const cluster = forbidden(eve, { verb: 'list', path: '/', resource: { ...resource, group: '', plural: 'nodes', namespace: '' } })
  assert.match(cluster.message, /^nodes is forbidden: .* cannot list resource "nodes" in API group "" at the cluster scope$/)
  assert.deepEqual(cluster.details, { kind: 'nodes' })
})
