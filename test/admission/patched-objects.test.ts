// Objects as mutating policies and webhooks leave them: types, kinds, metadata and unknown fields, as recorded from kube-apiserver 1.37.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, eventually, patient, serverOfFile } from '../kit.ts'
import { configure, make, makePolicy, ruleFor } from '../kits/admission-objects.ts'
import { allow, patch, webhook } from '../kits/webhooks.ts'

const server = serverOfFile({ controllers: ['none'] })
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets'

const applied = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } })
const jsonPatch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } })
const send = (method: string, path: string, body: unknown, type = 'application/merge-patch+json') =>
  ask(server, path, { method, body, headers: method === 'PATCH' ? { 'content-type': type } : {} })

const NOT_TYPED =
  "policy 'typed' with binding 'typed-0' denied request: error applying patch: failed to convert patch object to typed object: "
const NOT_READ = "policy 'typed' with binding 'typed-0' denied request: unable to convert unstructured object to "
const inMetadata = (field: string) => `Object{metadata: Object.metadata{${field}}}`
const inContainer = (field: string) => `Object{spec: Object.spec{containers: [Object.spec.containers{name: "c", ${field}}]}}`

const podTemplate = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i' }] },
})

/** Expressions of ApplyConfiguration that do not fit the kind, and the reasons. */
const MISTAKES: readonly (readonly [resource: string, expression: string, message: string])[] = [
  ['configmaps', 'Object{nothing: "x"}', `${NOT_TYPED}.nothing: field not declared in schema`],
  ['configmaps', inMetadata('nothing: "x"'), `${NOT_TYPED}.metadata.nothing: field not declared in schema`],
  ['configmaps', 'Object{data: {"a": 1}}', `${NOT_TYPED}.data.a: expected string, got &value.valueUnstructured{Value:1}`],
  ['configmaps', 'Object{data: 5}', `${NOT_TYPED}.data: expected map, got &{5}`],
  ['configmaps', 'Object{data: ["a"]}', `${NOT_TYPED}.data: expected map, got &{[a]}`],
  ['configmaps', 'Object{data: null}', `${NOT_TYPED}.data: expected map, got &{NULL_VALUE}`],
  ['configmaps', 'Object{data: {"a": null}}', `${NOT_TYPED}.data.a: expected string, got &value.valueUnstructured{Value:0}`],
  ['configmaps', 'Object{immutable: "yes"}', `${NOT_TYPED}.immutable: expected boolean, got &{yes}`],
  ['configmaps', inMetadata('generation: "1"'), `${NOT_TYPED}.metadata.generation: expected numeric (int or float), got string`],
  ['configmaps', inMetadata('generation: 2u'), `${NOT_TYPED}.metadata.generation: expected numeric (int or float), got uint64`],
  [
    'configmaps',
    inMetadata('finalizers: [1, 2]'),
    `${NOT_TYPED}errors:\n  .metadata.finalizers[=1]: expected string, got &value.valueUnstructured{Value:1}\n  .metadata.finalizers[=2]: expected string, got &value.valueUnstructured{Value:2}`,
  ],
  ['configmaps', inMetadata('finalizers: ["a/b", "a/b"]'), `${NOT_TYPED}.metadata.finalizers: duplicate entries for key [="a/b"]`],
  [
    'configmaps',
    inMetadata('creationTimestamp: timestamp("2024-01-01T00:00:00Z")'),
    `${NOT_TYPED}.metadata.creationTimestamp: expected any scalar, got &{2024-01-01 00:00:00 +0000 UTC}`,
  ],
  [
    'configmaps',
    inMetadata('creationTimestamp: "xx"'),
    `${NOT_READ}/v1, Kind=ConfigMap: parsing time "xx" as "2006-01-02T15:04:05Z07:00": cannot parse "xx" as "2006"`,
  ],
  ['pods', inContainer('nothing: 1'), `${NOT_TYPED}.spec.containers[name="c"].nothing: field not declared in schema`],
  [
    'pods',
    'Object{spec: Object.spec{containers: ["c"]}}',
    `${NOT_TYPED}.spec.containers: element 0: associative list with keys may not have non-map elements`,
  ],
  ['pods', 'Object{spec: "c"}', `${NOT_TYPED}.spec: expected map, got &{c}`],
  [
    'pods',
    'Object{spec: Object.spec{schedulerName: b"abc"}}',
    `${NOT_TYPED}.spec.schedulerName: expected string, got &value.valueUnstructured{Value:[]uint8{0x61, 0x62, 0x63}}`,
  ],
  [
    'pods',
    'Object{spec: Object.spec{schedulerName: duration("1h")}}',
    `${NOT_TYPED}.spec.schedulerName: expected string, got &value.valueUnstructured{Value:3600000000000}`,
  ],
  ['pods', 'Object{spec: Object.spec{terminationGracePeriodSeconds: 1.5}}', `${NOT_READ}/v1, Kind=Pod: cannot convert float64 to int64`],
  [
    'pods',
    inContainer('resources: Object.spec.containers.resources{requests: {"cpu": "x"}}'),
    `${NOT_READ}/v1, Kind=Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
  ],
  ['secrets', 'Object{data: {"a": "?"}}', `${NOT_READ}/v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 0`],
  ['widgets', 'Object{spec: Object.spec{nothing: 1}}', `${NOT_TYPED}.spec.nothing: field not declared in schema`],
  ['widgets', 'Object{spec: Object.spec{text: 1}}', `${NOT_TYPED}.spec.text: expected string, got &value.valueUnstructured{Value:1}`],
  ['widgets', 'Object{other: 1}', `${NOT_TYPED}.other: field not declared in schema`],
]

const widget = (name: string, spec: object = {}, version = 'v1') => ({
  apiVersion: `example.com/${version}`,
  kind: 'Widget',
  metadata: { name },
  spec,
})

const BODIES: Readonly<Record<string, { readonly path: string; readonly body: (name: string) => object; readonly group?: string }>> = {
  configmaps: { path: CONFIG_MAPS, body: name => configMap(name, { k: 'v' }) },
  pods: { path: '/api/v1/namespaces/default/pods', body: podTemplate },
  secrets: { path: '/api/v1/namespaces/default/secrets', body: name => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name } }) },
  widgets: { path: WIDGETS, body: name => widget(name), group: 'example.com' },
}

const text = { type: 'string' }
const schema = (...fields: string[]) => {
  const properties = Object.fromEntries(fields.map(field => [field, text]))
  return { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } } }
}

/** Widgets in two versions: `one` is a field of v1 alone, `two` of v2. */
async function defineWidgets(): Promise<void> {
  if ((await ask(server, WIDGETS)).status === 200) return
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' }
  const versions = [
    { name: 'v1', served: true, storage: true, schema: schema('text', 'one') },
    { name: 'v2', served: true, storage: false, schema: schema('text', 'two') },
  ]
  await make(server, DEFINITIONS, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: { group: 'example.com', scope: 'Namespaced', names, versions },
  })
  await eventually('widgets are served', async () => ((await ask(server, WIDGETS)).status === 200 ? true : undefined))
}

test('an ApplyConfiguration that does not fit the kind is refused as a typed conversion error', patient, async () => {
  await defineWidgets()
  for (const [resource, expression, message] of MISTAKES) {
    const { path, body, group = '' } = BODIES[resource]!
    const matchConstraints = { resourceRules: [ruleFor([resource], { group })] }
    const remove = await makePolicy(server, 'Mutating', 'typed', { spec: { matchConstraints, mutations: [applied(expression)] } })
    const { status, json } = await send('POST', `${path}?dryRun=All`, body('typed'))
    assert.deepEqual([status, json.reason, json.message], [403, 'Invalid', message], expression)
    await remove()
  }
})

test('an ApplyConfiguration of a subresource whose kind is of another group has no type', patient, async () => {
  const { spec } = podTemplate('x')
  const template = { metadata: { labels: { app: 'x' } }, spec }
  const deployment = { metadata: { name: 'scaled' }, spec: { selector: { matchLabels: { app: 'x' } }, template } }
  await make(server, DEPLOYMENTS, { apiVersion: 'apps/v1', kind: 'Deployment', ...deployment })
  const matchConstraints = { resourceRules: [ruleFor(['deployments/scale'], { group: 'apps' })] }
  const mutate = (mutation: object) => makePolicy(server, 'Mutating', 'typed', { spec: { matchConstraints, mutations: [mutation] } })
  const remove = await mutate(applied('Object{spec: Object.spec{replicas: 3}}'))
  const refused = await send('PATCH', `${DEPLOYMENTS}/scaled/scale`, { spec: { replicas: 2 } })
  assert.equal(refused.json.message, `${NOT_TYPED}no corresponding type for autoscaling/v1, Kind=Scale`)
  await remove()
  const removeAgain = await mutate(jsonPatch('[JSONPatch{op: "replace", path: "/spec/replicas", value: 5}]'))
  assert.equal((await send('PATCH', `${DEPLOYMENTS}/scaled/scale`, { spec: { replicas: 2 } })).json.spec.replicas, 5)
  await removeAgain()
})

const replaced = (path: string, value: unknown) => ({ op: 'replace', path, value })
const added = (path: string, value: unknown) => ({ op: 'add', path, value })
const STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
const unknownKind = (kind: string, version: string) =>
  `Internal error occurred: no kind "${kind}" is registered for version "${version}" in scheme "pkg/api/legacyscheme/scheme.go:30"`
const cannotGet = (why: string) => `Internal error occurred: couldn't get version/kind; json parse error: json: cannot unmarshal ${why}`

/** Patches of a webhook, and the answers to the create of a ConfigMap and of a Widget: a status and a message, or the object's data. */
const PATCHES: readonly {
  readonly patch: readonly object[]
  readonly builtIn: readonly [number, string | object]
  readonly custom?: readonly [number, string]
}[] = [
  {
    patch: [replaced('/kind', 'Secret')],
    builtIn: [500, 'Internal error occurred: illegal base64 data at input byte 0'],
    custom: [422, 'Secret.example.com "a" is invalid: kind: Invalid value: "Secret": must be Widget'],
  },
  {
    patch: [replaced('/kind', 'Nope')],
    builtIn: [500, unknownKind('Nope', 'v1')],
    custom: [422, 'Nope.example.com "a" is invalid: kind: Invalid value: "Nope": must be Widget'],
  },
  {
    patch: [replaced('/kind', 'ServiceAccount')],
    builtIn: [500, 'converting (v1.ServiceAccount) to (core.ConfigMap): unknown conversion'],
  },
  { patch: [replaced('/kind', 4)], builtIn: [500, cannotGet('number into Go struct field .kind of type string')] },
  { patch: [{ op: 'remove', path: '/kind' }], builtIn: [201, { k: 'v' }] },
  {
    patch: [replaced('/apiVersion', 'apps/v1')],
    builtIn: [500, unknownKind('ConfigMap', 'apps/v1')],
    custom: [500, 'apps/v1, Kind=Widget is unstructured and is not suitable for converting to "example.com/v1"'],
  },
  {
    patch: [replaced('/apiVersion', 'a/b/c')],
    builtIn: [500, 'Internal error occurred: unexpected GroupVersion string: a/b/c'],
    custom: [500, 'Internal error occurred: unexpected GroupVersion string: a/b/c'],
  },
  { patch: [{ op: 'remove', path: '/apiVersion' }], builtIn: [201, { k: 'v' }] },
  {
    patch: [replaced('', {})],
    builtIn: [422, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'],
    custom: [500, `Internal error occurred: Object 'Kind' is missing in '{}'`],
  },
  { patch: [replaced('', [])], builtIn: [500, cannotGet(`array into Go value of type ${STRUCT}`)] },
  {
    patch: [replaced('', 'x')],
    builtIn: [500, 'Internal error occurred: replace operation value must be object or array: %!w(<nil>)'],
  },
  {
    patch: [replaced('', configMap('a', { whole: 'new' }))],
    builtIn: [201, { whole: 'new' }],
    custom: [500, '/v1, Kind=ConfigMap is unstructured and is not suitable for converting to "example.com/v1"'],
  },
  {
    patch: [replaced('/metadata', null)],
    builtIn: [422, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'],
    custom: [500, 'Internal error occurred: system metadata was not initialized'],
  },
]

test('a webhook that changes kind or version, or replaces the object, gets the errors of kube-apiserver', patient, async t => {
  await defineWidgets()
  for (const { patch: operations, builtIn, custom } of PATCHES) {
    const hook = await webhook(t, patch(...operations))
    await configure(server, 'mutating', 'changes', { hook, rules: [ruleFor(['configmaps', 'widgets'], { group: '*' })] })
    const what = JSON.stringify(operations)
    const made = await send('POST', `${CONFIG_MAPS}?dryRun=All`, configMap('a', { k: 'v' }))
    assert.deepEqual([made.status, typeof builtIn[1] === 'string' ? made.json.message : made.json.data], builtIn, what)
    if (custom) {
      const { status, json } = await send('POST', `${WIDGETS}?dryRun=All`, widget('a'))
      assert.deepEqual([status, json.message], custom, what)
    }
    await ask(server, '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/changes', { method: 'DELETE' })
  }
})

test('a JSON patch of a policy is read strictly', patient, async () => {
  const answerTo = async (expression: string) => {
    const remove = await makePolicy(server, 'Mutating', 'strict', { spec: { mutations: [jsonPatch(expression)] } })
    const { status, json } = await send('POST', `${CONFIG_MAPS}?dryRun=All`, configMap('a'))
    await remove()
    return [status, json.message]
  }
  assert.deepEqual(await answerTo('[JSONPatch{op: "add", path: "/nothing", value: 1}]'), [
    500,
    'Internal error occurred: strict decoding error: unknown field "nothing"',
  ])
  assert.deepEqual(await answerTo('[JSONPatch{op: "replace", path: "/kind", value: "ServiceAccount"}]'), [
    500,
    'Internal error occurred: failed to convert object: converting (v1.ServiceAccount) to (core.ConfigMap): unknown conversion',
  ])
  const deployment = ['kind', 'apiVersion'].map(
    field => `JSONPatch{op: "replace", path: "/${field}", value: "${field === 'kind' ? 'Deployment' : 'apps/v1'}"}`,
  )
  assert.deepEqual(await answerTo(`[${deployment.join(', ')}]`), [
    403,
    `policy 'strict' with binding 'strict-0' denied request: v1.Deployment is not suitable for converting to "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
  ])
})

test('a webhook may set a time of deletion on create, and may empty managedFields', patient, async t => {
  const at = '2001-01-01T00:00:00Z'
  const hook = await webhook(
    t,
    patch(added('/metadata/deletionTimestamp', at), added('/metadata/deletionGracePeriodSeconds', 5), added('/metadata/managedFields', [])),
  )
  await configure(server, 'mutating', 'metadata', { hook, objectSelector: { matchLabels: { hit: 'yes' } } })
  const { status, json } = await send('POST', CONFIG_MAPS, configMap('going', {}, { labels: { hit: 'yes' } }))
  assert.equal(status, 201)
  assert.deepEqual([json.metadata.deletionTimestamp, json.metadata.deletionGracePeriodSeconds], [at, 5])
  assert.equal('managedFields' in json.metadata, false)
  await make(server, CONFIG_MAPS, configMap('kept'))
  const updated = await send('PATCH', `${CONFIG_MAPS}/kept`, { metadata: { labels: { hit: 'yes' } } })
  assert.equal(updated.status, 422)
  assert.match(updated.json.message, /metadata\.deletionTimestamp: Invalid value: "2001-01-01T00:00:00Z": field is immutable/)
})

test('unknown finalizers of an update are refused, as those of a create', patient, async () => {
  await defineWidgets()
  await make(server, WIDGETS, widget('finalized'))
  const { status, json } = await send('PATCH', `${WIDGETS}/finalized`, { metadata: { finalizers: ['a b'] } })
  assert.equal(status, 422)
  assert.match(json.message, /metadata\.finalizers: Invalid value: "a b": name part must consist of/)
})

test(
  'fields of custom objects that a version does not know reach webhooks, and are removed when the object is stored',
  patient,
  async t => {
    await defineWidgets()
    const hook = await webhook(t, patch(added('/spec/one', '1'), added('/spec/two', '2'), added('/spec/strange', 'x')))
    const seeing = await webhook(t, allow)
    const rules = [ruleFor(['widgets'], { group: 'example.com', version: 'v2' })]
    const objectSelector = { matchLabels: { hit: 'yes' } }
    await configure(server, 'mutating', 'versions', { hook, rules, objectSelector })
    await configure(server, 'validating', 'versions', { hook: seeing, rules, objectSelector })
    const sent = widget('both', { text: 'x', one: 'sent', nope: 'z' })
    const { status, json } = await send('POST', WIDGETS, { ...sent, metadata: { name: 'both', labels: { hit: 'yes' } } })
    assert.equal(status, 201)
    assert.deepEqual(hook.seen[0].object.spec, { text: 'x', one: 'sent' })
    assert.deepEqual(seeing.seen[0].object.spec, { text: 'x', one: '1', two: '2', strange: 'x' })
    assert.deepEqual(json.spec, { text: 'x', one: '1' })
    assert.deepEqual((await ask(server, `${WIDGETS}/both`)).json.spec, { text: 'x', one: '1' })
    const updated = await send('PATCH', `${WIDGETS}/both`, { spec: { one: 'again' } })
    assert.deepEqual([updated.json.spec, updated.json.metadata.generation], [{ text: 'x', one: '1' }, 2])
  },
)

test('a policy that wants it is asked again also about its own change', patient, async () => {
  const counting = (key: string) =>
    jsonPatch(`[JSONPatch{op: "add", path: "/data/${key}", value: has(object.data.${key}) ? object.data.${key} + "+" : "1"}]`)
  const first = await makePolicy(server, 'Mutating', 'a-count', { spec: { mutations: [counting('one')] } })
  const second = await makePolicy(server, 'Mutating', 'b-count', {
    spec: { reinvocationPolicy: 'IfNeeded', mutations: [counting('two')] },
  })
  const { json } = await send('POST', `${CONFIG_MAPS}?dryRun=All`, configMap('counted', { k: 'v' }))
  assert.deepEqual(json.data, { k: 'v', one: '1', two: '1+' })
  await first()
  await second()
})
