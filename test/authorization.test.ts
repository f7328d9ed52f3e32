// Authorization: real users by token and certificate, with the bootstrap roles and those of the test.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { issueAuthority, issueClient } from '../src/lib/x509/issue.ts'
import {
  anonymous,
  ask,
  CONFIG_MAPS,
  configMap,
  eventually,
  patient,
  run,
  type Scope,
  serveHere,
  startInProcess,
  startProcess,
  type Target,
  temporaryDirectory,
} from './kit.ts'
import { keelsonHere } from './kits/command-here.ts'
import { testWith } from './programs.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const USERS =
  'jane-token,jane,u1,devs\njoe-token,joe,u2\nroot-token,root,u3,"system:masters"\nmon-token,prometheus,u4,"system:monitoring"\n'
const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) }

const bearer = (token: string) => ({ ...anonymous, headers: { authorization: `Bearer ${token}` } })
const jane = bearer('jane-token')
const joe = bearer('joe-token')

function usersFile(t: Scope): string {
  const file = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(file, USERS)
  return file
}
const startServer = (t: Scope, ...flags: string[]) => serveHere(t, { flags: ['--token-auth-file', usersFile(t), ...flags] })

/** Does something as the admin that must succeed. */
async function arrange(server: Target, method: string, path: string, body?: unknown): Promise<any> {
  const { status, json, text } = await ask(server, path, { method, ...(body !== undefined && { body }) })
  assert.ok(status < 300, `${method} ${path}: ${text}`)
  return json
}
const rule = (verbs: string, resources: string, more: object = {}) => ({
  verbs: verbs.split(' '),
  apiGroups: [''],
  resources: resources.split(' '),
  ...more,
})
const user = (name: string) => ({ kind: 'User', name })
const bind = (name: string, role: string, ...subjects: object[]) => {
  const [kind, roleName] = role.split(' ')
  return { metadata: { name }, roleRef: { kind, name: roleName }, subjects }
}
const createRole = (server: Target, name: string, ...rules: object[]) =>
  arrange(server, 'POST', `${RBAC}/namespaces/default/roles`, { metadata: { name }, rules })
const bindIn = (server: Target, namespace: string, binding: object) =>
  arrange(server, 'POST', `${RBAC}/namespaces/${namespace}/rolebindings`, binding)

const statusOf = async (server: Target, path: string, sent: object) => (await ask(server, path, sent)).status

test('users without roles may read discovery and review themselves, and nothing else', patient, async t => {
  const server = await startServer(t)
  for (const path of ['/api', '/apis', '/api/v1', '/apis/apps/v1', '/openapi/v2', '/openapi/v3', '/version', '/healthz'])
    assert.equal(await statusOf(server, path, jane), 200, path)
  const message = async (path: string, method = 'GET') => (await ask(server, path, { ...jane, method })).json.message
  assert.equal(
    await message(CONFIG_MAPS),
    'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "default"',
  )
  assert.equal(await message('/metrics'), 'forbidden: User "jane" cannot get path "/metrics"')
  assert.equal(
    await message('/apis/unheard.of/v1/things'),
    'things.unheard.of is forbidden: User "jane" cannot list resource "things" in API group "unheard.of" at the cluster scope',
  )
  assert.equal(
    await message(CONFIG_MAPS, 'DELETE'),
    'configmaps is forbidden: User "jane" cannot deletecollection resource "configmaps" in API group "" in the namespace "default"',
  )
  assert.equal(await statusOf(server, '/metrics', bearer('mon-token')), 200)
  assert.equal(await statusOf(server, '/livez/ping', bearer('mon-token')), 200)
  for (const path of [CONFIG_MAPS, '/metrics', '/api/v1/secrets']) assert.equal(await statusOf(server, path, bearer('root-token')), 200)
})

test('a role applies in its namespace, for its verbs and names, as soon as and as long as it is bound', patient, async t => {
  const server = await startServer(t)
  await arrange(server, 'POST', CONFIG_MAPS, configMap('a'))
  await createRole(server, 'reader', rule('get list watch', 'configmaps'), rule('update', 'configmaps', { resourceNames: ['a'] }))
  await bindIn(server, 'default', bind('reads', 'Role reader', user('jane'), { kind: 'Group', name: 'ops' }))
  assert.equal(await statusOf(server, CONFIG_MAPS, jane), 200)
  assert.equal(await statusOf(server, `${CONFIG_MAPS}/a`, jane), 200)
  assert.equal(await statusOf(server, '/api/v1/configmaps', jane), 403)
  assert.equal(await statusOf(server, '/api/v1/namespaces/kube-system/configmaps', jane), 403)
  assert.equal(await statusOf(server, CONFIG_MAPS, joe), 403)
  const put = (name: string) => ({ ...jane, method: 'PUT', body: configMap(name, { by: 'jane' }) })
  assert.equal(await statusOf(server, `${CONFIG_MAPS}/a`, put('a')), 200)
  assert.equal(await statusOf(server, `${CONFIG_MAPS}/b`, put('b')), 403)
  assert.equal(await statusOf(server, CONFIG_MAPS, { ...jane, method: 'POST', body: configMap('c') }), 403)
  const watched = await ask(server, `${CONFIG_MAPS}?watch=1&timeoutSeconds=1`, jane)
  assert.match(watched.text, /^\{"type":"ADDED".*"name":"a"/)
  await arrange(server, 'DELETE', `${RBAC}/namespaces/default/rolebindings/reads`)
  assert.equal(await statusOf(server, CONFIG_MAPS, jane), 403)
})

test('a cluster role applies in the namespace where it is bound, or everywhere', patient, async t => {
  const server = await startServer(t)
  await eventually('the rules of view', async () => ((await arrange(server, 'GET', `${RBAC}/clusterroles/view`)).rules ? true : undefined))
  await bindIn(server, 'default', bind('views', 'ClusterRole view', { kind: 'Group', name: 'devs' }))
  assert.equal(await statusOf(server, CONFIG_MAPS, jane), 200)
  assert.equal(await statusOf(server, '/api/v1/configmaps', jane), 403)
  assert.equal(await statusOf(server, '/api/v1/namespaces/default/secrets', jane), 403, 'view shows no secrets')
  await arrange(server, 'POST', `${RBAC}/clusterrolebindings`, bind('views', 'ClusterRole view', user('jane')))
  for (const path of ['/api/v1/configmaps', '/api/v1/namespaces', '/api/v1/namespaces/default', '/apis/apps/v1/deployments'])
    assert.equal(await statusOf(server, path, jane), 200, path)
  assert.equal(await statusOf(server, '/api/v1/nodes', jane), 403, 'nodes are of no namespace')
})

test('subresources are allowed by name, or for all resources', patient, async t => {
  const server = await startServer(t)
  const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
  const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  await arrange(server, 'POST', DEPLOYMENTS, { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } })
  await createRole(server, 'scaler', { verbs: ['get', 'patch'], apiGroups: ['*'], resources: ['*/scale'] })
  await bindIn(server, 'default', bind('scales', 'Role scaler', user('jane')))
  const scale = { method: 'PATCH', body: { spec: { replicas: 3 } } }
  const headers = { ...jane.headers, 'content-type': 'application/merge-patch+json' }
  assert.equal(await statusOf(server, `${DEPLOYMENTS}/d/scale`, { ...jane, ...scale, headers }), 200)
  assert.equal(await statusOf(server, `${DEPLOYMENTS}/d`, { ...jane, ...scale, headers }), 403)
  assert.equal(await statusOf(server, `${DEPLOYMENTS}/d/status`, { ...jane, ...scale, headers }), 403)
})

test('a rejection names roles that are bound but do not exist', patient, async t => {
  const server = await startServer(t)
  await arrange(server, 'POST', `${RBAC}/clusterrolebindings`, bind('b', 'ClusterRole gone', user('jane')))
  assert.equal(
    (await ask(server, '/api/v1/nodes', jane)).json.message,
    'nodes is forbidden: User "jane" cannot list resource "nodes" in API group "" at the cluster scope: rbac: RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found',
  )
})

test('privilege escalation is rejected', patient, async t => {
  const server = await startServer(t)
  const manage = { verbs: ['*'], apiGroups: ['rbac.authorization.k8s.io'], resources: ['roles', 'rolebindings'] }
  await createRole(server, 'manager', { ...manage, verbs: ['create', 'update', 'get', 'patch'] }, rule('get', 'configmaps'))
  await createRole(server, 'secrets', rule('get', 'secrets'))
  await bindIn(server, 'default', bind('manages', 'Role manager', user('jane')))
  const post = (kind: string, body: object) => ask(server, `${RBAC}/namespaces/default/${kind}`, { ...jane, method: 'POST', body })
  const created = await post('roles', { metadata: { name: 'a' }, rules: [rule('get', 'configmaps')] })
  assert.equal(created.status, 201, created.text)
  const refused = await post('roles', { metadata: { name: 'b' }, rules: [rule('get list', 'configmaps secrets')] })
  assert.equal(refused.status, 403)
  assert.equal(
    refused.json.message,
    'roles.rbac.authorization.k8s.io "b" is forbidden: user "jane" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n' +
      '{APIGroups:[""], Resources:["configmaps"], Verbs:["list"]}\n{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}',
  )
  const bound = await post('rolebindings', bind('c', 'Role a', user('joe')))
  assert.equal(bound.status, 201, bound.text)
  assert.equal((await post('rolebindings', bind('d', 'Role secrets', user('jane')))).status, 403)
  assert.equal((await post('rolebindings', bind('d', 'ClusterRole cluster-admin', user('jane')))).status, 403)
  const apply = { ...jane.headers, 'content-type': 'application/apply-patch+yaml' }
  const body = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'a' }, rules: [rule('*', '*')] }
  const path = `${RBAC}/namespaces/default/roles/a?fieldManager=x&force=true`
  assert.equal((await ask(server, path, { ...anonymous, method: 'PATCH', headers: apply, body })).status, 403)
})

test('certificates name users and groups', patient, async t => {
  const authority = issueAuthority('ours', validity)
  const file = join(temporaryDirectory(t), 'ca.pem')
  writeFileSync(file, authority.cert)
  const server = await startServer(t, '--client-ca-file', file)
  await arrange(server, 'POST', `${RBAC}/clusterrolebindings`, bind('b', 'ClusterRole view', { kind: 'Group', name: 'viewers' }))
  await eventually('the rules of view', async () => ((await arrange(server, 'GET', `${RBAC}/clusterroles/view`)).rules ? true : undefined))
  const viewer = issueClient(authority, { commonName: 'ann', organizations: ['viewers'] }, validity)
  const other = issueClient(authority, { commonName: 'ann', organizations: ['strangers'] }, validity)
  assert.equal(await statusOf(server, CONFIG_MAPS, viewer), 200)
  assert.equal(await statusOf(server, CONFIG_MAPS, other), 403)
})

test('with the mode Node a kubelet reads what its own pods use', patient, async t => {
  const authority = issueAuthority('ours', validity)
  const file = join(temporaryDirectory(t), 'ca.pem')
  writeFileSync(file, authority.cert)
  const server = await startServer(t, '--client-ca-file', file, '--authorization-mode=Node,RBAC')
  const kubelet = (name: string) => issueClient(authority, { commonName: `system:node:${name}`, organizations: ['system:nodes'] }, validity)
  const SECRETS = '/api/v1/namespaces/default/secrets'
  for (const name of ['used', 'other']) await arrange(server, 'POST', SECRETS, { metadata: { name } })
  const spec = {
    nodeName: 'n1',
    containers: [{ name: 'c', image: 'i' }],
    volumes: [{ name: 'v', secret: { secretName: 'used' } }],
    automountServiceAccountToken: false,
  }
  await eventually('the account of the namespace', async () =>
    (await statusOf(server, '/api/v1/namespaces/default/serviceaccounts/default', {})) === 200 ? true : undefined,
  )
  await arrange(server, 'POST', '/api/v1/namespaces/default/pods', { metadata: { name: 'p' }, spec })
  const [n1, n2] = [kubelet('n1'), kubelet('n2')]
  assert.equal(await statusOf(server, `${SECRETS}/used`, n1), 200)
  assert.equal(await statusOf(server, `${SECRETS}/other`, n1), 403)
  assert.equal(await statusOf(server, `${SECRETS}/used`, n2), 403)
  assert.equal(await statusOf(server, '/api/v1/pods?fieldSelector=spec.nodeName%3Dn1', n1), 200)
  assert.equal(await statusOf(server, '/api/v1/pods?fieldSelector=spec.nodeName%3Dn2', n1), 403)
  assert.equal(await statusOf(server, '/api/v1/nodes/n1', n1), 404, 'a node may ask for itself before it is there')
  assert.match((await ask(server, '/api/v1/nodes/n2', n1)).json.message, /: node: node 'n1' cannot read 'n2', only its own Node object$/)
})

testWith('kubectl', 'kubectl auth tells what may be done', patient, async (t, program) => {
  const server = await startServer(t)
  await createRole(server, 'reader', rule('get list', 'configmaps'))
  await bindIn(server, 'default', bind('reads', 'Role reader', user('jane')))
  const kubeconfig = ['--kubeconfig', '/dev/null', '--server', server.url, '--insecure-skip-tls-verify', '--token', 'jane-token']
  const kubectl = (...args: string[]) => run(program, [...kubeconfig, ...args])
  const canI = async (...args: string[]) => (await kubectl('auth', 'can-i', ...args)).stdout.trim()
  assert.equal(await canI('get', 'configmaps'), 'yes')
  assert.equal(await canI('get', 'configmaps', '-A'), 'no')
  assert.equal(await canI('delete', 'configmaps/x'), 'no')
  assert.equal(await canI('get', '/version'), 'yes')
  const { stdout } = await kubectl('auth', 'can-i', '--list')
  assert.match(stdout, /^configmaps +\[\] +\[\] +\[get list\]$/m)
  assert.match(stdout, /^selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]$/m)
  const admin = (...args: string[]) => run(program, ['--kubeconfig', server.kubeconfig, ...args])
  assert.equal((await admin('auth', 'can-i', '*', '*', '-A')).stdout.trim(), 'yes')
  assert.equal((await admin('auth', 'can-i', 'list', 'secrets', '--as', 'jane')).stdout.trim(), 'no')
})

test('access reviews for other users need permission, and answer correctly', patient, async t => {
  const server = await startServer(t)
  const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  const wanted = { verb: 'create', group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews' }
  const body = { spec: { user: 'joe', groups: ['system:authenticated'], resourceAttributes: wanted } }
  assert.equal(await statusOf(server, REVIEWS, { ...jane, method: 'POST', body }), 403)
  const { status } = await arrange(server, 'POST', REVIEWS, body)
  const reason =
    'RBAC: allowed by ClusterRoleBinding "system:basic-user" of ClusterRole "system:basic-user" to Group "system:authenticated"'
  assert.deepEqual(status, { allowed: true, reason })
  const local = '/apis/authorization.k8s.io/v1/namespaces/nowhere/localsubjectaccessreviews'
  const inNowhere = { spec: { user: 'joe', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'nowhere' } } }
  assert.deepEqual((await arrange(server, 'POST', local, inNowhere)).status, { allowed: false })
})

test(
  'AlwaysAllow allows everything to authenticated users, AlwaysDeny nothing but to the admin; unknown modes are rejected',
  patient,
  async t => {
    const open = await startProcess(t, { flags: ['--token-auth-file', usersFile(t), '--authorization-mode', 'AlwaysAllow'] })
    assert.equal(await statusOf(open, CONFIG_MAPS, jane), 200)
    for (const path of [CONFIG_MAPS, '/api', '/livez']) assert.equal(await statusOf(open, path, anonymous), 401)
    assert.match(open.stderr(), /"AnonymousAuth is not allowed with the AlwaysAllow authorizer\. Resetting AnonymousAuth to false\./)
    const escalating = { metadata: { name: 'x' }, rules: [rule('*', '*')] }
    assert.equal(await statusOf(open, `${RBAC}/clusterroles`, { ...jane, method: 'POST', body: escalating }), 201)
    const closed = await startServer(t, '--authorization-mode=AlwaysDeny')
    assert.equal(await statusOf(closed, '/api', jane), 403)
    assert.match((await ask(closed, '/api', jane)).json.message, /cannot get path "\/api": alwaysdeny: Everything is forbidden\.$/)
    assert.equal(await statusOf(closed, '/api', {}), 200)
    const unknown = await keelsonHere('serve', '--authorization-mode', 'RBAC,Whim')
    assert.equal(unknown.code, 1)
    assert.match(
      unknown.stderr,
      /--authorization-mode: this version has no mode "Whim"; it takes a list of RBAC, Node, Webhook, ABAC, AlwaysAllow, AlwaysDeny/,
    )
  },
)

/** Whether a role holds every rule of the roles that it aggregates: its controller fills it some time after the start. */
function isAggregated(role: any, roles: readonly any[]): boolean {
  const held = new Set((role.rules ?? []).map((held: unknown) => JSON.stringify(held)))
  const isSelected = ({ metadata }: any) =>
    (role.aggregationRule?.clusterRoleSelectors ?? []).some(({ matchLabels }: any) =>
      Object.entries(matchLabels).every(([label, value]) => metadata.labels?.[label] === value),
    )
  return roles.filter(isSelected).every(({ rules }) => (rules ?? []).every((rule: unknown) => held.has(JSON.stringify(rule))))
}

test('default roles are restored at the next start, and additions to them are kept', patient, async t => {
  const dataDir = join(temporaryDirectory(t), 'data')
  const first = await serveHere(t, { dataDir })
  await arrange(first, 'DELETE', `${RBAC}/clusterrolebindings/system:discovery`)
  const headers = { 'content-type': 'application/merge-patch+json' }
  const more = { subjects: [{ kind: 'Group', name: 'devs' }] }
  await ask(first, `${RBAC}/clusterrolebindings/system:monitoring`, { method: 'PATCH', headers, body: more })
  await first.stop()
  const second = await serveHere(t, { dataDir })
  assert.equal((await arrange(second, 'GET', `${RBAC}/clusterrolebindings/system:discovery`)).subjects[0].name, 'system:authenticated')
  const { subjects } = await arrange(second, 'GET', `${RBAC}/clusterrolebindings/system:monitoring`)
  assert.deepEqual(
    subjects.map(({ name }: { name: string }) => name),
    ['devs', 'system:monitoring'],
  )
  const before = await eventually('the aggregated roles are complete', async () => {
    const roles = await arrange(second, 'GET', `${RBAC}/clusterroles`)
    return roles.items.every((role: any) => isAggregated(role, roles.items)) ? roles.metadata.resourceVersion : undefined
  })
  await second.stop()
  const third = await serveHere(t, { dataDir })
  const { items } = await arrange(third, 'GET', `${RBAC}/clusterroles`)
  assert.deepEqual(
    items.filter(({ metadata }: any) => Number(metadata.resourceVersion) > Number(before)).map(({ metadata }: any) => metadata.name),
    [],
    'a start that finds all in place writes no role',
  )
})

test('mode ABAC allows what the policies of a file name, and a fault in the file ends the start', patient, async t => {
  const file = join(temporaryDirectory(t), 'policies.jsonl')
  const policy = { user: 'alice', namespace: 'default', resource: 'configmaps', readonly: true }
  writeFileSync(
    file,
    `# policies\n${JSON.stringify({ apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy', spec: policy })}\n`,
  )
  const options = { controllers: ['none'], nodes: 0, store: 'memory' as const, authorizationMode: ['ABAC'], authorizationPolicyFile: file }
  const server = await startInProcess(t, options)
  const headers = { 'impersonate-user': 'alice' }
  assert.equal((await ask(server, '/api/v1/namespaces/default/configmaps', { headers })).status, 200)
  const refused = await ask(server, '/api/v1/namespaces/default/secrets', { headers })
  assert.equal(refused.status, 403)
  assert.match(
    refused.json.message,
    /User "alice" cannot list resource "secrets" in API group "" in the namespace "default": abac: No policy matched\.$/,
  )
  writeFileSync(file, 'nonsense\n')
  await assert.rejects(
    startInProcess(t, options),
    /error reading policy file .*policies\.jsonl, line 1: nonsense: couldn't get version\/kind/,
  )
})
