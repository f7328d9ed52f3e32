// Explanations of admission for permitted users, and its metrics.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, freshServer, patient, startInProcess, type Target } from './kit.ts'

const POLICIES = '/apis/admissionregistration.k8s.io/v1'

async function created(target: Target, path: string, body: object): Promise<void> {
  const { status, text } = await ask(target, path, { method: 'POST', body })
  assert.equal(status, 201, text)
}

async function policy(target: Target, name: string, spec: object, binding: object = {}): Promise<void> {
  await created(target, `${POLICIES}/validatingadmissionpolicies`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }] },
      validations: [{ expression: "object.metadata.name != 'bad'", message: 'bad is not a name' }],
      ...spec,
    },
  })
  await created(target, `${POLICIES}/validatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: `${name}-binding` },
    spec: { policyName: name, validationActions: ['Deny'], ...binding },
  })
}

const explained = async (target: Target, body: object, more: Parameters<typeof ask>[2] = {}) => {
  const { headers = {}, ...rest } = more
  const answer = await ask(target, CONFIG_MAPS, { method: 'POST', body, ...rest, headers: { 'keelson-explain': 'admission', ...headers } })
  const header = answer.headers['keelson-explain']
  return { ...answer, steps: header === undefined ? undefined : JSON.parse(String(header)) }
}

test('an explanation lists what admitted, skipped and rejected a request, and why', patient, async t => {
  const server = await freshServer(t)
  await policy(server, 'names', {})
  await policy(server, 'named', { matchConditions: [{ name: 'only-x', expression: "object.metadata.name == 'x'" }] })
  await policy(server, 'labelled', {}, { matchResources: { objectSelector: { matchLabels: { a: 'b' } } } })
  await policy(server, 'elsewhere', {}, { matchResources: { namespaceSelector: { matchLabels: { team: 'other' } } } })
  await policy(server, 'secrets', {
    matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['secrets'] }] },
  })
  const bad = await explained(server, configMap('bad'))
  assert.equal(bad.status, 422)
  assert.deepEqual(bad.steps, [
    { policy: 'elsewhere', binding: 'elsewhere-binding', outcome: 'skipped', because: 'namespaceSelector' },
    { policy: 'labelled', binding: 'labelled-binding', outcome: 'skipped', because: 'objectSelector' },
    { policy: 'named', binding: 'named-binding', outcome: 'skipped', because: 'matchCondition only-x' },
    { policy: 'names', binding: 'names-binding', outcome: 'rejected', because: 'bad is not a name' },
    { policy: 'secrets', outcome: 'skipped', because: 'rules' },
  ])
  const good = await explained(server, configMap('good'))
  assert.equal(good.status, 201)
  assert.deepEqual(good.steps[3], { policy: 'names', binding: 'names-binding', outcome: 'admitted' })
})

test('a plugin that changed or rejected a request is named', patient, async t => {
  const server = await freshServer(t)
  const pods = '/api/v1/namespaces/default/pods'
  const pod = (spec: object) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  })
  const headers = { 'keelson-explain': 'admission' }
  const refused = await ask(server, pods, { method: 'POST', body: pod({ priorityClassName: 'nobody' }), headers })
  assert.equal(refused.status, 403)
  const last = JSON.parse(String(refused.headers['keelson-explain'])).at(-1)
  assert.equal(last.plugin, 'Priority')
  assert.equal(last.outcome, 'rejected')
  assert.match(last.because, /no PriorityClass with name nobody was found/)
  const made = await ask(server, pods, { method: 'POST', body: pod({}), headers })
  assert.equal(made.status, 201, made.text)
  const mutated = JSON.parse(String(made.headers['keelson-explain'])).filter(({ outcome }: any) => outcome === 'mutated')
  assert.ok(mutated.some(({ plugin }: any) => plugin === 'DefaultTolerationSeconds'))
})

test('with details, an explanation has the time of each step, and the changes of those that made some', patient, async t => {
  const server = await freshServer(t)
  await policy(server, 'names', {})
  await created(server, `${POLICIES}/mutatingadmissionpolicies`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'labels' },
    spec: {
      reinvocationPolicy: 'Never',
      matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }] },
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"team": "blue"}}}' },
        },
      ],
    },
  })
  await created(server, `${POLICIES}/mutatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicyBinding',
    metadata: { name: 'labels' },
    spec: { policyName: 'labels' },
  })
  const { steps } = await explained(server, configMap('bad'), { headers: { 'keelson-explain': 'admission;details' } })
  const mutated = steps.find(({ policy }: any) => policy === 'labels')
  assert.deepEqual(JSON.parse(mutated.patch), [{ op: 'add', path: '/metadata/labels', value: { team: 'blue' } }])
  const rejected = steps.find(({ policy }: any) => policy === 'names')
  assert.equal(rejected.outcome, 'rejected')
  for (const { ms } of [mutated, rejected]) assert.match(ms, /^\d+\.\d{3}$/)
  const plugin = steps.find(({ plugin }: any) => plugin === 'NamespaceLifecycle')
  assert.deepEqual({ ...plugin, ms: '' }, { plugin: 'NamespaceLifecycle', outcome: 'unchanged', ms: '' })
  const short = await explained(server, configMap('bad'))
  assert.ok(!short.steps.some((step: any) => 'ms' in step || 'patch' in step || step.plugin === 'NamespaceLifecycle'))
})

test('an explanation is sent only on request, and only to users with permission', patient, async t => {
  const server = await freshServer(t)
  const plain = await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a') })
  assert.equal(plain.headers['keelson-explain'], undefined)
  await created(server, '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'writer' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['create'] }],
  })
  await created(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'writer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'writer' },
    subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }],
  })
  const { json } = await ask(server, '/api/v1/namespaces/default/serviceaccounts/default/token', {
    method: 'POST',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  })
  const bearer = { cert: undefined, key: undefined, headers: { authorization: `Bearer ${json.status.token}` } } as never
  const denied = await explained(server, configMap('b'), bearer)
  assert.equal(denied.status, 201)
  assert.equal(denied.steps.length, 1)
  assert.match(denied.steps[0].error, /cannot get path "\/explain\/admission"/)
  const other = await explained(server, configMap('c'), { headers: { 'keelson-explain': 'weather' } })
  assert.deepEqual([other.status, other.steps], [201, [{ error: 'only admission can be explained' }]])
})

test('decisions of policies and times of plugins are counted', patient, async t => {
  const server = await startInProcess(t)
  await policy(server, 'names', {})
  await policy(server, 'named', { matchConditions: [{ name: 'only-x', expression: "object.metadata.name == 'x'" }] })
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('bad') })
  const { text } = await ask(server, '/metrics')
  const lineOf = (start: string) => text.split('\n').filter(line => line.startsWith(start))
  assert.deepEqual(lineOf('apiserver_validating_admission_policy_check_total'), [
    'apiserver_validating_admission_policy_check_total{policy="names",policy_binding="names-binding",error_type="no_error",enforcement_action="deny"} 1',
  ])
  assert.deepEqual(lineOf('apiserver_admission_match_condition_exclusions_total'), [
    'apiserver_admission_match_condition_exclusions_total{name="named",kind="policy",type="validate",operation="CREATE"} 1',
  ])
  const timed = lineOf('apiserver_admission_controller_admission_duration_seconds_count')
  assert.ok(timed.some(line => line.includes('name="ValidatingAdmissionPolicy",type="validate",operation="CREATE",rejected="true"} 1')))
  assert.ok(
    lineOf('apiserver_admission_step_admission_duration_seconds_count').some(line =>
      line.includes('type="validate",operation="CREATE",rejected="true"} 1'),
    ),
  )
})
