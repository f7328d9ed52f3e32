// Mutating policies change objects: the cases of Kubernetes' integration tests, on a built-in and on a custom kind.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually, freshServer, patient, type Target } from '../kit.ts'
import { make, makePolicy, ruleFor } from '../kits/admission-objects.ts'

const ENDPOINTS = '/api/v1/namespaces/default/endpoints'
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const applied = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } })
const patched = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } })
const annotated = (fields: string) => applied(`Object{metadata: Object.metadata{annotations: ${fields}}}`)
const about = (resource: string, group = '') => ({ matchConstraints: { resourceRules: [ruleFor([resource], { group })] } })

type Case = {
  readonly what: string
  readonly policies: readonly { readonly spec: object; readonly bindings?: readonly object[] }[]
  readonly params?: readonly object[]
  /** The request, and the response without fields that the server adds. */
  readonly sent?: { readonly metadata?: object; readonly subsets?: object[] }
  readonly expected: { readonly metadata?: object; readonly subsets?: object[] }
}

const notReady = [{ ip: '1.2.3.4' }]
const addresses = (expression: string, ...added: string[]): Pick<Case, 'policies' | 'sent' | 'expected'> => ({
  policies: [{ spec: { mutations: [patched(`[JSONPatch{op: "add", path: "/subsets/0/addresses", value: ${expression}}]`)] } }],
  sent: { subsets: [{ notReadyAddresses: notReady }] },
  expected: { subsets: [{ addresses: added.map(ip => ({ ip })), notReadyAddresses: notReady }] },
})
const finalizers = (expression: string, sent: string[], expected: string[]): Pick<Case, 'policies' | 'sent' | 'expected'> => ({
  policies: [{ spec: { mutations: [applied(`Object{metadata: Object.metadata{finalizers: ${expression}}}`)] } }],
  sent: { metadata: { finalizers: sent.map(name => `example.com/${name}`) } },
  expected: { metadata: { finalizers: expected.map(name => `example.com/${name}`) } },
})
const counting = annotated('{?"foo": optional.of(string(int(object.metadata.annotations["foo"]) + 1))}')
const param = (name: string, data: Record<string, string>, labels: Record<string, string> = {}) => ({ metadata: { name, labels }, data })
const configMaps = { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }

const cases: readonly Case[] = [
  {
    what: 'sets an annotation',
    policies: [{ spec: { mutations: [annotated('{"a": "b"}')] } }],
    expected: { metadata: { annotations: { a: 'b' } } },
  },
  { what: 'puts a structure into a list', ...addresses('[Object.subsets.addresses{ip: "10.0.0.1"}]', '10.0.0.1') },
  { what: 'copies a structure', ...addresses('[object.subsets[0].notReadyAddresses[0]]', '1.2.3.4') },
  { what: 'copies a list', ...addresses('object.subsets[0].notReadyAddresses', '1.2.3.4') },
  {
    what: 'joins a list of the object with another one of it',
    ...addresses('object.subsets[0].notReadyAddresses + [object.subsets[0].notReadyAddresses[0]]', '1.2.3.4', '1.2.3.4'),
  },
  {
    what: 'joins a list of the object with structures',
    ...addresses('object.subsets[0].notReadyAddresses + [Object.subsets.addresses{ip: "10.0.0.1"}]', '1.2.3.4', '10.0.0.1'),
  },
  {
    what: 'joins structures with a list of the object',
    ...addresses('[Object.subsets.addresses{ip: "10.0.0.1"}] + object.subsets[0].notReadyAddresses', '10.0.0.1', '1.2.3.4'),
  },
  {
    what: 'joins structures with structures',
    ...addresses('[Object.subsets.addresses{ip: "10.0.0.1"}] + [Object.subsets.addresses{ip: "10.0.0.2"}]', '10.0.0.1', '10.0.0.2'),
  },
  {
    what: 'joins a set of the object with one of a structure',
    ...finalizers('object.metadata.finalizers + Object.metadata{finalizers: ["example.com/new"]}.finalizers', ['old'], ['old', 'new']),
  },
  {
    what: 'joins a set of a structure with one of the object',
    ...finalizers('Object.metadata{finalizers: ["example.com/new"]}.finalizers + object.metadata.finalizers', ['old'], ['new', 'old']),
  },
  {
    what: 'joins sets of structures',
    ...finalizers(
      'Object.metadata{finalizers: ["example.com/a"]}.finalizers + Object.metadata{finalizers: ["example.com/b"]}.finalizers',
      [],
      ['a', 'b'],
    ),
  },
  {
    what: 'looks at all labels',
    policies: [
      {
        spec: {
          mutations: [
            patched(
              '[JSONPatch{op: "add", path: "/metadata/labels/added", value: object.metadata.labels.all(k, k != "bad") ? "true" : "false"}]',
            ),
          ],
        },
      },
    ],
    sent: { metadata: { labels: { env: 'prod' } } },
    expected: { metadata: { labels: { env: 'prod', added: 'true' } } },
  },
  {
    what: 'has variables and makes several mutations, each on what the one before it made',
    policies: [
      {
        spec: {
          variables: [
            { name: 'foo1', expression: '"foo1" + "Value"' },
            { name: 'foo2', expression: 'variables.foo1.replace("1", "2")' },
          ],
          mutations: [
            annotated('{"foo1": variables.foo1}'),
            patched(`[
              JSONPatch{op: "test", path: "/metadata/annotations", value: {"foo1": variables.foo1}},
              JSONPatch{op: "add", path: "/metadata/annotations/foo2", value: variables.foo2},
            ]`),
            annotated('{"foo3": "foo3Value"}'),
          ],
        },
      },
    ],
    expected: { metadata: { annotations: { foo1: 'foo1Value', foo2: 'foo2Value', foo3: 'foo3Value' } } },
  },
  {
    what: 'that is not bound does nothing',
    policies: [{ spec: { mutations: [annotated('{"a": "b"}')] }, bindings: [] }],
    expected: {},
  },
  {
    what: 'that fails is ignored where it says so',
    policies: [{ spec: { failurePolicy: 'Ignore', mutations: [applied('Object{spec: Object.spec{invalidField: "x"}}')] } }],
    expected: {},
  },
  {
    what: 'is skipped by its conditions, and another is not',
    policies: ['production', 'test'].map(env => ({
      spec: {
        matchConditions: [{ name: 'env', expression: `object.metadata.?labels["environment"] == optional.of("${env}")` }],
        mutations: [applied(`Object{metadata: Object.metadata{labels: {"applied": "${env}"}}}`)],
      },
    })),
    sent: { metadata: { labels: { environment: 'test' } } },
    expected: { metadata: { labels: { environment: 'test', applied: 'test' } } },
  },
  {
    what: 'is asked again with those that want to be, once',
    policies: ['IfNeeded', 'IfNeeded', 'Never'].map(reinvocationPolicy => ({ spec: { reinvocationPolicy, mutations: [counting] } })),
    sent: { metadata: { annotations: { foo: '0' } } },
    expected: { metadata: { annotations: { foo: '5' } } },
  },
  {
    what: 'takes parameters by name',
    policies: [
      {
        spec: { ...configMaps, mutations: [annotated('{params.data["key"]: params.data["value"]}')] },
        bindings: [{ paramRef: { name: 'one', parameterNotFoundAction: 'Allow' } }],
      },
    ],
    params: [param('one', { key: 'k', value: 'v' })],
    expected: { metadata: { annotations: { k: 'v' } } },
  },
  {
    what: 'takes all parameters that are selected',
    policies: [
      {
        spec: { ...configMaps, mutations: [annotated('params.data')] },
        bindings: [{ paramRef: { namespace: 'default', selector: { matchLabels: { p: 'yes' } }, parameterNotFoundAction: 'Allow' } }],
      },
    ],
    params: [param('one', { a: '1' }, { p: 'yes' }), param('two', { b: '2', c: '3' }, { p: 'yes' })],
    expected: { metadata: { annotations: { a: '1', b: '2', c: '3' } } },
  },
  {
    what: 'takes the parameters of several bindings',
    policies: [
      {
        spec: { ...configMaps, mutations: [annotated('params.data')] },
        bindings: ['one', 'two'].map(name => ({ paramRef: { name, namespace: 'default', parameterNotFoundAction: 'Allow' } })),
      },
    ],
    params: [param('one', { a: '1' }), param('two', { b: '2', c: '3' })],
    expected: { metadata: { annotations: { a: '1', b: '2', c: '3' } } },
  },
  {
    what: 'is asked again for each of its parameters',
    policies: [
      {
        spec: { ...configMaps, reinvocationPolicy: 'IfNeeded', mutations: [annotated('params.data'), counting] },
        bindings: [{ paramRef: { selector: { matchLabels: { p: 'yes' } }, parameterNotFoundAction: 'Allow' } }],
      },
      {
        spec: { ...configMaps, mutations: [annotated('params.data'), counting] },
        bindings: [{ paramRef: { name: 'three', parameterNotFoundAction: 'Allow' } }],
      },
    ],
    params: [
      param('one', { first: 'true' }, { p: 'yes' }),
      param('two', { second: 'true' }, { p: 'yes' }),
      param('three', { third: 'true' }),
    ],
    sent: { metadata: { annotations: { foo: '0' } } },
    expected: { metadata: { annotations: { foo: '5', first: 'true', second: 'true', third: 'true' } } },
  },
]

test('a mutating policy', patient, async t => {
  const server = await freshServer(t)
  for (const { what, policies, params = [], sent = {}, expected } of cases)
    await t.test(what, async () => {
      for (const body of params) await make(server, CONFIG_MAPS, { apiVersion: 'v1', kind: 'ConfigMap', ...body })
      const undo: (() => Promise<void>)[] = []
      for (const [i, { spec, bindings }] of policies.entries())
        undo.push(
          await makePolicy(server, 'Mutating', `p${i}`, { spec: { ...about('endpoints'), ...spec }, ...(bindings && { bindings }) }),
        )
      const { status, text, json } = await ask(server, `${ENDPOINTS}?dryRun=All`, {
        method: 'POST',
        body: { apiVersion: 'v1', kind: 'Endpoints', ...sent, metadata: { name: 'e', ...sent.metadata } },
      })
      for (const each of undo) await each()
      for (const body of params as any[]) await ask(server, `${CONFIG_MAPS}/${body.metadata.name}`, { method: 'DELETE' })
      assert.equal(status, 201, text)
      const { labels, annotations, finalizers: kept } = json.metadata
      const metadata = { ...(labels && { labels }), ...(annotations && { annotations }), ...(kept && { finalizers: kept }) }
      assert.deepEqual({ metadata, ...(json.subsets && { subsets: json.subsets }) }, { ...expected, metadata: expected.metadata ?? {} })
    })
})

test('a mutating policy changes the status of an object through its own path', patient, async t => {
  const server = await freshServer(t)
  await make(server, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } })
  const condition = 'Object.status.conditions{type: "NamespaceDeletionContentFailure", message: "mutated"}'
  await makePolicy(server, 'Mutating', 'p', {
    spec: { ...about('namespaces/status'), mutations: [applied(`Object{status: Object.status{conditions: [${condition}]}}`)] },
  })
  const { json } = await ask(server, '/api/v1/namespaces/n/status', {
    method: 'PUT',
    body: {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'n' },
      status: { conditions: [{ type: 'NamespaceDeletionContentFailure', status: 'Unknown' }] },
    },
  })
  assert.deepEqual(json.status, {
    phase: 'Active',
    conditions: [{ type: 'NamespaceDeletionContentFailure', status: 'Unknown', message: 'mutated', lastTransitionTime: null }],
  })
})

const PANDAS = '/apis/bears.example.com/v1/namespaces/default/pandas'

async function definePandas(server: Target): Promise<void> {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  await make(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'pandas.bears.example.com' },
    spec: {
      group: 'bears.example.com',
      scope: 'Namespaced',
      names: { plural: 'pandas', kind: 'Panda' },
      versions: [
        { name: 'v1', served: true, storage: true, schema },
        { name: 'v2', served: true, storage: false, schema },
      ],
    },
  })
  await eventually('pandas', async () => ((await ask(server, PANDAS)).status === 200 ? true : undefined))
}

const custom: readonly { readonly what: string; readonly mutation: object; readonly sent: object; readonly expected: object }[] = [
  {
    what: 'joins a list of the object with structures',
    mutation: patched('[JSONPatch{op: "add", path: "/spec/foods", value: object.spec.foods + [Object.spec.foods{item: "eucalyptus"}]}]'),
    sent: { foods: [{ item: 'bamboo' }] },
    expected: { foods: [{ item: 'bamboo' }, { item: 'eucalyptus' }] },
  },
  {
    what: 'joins structures with a list of the object',
    mutation: patched('[JSONPatch{op: "add", path: "/spec/foods", value: [Object.spec.foods{item: "eucalyptus"}] + object.spec.foods}]'),
    sent: { foods: [{ item: 'bamboo' }] },
    expected: { foods: [{ item: 'eucalyptus' }, { item: 'bamboo' }] },
  },
  {
    what: 'applies a list of the object joined with one of a structure',
    mutation: applied('Object{ spec: Object.spec{ foods: object.spec.foods + Object.spec{foods: ["eucalyptus"]}.foods } }'),
    sent: { foods: ['bamboo'] },
    expected: { foods: ['bamboo', 'eucalyptus'] },
  },
  {
    what: 'applies a list of a structure joined with one of the object',
    mutation: applied('Object{ spec: Object.spec{ foods: Object.spec{foods: ["eucalyptus"]}.foods + object.spec.foods } }'),
    sent: { foods: ['bamboo'] },
    expected: { foods: ['eucalyptus', 'bamboo'] },
  },
  {
    what: 'merges a map',
    mutation: applied('Object{ spec: Object.spec{ habitat: Object.spec.habitat{ humidity: "85%", temperature: "20C" } } }'),
    sent: { habitat: { name: 'forest', temperature: '15C' } },
    expected: { habitat: { name: 'forest', humidity: '85%', temperature: '20C' } },
  },
  {
    what: 'joins a list of the object with texts',
    mutation: patched('[JSONPatch{op: "add", path: "/spec/foods", value: object.spec.foods + ["eucalyptus"]}]'),
    sent: { foods: ['bamboo'] },
    expected: { foods: ['bamboo', 'eucalyptus'] },
  },
  {
    what: 'applies a list of the object joined with texts',
    mutation: applied('Object{ spec: Object.spec{ foods: object.spec.foods + ["eucalyptus"] } }'),
    sent: { foods: ['bamboo'] },
    expected: { foods: ['bamboo', 'eucalyptus'] },
  },
  {
    what: 'sets fields of a structure',
    mutation: patched(`[
      JSONPatch{op: "add", path: "/spec/diet/secondary", value: "eucalyptus"},
      JSONPatch{op: "replace", path: "/spec/diet/dailyKg", value: "25"}
    ]`),
    sent: { diet: { primary: 'bamboo', dailyKg: '20' } },
    expected: { diet: { primary: 'bamboo', dailyKg: '25', secondary: 'eucalyptus' } },
  },
  {
    what: 'inserts a structure',
    mutation: patched('[JSONPatch{op: "add", path: "/spec/habitat", value: Object.spec.habitat{ name: "mountain", protected: true }}]'),
    sent: { diet: { primary: 'bamboo' } },
    expected: { diet: { primary: 'bamboo' }, habitat: { name: 'mountain', protected: true } },
  },
]

test('a mutating policy about a custom kind', patient, async t => {
  const server = await freshServer(t)
  await definePandas(server)
  for (const { what, mutation, sent, expected } of custom)
    await t.test(what, async () => {
      const undo = await makePolicy(server, 'Mutating', 'p', { spec: { ...about('pandas', 'bears.example.com'), mutations: [mutation] } })
      const { status, text, json } = await ask(server, `${PANDAS}?dryRun=All`, {
        method: 'POST',
        body: { apiVersion: 'bears.example.com/v1', kind: 'Panda', metadata: { name: 'p' }, spec: sent },
      })
      await undo()
      assert.equal(status, 201, text)
      assert.deepEqual(json.spec, expected)
    })
  await t.test('matches objects that are sent in another version', async () => {
    const resourceRules = [{ ...ruleFor(['pandas'], { group: 'bears.example.com', version: 'v1' }), resourceNames: ['first', 'second'] }]
    const mutation = applied('Object{ metadata: Object.metadata{ labels: {"mutated-panda": object.apiVersion.replace("/", ".")} } }')
    await makePolicy(server, 'Mutating', 'p', { spec: { matchConstraints: { resourceRules }, mutations: [mutation] } })
    for (const [name, version] of [
      ['first', 'v1'],
      ['second', 'v2'],
    ]) {
      const body = { apiVersion: `bears.example.com/${version}`, kind: 'Panda', metadata: { name } }
      const { json } = await ask(server, PANDAS.replace('v1', version!), { method: 'POST', body })
      assert.deepEqual([json.apiVersion, json.metadata.labels], [body.apiVersion, { 'mutated-panda': 'bears.example.com.v1' }])
    }
  })
})
