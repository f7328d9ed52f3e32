// Access control by webhooks and configuration files: real HTTPS webhooks and real clients.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { start } from '../src/index.ts'
import { issueAuthority, issueClient } from '../src/lib/x509/issue.ts'
import { anonymous, ask, CONFIG_MAPS, configMap, eventually, patient, startInProcess, type Target, temporaryDirectory } from './kit.ts'
import { openProvider, reviewWebhook, validity } from './kits/access.ts'

const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

function fileWith(t: TestContext, text: string): string {
  const file = join(temporaryDirectory(t), 'file')
  writeFileSync(file, text)
  return file
}

/** jane and joe come in with tokens of their names. */
const tokens = (t: TestContext) => fileWith(t, 'jane,jane,u1,"team"\njoe,joe,u2\n')
const as = (user: string) => ({ ...anonymous, headers: { authorization: `Bearer ${user}` } })
const get = async (server: Target, path: string, user: string) => (await ask(server, path, as(user))).status

const authorizers = (kubeconfig: string, more = '') => `apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- type: Webhook
  name: team
  webhook:
    timeout: 3s
    authorizedTTL: 5m
    unauthorizedTTL: 30s
    subjectAccessReviewVersion: v1
    failurePolicy: NoOpinion
    connectionInfo: { type: KubeConfigFile, kubeConfigFile: ${kubeconfig} }
${more}- { type: RBAC, name: rbac }
`

test('a webhook of --authorization-mode is called, and its responses are cached', patient, async t => {
  const webhook = await reviewWebhook(t, ({ user, resourceAttributes }) =>
    user === 'jane' && resourceAttributes?.resource === 'configmaps' ? { allowed: true } : { allowed: false, reason: 'not on the list' },
  )
  const server = await startInProcess(t, {
    tokenAuthFile: tokens(t),
    authorizationMode: ['RBAC', 'Webhook'],
    authorizationWebhookConfigFile: webhook.kubeconfig,
  })
  const path = `${CONFIG_MAPS}?labelSelector=a%3Db,c&fieldSelector=metadata.name%3Dx`
  assert.equal(await get(server, path, 'jane'), 200)
  assert.equal(await get(server, path, 'jane'), 200)
  assert.equal(webhook.reviews.length, 1)
  assert.deepEqual(webhook.reviews[0], {
    kind: 'SubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1beta1',
    metadata: {},
    spec: {
      resourceAttributes: {
        namespace: 'default',
        verb: 'list',
        version: 'v1',
        resource: 'configmaps',
        name: 'x',
        fieldSelector: { requirements: [{ key: 'metadata.name', operator: 'In', values: ['x'] }] },
        labelSelector: {
          requirements: [
            { key: 'a', operator: 'In', values: ['b'] },
            { key: 'c', operator: 'Exists' },
          ],
        },
      },
      user: 'jane',
      group: ['team', 'system:authenticated'],
      uid: 'u1',
    },
    status: { allowed: false },
  })
  const refused = await ask(server, '/api/v1/namespaces/default/secrets', as('jane'))
  assert.equal(refused.status, 403)
  assert.match(refused.json.message, /cannot list resource "secrets" in API group "" in the namespace "default": default: not on the list$/)
  assert.equal(await get(server, '/somewhere', 'joe'), 403)
  assert.deepEqual(webhook.reviews.at(-1).spec.nonResourceAttributes, { path: '/somewhere', verb: 'get' })
})

test('authorizers of a configuration file are called in order, and a webhook that denies decides', patient, async t => {
  const webhook = await reviewWebhook(t, ({ user }) =>
    user === 'joe' ? { allowed: false, denied: true, reason: 'joe is out' } : { allowed: false },
  )
  const condition =
    "    matchConditionSubjectAccessReviewVersion: v1\n    matchConditions: [{ expression: \"request.user != 'system:anonymous' && has(request.resourceAttributes) && request.resourceAttributes.namespace == 'default'\" }]\n"
  const server = await startInProcess(t, {
    tokenAuthFile: tokens(t),
    authorizationConfig: fileWith(t, authorizers(webhook.kubeconfig, condition)),
  })
  await ask(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    method: 'POST',
    body: {
      metadata: { name: 'view' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: ['jane', 'joe'].map(name => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name })),
    },
  })
  assert.equal(await get(server, CONFIG_MAPS, 'jane'), 200, 'the webhook has no opinion, and RBAC allows')
  const denied = await ask(server, CONFIG_MAPS, as('joe'))
  assert.equal(denied.status, 403)
  assert.match(denied.json.message, /: joe is out$/)
  const asked = webhook.reviews.length
  assert.equal(await get(server, '/api/v1/namespaces/kube-system/configmaps', 'joe'), 200, 'the condition excludes other namespaces')
  assert.equal(await get(server, '/version', 'joe'), 200)
  assert.equal(webhook.reviews.length, asked)
})

test('a webhook that fails leaves the decision to others or denies, as its failure policy says', patient, async t => {
  const webhook = await reviewWebhook(t, () => 400)
  const open = fileWith(t, authorizers(webhook.kubeconfig))
  const server = await startInProcess(t, { tokenAuthFile: tokens(t), authorizationConfig: open })
  const failed = await ask(server, CONFIG_MAPS, as('jane'))
  assert.equal(failed.status, 500)
  assert.equal(
    failed.text,
    'Internal Server Error: "/api/v1/namespaces/default/configmaps": the server rejected our request for an unknown reason\n',
  )
  assert.equal((await ask(server, CONFIG_MAPS)).status, 200, 'members of system:masters may do everything')
  assert.equal(await get(server, '/version', 'jane'), 200, 'RBAC allows')
  const review = { spec: { user: 'jane', nonResourceAttributes: { path: '/x', verb: 'get' } } }
  const { json } = await ask(server, REVIEWS, { method: 'POST', body: review })
  assert.deepEqual(json.status, { allowed: false, evaluationError: 'the server rejected our request for an unknown reason' })
  writeFileSync(open, authorizers(webhook.kubeconfig).replace('NoOpinion', 'Deny'))
  await eventually('the file is read again', async () => ((await get(server, '/version', 'jane')) === 500 ? true : undefined))
  const metrics = (await ask(server, '/metrics')).text
  assert.match(metrics, /apiserver_authorization_webhook_evaluations_total\{name="team",result="error"\} \d/)
  assert.match(metrics, /apiserver_authorization_webhook_evaluations_fail_open_total\{name="team",result="error"\} \d/)
  const identity = 'apiserver_id_hash="sha256:[0-9a-f]{64}"'
  assert.match(metrics, new RegExp(`apiserver_authorization_config_controller_automatic_reloads_total\\{${identity},status="success"\\} 1`))
  const hash = createHash('sha256').update(readFileSync(open)).digest('hex')
  assert.match(metrics, new RegExp(`apiserver_authorization_config_controller_last_config_info\\{${identity},hash="sha256:${hash}"\\} 1`))
})

test('a user that may patch and not create cannot create by an apply, nor when its rights cannot be found out', patient, async t => {
  const webhook = await reviewWebhook(t, ({ user, resourceAttributes: { verb } = {} as any }) => {
    if (verb === 'patch') return { allowed: true }
    return user === 'jane' ? 400 : { allowed: false }
  })
  const server = await startInProcess(t, {
    tokenAuthFile: tokens(t),
    authorizationConfig: fileWith(t, authorizers(webhook.kubeconfig)),
  })
  const path = `${CONFIG_MAPS}/new`
  const apply = (user: string) =>
    ask(server, `${path}?fieldManager=test`, {
      ...as(user),
      method: 'PATCH',
      headers: { ...as(user).headers, 'content-type': 'application/apply-patch+yaml' },
      body: configMap('new'),
    })
  const unknown = await apply('jane')
  assert.equal(unknown.status, 500)
  assert.equal(unknown.json.message, 'Internal error occurred: the server rejected our request for an unknown reason')
  assert.match((await apply('joe')).json.message, /^configmaps "new" is forbidden: User "joe" cannot create resource "configmaps"/)
  assert.equal((await ask(server, path)).status, 404)
})

test('a configuration file that cannot be used stops a start, and changes nothing later', patient, async t => {
  const webhook = await reviewWebhook(t, () => ({ allowed: true }))
  const good = authorizers(webhook.kubeconfig)
  const cases: [text: string, why: RegExp][] = [
    [good.replace('timeout: 3s', 'timeout: 31s'), /authorizers\[0\]\.timeout: Invalid value: "31s": must be > 0s and <= 30s/],
    [good.replace('    failurePolicy: NoOpinion\n', ''), /authorizers\[0\]\.failurePolicy: Required value/],
    [good.replace('name: rbac', 'name: other'), /expected name rbac for authorizer RBAC instead of other/],
    [good.replace('type: RBAC', 'type: ABAC2'), /authorizers\[1\]\.type: Unsupported value: "ABAC2"/],
    [good.replace('    timeout: 3s', '    timeout: 3s\n    colour: red'), /unknown field "authorizers\[0\]\.webhook\.colour"/],
    [good.replace('apiserver.config.k8s.io/v1', 'v7'), /no kind "AuthorizationConfiguration" is registered for version "v7"/],
    [
      authorizers(
        webhook.kubeconfig,
        '    matchConditionSubjectAccessReviewVersion: v1\n    matchConditions: [{ expression: "request.colour" }]\n',
      ),
      /matchConditions\[0\]\.expression: Invalid value: "request\.colour": compilation failed/,
    ],
    [good.replace(webhook.kubeconfig, 'relative'), /connectionInfo\.kubeConfigFile: Invalid value: "relative": must be an absolute path/],
    ['a: [', /error converting YAML/],
  ]
  for (const [text, why] of cases) await assert.rejects(start({ authorizationConfig: fileWith(t, text) }), why)
  await assert.rejects(start({ authorizationConfig: fileWith(t, good), authorizationMode: ['RBAC'] }), /can not be specified when/)
  const file = fileWith(t, good)
  const server = await startInProcess(t, { tokenAuthFile: tokens(t), authorizationConfig: file, logLevel: 'silent' })
  writeFileSync(file, good.replace('- { type: RBAC, name: rbac }', '- { type: AlwaysDeny, name: alwaysdeny }'))
  await eventually('the failure is counted', async () =>
    /authorization_config_controller_automatic_reloads_total\{[^}]*status="failure"\} 1/.test((await ask(server, '/metrics')).text)
      ? true
      : undefined,
  )
  assert.equal(await get(server, CONFIG_MAPS, 'jane'), 200)
})

test('expressions of policies use a webhook authorizer', patient, async t => {
  const webhook = await reviewWebhook(t, ({ user, resourceAttributes: { verb, resource } = {} as any }) => ({
    allowed: resource === 'configmaps' || (user === 'jane' && verb === 'tag'),
    reason: 'says the webhook',
  }))
  const server = await startInProcess(t, {
    tokenAuthFile: tokens(t),
    authorizationMode: ['RBAC', 'Webhook'],
    authorizationWebhookConfigFile: webhook.kubeconfig,
    authorizationWebhookCacheAuthorizedMs: 0,
    authorizationWebhookCacheUnauthorizedMs: 0,
  })
  const post = async (path: string, body: object) => {
    const { status, text } = await ask(server, `/apis/admissionregistration.k8s.io/v1/${path}`, { method: 'POST', body })
    assert.equal(status, 201, text)
  }
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }]
  const check = "authorizer.group('shop').resource('tags').check('tag')"
  await post('validatingadmissionpolicies', {
    metadata: { name: 'taggers' },
    spec: {
      matchConstraints: { resourceRules },
      variables: [
        { name: 'decision', expression: `${check}.allowed() && authorizer.path('/x').check('get').allowed() == false` },
        { name: 'reason', expression: `${check}.reason()` },
      ],
      validations: [{ expression: 'variables.decision', messageExpression: "'no: ' + variables.reason" }],
    },
  })
  await post('validatingadmissionpolicybindings', {
    metadata: { name: 'taggers' },
    spec: { policyName: 'taggers', validationActions: ['Deny'] },
  })
  const create = (user: string, name: string) => ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(name), ...as(user) })
  const created = await create('jane', 'a')
  assert.equal(created.status, 201, created.text)
  assert.equal(webhook.reviews.filter(({ spec }) => spec.resourceAttributes?.verb === 'tag').length, 1, 'one question for one request')
  const refused = await create('joe', 'b')
  assert.equal(refused.status, 422)
  assert.match(refused.json.message, /denied request: no: default: says the webhook$/)
})

const WHO = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

async function whoami(server: Target, sent: object): Promise<any> {
  const { status, json } = await ask(server, WHO, { method: 'POST', body: {}, ...sent })
  return status === 201 ? json.status.userInfo : `${status} ${json.message}`
}

test('a webhook authenticates a token and its audiences, and is called once', patient, async t => {
  const webhook = await reviewWebhook(t, ({ token }) => {
    if (token === 'broken') return 400
    if (token === 'other-audience') return { authenticated: true, user: { username: 'eve' }, audiences: ['elsewhere'] }
    if (token !== 'good') return { authenticated: false, error: 'no such token' }
    return { authenticated: true, user: { username: 'jane', uid: 'u', groups: ['team'], extra: { 'a.example/b': ['c'] } } }
  })
  const server = await startInProcess(t, {
    logLevel: 'silent',
    authenticationTokenWebhookConfigFile: webhook.kubeconfig,
    authenticationTokenWebhookVersion: 'v1',
  })
  const jane = { username: 'jane', uid: 'u', groups: ['team', 'system:authenticated'], extra: { 'a.example/b': ['c'] } }
  assert.deepEqual(await whoami(server, as('good')), jane)
  assert.deepEqual(await whoami(server, as('good')), jane)
  assert.deepEqual(webhook.reviews, [
    {
      kind: 'TokenReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      spec: { token: 'good', audiences: ['https://kubernetes.default.svc.cluster.local'] },
      status: { user: {} },
    },
  ])
  for (const token of ['bad', 'broken', 'other-audience']) assert.equal(await whoami(server, as(token)), '401 Unauthorized')
  const review = { spec: { token: 'bad' } }
  const { json } = await ask(server, '/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body: review })
  assert.equal(json.status.error, '[invalid bearer token, no such token]')
})

test('null fields in the response of a webhook are absent, and fields of another type cannot be read', patient, async t => {
  const answers: Record<string, object | null> = {
    // At 6256f0f1 a response without a status could not be read, and values of another type were ignored.
    null: null,
    nulls: { authenticated: null, user: null, audiences: null, error: null },
    jane: { authenticated: true, user: { username: 'jane', uid: null, groups: ['team', null], extra: { a: null } }, error: null },
    typed: { authenticated: true, user: { username: 'jane', groups: 'system:masters' } },
  }
  const webhook = await reviewWebhook(t, ({ token }) => answers[token]!)
  const authorizer = await reviewWebhook(t, ({ user }) => (user === 'jane' ? null : { allowed: true, denied: 'yes' })!)
  const server = await startInProcess(t, {
    logLevel: 'silent',
    authenticationTokenWebhookConfigFile: webhook.kubeconfig,
    authenticationTokenWebhookVersion: 'v1',
    authorizationMode: ['Webhook', 'RBAC'],
    authorizationWebhookConfigFile: authorizer.kubeconfig,
    authorizationWebhookVersion: 'v1',
  })
  const found = async (token: string) => {
    const body = { spec: { token } }
    return (await ask(server, '/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body })).json.status
  }
  assert.deepEqual(await found('null'), { user: {}, error: 'invalid bearer token' })
  assert.deepEqual(await found('nulls'), { user: {}, error: 'invalid bearer token' })
  assert.deepEqual((await found('jane')).user, { username: 'jane', groups: ['team', '', 'system:authenticated'], extra: { a: [] } })
  assert.match(
    (await found('typed')).error,
    /cannot unmarshal string into Go struct field UserInfo\.status\.user\.groups of type \[\]string/,
  )
  const asked = async (user: string) => {
    const body = { spec: { user, nonResourceAttributes: { path: '/x', verb: 'get' } } }
    return (await ask(server, REVIEWS, { method: 'POST', body })).json.status
  }
  assert.deepEqual(await asked('jane'), { allowed: false })
  assert.deepEqual(await asked('eve'), {
    allowed: false,
    evaluationError: 'json: cannot unmarshal string into Go struct field SubjectAccessReviewStatus.status.denied of type bool',
  })
})

test('a proxy with a certificate of its own authority sets users in headers, and no other client can', patient, async t => {
  const [proxies, users] = [issueAuthority('proxies', validity), issueAuthority('users', validity)]
  const server = await startInProcess(t, {
    clientCaFile: fileWith(t, users.cert),
    requestheaderClientCaFile: fileWith(t, proxies.cert),
    requestheaderAllowedNames: ['front'],
    requestheaderUsernameHeaders: ['X-Remote-User'],
    requestheaderUidHeaders: ['X-Remote-Uid'],
    requestheaderGroupHeaders: ['X-Remote-Group'],
    requestheaderExtraHeadersPrefix: ['X-Remote-Extra-'],
  })
  const headers = {
    'X-Remote-User': 'jane',
    'X-Remote-Uid': 'u1',
    'X-Remote-Group': ['a,b', 'c'],
    'X-Remote-Extra-Example.com%2FScope': 'all',
  } as unknown as Record<string, string>
  const by = (authority: typeof users, commonName: string, more: object = { headers }) => ({
    ...issueClient(authority, { commonName }, validity),
    ...more,
  })
  assert.deepEqual(await whoami(server, by(proxies, 'front')), {
    username: 'jane',
    uid: 'u1',
    groups: ['a,b', 'c', 'system:authenticated'],
    extra: { 'example.com/scope': ['all'] },
  })
  assert.equal(await whoami(server, by(proxies, 'other')), '401 Unauthorized', 'not one of the allowed names')
  assert.equal(await whoami(server, by(proxies, 'front', {})), '401 Unauthorized', 'a proxy is no user')
  assert.equal((await whoami(server, by(users, 'front'))).username, 'front', 'a user that is called like the proxy stays itself')
  assert.equal((await whoami(server, { headers })).username, 'kubernetes-admin')
  const shared = fileWith(t, users.cert)
  await assert.rejects(start({ clientCaFile: shared, requestheaderClientCaFile: shared }), /overlapping certificates/)
})

test('issuers of a configuration file make users by expressions, and change with the file', patient, async t => {
  const one = await openProvider(t)
  const two = await openProvider(t, { discovery: '/elsewhere' })
  const indented = (pem: string) => pem.trim().replaceAll('\n', '\n      ')
  const text = `apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: { enabled: true, conditions: [{ path: /livez }] }
jwt:
- issuer:
    url: ${one.issuer}
    audiences: [keelson, other]
    audienceMatchPolicy: MatchAny
    certificateAuthority: |
      ${indented(one.ca)}
  claimValidationRules:
  - { claim: team, requiredValue: red }
  - { expression: "claims.age >= 18", message: too young }
  claimMappings:
    username: { expression: "'one:' + claims.sub" }
    groups: { expression: "dyn(claims.roles).map(r, 'r:' + r)" }
    uid: { claim: sub }
    extra: [{ key: example.com/team, valueExpression: claims.team }]
  userValidationRules: [{ expression: "!user.username.startsWith('one:system:')", message: reserved }]
- issuer:
    url: ${two.issuer}
    discoveryURL: ${two.issuer}/elsewhere
    audiences: [keelson]
    certificateAuthority: |
      ${indented(two.ca)}
  claimMappings: { username: { claim: sub, prefix: "two:" } }
`
  const file = fileWith(t, text)
  const server = await startInProcess(t, { authenticationConfig: file, logLevel: 'silent' })
  const claims = { team: 'red', age: 20, roles: ['a'] }
  assert.deepEqual(await whoami(server, as(one.token(claims))), {
    username: 'one:jane',
    uid: 'jane',
    groups: ['r:a', 'system:authenticated'],
    extra: { 'example.com/team': ['red'] },
  })
  assert.equal((await whoami(server, as(two.token({ aud: 'keelson' })))).username, 'two:jane')
  const problemOf = async (token: string) =>
    (await ask(server, '/apis/authentication.k8s.io/v1/tokenreviews', { method: 'POST', body: { spec: { token } } })).json.status.error
  assert.match(await problemOf(one.token({ ...claims, team: 'blue' })), /required claim team value does not match/)
  assert.match(await problemOf(one.token({ ...claims, age: 3 })), /validation expression 'claims.age >= 18' failed: too young/)
  assert.match(await problemOf(one.token({ ...claims, sub: 'system:x' })), /failed: reserved/)
  assert.equal((await ask(server, '/livez', anonymous)).status, 200)
  assert.equal((await ask(server, '/version', anonymous)).status, 401)
  writeFileSync(file, text.replace('prefix: "two:"', 'prefix: "new:"'))
  await eventually('the file is read again', async () =>
    (await whoami(server, as(two.token({ n: Math.random() })))).username === 'new:jane' ? true : undefined,
  )
  // Whether anonymous requests are allowed is decided at start: a file that says otherwise is not taken, as a whole.
  writeFileSync(file, text.replace('prefix: "two:"', 'prefix: "newest:"').replace('/livez', '/version'))
  await eventually('the file is not taken', async () => {
    const { text: metrics } = await ask(server, '/metrics')
    return /authentication_config_controller_automatic_reloads_total\{[^}]*status="failure"[^}]*\} 1/.test(metrics) ? true : undefined
  })
  assert.equal((await whoami(server, as(two.token({ n: Math.random() })))).username, 'new:jane')
  const cases: [string, RegExp][] = [
    [
      text.replace('audienceMatchPolicy: MatchAny', 'audienceMatchPolicy: ""'),
      /audienceMatchPolicy must be MatchAny for multiple audiences/,
    ],
    [text.replace('"\'one:\' + claims.sub"', '"claims.email"'), /claims.email_verified must be used/],
    [text.replace(', prefix: "two:"', ''), /prefix is required when claim is set/],
    [text.replace('claims.age >= 18', 'claims.age +'), /claimValidationRules\[1\]\.expression: Invalid value/],
  ]
  for (const [bad, why] of cases) await assert.rejects(start({ authenticationConfig: fileWith(t, bad) }), why)
  await assert.rejects(
    start({ authenticationConfig: fileWith(t, text), anonymousAuth: true }),
    /anonymous: Forbidden: anonymousAuth flag cannot be set when anonymous field is configured in authentication configuration file/,
  )
})
