// Authors of admission policies must not read through their parameters objects that they may not read themselves.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, freshServer, patient, type Scope } from '../kit.ts'

const GROUP = '/apis/admissionregistration.k8s.io/v1'
const SECRET = { apiVersion: 'v1', kind: 'Secret' }
const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap' }
const MATCH = {
  resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
}
const SPECS = {
  validating: {
    matchConstraints: MATCH,
    validations: [{ expression: 'false', messageExpression: "string(params.data['password'])" }],
  },
  mutating: {
    matchConstraints: MATCH,
    reinvocationPolicy: 'Never',
    mutations: [
      { patchType: 'ApplyConfiguration', applyConfiguration: { expression: "Object{data: {'stolen': string(params.data['password'])}}" } },
    ],
  },
}
type Type = keyof typeof SPECS

async function open(t: Scope) {
  const server = await freshServer(t)
  const send = (method: string, path: string, body: unknown, user?: string) =>
    ask(server, path, {
      method,
      body,
      headers: {
        ...(user !== undefined && { 'impersonate-user': user, 'impersonate-group': 'authors' }),
        ...(method === 'PATCH' && { 'content-type': 'application/merge-patch+json' }),
      },
    })
  const make = async (path: string, body: object) => {
    const { status, text } = await send('POST', path, body)
    assert.equal(status, 201, text)
  }
  const RBAC = '/apis/rbac.authorization.k8s.io/v1'
  const grant = async (name: string, subject: object, rules: object[], namespace?: string) => {
    const [role, scope] = namespace === undefined ? ['ClusterRole', ''] : ['Role', `/namespaces/${namespace}`]
    await make(`${RBAC}${scope}/${role.toLowerCase()}s`, { metadata: { name }, rules })
    await make(`${RBAC}${scope}/${role.toLowerCase()}bindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: role, name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
    })
  }
  await grant('authors', { kind: 'Group', name: 'authors' }, [
    { apiGroups: ['admissionregistration.k8s.io'], resources: ['*'], verbs: ['*'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] },
  ])
  await make('/api/v1/namespaces/kube-system/secrets', { metadata: { name: 'admin' }, stringData: { password: 'hunter2' } })
  return { server, send, make, grant }
}

const policy = (type: Type, name: string, paramKind?: object) => ({
  metadata: { name },
  spec: { ...(paramKind && { paramKind }), ...SPECS[type] },
})
const binding = (type: Type, name: string, paramRef?: object) => ({
  metadata: { name },
  spec: {
    policyName: name,
    ...(paramRef && { paramRef: { parameterNotFoundAction: 'Allow', ...paramRef } }),
    ...(type === 'validating' && { validationActions: ['Deny'] }),
  },
})

const ADMIN = { name: 'admin', namespace: 'kube-system' }
const EVE = '&{eve  [authors system:authenticated] map[]}'

for (const type of ['validating', 'mutating'] as const) {
  const POLICIES = `${GROUP}/${type}admissionpolicies`
  const BINDINGS = `${GROUP}/${type}admissionpolicybindings`
  const kind = (suffix: string) =>
    `${type === 'validating' ? 'Validating' : 'Mutating'}AdmissionPolicy${suffix}.admissionregistration.k8s.io`

  test(`a ${type} policy with a kind of parameters needs get on all of them`, patient, async t => {
    const { send, make, grant } = await open(t)
    const refused = await send('POST', POLICIES, policy(type, 'steal', SECRET), 'eve')
    // At 6256f0f1 the policy was created.
    assert.deepEqual(
      [refused.status, refused.json.message],
      [
        422,
        `${kind('')} "steal" is invalid: spec.paramKind: Forbidden: user ${EVE} must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)`,
      ],
    )
    assert.equal((await send('POST', POLICIES, policy(type, 'unknown', { apiVersion: 'v1', kind: 'None' }), 'eve')).status, 422)
    assert.equal((await send('POST', POLICIES, policy(type, 'known', CONFIG_MAP), 'eve')).status, 201)
    const changed = await send('PATCH', `${POLICIES}/known`, { spec: { paramKind: SECRET } }, 'eve')
    assert.equal(changed.status, 422)
    await make(POLICIES, policy(type, 'admins', SECRET))
    const labelled = await send('PATCH', `${POLICIES}/admins`, { metadata: { labels: { a: 'b' } } }, 'eve')
    assert.equal(labelled.status, 200, 'what names the same parameters as before is not asked about')
    await grant('one-namespace', { kind: 'User', name: 'eve' }, [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }], 'default')
    assert.equal((await send('POST', POLICIES, policy(type, 'steal', SECRET), 'eve')).status, 422, 'those of one namespace are not all')
    await grant('all', { kind: 'User', name: 'eve' }, [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }])
    assert.equal((await send('POST', POLICIES, policy(type, 'steal', SECRET), 'eve')).status, 201)
  })

  test(`a binding of a ${type} policy needs get or list on the parameters that it refers to`, patient, async t => {
    const { send, make, grant } = await open(t)
    await make(POLICIES, policy(type, 'steal', SECRET))
    const refusal = async (paramRef: object, method = 'POST', name = 'steal') => {
      const path = method === 'POST' ? BINDINGS : `${BINDINGS}/${name}`
      const { status, json } = await send(method, path, method === 'POST' ? binding(type, name, paramRef) : { spec: { paramRef } }, 'eve')
      return status === 422
        ? (json.message as string).replace(`${kind('Binding')} "${name}" is invalid: spec.paramRef: Forbidden: `, '')
        : status
    }
    // At 6256f0f1 the bindings were created, and a ConfigMap was answered with the password.
    assert.equal(await refusal(ADMIN), `user ${EVE} does not have "get" permission on the object referenced by paramRef`)
    assert.equal(await refusal({ selector: {} }), `user ${EVE} does not have "list" permission on the object referenced by paramRef`)
    assert.equal(
      await refusal(ADMIN, 'POST', 'none'),
      `unable to get policy none to determine minimum required permissions and user ${EVE} does not have "get" permission for all groups, versions and resources`,
    )
    const stolen = await send('POST', CONFIG_MAPS, configMap('x'), 'eve')
    assert.ok(!stolen.text.includes('hunter2'), stolen.text)
    const own = [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['own'], verbs: ['get'] }]
    await grant('own', { kind: 'User', name: 'eve' }, own, 'default')
    assert.equal(await refusal({ name: 'own', namespace: 'default' }), 201)
    assert.notEqual(await refusal(ADMIN, 'PATCH'), 200)
    assert.notEqual(await refusal({ name: 'own', namespace: null }, 'PATCH'), 200, 'without a namespace it is in all of them')
    assert.equal((await send('PATCH', `${BINDINGS}/steal`, { metadata: { labels: { a: 'b' } } }, 'eve')).status, 200)
    assert.equal((await send('POST', BINDINGS, { ...binding(type, 'plain'), metadata: { name: 'plain' } }, 'eve')).status, 201)
  })
}
