// Policies end to end: the variables of their expressions, their bindings, and their changes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, ask, CONFIG_MAPS, configMap, eventually, freshServer, patient, startInProcess, type Target } from './kit.ts'

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const rule = (resources: string[], more: object = {}) => ({
  resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources, ...more }],
})

const send = (target: Target, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  ask(target, path, { method, ...(body !== undefined && { body }), headers })
async function made(target: Target, path: string, body: object): Promise<any> {
  const { status, json, text } = await send(target, 'POST', path, body)
  assert.equal(status, 201, text)
  return json
}

async function policy(
  target: Target,
  type: 'Validating' | 'Mutating',
  name: string,
  { spec, bindings = [{}] }: { spec: object; bindings?: object[] },
) {
  const kind = `${type}AdmissionPolicy`
  const head = { apiVersion: 'admissionregistration.k8s.io/v1' }
  const defaults = type === 'Mutating' ? { reinvocationPolicy: 'Never' } : {}
  await made(target, `${ADMISSION}/${type.toLowerCase()}admissionpolicies`, {
    ...head,
    kind,
    metadata: { name },
    spec: { matchConstraints: rule(['configmaps']), ...defaults, ...spec },
  })
  const actions = type === 'Validating' ? { validationActions: ['Deny'] } : {}
  for (const [i, binding] of bindings.entries())
    await made(target, `${ADMISSION}/${type.toLowerCase()}admissionpolicybindings`, {
      ...head,
      kind: `${kind}Binding`,
      metadata: { name: `${name}-${i}` },
      spec: { policyName: name, ...actions, ...binding },
    })
}
const validating = (target: Target, name: string, spec: object, ...bindings: object[]) =>
  policy(target, 'Validating', name, { spec, ...(bindings.length > 0 && { bindings }) })
const mutating = (target: Target, name: string, spec: object, ...bindings: object[]) =>
  policy(target, 'Mutating', name, { spec, ...(bindings.length > 0 && { bindings }) })
const applied = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } })
const patched = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } })

const create = (target: Target, name: string, data: Record<string, string> = {}) => send(target, 'POST', CONFIG_MAPS, configMap(name, data))
const denial = ({ status, json }: Answer) =>
  `${status} ${json.message ?? 'stored'}`.replace(/^(\d+) configmaps "[^"]*" is forbidden: /, '$1 ')

test('variables, messages and reasons decide how a policy denies', patient, async t => {
  const server = await freshServer(t)
  await validating(server, 'p', {
    variables: [
      { name: 'size', expression: 'has(object.data) ? object.data.size() : 0' },
      { name: 'double', expression: 'variables.size * 2' },
    ],
    validations: [
      { expression: 'variables.double < 4', messageExpression: "'has ' + string(variables.size)", message: 'unused', reason: 'Forbidden' },
      { expression: "object.metadata.name != 'plain'" },
    ],
  })
  assert.equal((await create(server, 'a', { x: '' })).status, 201)
  assert.equal(
    denial(await create(server, 'b', { x: '', y: '' })),
    "403 ValidatingAdmissionPolicy 'p' with binding 'p-0' denied request: has 2",
  )
  const plain = await create(server, 'plain')
  assert.equal(
    denial(plain),
    "422 ValidatingAdmissionPolicy 'p' with binding 'p-0' denied request: failed expression: object.metadata.name != 'plain'",
  )
  assert.equal(plain.json.reason, 'Invalid')
})

test('a binding warns or audits instead of denying, and a policy without one does nothing', patient, async t => {
  const server = await startInProcess(t)
  const spec = { validations: [{ expression: 'false', message: 'never' }] }
  await policy(server, 'Validating', 'loose', { spec, bindings: [] })
  await validating(server, 'warned', spec, { validationActions: ['Warn', 'Audit'] })
  const { status, headers } = await create(server, 'a')
  assert.equal(status, 201)
  assert.equal(headers['warning'], "299 - \"Validation failed for ValidatingAdmissionPolicy 'warned' with binding 'warned-0': never\"")
})

test('parameters come by name or by selector, from the namespace of the object or a named one', patient, async t => {
  const server = await freshServer(t)
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    matchConditions: [{ name: 'not-a-param', expression: "!has(object.metadata.labels) || !('param' in object.metadata.labels)" }],
    validations: [{ expression: 'object.metadata.name != params.data.taken', messageExpression: "params.metadata.name + ' has it'" }],
  }
  await made(server, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'params' } })
  const param = (name: string, taken: string) => ({ ...configMap(name, { taken }), metadata: { name, labels: { param: 'yes' } } })
  await made(server, '/api/v1/namespaces/params/configmaps', param('one', 'a'))
  await made(server, CONFIG_MAPS, param('two', 'b'))
  await made(server, CONFIG_MAPS, param('three', 'c'))
  await validating(
    server,
    'p',
    spec,
    { paramRef: { name: 'one', namespace: 'params', parameterNotFoundAction: 'Deny' } },
    { paramRef: { selector: { matchLabels: { param: 'yes' } }, parameterNotFoundAction: 'Deny' } },
  )
  assert.match(denial(await create(server, 'a')), /with binding 'p-0' denied request: one has it$/)
  assert.match(denial(await create(server, 'b')), /with binding 'p-1' denied request: two has it$/)
  assert.match(denial(await create(server, 'c')), /with binding 'p-1' denied request: three has it$/)
  assert.equal(denial(await create(server, 'd')), '201 stored')
  // A change of a parameter applies to the next request.
  await send(
    server,
    'PATCH',
    '/api/v1/namespaces/params/configmaps/one',
    { data: { taken: 'e' } },
    { 'content-type': 'application/merge-patch+json' },
  )
  assert.equal(denial(await create(server, 'a')), '201 stored')
  assert.match(denial(await create(server, 'e')), /one has it$/)
  await send(server, 'DELETE', '/api/v1/namespaces/params/configmaps/one')
  assert.match(
    denial(await create(server, 'f')),
    /failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction$/,
  )
})

test('parameters may be objects of the cluster and of custom kinds', patient, async t => {
  const server = await freshServer(t)
  await made(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'limits.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Cluster',
      names: { plural: 'limits', kind: 'Limit' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { most: { type: 'integer' } } } },
        },
      ],
    },
  })
  await validating(
    server,
    'p',
    {
      paramKind: { apiVersion: 'example.com/v1', kind: 'Limit' },
      validations: [{ expression: '!has(object.data) || object.data.size() <= params.most' }],
    },
    { paramRef: { name: 'small', parameterNotFoundAction: 'Allow' } },
  )
  const limits = '/apis/example.com/v1/limits'
  await eventually('the kind', async () => ((await send(server, 'GET', limits)).status === 200 ? true : undefined))
  assert.equal((await create(server, 'a', { x: '', y: '' })).status, 201)
  await made(server, limits, { apiVersion: 'example.com/v1', kind: 'Limit', metadata: { name: 'small' }, most: 1 })
  assert.equal((await create(server, 'b', { x: '', y: '' })).status, 422)
  assert.equal((await create(server, 'c', { x: '' })).status, 201)
})

test('expressions see the namespace, the request and the permissions of its user', patient, async t => {
  const server = await freshServer(t)
  await made(server, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'prod', labels: { tier: 'high' } } })
  await validating(server, 'p', {
    matchConditions: [{ name: 'prod', expression: "namespaceObject.metadata.labels[?'tier'].orValue('') == 'high'" }],
    validations: [
      { expression: "request.userInfo.groups.exists(group, group == 'system:masters') && request.namespace == 'prod'", message: 'user' },
      { expression: "authorizer.group('').resource('secrets').namespace('prod').check('delete').allowed()", message: 'authorizer' },
      { expression: "authorizer.requestResource.check('create').allowed()", message: 'requestResource' },
      { expression: "request.operation != 'CREATE' || oldObject == null", message: 'old' },
    ],
  })
  const answer = await send(server, 'POST', '/api/v1/namespaces/prod/configmaps', configMap('a'))
  assert.equal(denial(answer), '201 stored')
})

test('an expression that fails is left to the failure policy', patient, async t => {
  const server = await freshServer(t)
  const validations = [{ expression: "object.data.missing == 'x'" }]
  await validating(server, 'open', { validations, failurePolicy: 'Ignore' })
  assert.equal((await create(server, 'a')).status, 201)
  await validating(server, 'closed', { validations })
  assert.match(
    denial(await create(server, 'b')),
    /ValidatingAdmissionPolicy 'closed' .*expression 'object\.data\.missing == 'x'' resulted in error: no such key: data$/,
  )
})

test('however many expensive policies there are, none spends the budget of another', patient, async t => {
  const server = await freshServer(t)
  const expression = 'object.data.all(a, object.data.all(b, object.data.all(c, a + b + c != object.metadata.name)))'
  for (let i = 0; i < 12; i++) await validating(server, `p${i}`, { validations: [{ expression }] }, {}, {})
  const data = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`k${i}`, '']))
  assert.equal(denial(await create(server, 'a', data)), '201 stored')
})

test(
  'a mutating policy merges what its expression gives, list items by their keys; an optional without a value changes nothing',
  patient,
  async t => {
    const server = await freshServer(t)
    await mutating(server, 'p', {
      matchConstraints: rule(['deployments']),
      mutations: [
        applied(
          "Object{metadata: Object.metadata{labels: {'by': 'policy'}}, spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'side', image: 'side:1'}, Object.spec.template.spec.containers{name: 'main', imagePullPolicy: 'Always'}]}}}}",
        ),
        patched(
          "[JSONPatch{op: 'test', path: '/metadata/labels/by', value: 'policy'}, JSONPatch{op: 'add', path: '/metadata/annotations', value: {'seen': 'yes'}}]",
        ),
        applied('Object{spec: Object.spec{?paused: optional.none()}}'),
      ],
    })
    const labels = { app: 'a' }
    const json = await made(server, '/apis/apps/v1/namespaces/default/deployments', {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd', labels },
      spec: {
        paused: true,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'main:1' }] } },
      },
    })
    assert.deepEqual(json.metadata.labels, { app: 'a', by: 'policy' })
    assert.deepEqual(json.metadata.annotations, { seen: 'yes' })
    assert.equal(json.spec.paused, true)
    assert.deepEqual(
      json.spec.template.spec.containers.map(({ name, image, imagePullPolicy }: any) => [name, image, imagePullPolicy]),
      [
        ['side', 'side:1', 'IfNotPresent'],
        ['main', 'main:1', 'Always'],
      ],
    )
  },
)

test('a mutating policy is evaluated again when another changed the object after it', patient, async t => {
  const server = await freshServer(t)
  const count = (key: string) =>
    patched(`[JSONPatch{op: 'add', path: '/data/${key}', value: ${`has(object.data.${key}) ? object.data.${key} + '+' : '+'`}}]`)
  await mutating(server, 'a', { mutations: [count('a')], reinvocationPolicy: 'IfNeeded' })
  await mutating(server, 'b', { mutations: [count('b')] })
  const { json } = await create(server, 'x', { own: '' })
  assert.deepEqual(json.data, { own: '', a: '++', b: '+' })
  const owned = json.metadata.managedFields[0].fieldsV1['f:data']
  assert.deepEqual(Object.keys(owned).sort(), ['.', 'f:own'])
})

test('a mutation that cannot be made is left to the failure policy', patient, async t => {
  const server = await freshServer(t)
  await mutating(server, 'open', { mutations: [patched("[JSONPatch{op: 'remove', path: '/data/none'}]")], failurePolicy: 'Ignore' })
  assert.equal((await create(server, 'a', { x: '' })).status, 201)
  await mutating(server, 'closed', { mutations: [patched("[JSONPatch{op: 'remove', path: '/data/none'}]")] })
  const failed = await create(server, 'b', { x: '' })
  assert.equal(failed.status, 403)
  assert.match(failed.json.message, /^policy 'closed' with binding 'closed-0' denied request: /)
})

test('a policy cannot move an object to another namespace or rename one that is there', patient, async t => {
  const server = await freshServer(t)
  const replace = (field: string, value: string) => [patched(`[JSONPatch{op: 'replace', path: '/metadata/${field}', value: '${value}'}]`)]
  const when = (expression: string) => [{ name: 'when', expression }]
  assert.equal((await create(server, 'there')).status, 201)
  await mutating(server, 'moves', {
    matchConditions: when("object.metadata.name == 'a'"),
    mutations: replace('namespace', 'kube-system'),
  })
  await mutating(server, 'renames', { matchConditions: when("request.operation == 'UPDATE'"), mutations: replace('name', 'other') })
  assert.equal(
    denial(await create(server, 'a')),
    '400 the namespace of the provided object does not match the namespace sent on the request',
  )
  const renamed = await send(server, 'PUT', `${CONFIG_MAPS}/there`, configMap('there', { x: '' }))
  assert.equal(renamed.status, 422, renamed.text)
  assert.match(renamed.json.message, /metadata\.name: Invalid value: "other": field is immutable/)
  for (const path of ['/api/v1/namespaces/kube-system/configmaps/a', `${CONFIG_MAPS}/a`, `${CONFIG_MAPS}/other`])
    assert.equal((await send(server, 'GET', path)).status, 404)
})

test('a policy cannot set fields that the server alone sets', patient, async t => {
  const server = await freshServer(t)
  await mutating(server, 'p', {
    mutations: [
      patched(
        "[JSONPatch{op: 'add', path: '/metadata/uid', value: 'mine'}, JSONPatch{op: 'add', path: '/metadata/creationTimestamp', value: '2000-01-01T00:00:00Z'}, JSONPatch{op: 'add', path: '/metadata/managedFields', value: [{'manager': 'x', 'operation': 'Nonsense'}]}]",
      ),
    ],
  })
  const { status, json, text } = await create(server, 'a', { own: '' })
  assert.equal(status, 201, text)
  assert.notEqual(json.metadata.uid, 'mine')
  assert.doesNotMatch(json.metadata.creationTimestamp, /^2000/)
  assert.equal(json.metadata.managedFields[0].operation, 'Update')
})

test('the status of a policy lists type errors in its expressions', patient, async t => {
  const server = await freshServer(t)
  const schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { size: { type: 'integer' }, any: { 'x-kubernetes-int-or-string': true } } } },
  }
  await made(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  })
  const matchConstraints = rule(['widgets', 'configmaps'], { apiGroups: ['example.com', ''], apiVersions: ['v1'] })
  await validating(server, 'types', {
    matchConstraints,
    validations: [
      { expression: 'object.metadata.name != "" && object.metadata.labels.size() < 3' },
      { expression: 'object.spec.size > "1"', messageExpression: '"size: " + object.spec.size' },
      { expression: 'object.spec.any == 1 || object.spec.any == "1"' },
    ],
  })
  const path = `${ADMISSION}/validatingadmissionpolicies/types`
  const status = await eventually('the policy being checked', async () => (await send(server, 'GET', path)).json.status.typeChecking)
  const unknown = (text: string, column: number) =>
    `/v1, Kind=ConfigMap: ERROR: <input>:1:${column}: undefined field 'spec'\n | ${text}\n | ${'.'.repeat(column - 1)}^`
  const [first, second] = ['object.spec.size > "1"', '"size: " + object.spec.size']
  const both = 'object.spec.any == 1 || object.spec.any == "1"'
  assert.deepEqual(status.expressionWarnings, [
    {
      fieldRef: 'spec.validations[1].expression',
      warning: `${unknown(first!, 7)}\n\nexample.com/v1, Kind=Widget: ERROR: <input>:1:18: found no matching overload for '_>_' applied to '(int, string)'\n | ${first}\n | .................^\n`,
    },
    {
      fieldRef: 'spec.validations[1].messageExpression',
      warning: `${unknown(second!, 18)}\n\nexample.com/v1, Kind=Widget: ERROR: <input>:1:10: found no matching overload for '_+_' applied to '(string, int)'\n | ${second}\n | .........^\n`,
    },
    {
      fieldRef: 'spec.validations[2].expression',
      warning: `${unknown(both, 7)}\nERROR: <input>:1:31: undefined field 'spec'\n | ${both}\n | ..............................^\n`,
    },
  ])
  const { json } = await send(server, 'GET', path)
  assert.equal(json.status.observedGeneration, json.metadata.generation)
  const { manager, operation, subresource } = json.metadata.managedFields.find((entry: any) => entry.subresource === 'status')
  assert.deepEqual([manager, operation, subresource], ['validatingadmissionpolicy-status', 'Apply', 'status'])
})
