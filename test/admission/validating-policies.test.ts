// Decisions of validating policies, in the cases of Kubernetes' integration and end-to-end tests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, ask, CONFIG_MAPS, configMap, eventually, freshServer, patient, type Target } from '../kit.ts'
import { make, makePolicy, ruleFor } from '../kits/admission-objects.ts'

const NAMESPACES = '/api/v1/namespaces'
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
const namespace = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
})
const about = (...resources: string[]) => ({
  matchConstraints: { resourceRules: [ruleFor(resources, { group: '*', operations: ['CREATE', 'UPDATE'] })] },
})
const ofNamespaces = about('namespaces')
const configMaps = { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }
const merge = { 'content-type': 'application/merge-patch+json' }

const post = (target: Target, path: string, body: object, query = '?dryRun=All') => ask(target, `${path}${query}`, { method: 'POST', body })
const outcome = ({ status, json }: Answer) => (status < 300 ? 'admitted' : `${status} ${json.reason} ${json.message}`)

/** A policy about the creation of the namespace `test-k8s`, and its outcome. */
const cases: readonly { readonly what: string; readonly spec: object; readonly bindings?: object[]; readonly denied?: string }[] = [
  { what: 'looks at the object', spec: { validations: [{ expression: "object.metadata.name.endsWith('k8s')" }] } },
  {
    what: 'looks at the request',
    spec: { validations: [{ expression: "request.name == 'test-k8s' && request.namespace == 'test-k8s'" }] },
  },
  {
    what: 'that fails is ignored where it says so',
    spec: { failurePolicy: 'Ignore', validations: [{ expression: "object.nonExistentProperty == 'x'" }] },
  },
  {
    what: 'that fails denies',
    spec: { validations: [{ expression: "object.nonExistentProperty == 'x'" }] },
    denied: "Invalid expression 'object.nonExistentProperty == 'x'' resulted in error: no such key: nonExistentProperty",
  },
  {
    what: 'says what failed',
    spec: { validations: [{ expression: " object.metadata.name.endsWith('x') " }] },
    denied: "Invalid failed expression: object.metadata.name.endsWith('x')",
  },
  {
    what: 'gives a reason',
    spec: { validations: [{ expression: 'false', reason: 'Forbidden' }] },
    denied: 'Forbidden failed expression: false',
  },
  {
    what: 'has no parameters where the binding names none: their fields are missing',
    spec: { ...configMaps, validations: [{ expression: 'object.metadata.name.startsWith(params.metadata.name)' }] },
    denied: "Invalid expression 'object.metadata.name.startsWith(params.metadata.name)' resulted in error: no such key: metadata",
  },
  {
    what: 'has no parameters where the binding names none: has() is false',
    spec: { ...configMaps, validations: [{ expression: '!has(params.metadata)' }] },
  },
  {
    what: 'has no parameters where the binding names none: they are null',
    spec: { ...configMaps, validations: [{ expression: 'params == null' }] },
  },
  { what: 'has no namespaceObject for a namespace', spec: { validations: [{ expression: 'namespaceObject == null' }] } },
  {
    what: 'may have an annotation that fails, which denies',
    spec: { ...configMaps, auditAnnotations: [{ key: 'k', valueExpression: 'string(params.metadata.name)' }] },
    denied: "Invalid expression 'string(params.metadata.name)' resulted in error: no such key: metadata",
  },
  {
    what: 'may have an annotation that fails, which is ignored where it says so',
    spec: { ...configMaps, failurePolicy: 'Ignore', auditAnnotations: [{ key: 'k', valueExpression: 'string(params.metadata.name)' }] },
  },
  {
    what: 'is cancelled when an expression costs too much',
    spec: {
      validations: [
        {
          expression: `[1,2,3,4,5,6,7,8,9,10].all(a, ${'[1,2,3,4,5,6,7,8,9,10].all(b, '.repeat(5)}int('1'.find('[0-9]*')) < 100${')'.repeat(5)})`,
        },
      ],
    },
    denied: 'operation cancelled: actual cost limit exceeded',
  },
  {
    what: 'runs out of its budget when its expressions together cost too much',
    spec: {
      validations: Array.from({ length: 29 }, () => ({
        expression:
          "authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend').check('create').allowed()",
      })),
    },
    denied: 'Invalid validation failed due to running out of cost budget, no further validation rules will be run',
  },
  {
    what: 'takes a message of one line of at most 5 KiB from an expression, and its message otherwise',
    spec: {
      validations: [
        { expression: 'false', message: 'the message', messageExpression: "'a\\nb'" },
        { expression: 'false', message: 'never seen' },
      ],
    },
    denied: 'Invalid the message',
  },
  {
    what: 'falls back to its message when the expression for it fails',
    spec: { validations: [{ expression: 'false', message: 'the message', messageExpression: 'string(object.missing)' }] },
    denied: 'Invalid the message',
  },
  {
    what: 'trims the message of an expression',
    spec: { validations: [{ expression: 'false', messageExpression: "'  for ' + object.metadata.name + ' '" }] },
    denied: 'Invalid for test-k8s',
  },
  {
    what: 'sees that a variable fails where it is used',
    spec: { variables: [{ name: 'v', expression: 'object.missing' }], validations: [{ expression: 'variables.v == 1' }] },
    denied: 'Invalid expression \'variables.v == 1\' resulted in error: composited variable "v" fails to evaluate: no such key: missing',
  },
  {
    what: 'with a failing variable that is not used',
    spec: { variables: [{ name: 'v', expression: 'object.missing' }], validations: [{ expression: 'true' }] },
  },
  {
    what: 'excludes by name',
    spec: {
      matchConstraints: {
        resourceRules: [ruleFor(['namespaces'])],
        excludeResourceRules: [{ ...ruleFor(['namespaces']), resourceNames: ['test-k8s'] }],
      },
      validations: [{ expression: 'false' }],
    },
  },
  {
    what: 'matches by name',
    spec: {
      matchConstraints: { resourceRules: [{ ...ruleFor(['namespaces']), resourceNames: ['test-k8s'] }] },
      validations: [{ expression: 'false' }],
    },
    denied: 'Invalid failed expression: false',
  },
  {
    what: 'does not match another name',
    spec: {
      matchConstraints: { resourceRules: [{ ...ruleFor(['namespaces']), resourceNames: ['other'] }] },
      validations: [{ expression: 'false' }],
    },
  },
  {
    what: 'is narrowed down by its binding',
    spec: { validations: [{ expression: 'false' }] },
    bindings: [{ matchResources: { namespaceSelector: { matchLabels: { env: 'prod' } } } }],
  },
  {
    what: 'selects a namespace by its own labels',
    spec: { validations: [{ expression: 'false' }] },
    bindings: [{ matchResources: { namespaceSelector: { matchLabels: { env: 'test' } } } }],
    denied: 'Invalid failed expression: false',
  },
  {
    what: 'denies where a parameter is required and not there',
    spec: { ...configMaps, validations: [{ expression: 'true' }] },
    bindings: [{ paramRef: { name: 'missing', namespace: 'default', parameterNotFoundAction: 'Deny' } }],
    denied: 'Invalid failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
  },
  {
    what: 'does nothing where a parameter is neither required nor there',
    spec: { ...configMaps, validations: [{ expression: 'false' }] },
    bindings: [{ paramRef: { name: 'missing', namespace: 'default', parameterNotFoundAction: 'Allow' } }],
  },
  {
    what: 'looks for parameters without a namespace in the namespace that is created',
    spec: { ...configMaps, validations: [{ expression: 'true' }] },
    bindings: [{ paramRef: { name: 'missing', parameterNotFoundAction: 'Deny' } }],
    denied: 'Invalid failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
  },
  {
    what: 'denies where the kind of its parameters is not there',
    spec: { paramKind: { apiVersion: 'none.example.com/v1', kind: 'None' }, validations: [{ expression: 'true' }] },
    bindings: [{ paramRef: { name: 'x', parameterNotFoundAction: 'Deny' } }],
    denied: "Invalid failed to configure policy: failed to find resource referenced by paramKind: 'none.example.com/v1, Kind=None'",
  },
]

test('a validating policy', patient, async t => {
  const server = await freshServer(t)
  for (const { what, spec, bindings, denied } of cases)
    await t.test(what, async () => {
      const undo = await makePolicy(server, 'Validating', 'p', { spec: { ...ofNamespaces, ...spec }, ...(bindings && { bindings }) })
      const answer = await post(server, NAMESPACES, namespace('test-k8s', { env: 'test' }))
      await undo()
      if (denied === undefined) return assert.equal(outcome(answer), 'admitted')
      assert.ok(answer.status === 422 || answer.status === 403, answer.text)
      const { reason, message, details } = answer.json
      const whose = message.includes('failed to configure policy') ? "'p'" : "'p' with binding 'p-0'"
      const beginning = `namespaces "test-k8s" is forbidden: ValidatingAdmissionPolicy ${whose} denied request: `
      assert.equal(message.slice(0, beginning.length), beginning)
      assert.ok(`${reason} ${message.slice(beginning.length)}`.includes(denied), message)
      assert.deepEqual(details, {
        name: 'test-k8s',
        kind: 'namespaces',
        causes: [{ message: message.slice('namespaces "test-k8s" is forbidden: '.length) }],
      })
    })
})

test('a policy about everything leaves policies and bindings alone', patient, async t => {
  const server = await freshServer(t)
  await makePolicy(server, 'Validating', 'p', {
    spec: {
      matchConstraints: { resourceRules: [ruleFor(['*/*'], { group: '*', operations: ['*'] })] },
      validations: [{ expression: 'false' }],
    },
  })
  assert.equal((await post(server, CONFIG_MAPS, configMap('a'))).status, 422)
  const patched = await ask(server, `${POLICIES}/p`, { method: 'PATCH', body: { spec: { failurePolicy: 'Ignore' } }, headers: merge })
  assert.equal(patched.status, 200, patched.text)
  const binding = await ask(server, `${POLICIES.replace('policies', 'policybindings')}/p-0`, {
    method: 'PATCH',
    body: { spec: { policyName: 'other' } },
    headers: merge,
  })
  assert.equal(binding.status, 200, binding.text)
  assert.equal((await post(server, CONFIG_MAPS, configMap('a'))).status, 201)
})

test('changes of a policy, its binding, its parameter and its kind of parameters apply at once', patient, async t => {
  const server = await freshServer(t)
  const prefixed = { validations: [{ expression: 'object.metadata.name.startsWith(params.kind.lowerAscii())' }] }
  const paramRef = (name: string) => ({ paramRef: { name, namespace: 'default', parameterNotFoundAction: 'Deny' } })
  await make(server, CONFIG_MAPS, configMap('param'))
  await make(server, '/api/v1/namespaces/default/secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'param' } })
  const undo = await makePolicy(server, 'Validating', 'p', {
    spec: { ...ofNamespaces, ...configMaps, ...prefixed },
    bindings: [paramRef('param')],
  })
  const tried = async (...names: string[]) =>
    Promise.all(names.map(async name => (await post(server, NAMESPACES, namespace(name))).status === 201))
  assert.deepEqual(await tried('configmap-a', 'secret-a'), [true, false])
  const patch = (path: string, body: object) => ask(server, path, { method: 'PATCH', body, headers: merge })
  await patch(`${POLICIES}/p`, { spec: { paramKind: { kind: 'Secret' } } })
  assert.deepEqual(await tried('configmap-a', 'secret-a'), [false, true])
  await ask(server, '/api/v1/namespaces/default/secrets/param', { method: 'DELETE' })
  assert.deepEqual(await tried('secret-a'), [false])
  await patch(`${POLICIES.replace('policies', 'policybindings')}/p-0`, { spec: { paramRef: { parameterNotFoundAction: 'Allow' } } })
  assert.deepEqual(await tried('secret-a', 'configmap-a'), [true, true])
  await undo()
  await makePolicy(server, 'Validating', 'p', {
    spec: { ...ofNamespaces, validations: [{ expression: "object.metadata.name == 'again'" }] },
  })
  assert.deepEqual(await tried('again', 'secret-a'), [true, false])
})

test('a policy about one version of a kind is evaluated for the others, unless it wants an exact match', patient, async t => {
  const server = await freshServer(t)
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  await make(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: ['v1', 'v2'].map((name, i) => ({ name, served: true, storage: i === 0, schema })),
    },
  })
  const things = (version: string) => `/apis/example.com/${version}/namespaces/default/things`
  await eventually('things', async () => ((await ask(server, things('v2'))).status === 200 ? true : undefined))
  const tried = async (version: string) =>
    outcome(await post(server, things(version), { apiVersion: `example.com/${version}`, kind: 'Thing', metadata: { name: 't' } }))
  const resourceRules = [ruleFor(['things'], { group: 'example.com', version: 'v1' })]
  const validations = [
    { expression: 'false', messageExpression: "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version" },
  ]
  const undo = await makePolicy(server, 'Validating', 'p', { spec: { matchConstraints: { resourceRules }, validations } })
  assert.match(await tried('v2'), /denied request: example\.com\/v1 v1 v2$/)
  await undo()
  await makePolicy(server, 'Validating', 'p', { spec: { matchConstraints: { resourceRules, matchPolicy: 'Exact' }, validations } })
  assert.equal(await tried('v2'), 'admitted')
  assert.match(await tried('v1'), /denied request/)
})

test('the types of expressions are checked, and the status lists the errors', patient, async t => {
  const server = await freshServer(t)
  const deployments = {
    matchConstraints: { resourceRules: [ruleFor(['deployments'], { group: 'apps', version: 'v1', operations: ['CREATE'] })] },
  }
  await makePolicy(server, 'Validating', 'good', { spec: { ...deployments, validations: [{ expression: 'object.spec.replicas > 1' }] } })
  await makePolicy(server, 'Validating', 'bad', {
    spec: {
      ...deployments,
      validations: [
        { expression: "object.spec.replicas > '1'", messageExpression: "'wants replicas > 1, got ' + object.spec.replicas" },
        { expression: 'object.spec.maxRetries < 10' },
      ],
    },
  })
  const checked = (name: string) =>
    eventually('type checking', async () => (await ask(server, `${POLICIES}/${name}`)).json.status.typeChecking as any)
  assert.deepEqual((await checked('good')).expressionWarnings ?? [], [])
  const { expressionWarnings } = await checked('bad')
  assert.deepEqual(
    expressionWarnings.map(({ fieldRef }: any) => fieldRef),
    ['spec.validations[0].expression', 'spec.validations[0].messageExpression', 'spec.validations[1].expression'],
  )
  const [first, second, third] = expressionWarnings.map(({ warning }: any) => warning)
  assert.match(first, /^apps\/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '\(int, string\)'/)
  assert.match(second, /found no matching overload for '_\+_' applied to '\(string, int\)'/)
  assert.match(third, /undefined field 'maxRetries'/)
})
