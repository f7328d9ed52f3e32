import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ANONYMOUS } from '../authn/authenticator.ts'
import type { Attributes } from '../schema/access.ts'
import { authenticatedOnly } from './authenticated-only.ts'
import { forbidden } from './authorizer.ts'

const request = new AbortController()
const resource = { group: 'apps', version: 'v1', plural: 'daemonsets', subresource: '', namespace: 'ns', name: '' }
const verdict = (attributes: Attributes, user = ANONYMOUS) => {
  const decision = authenticatedOnly.authorize(user, attributes, request)
  return decision instanceof Promise ? undefined : decision.verdict
}

test('known users may do everything, others ask for health and version alone', () => {
  const jane = { name: 'jane', groups: ['system:authenticated'] }
  assert.equal(verdict({ verb: 'delete', path: '/x', resource }, jane), 'allow')
  for (const path of ['/healthz', '/livez/ping', '/readyz', '/version', '/version/'])
    assert.equal(verdict({ verb: 'get', path }), 'allow', path)
  for (const path of ['/', '/metrics', '/versions', '/healthz.', '/api/healthz'])
    assert.equal(verdict({ verb: 'get', path }), 'no-opinion', path)
  assert.equal(verdict({ verb: 'post', path: '/healthz' }), 'no-opinion')
  assert.equal(verdict({ verb: 'get', path: '/healthz', resource }), 'no-opinion')
})

test('a refusal says who may not do what, and where', () => {
  const eve = { name: '<eve>', groups: [] }
  assert.equal(
    forbidden(eve, { verb: 'update', path: '/', resource: { ...resource, subresource: 'status', name: 'd' } }, 'no role').message,
    'daemonsets.apps "d" is forbidden: User "&lt;eve&gt;" cannot update resource "daemonsets/status" in API group "apps" in the namespace "ns": no role',
  )
  const cluster = forbidden(eve, { verb: 'list', path: '/', resource: { ...resource, group: '', plural: 'nodes', namespace: '' } })
  assert.match(cluster.message, /^nodes is forbidden: .* cannot list resource "nodes" in API group "" at the cluster scope$/)
  assert.deepEqual(cluster.details, { kind: 'nodes' })
})
