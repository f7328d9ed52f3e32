import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cronTab, smallCatalog } from '../../../test/kits/http/small-catalog.ts'
import { openEnvelope } from '../../codec/protobuf-envelope.ts'
import { defineKind } from '../../schema/kind.ts'
import { resourceOf } from '../../schema/resource.ts'
import { discoveryDocument } from './discovery.ts'
import { isUnchanged } from './discovery-document.ts'

const AGGREGATED =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json'
const ALL = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const at = { serverAddress: '127.0.0.1:6443' }
const read = (path: string, accept?: string, catalog = smallCatalog()) => {
  const document = discoveryDocument(catalog, path, { ...at, accept })
  return document && JSON.parse(document.body.toString())
}

test('the root of the core group names its versions and where to connect', () => {
  assert.deepEqual(read('/api'), {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '127.0.0.1:6443' }],
  })
})

test('groups are in the order of kube-apiserver, foreign ones last', () => {
  const names = read('/apis').groups.map((group: { name: string }) => group.name)
  assert.deepEqual(names, ['apps', 'authorization.k8s.io', 'certificates.k8s.io', 'networking.k8s.io', 'stable.example.com'])
})

test('groups keep their order under another domain', () => {
  const names = read('/apis', undefined, smallCatalog('example.org')).groups.map((group: { name: string }) => group.name)
  assert.deepEqual(names, ['apps', 'authorization.example.org', 'certificates.example.org', 'networking.example.org', 'stable.example.com'])
})

test('a group names its versions, preferred first', () => {
  const v1 = { groupVersion: 'certificates.k8s.io/v1', version: 'v1' }
  assert.deepEqual(read('/apis/certificates.k8s.io'), {
    kind: 'APIGroup',
    apiVersion: 'v1',
    name: 'certificates.k8s.io',
    versions: [v1, { groupVersion: 'certificates.k8s.io/v1beta1', version: 'v1beta1' }],
    preferredVersion: v1,
  })
})

test('a group version lists resources and subresources as recorded from kube-apiserver', () => {
  assert.deepEqual(read('/apis/networking.k8s.io/v1'), {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: 'networking.k8s.io/v1',
    resources: [
      {
        name: 'ingresses',
        singularName: 'ingress',
        namespaced: true,
        kind: 'Ingress',
        verbs: ALL,
        shortNames: ['ing'],
        storageVersionHash: '39NQlfNR+bo=',
      },
      { name: 'ingresses/status', singularName: '', namespaced: true, kind: 'Ingress', verbs: ['get', 'patch', 'update'] },
    ],
  })
})

test('the storage hash follows the version that is stored', () => {
  for (const version of ['v1', 'v1beta1']) {
    assert.equal(read(`/apis/certificates.k8s.io/${version}`).resources[0].storageVersionHash, 'v5yhuVertL4=')
  }
})

test('what is not stored has no storage hash', () => {
  assert.deepEqual(read('/apis/authorization.k8s.io/v1').resources, [
    { name: 'reviews', singularName: 'review', namespaced: false, kind: 'Review', verbs: ['create'] },
  ])
})

test('the core group version names no apiVersion', () => {
  assert.deepEqual(Object.keys(read('/api/v1')), ['kind', 'groupVersion', 'resources'])
})

test('subresources with a kind of another group name its group and version', () => {
  const entries = read('/apis/apps/v1').resources.slice(1)
  assert.deepEqual(
    entries.map((r: any) => [r.name, r.group, r.version, r.kind, r.verbs.join()]),
    [
      ['widgets/approval', 'policy.k8s.io', 'v1', 'Approval', 'create'],
      ['widgets/attach', undefined, undefined, 'WidgetAttachOptions', 'create,get'],
      ['widgets/finalize', undefined, undefined, 'Widget', 'update'],
      ['widgets/log', undefined, undefined, 'Widget', 'get'],
      ['widgets/proxy', undefined, undefined, 'WidgetProxyOptions', 'create,delete,get,update'],
      ['widgets/scale', 'autoscaling', 'v1', 'Scale', 'get,patch,update'],
      ['widgets/status', undefined, undefined, 'Widget', 'get,patch,update'],
    ],
  )
})

test('aggregated discovery has everything below a root', () => {
  const list = read('/apis', AGGREGATED)
  assert.equal(list.kind, 'APIGroupDiscoveryList')
  assert.equal(list.apiVersion, 'apidiscovery.k8s.io/v2')
  assert.deepEqual(list.items[3], {
    metadata: { name: 'networking.k8s.io' },
    versions: [
      {
        version: 'v1',
        resources: [
          {
            resource: 'ingresses',
            responseKind: { group: '', version: '', kind: 'Ingress' },
            scope: 'Namespaced',
            singularResource: 'ingress',
            verbs: ALL,
            shortNames: ['ing'],
            subresources: [
              { subresource: 'status', responseKind: { group: '', version: '', kind: 'Ingress' }, verbs: ['get', 'patch', 'update'] },
            ],
          },
        ],
        freshness: 'Current',
      },
    ],
  })
  const scale = list.items[0].versions[0].resources[0].subresources.find((s: any) => s.subresource === 'scale')
  assert.deepEqual(scale.responseKind, { group: 'autoscaling', version: 'v1', kind: 'Scale' })
  assert.deepEqual(
    read('/api', AGGREGATED).items.map((item: any) => [item.metadata, item.versions[0].resources[0].resource]),
    [[{}, 'notes']],
  )
})

test('the Accept header decides between aggregated and unaggregated discovery', () => {
  const contentType = (path: string, accept?: string) => discoveryDocument(smallCatalog(), path, { ...at, accept })?.contentType
  assert.equal(contentType('/apis', AGGREGATED), 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')
  assert.match(contentType('/apis', 'application/json;as=APIGroupDiscoveryList;v=v2beta1;g=apidiscovery.k8s.io') ?? '', /v=v2beta1/)
  assert.equal(
    contentType('/apis', 'application/json;as=APIGroupDiscoveryList;v=v9;g=apidiscovery.k8s.io,application/json'),
    'application/json',
  )
  assert.equal(contentType('/apis', `application/json,${AGGREGATED}`), 'application/json')
  assert.equal(contentType('/apis', `application/json;q=0.5,${AGGREGATED}`)?.includes('as='), true)
  assert.equal(contentType('/apis', '*/*'), 'application/json')
  assert.equal(contentType('/apis'), 'application/json')
  assert.equal(contentType('/apis/apps', AGGREGATED), 'application/json')
})

test('an entity tag names the content and answers whether the client has it', () => {
  const catalog = smallCatalog()
  const document = discoveryDocument(catalog, '/apis', { ...at, accept: AGGREGATED })!
  assert.match(document.etag, /^"[0-9A-F]{128}"$/)
  assert.equal(document.headers['etag'], document.etag)
  assert.equal(document.headers['vary'], 'Accept')
  assert.equal(isUnchanged(document, document.etag), true)
  assert.equal(isUnchanged(document, `"x", W/${document.etag}`), true)
  assert.equal(isUnchanged(document, '*'), true)
  assert.equal(isUnchanged(document, '"x"'), false)
  assert.equal(isUnchanged(document, undefined), false)
})

test('documents are kept until the catalog changes', () => {
  const catalog = smallCatalog()
  const first = discoveryDocument(catalog, '/apis', at)
  assert.equal(discoveryDocument(catalog, '/apis', at), first)
  catalog.remove(resourceOf(cronTab, 'k8s.io'))
  const second = discoveryDocument(catalog, '/apis', at)
  assert.notEqual(second?.etag, first?.etag)
  assert.equal(second?.body.includes('stable.example.com'), false)
})

test('a slash at the end makes no difference, and versions that are not served have no document', () => {
  assert.deepEqual(read('/apis/apps/v1/'), read('/apis/apps/v1'))
  for (const path of [
    '/',
    '/nope',
    '/api/v2',
    '/apis/nope',
    '/apis/apps/v9',
    '/apis/apps/v1/widgets',
    '/api/v1/notes',
    '/apis//v1',
    '/apis/__proto__',
  ]) {
    assert.equal(read(path), undefined, path)
  }
})

test('documents are JSON, YAML or protobuf, aggregated or not, as the client prefers', () => {
  const catalog = smallCatalog()
  const served = (path: string, accept: string) => discoveryDocument(catalog, path, { ...at, accept })!
  const aggregated = ';g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
  for (const [path, accept, contentType] of [
    ['/apis', 'application/yaml', 'application/yaml'],
    ['/apis/apps', 'text/html, application/yaml;q=0.5, application/json;q=0.4', 'application/yaml'],
    ['/apis/apps/v1', 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json', 'application/json'],
    ['/apis', 'application/*', 'application/json'],
    ['/api', `application/yaml${aggregated}`, `application/yaml${aggregated}`],
    ['/apis', `application/vnd.kubernetes.protobuf${aggregated}`, `application/vnd.kubernetes.protobuf${aggregated}`],
  ] as const)
    assert.equal(served(path, accept).contentType, contentType, `${path} ${accept}`)
  const yaml = served('/apis/apps', 'application/yaml').body.toString()
  assert.match(yaml, /^apiVersion: v1\nkind: APIGroup\nname: apps\n/)
})

test('in protobuf the documents have the same content', () => {
  const catalog = smallCatalog()
  const accept = 'application/vnd.kubernetes.protobuf'
  for (const path of ['/api', '/apis', '/apis/apps', '/apis/apps/v1']) {
    const { kind, apiVersion, ...content } = JSON.parse(discoveryDocument(catalog, path, at)!.body.toString())
    const opened = openEnvelope(discoveryDocument(catalog, path, { ...at, accept })!.body)
    assert.deepEqual([opened.kind, opened.apiVersion], [kind, apiVersion ?? ''])
    const names = new Set(JSON.stringify(content).match(/"[a-z][A-Za-z.:/0-9-]*"(?!:)/g))
    for (const name of names) assert.ok(Buffer.from(opened.raw).includes(name.slice(1, -1)), `${path} has no ${name}`)
  }
})

test('what a client accepts and is not there is 406, in the words of the router that looks for it', () => {
  const refused = (path: string, accept: string) => {
    try {
      discoveryDocument(smallCatalog(), path, { ...at, accept })
    } catch (error) {
      return (error as Error).message
    }
    return undefined
  }
  const all = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'
  for (const path of ['/api', '/apis/apps/v1'])
    for (const accept of ['text/html', 'application/*', 'application/cbor'])
      assert.equal(refused(path, accept), `406: Not Acceptable\n\nAvailable representations: ${all}`)
  for (const path of ['/apis', '/apis/apps'])
    assert.equal(refused(path, 'text/html'), `only the following media types are accepted: ${all}`)
  assert.equal(refused('/apis/nothing.example.com', 'text/html'), undefined)
})

test('custom kinds list their status before their scale', () => {
  const catalog = smallCatalog()
  const subresources = { scale: {} as never, status: {} }
  const tabs = { ...cronTab.def, kind: 'Tab', names: { plural: 'tabs' }, custom: {} as never, subresources }
  catalog.add(resourceOf(defineKind(tabs), ''))
  const names = read('/apis/stable.example.com/v1', undefined, catalog).resources.map((r: { name: string }) => r.name)
  assert.deepEqual(names.slice(-3), ['tabs', 'tabs/status', 'tabs/scale'])
})
