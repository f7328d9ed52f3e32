import assert from 'node:assert/strict'
import { test } from 'node:test'
import { smallCatalog } from '../../../test/kits/http/small-catalog.ts'
import { Catalog } from '../../registry/catalog.ts'
import { defineKind } from '../../schema/kind.ts'
import { resourceOf } from '../../schema/resource.ts'
import { message, string } from '../../schema/types.ts'
import { groupInWords, namingOf, packageOf } from './openapi-names.ts'
import { Definitions, type Dialect, V2, V3 } from './openapi-schemas.ts'

function definitionsOf(catalog: Catalog, dialect: Dialect) {
  const definitions = new Definitions(dialect, namingOf(catalog))
  for (const { group, version, kind, type } of catalog) {
    definitions.object(`${packageOf({ group, version })}.${kind}`, type, { usedIn: { group, version }, kinds: [{ group, version, kind }] })
  }
  return definitions.all() as Record<string, any>
}
const v3 = definitionsOf(smallCatalog(), V3)
const v2 = definitionsOf(smallCatalog(), V2)
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

test('groups of Kubernetes have its packages, others their reversed domain', () => {
  const packages = [
    '',
    'apps',
    'networking.k8s.io',
    'rbac.authorization.k8s.io',
    'internal.apiserver.k8s.io',
    'stable.example.com',
    'gateway.networking.k8s.io',
  ]
  assert.deepEqual(
    packages.map(group => packageOf({ group, version: 'v1' })),
    [
      'io.k8s.api.core.v1',
      'io.k8s.api.apps.v1',
      'io.k8s.api.networking.v1',
      'io.k8s.api.rbac.v1',
      'io.k8s.api.apiserverinternal.v1',
      'com.example.stable.v1',
      'io.k8s.networking.gateway.v1',
    ],
  )
  assert.deepEqual(['', 'apps', 'rbac.authorization.k8s.io', 'stable.example.com'].map(groupInWords), [
    'Core',
    'Apps',
    'RbacAuthorization',
    'StableExampleCom',
  ])
})

test('a message that several groups use is in the core group if that uses it, too', () => {
  assert.ok('io.k8s.api.core.v1.Port' in v3)
  assert.deepEqual(
    Object.keys(v3).filter(name => name.endsWith('.Port')),
    ['io.k8s.api.core.v1.Port'],
  )
})

test('each version of a group has its own names', () => {
  assert.ok('io.k8s.api.certificates.v1.ClusterTrustBundleSpec' in v3)
  assert.ok('io.k8s.api.certificates.v1beta1.ClusterTrustBundleSpec' in v3)
})

test('an object names its kind, and its parts by reference beside their description', () => {
  const widget = v3['io.k8s.api.apps.v1.Widget']
  assert.deepEqual(widget['x-kubernetes-group-version-kind'], [{ group: 'apps', version: 'v1', kind: 'Widget' }])
  assert.deepEqual(widget.properties.spec, {
    allOf: [ref('io.k8s.api.apps.v1.WidgetSpec')],
    default: {},
    description: 'The desired state.',
  })
  assert.deepEqual(v2['io.k8s.api.apps.v1.Widget'].properties.spec, {
    $ref: '#/definitions/io.k8s.api.apps.v1.WidgetSpec',
    description: 'The desired state.',
  })
})

test('lists and maps say how patches and apply treat them', () => {
  const { ports, tags, steps, selector, strategy, limits } = v3['io.k8s.api.apps.v1.WidgetSpec'].properties
  assert.deepEqual(ports, {
    type: 'array',
    items: ref('io.k8s.api.core.v1.Port'),
    description: 'Where it listens.',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['number', 'protocol'],
    'x-kubernetes-patch-merge-key': 'number',
    'x-kubernetes-patch-strategy': 'merge',
  })
  assert.equal(tags['x-kubernetes-list-type'], 'set')
  assert.equal(tags['x-kubernetes-patch-strategy'], 'merge')
  assert.equal(steps['x-kubernetes-list-type'], 'atomic')
  assert.equal('x-kubernetes-patch-strategy' in steps, false)
  assert.deepEqual(selector, {
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'What it selects.',
    'x-kubernetes-map-type': 'atomic',
  })
  assert.equal(strategy['x-kubernetes-patch-strategy'], 'retainKeys')
  assert.deepEqual(limits.additionalProperties, ref('io.k8s.apimachinery.pkg.api.resource.Quantity'))
})

test('a message that is atomic everywhere is marked once', () => {
  assert.equal(v3['io.k8s.api.apps.v1.Reference']['x-kubernetes-map-type'], 'atomic')
  assert.equal('x-kubernetes-map-type' in v3['io.k8s.api.apps.v1.WidgetSpec'].properties.reference, false)
})

test('scalars have the formats of Kubernetes', () => {
  const { replicas, config, ratio, count } = v3['io.k8s.api.apps.v1.WidgetSpec'].properties
  assert.deepEqual([replicas.type, replicas.format], ['integer', 'int32'])
  assert.deepEqual([count.type, count.format], ['integer', 'int64'])
  assert.deepEqual([ratio.type, ratio.format], ['number', 'double'])
  assert.deepEqual(config.allOf, [ref('io.k8s.apimachinery.pkg.runtime.RawExtension')])
  assert.deepEqual(v3['io.k8s.api.apps.v1.Reference'].properties.hash, { type: 'string', format: 'byte', description: 'A hash.' })
  assert.deepEqual(v3['io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry'].properties.fieldsV1.allOf, [
    ref('io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1'),
  ])
  assert.deepEqual(v3['io.k8s.apimachinery.pkg.util.intstr.IntOrString'].oneOf, [{ type: 'integer' }, { type: 'string' }])
  assert.equal(v2['io.k8s.apimachinery.pkg.util.intstr.IntOrString'].type, 'string')
  assert.equal(v2['io.k8s.apimachinery.pkg.util.intstr.IntOrString'].format, 'int-or-string')
})

test('enums and defaults are published, defaults only in OpenAPI 3; limits are not', () => {
  const { number, protocol, name } = v3['io.k8s.api.core.v1.Port'].properties
  assert.deepEqual(
    [Object.keys(number), Object.keys(name)].flat().filter(key => /^(min|max)/.test(key)),
    [],
  )
  assert.deepEqual([protocol.enum, protocol.default], [['TCP', 'UDP'], 'TCP'])
  assert.equal('default' in v2['io.k8s.api.core.v1.Port'].properties.protocol, false)
})

test('required is what clients must send', () => {
  assert.deepEqual(v3['io.k8s.api.core.v1.Port'].required, ['number'])
  assert.deepEqual(v3['io.k8s.api.apps.v1.WidgetSpec'].required, ['count'])
  assert.equal('required' in v3['io.k8s.api.apps.v1.WidgetStatus'], false)
})

test('two messages of one name keep both their fields, and a field may bear any name', () => {
  const one = message('Part', { a: [1, string, ''] })
  const other = message('Part', { b: [1, string, ''] })
  const same = message('Part', { a: [1, string, ''] })
  const kind = defineKind({
    group: 'apps',
    version: 'v1',
    kind: 'Thing',
    scope: 'Cluster',
    names: { plural: 'things' },
    fields: { one: [2, one, ''], other: [3, other, ''], same: [4, same, ''], ['__proto__']: [5, string, 'Odd.'] },
  })
  const all = definitionsOf(new Catalog([resourceOf(kind, 'k8s.io')]), V3)
  const { properties } = all['io.k8s.api.apps.v1.Thing']
  assert.deepEqual(properties.one, ref('io.k8s.api.apps.v1.Part'))
  assert.deepEqual(properties.same, ref('io.k8s.api.apps.v1.Part'))
  assert.deepEqual(properties.other, ref('io.k8s.api.apps.v1.Part_2'))
  assert.deepEqual(Object.keys(all['io.k8s.api.apps.v1.Part_2'].properties), ['b'])
  assert.ok(Object.hasOwn(properties, '__proto__'))
})
