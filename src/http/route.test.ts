import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { testCatalog } from '../../test/kits/http/test-server.ts'
import { Namespace } from '../kinds/core/namespace.ts'
import { Node } from '../kinds/core/node.ts'
import { Pod } from '../kinds/core/pod/pod.ts'
import { Service } from '../kinds/core/service/service.ts'
import { Catalog } from '../registry/catalog.ts'
import { resourcesOf } from '../schema/resource.ts'
import { Router, route } from './route.ts'

const catalog = testCatalog()

/** A route in one line: `verb resource namespace/name/subresource`, a path, or the code of the refusal. */
function summary(method: string, target: string): string {
  const found = route(method, target, catalog)
  if (found.type === 'path') return `path ${found.path}`
  if (found.type === 'refused') return `${found.error.code}`
  const { verb, resource, namespace, name, subresource } = found.call
  return `${verb} ${resource.plural} ${namespace}/${name}/${subresource}`
}

const CASES: readonly [method: string, target: string, expected: string][] = [
  ['GET', '/', 'path /'],
  ['GET', '/version', 'path /version'],
  ['GET', '/api', 'path /api'],
  ['GET', '/api/v1', 'path /api/v1'],
  ['GET', '/apis/apps/v1/', 'path /apis/apps/v1/'],
  ['GET', '/apis/nope', 'path /apis/nope'],
  ['GET', '/api/v1/secrets', 'list secrets //'],
  ['GET', '/api/v1/secrets?watch=true', 'watch secrets //'],
  ['GET', '/api/v1/secrets?watch=0', 'list secrets //'],
  ['GET', '/api/v1/secrets?watch=False', 'list secrets //'],
  ['GET', '/api/v1/secrets?watch=1&limit=5', 'watch secrets //'],
  ['GET', '/api/v1/namespaces/ns/secrets', 'list secrets ns//'],
  ['GET', '/api/v1/namespaces/ns/secrets/', 'list secrets ns//'],
  ['POST', '/api/v1/namespaces/ns/secrets', 'create secrets ns//'],
  ['DELETE', '/api/v1/namespaces/ns/secrets', 'deletecollection secrets ns//'],
  ['GET', '/api/v1/namespaces/ns/secrets/a', 'get secrets ns/a/'],
  ['GET', '/api/v1/namespaces/ns/secrets/a?watch=true', 'get secrets ns/a/'],
  ['PUT', '/api/v1/namespaces/ns/secrets/a', 'update secrets ns/a/'],
  ['PATCH', '/api/v1/namespaces/ns/secrets/a', 'patch secrets ns/a/'],
  ['DELETE', '/api/v1/namespaces/ns/secrets/a', 'delete secrets ns/a/'],
  ['GET', '/api/v1/namespaces/ns/secrets/%61', 'get secrets ns/a/'],
  ['GET', '/api/v1/namespaces/ns/secrets/..', '400'],
  ['GET', '/api/v1/namespaces/ns/secrets/__proto__', 'get secrets ns/__proto__/'],
  ['GET', '/api/v1/namespaces', 'list namespaces //'],
  ['GET', '/api/v1/namespaces/ns', 'get namespaces /ns/'],
  ['PUT', '/api/v1/namespaces/ns/finalize', 'update namespaces /ns/finalize'],
  ['GET', '/api/v1/namespaces/ns/status', 'get namespaces /ns/status'],
  ['GET', '/apis/apps/v1/namespaces/ns/daemonsets/d/status', 'get daemonsets ns/d/status'],
  ['GET', '/apis/networking.k8s.io/v1/servicecidrs/c', 'get servicecidrs /c/'],
  ['GET', '/api/v1/watch/secrets', 'watch secrets //'],
  ['GET', '/api/v1/watch/namespaces/ns/secrets', 'watch secrets ns//'],
  ['GET', '/api/v1/watch/namespaces/ns/secrets/a', 'watch secrets ns/a/'],
  ['GET', '/api/v1/watch/namespaces', 'watch namespaces //'],
  ['GET', '/api/v1/watch/namespaces/ns', 'watch namespaces /ns/'],
  ['GET', '/apis/networking.k8s.io/v1/watch/servicecidrs/c', 'watch servicecidrs /c/'],
  // There is nothing there.
  ['GET', '/apis/apps/v1/nopes', '404'],
  ['GET', '/api/v1/namespaces/ns/nopes/x', '404'],
  ['GET', '/api/v1/namespaces/ns/secrets/x/status', '404'],
  ['GET', '/apis/apps/v1/namespaces/ns/daemonsets/d/nope', '404'],
  ['GET', '/apis/apps/v1/namespaces/ns/daemonsets/d/status/more', '404'],
  ['GET', '/api/v1/secrets/a', '404'],
  ['GET', '/apis/networking.k8s.io/v1/namespaces/ns/servicecidrs', '404'],
  ['GET', '/api/v1/namespaces//secrets', 'list secrets //'],
  ['GET', '/api/v1/namespaces/ns/secrets/a%2Fb', '404'],
  ['GET', '/api/v1/watch', '404'],
  ['GET', '/api/v1/watch/namespaces/ns/secrets/a/status', '404'],
  ['GET', '/apis/__proto__/v1/secrets', 'path /apis/__proto__/v1/secrets'],
  ['GET', '/api/v1/constructor', '404'],
  // There is something there, but not by this method.
  ['POST', '/apis/apps/v1/daemonsets', '405'],
  ['DELETE', '/apis/apps/v1/daemonsets', '405'],
  ['PUT', '/api/v1/namespaces/ns/secrets', '405'],
  ['PATCH', '/api/v1/namespaces/ns/secrets', '405'],
  ['POST', '/api/v1/namespaces/ns/secrets/x', '405'],
  ['POST', '/apis/apps/v1/namespaces/ns/daemonsets/d/status', '405'],
  ['OPTIONS', '/api/v1/namespaces/ns/secrets', '405'],
  ['HEAD', '/api/v1/namespaces/ns/secrets', '405'],
  ['BREW', '/api/v1/namespaces/ns/secrets', '405'],
  ['POST', '/api/v1/watch/secrets', '405'],
  // Not paths at all.
  ['GET', '/api/v1/secrets/%', '400'],
  ['GET', '/api/v1/secrets/%ff', '400'],
  ['GET', '/api/v1/secrets/a%00b', '400'],
  ['GET', '*', '400'],
  ['GET', 'https://elsewhere/api', '400'],
]

for (const [method, target, expected] of CASES)
  test(`${method} ${target} is ${expected}`, () => assert.equal(summary(method, target), expected))

test('what is not served is authorized like what is', () => {
  assert.deepEqual(route('GET', '/apis/x.io/v2/namespaces/ns/things/t/sub', catalog).attributes, {
    verb: 'get',
    path: '/apis/x.io/v2/namespaces/ns/things/t/sub',
    resource: { group: 'x.io', version: 'v2', plural: 'things', subresource: 'sub', namespace: 'ns', name: 't' },
  })
})

test('a namespace is authorized inside itself, a list of one name as that name', () => {
  assert.equal(route('GET', '/api/v1/namespaces/ns', catalog).attributes.resource?.namespace, 'ns')
  const named = (selector: string) =>
    route('GET', `/api/v1/secrets?fieldSelector=${encodeURIComponent(selector)}`, catalog).attributes.resource?.name
  assert.equal(named('metadata.name=x'), 'x')
  assert.equal(named('metadata.name==x,type=Opaque'), 'x')
  for (const selector of ['metadata.name!=x', 'metadata.name=', 'metadata.name=..', 'metadata.name=a/b', 'metadata.name', 'type=x\\'])
    assert.equal(named(selector), '', selector)
})

test('a field selector names no object in writes', () => {
  for (const method of ['POST', 'DELETE'])
    assert.equal(route(method, '/api/v1/namespaces/ns/secrets?fieldSelector=metadata.name%3Dx', catalog).attributes.resource?.name, '')
})

test('no target makes routing throw, and no name holds a slash', () => {
  const piece = fc.oneof(fc.string(), fc.constantFrom('api', 'v1', 'namespaces', 'secrets', 'watch', '%2f', '%2e%2e', '..', '?', '\0', ''))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), pieces => {
      const found = route('GET', `/${pieces.join('/')}`, catalog)
      if (found.type === 'call') assert.ok(!found.call.name.includes('/') && !found.call.namespace.includes('/'))
    }),
  )
})

test('a selector names what is listed or watched, and nothing else', () => {
  const nameOf = (method: string, target: string) => route(method, target, catalog).attributes.resource?.name
  const selected = '/api/v1/namespaces/ns/secrets?fieldSelector=metadata.name%3Dmine'
  assert.equal(nameOf('GET', selected), 'mine')
  assert.equal(nameOf('GET', `${selected}&watch=true`), 'mine')
  assert.equal(nameOf('GET', selected.replace('v1', 'v1/watch')), 'mine')
  for (const method of ['POST', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']) assert.equal(nameOf(method, selected), '', method)
})

test('a router finds what its catalog serves now, whatever it has found before', () => {
  const changing = testCatalog()
  const router = new Router(changing)
  const target = '/api/v1/namespaces/ns/secrets?limit=1'
  for (let i = 0; i < 2; i++)
    for (const method of ['GET', 'POST', 'DELETE', 'PUT'])
      assert.deepEqual(router.find(method, target), route(method, target, changing), method)
  changing.remove(changing.find('', 'v1', 'secrets')!)
  assert.equal(router.find('GET', target).type, 'refused')
  // More than are remembered.
  for (let i = 0; i < 600; i++)
    assert.equal(router.find('GET', `/api/v1/namespaces/ns-${i}/configmaps`).attributes.resource?.namespace, `ns-${i}`)
})

const builtIn = new Catalog(resourcesOf([Namespace, Node, Pod, Service], 'k8s.io'))

test('what is behind a subresource that passes requests on is one of its options', () => {
  const pathOf = (target: string) => {
    const found = route('GET', target, builtIn)
    return found.type === 'call' ? found.call.query.get('path') : undefined
  }
  assert.equal(pathOf('/api/v1/nodes/n/proxy'), '')
  assert.equal(pathOf('/api/v1/nodes/n/proxy/?path=/other'), '/')
  assert.equal(pathOf('/api/v1/nodes/n/proxy/stats/summary?a=b'), '/stats/summary')
  assert.equal(pathOf('/api/v1/namespaces/ns/pods/p:80/proxy/a%2Fb/'), '/a/b/')
  assert.equal(pathOf('/api/v1/namespaces/ns/services/s/proxy/x'), '/x')
  assert.equal(pathOf('/api/v1/namespaces/ns/pods/p/log?path=/x'), '/x')
  assert.equal(pathOf('/api/v1/namespaces/ns/pods/p/exec'), null)
})
