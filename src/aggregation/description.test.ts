import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { mergeV2, partOfV2, v3OfV2 } from '../http/documents/openapi-foreign.ts'
import { openApiV2Protobuf } from '../http/documents/openapi-protobuf.ts'
import type { Json } from '../lib/json-value.ts'
import { addressesIn, isAggregated, versionIn, versionOfList } from './description.ts'

const AT = { group: 'example.com', version: 'v1' }

test('aggregated discovery is told by its media type', () => {
  assert.ok(isAggregated('application/json; g=apidiscovery.k8s.io; v=v2; as=APIGroupDiscoveryList'))
  assert.ok(!isAggregated('application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList'))
  assert.ok(!isAggregated('application/json'))
})

test('a list of resources becomes a version, subresources below their resource', () => {
  const list = {
    resources: [
      { name: 'cats/status', kind: 'Cat', namespaced: true, verbs: ['get'] },
      { name: 'cats', singularName: 'cat', kind: 'Cat', namespaced: true, verbs: ['get', 'list'], shortNames: ['ct'] },
      { name: 'pods/eviction', kind: 'Eviction', group: 'policy', version: 'v1', namespaced: true, verbs: ['create'] },
    ],
  }
  assert.deepEqual(versionOfList(list, 'v1'), {
    version: 'v1',
    resources: [
      {
        resource: 'cats',
        responseKind: { group: '', version: '', kind: 'Cat' },
        scope: 'Namespaced',
        singularResource: 'cat',
        verbs: ['get', 'list'],
        shortNames: ['ct'],
        subresources: [{ subresource: 'status', responseKind: { group: '', version: '', kind: 'Cat' }, verbs: ['get'] }],
      },
      {
        resource: 'pods',
        scope: 'Namespaced',
        verbs: [],
        subresources: [{ subresource: 'eviction', responseKind: { group: 'policy', version: 'v1', kind: 'Eviction' }, verbs: ['create'] }],
      },
    ],
  })
})

test('addresses of OpenAPI documents stay on this server', () => {
  const index = {
    paths: { 'apis/example.com/v1': { serverRelativeURL: 'https://evil.example.com/x?hash=A%26B' }, 'api/v1': { serverRelativeURL: '/x' } },
  }
  assert.deepEqual([...addressesIn(index, AT)], [['apis/example.com/v1', '/openapi/v3/apis/example.com/v1?hash=A%26B']])
})

test('whatever another server answers, documents are made of it', () => {
  const word = fc.constantFrom(
    'items',
    'metadata',
    'name',
    'versions',
    'version',
    'resources',
    'resource',
    'paths',
    'definitions',
    'get',
    'parameters',
    'responses',
    'schema',
    '$ref',
    'properties',
    'type',
    'allOf',
    '__proto__',
    'apis/example.com/v1',
    '/apis/example.com/v1/x',
  )
  const leaf = fc.oneof(
    fc.constantFrom('example.com', 'v1', '#/definitions/a', '#/parameters/a', 'object'),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  )
  const { value } = fc.letrec<{ value: Json }>(tie => ({
    value: fc.oneof(
      { depthSize: 'large' },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(word, tie('value'), { maxKeys: 5 }),
    ) as fc.Arbitrary<Json>,
  }))
  fc.assert(
    fc.property(value, fc.dictionary(word, value), (anything, object) => {
      versionIn(anything, AT)
      versionOfList(anything, 'v1')
      addressesIn(anything, AT)
      const part = partOfV2(object as never, '/apis/example.com/v1/')
      v3OfV2(part)
      const own = { swagger: '2.0', info: { title: 'x', version: '1' }, paths: {}, definitions: { a: { type: 'object' } } }
      const merged = mergeV2(own, [part, part])
      assert.deepEqual((merged['definitions'] as any).a, { type: 'object' })
      openApiV2Protobuf(merged)
    }),
  )
})

test('merged documents can be written as protobuf', () => {
  const document = {
    paths: {
      '/apis/example.com/v1/cats': {
        get: {
          operationId: 'a',
          summary: 'x',
          deprecated: true,
          parameters: [{ name: 'q', in: 'query', type: 'string', format: 'x' }],
          responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/Cat' }, headers: { a: {} } } },
        },
      },
    },
    definitions: {
      Cat: {
        type: ['object'],
        nullable: true,
        properties: { a: { allOf: [{ type: 'string' }], readOnly: true } },
        additionalProperties: { type: 'string' },
      },
    },
  }
  const own = { swagger: '2.0', info: { title: 'x', version: '1' }, paths: {}, definitions: {} }
  const merged = mergeV2(own, [partOfV2(document as never, '/apis/example.com/v1/')])
  assert.ok(openApiV2Protobuf(merged).includes('Cat'))
})
