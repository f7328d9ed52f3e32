import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cronTab, smallCatalog } from '../../../test/kits/http/small-catalog.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { Ingress } from '../../kinds/networking/ingress.ts'
import { finish } from '../../lib/step.ts'
import { Catalog } from '../../registry/catalog.ts'
import { resourceOf } from '../../schema/resource.ts'
import { type OpenApiAnswer, openApiDocument } from './openapi.ts'
import { capitalize } from './openapi-names.ts'

const now = new Date('2026-02-03T04:05:06Z')
const ask = (catalog: Catalog, path: string, more: { accept?: string; hash?: string } = {}) =>
  finish(openApiDocument(catalog, path, { now, ...more }))
function documentIn(answer: OpenApiAnswer | undefined) {
  assert.equal(answer?.type, 'document')
  return answer.type === 'document' ? answer.document : assert.fail()
}
const read = (catalog: Catalog, path: string) => JSON.parse(documentIn(ask(catalog, path)).body.toString())
const addressesIn = (catalog: Catalog): [string, string][] =>
  Object.entries(read(catalog, '/openapi/v3').paths).map(([key, { serverRelativeURL }]: [string, any]) => [key, serverRelativeURL])

/** The references and operations of a document hold together. */
function assertSound(document: any, schemas: Record<string, unknown>, prefix: string) {
  const ids = new Set<string>()
  for (const [path, item] of Object.entries<any>(document.paths)) {
    const { parameters = [], ...operations } = item
    for (const operation of Object.values<any>(operations)) {
      assert.equal(ids.has(operation.operationId), false, operation.operationId)
      ids.add(operation.operationId)
      const all = [...parameters, ...(operation.parameters ?? [])].map((p: any) => `${p.in} ${p.name}`)
      assert.equal(new Set(all).size, all.length, `${path} says a parameter twice`)
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1])
      assert.deepEqual(
        parameters
          .filter((p: any) => p.in === 'path')
          .map((p: any) => p.name)
          .sort(),
        inPath.sort(),
        path,
      )
      assert.ok(operation.responses['200'], path)
    }
  }
  for (const [, target] of JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)) {
    assert.ok(target!.startsWith(prefix) && Object.hasOwn(schemas, target!.slice(prefix.length)), target)
  }
}

test('the index of OpenAPI 3 names every part with the hash of its content', () => {
  const catalog = smallCatalog()
  const addresses = addressesIn(catalog)
  assert.deepEqual(addresses.map(([key]) => key).slice(0, 5), ['api', 'api/v1', 'apis', 'apis/apps', 'apis/apps/v1'])
  for (const [key, address] of addresses) {
    const url = new URL(address, 'https://server')
    assert.equal(url.pathname, `/openapi/v3/${key}`)
    const document = documentIn(ask(catalog, url.pathname, { hash: url.searchParams.get('hash')! }))
    assert.equal(document.etag, `"${url.searchParams.get('hash')}"`)
    assert.equal(document.headers['cache-control'], 'public, immutable')
    assert.equal(document.headers['expires'], 'Wed, 03 Feb 2027 04:05:06 GMT')
  }
})

test('every document of OpenAPI 3 is sound', () => {
  const catalog = smallCatalog()
  for (const [key] of addressesIn(catalog)) {
    const document = read(catalog, `/openapi/v3/${key}`)
    assert.equal(document.openapi, '3.0.0')
    assertSound(document, document.components.schemas, '#/components/schemas/')
  }
})

test('the document of OpenAPI 2 is sound', () => {
  const document = read(smallCatalog(), '/openapi/v2')
  assert.equal(document.swagger, '2.0')
  assertSound(document, document.definitions, '#/definitions/')
})

test('real kinds make valid documents in every version and media type', () => {
  const catalog = new Catalog([Pod, Secret, Ingress].map(kind => resourceOf(kind, 'k8s.io')))
  for (const [key] of addressesIn(catalog)) {
    const document = read(catalog, `/openapi/v3/${key}`)
    assertSound(document, document.components.schemas, '#/components/schemas/')
  }
  const { definitions } = read(catalog, '/openapi/v2')
  const { volumes, containers } = definitions['io.k8s.api.core.v1.PodSpec'].properties
  assert.equal(volumes['x-kubernetes-patch-strategy'], 'merge,retainKeys')
  assert.equal(containers['x-kubernetes-patch-merge-key'], 'name')
  const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'
  assert.ok(documentIn(ask(catalog, '/openapi/v2', { accept: protobuf })).body.length > 0)
})

test('operations are named as in Kubernetes', () => {
  const { paths } = read(smallCatalog(), '/openapi/v2')
  const named = (path: string) =>
    Object.fromEntries(
      Object.entries<any>(paths[path])
        .filter(([m]) => m !== 'parameters')
        .map(([m, o]) => [m, o.operationId]),
    )
  const base = '/apis/apps/v1/namespaces/{namespace}/widgets'
  assert.deepEqual(named(base), {
    get: 'listAppsV1NamespacedWidget',
    post: 'createAppsV1NamespacedWidget',
    delete: 'deleteAppsV1CollectionNamespacedWidget',
  })
  assert.deepEqual(named(`${base}/{name}`), {
    get: 'readAppsV1NamespacedWidget',
    put: 'replaceAppsV1NamespacedWidget',
    patch: 'patchAppsV1NamespacedWidget',
    delete: 'deleteAppsV1NamespacedWidget',
  })
  assert.deepEqual(named(`${base}/{name}/scale`), {
    get: 'readAppsV1NamespacedWidgetScale',
    put: 'replaceAppsV1NamespacedWidgetScale',
    patch: 'patchAppsV1NamespacedWidgetScale',
  })
  assert.deepEqual(named(`${base}/{name}/approval`), { post: 'createAppsV1NamespacedWidgetApproval' })
  assert.deepEqual(named(`${base}/{name}/log`), { get: 'readAppsV1NamespacedWidgetLog' })
  const proxied = (words: string) =>
    Object.fromEntries(['post', 'delete', 'get', 'put', 'head', 'options'].map(m => [m, `connectAppsV1${capitalize(m)}Namespaced${words}`]))
  assert.deepEqual(named(`${base}/{name}/proxy`), proxied('WidgetProxy'))
  assert.deepEqual(named(`${base}/{name}/proxy/{path}`), proxied('WidgetProxyWithPath'))
  assert.deepEqual(named('/apis/apps/v1/widgets'), { get: 'listAppsV1WidgetForAllNamespaces' })
  assert.deepEqual(named('/apis/apps/v1/watch/widgets'), { get: 'watchAppsV1WidgetListForAllNamespaces' })
  assert.deepEqual(named('/apis/apps/v1/watch/namespaces/{namespace}/widgets'), { get: 'watchAppsV1NamespacedWidgetList' })
  assert.deepEqual(named('/api/v1/notes'), { get: 'listCoreV1Note', post: 'createCoreV1Note' })
  assert.deepEqual(named('/apis/authorization.k8s.io/v1/reviews'), { post: 'createAuthorizationV1Review' })
  assert.deepEqual(named('/apis/stable.example.com/v1/crontabs'), { get: 'listStableExampleComV1CronTabForAllNamespaces' })
})

test('clients find out whether a patch can be a dry run or strict', () => {
  const { patch } = read(smallCatalog(), '/openapi/v3/apis/apps/v1').paths['/apis/apps/v1/namespaces/{namespace}/widgets/{name}']
  assert.deepEqual(
    patch.parameters.map((p: any) => p.name),
    ['dryRun', 'fieldManager', 'fieldValidation', 'force'],
  )
  assert.equal(patch['x-kubernetes-action'], 'patch')
  assert.deepEqual(patch['x-kubernetes-group-version-kind'], { group: 'apps', version: 'v1', kind: 'Widget' })
  assert.ok('application/strategic-merge-patch+json' in patch.requestBody.content)
})

test('paths that connect name their options as parameters', () => {
  const { paths } = read(smallCatalog(), '/openapi/v3/apis/apps/v1')
  const parametersOf = (subresource: string) =>
    paths[`/apis/apps/v1/namespaces/{namespace}/widgets/{name}/${subresource}`].parameters.map(
      ({ name, in: location, schema }: any) => `${location} ${name} ${schema.type} ${schema.uniqueItems}`,
    )
  const named = ['path name string true', 'path namespace string true']
  assert.deepEqual(parametersOf('attach'), [...named, 'query tty boolean true', 'query ports integer true'])
  assert.deepEqual(parametersOf('proxy/{path}'), [...named, 'query path string true', 'path path string true'])
  assert.deepEqual(parametersOf('log'), [...named, 'query pretty string true'])
})

test('subresources use their own kinds', () => {
  const document = read(smallCatalog(), '/openapi/v3/apis/apps/v1')
  const path = '/apis/apps/v1/namespaces/{namespace}/widgets/{name}/'
  const answerOf = (operation: any) => operation.responses['200'].content['application/json'].schema.$ref.split('/').at(-1)
  assert.equal(answerOf(document.paths[`${path}scale`].get), 'io.k8s.api.autoscaling.v1.Scale')
  assert.equal(answerOf(document.paths[`${path}approval`].post), 'io.k8s.api.policy.v1.Approval')
  assert.equal(answerOf(document.paths[`${path}status`].put), 'io.k8s.api.apps.v1.Widget')
  const approval = document.components.schemas['io.k8s.api.policy.v1.Approval']
  assert.deepEqual(Object.keys(approval.properties), ['kind', 'apiVersion', 'metadata', 'reason'])
  assert.deepEqual(approval['x-kubernetes-group-version-kind'], [{ group: 'policy.k8s.io', version: 'v1', kind: 'Approval' }])
})

test('an old hash is redirected to the new one, no hash is answered without long caching', () => {
  const catalog = smallCatalog()
  const current = new Map(addressesIn(catalog)).get('apis/apps/v1')
  assert.deepEqual(ask(catalog, '/openapi/v3/apis/apps/v1', { hash: 'OLD' }), { type: 'moved', location: current })
  assert.equal(documentIn(ask(catalog, '/openapi/v3/apis/apps/v1')).headers['cache-control'], 'no-cache, private')
})

test('OpenAPI 2 is served in JSON and in protobuf, under its old and its new name', () => {
  const catalog = smallCatalog()
  const typeFor = (accept?: string) => {
    const answer = ask(catalog, '/openapi/v2', accept === undefined ? {} : { accept })
    return answer?.type === 'document' ? answer.document.contentType : answer?.type
  }
  const protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
  assert.equal(typeFor('application/com.github.proto-openapi.spec.v2@v1.0+protobuf'), protobuf)
  assert.equal(typeFor(`${protobuf},application/json`), protobuf)
  assert.equal(typeFor(`application/json,${protobuf}`), 'application/json')
  assert.equal(typeFor('application/*'), 'application/json')
  assert.equal(typeFor(), 'application/json')
  assert.equal(typeFor('text/html'), 'not-acceptable')
})

test('documents are kept until the catalog changes, and then only what changed has a new hash', () => {
  const catalog = smallCatalog()
  const before = new Map(addressesIn(catalog))
  const v2 = documentIn(ask(catalog, '/openapi/v2'))
  assert.equal(documentIn(ask(catalog, '/openapi/v2')).body, v2.body)
  catalog.remove(resourceOf(cronTab, 'k8s.io'))
  const after = new Map(addressesIn(catalog))
  assert.equal(after.has('apis/stable.example.com/v1'), false)
  assert.equal(after.get('apis/apps/v1'), before.get('apis/apps/v1'))
  assert.notEqual(documentIn(ask(catalog, '/openapi/v2')).etag, v2.etag)
})

test('other paths have no document', () => {
  const catalog = smallCatalog()
  for (const path of ['/openapi', '/openapi/v4', '/openapi/v3/apis/nope', '/openapi/v3/apis/apps/v9', '/openapi/v3/__proto__']) {
    assert.equal(ask(catalog, path), undefined, path)
  }
  assert.deepEqual(Object.keys(read(new Catalog(), '/openapi/v3').paths), ['api', 'apis', 'version'])
})

test('defaults are published where Kubernetes publishes them: zeros that are always written, and those that types declare', () => {
  const catalog = new Catalog([resourceOf(Pod, 'k8s.io')])
  const { schemas } = read(catalog, '/openapi/v3/api/v1').components
  const defaultOf = (name: string, field: string) => schemas[`io.k8s.api.core.v1.${name}`].properties[field].default
  const published = [
    ['Pod', 'metadata', {}],
    ['Pod', 'spec', {}],
    ['Container', 'name', ''],
    ['ContainerStatus', 'restartCount', 0],
    ['ContainerStatus', 'ready', false],
    ['ContainerPort', 'protocol', 'TCP'],
    ['LocalObjectReference', 'name', ''],
  ] as const
  for (const [name, field, value] of published) assert.deepEqual(defaultOf(name, field), value, `${name}.${field}`)
  // Defaults that the server sets are not defaults of the type.
  for (const field of ['restartPolicy', 'dnsPolicy', 'securityContext', 'terminationGracePeriodSeconds', 'containers'])
    assert.equal(defaultOf('PodSpec', field), undefined, field)
  assert.equal(JSON.stringify(read(catalog, '/openapi/v2')).includes('"default":'), false)
})

test('both documents show which fields exclude each other', () => {
  const catalog = new Catalog([resourceOf(Pod, 'k8s.io')])
  const { schemas } = read(catalog, '/openapi/v3/api/v1').components
  for (const all of [schemas, read(catalog, '/openapi/v2').definitions]) {
    const unionsOf = (name: string) => all[`io.k8s.api.core.v1.${name}`]['x-kubernetes-unions']
    const profile = [{ discriminator: 'type', 'fields-to-discriminateBy': { localhostProfile: 'LocalhostProfile' } }]
    assert.deepEqual(unionsOf('SeccompProfile'), profile)
    assert.deepEqual(unionsOf('AppArmorProfile'), profile)
    assert.deepEqual(unionsOf('PodSchedulingGroup'), [{ 'fields-to-discriminateBy': { podGroupName: 'PodGroupName' } }])
  }
})
