// Admission webhooks on real ports: every way in which one can respond, fail or not be called at all.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, ask, CONFIG_MAPS, configMap, eventually, freshServer, patient, startInProcess, type Target } from './kit.ts'
import { allow, deny, patch, pem, reviewing, strangers, type Webhook, webhook } from './kits/webhooks.ts'
import { testWith } from './programs.ts'

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const CONFIG_MAP_RULE = { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }

const send = (target: Target, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  ask(target, path, { method, ...(body !== undefined && { body }), headers })

const kinds = {
  validating: { plural: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration' },
  mutating: { plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration' },
}
type Type = keyof typeof kinds

const named = (name: string, { clientConfig }: Pick<Webhook, 'clientConfig'>, more: object = {}) => ({
  name: `${name}.example.com`,
  clientConfig,
  rules: [CONFIG_MAP_RULE],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...more,
})

async function configure(target: Target, type: Type, name: string, ...webhooks: object[]): Promise<void> {
  const { plural, kind } = kinds[type]
  const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name }, webhooks }
  const { status, text } = await send(target, 'POST', `${ADMISSION}/${plural}`, body)
  assert.equal(status, 201, text)
}

const create = (target: Target, name: string, more: object = {}) => send(target, 'POST', CONFIG_MAPS, { ...configMap(name), ...more })
const outcome = ({ status, json }: Answer) => `${status} ${json.message ?? 'stored'}`

test('a validating webhook sees the whole request and can reject it with a status of its own', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(
    t,
    reviewing(({ name }) => ({
      allowed: name !== 'bad',
      status: { code: 418, reason: 'Tea', message: 'not this one' },
      warnings: ['mind'],
    })),
  )
  // As envtest writes the addresses of webhooks.
  const clientConfig = { ...hook.clientConfig, url: hook.clientConfig.url.replace('/review', '//review') }
  await configure(server, 'validating', 'a', named('a', { clientConfig }, { timeoutSeconds: 7 }))
  const good = await create(server, 'good')
  assert.equal(good.status, 201)
  assert.equal(good.headers['warning'], '299 - "mind"')
  const bad = await create(server, 'bad')
  assert.equal(outcome(bad), '418 admission webhook "a.example.com" denied the request: not this one')
  assert.equal(bad.json.reason, 'Tea')
  assert.equal(bad.headers['warning'], '299 - "mind"')
  assert.equal((await send(server, 'GET', `${CONFIG_MAPS}/bad`)).status, 404)
  const [{ uid, userInfo, object, ...rest }] = hook.seen
  assert.match(uid, /^[0-9a-f-]{36}$/)
  assert.ok(userInfo.groups.includes('system:masters'))
  assert.equal(object.metadata.name, 'good')
  assert.ok(object.metadata.uid)
  assert.deepEqual(rest, {
    kind: { group: '', version: 'v1', kind: 'ConfigMap' },
    resource: { group: '', version: 'v1', resource: 'configmaps' },
    requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
    requestResource: { group: '', version: 'v1', resource: 'configmaps' },
    name: 'good',
    namespace: 'default',
    operation: 'CREATE',
    oldObject: null,
    dryRun: false,
    options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1' },
  })
  const [{ url, headers }] = hook.calls as [Webhook['calls'][0]]
  assert.equal(url, '/review?timeout=7s')
  assert.equal(headers['authorization'], undefined)
  const { text } = await send(server, 'GET', '/metrics')
  assert.match(
    text,
    /apiserver_admission_webhook_rejection_count\{name="a.example.com",type="validating",operation="CREATE",error_type="no_error",rejection_code="418"\} 1\n/,
  )
  assert.match(
    text,
    /apiserver_admission_webhook_request_total\{name="a.example.com",type="validating",operation="CREATE",rejected="false",code="200"\} 1\n/,
  )
})

test(
  'a webhook is asked about replaces, patches and deletes with the old object, and about each object of a collection',
  patient,
  async t => {
    const server = await freshServer(t)
    const hook = await webhook(t, allow)
    await create(server, 'a')
    await configure(server, 'validating', 'a', named('a', hook))
    await send(server, 'PUT', `${CONFIG_MAPS}/a`, configMap('a', { x: '1' }))
    await send(server, 'PATCH', `${CONFIG_MAPS}/a`, { data: { x: '2' } }, { 'content-type': 'application/merge-patch+json' })
    await send(server, 'DELETE', `${CONFIG_MAPS}/a`)
    assert.deepEqual(
      hook.seen.map(({ operation, object, oldObject }) => [operation, object?.data, oldObject?.data]),
      [
        ['UPDATE', { x: '1' }, {}],
        ['UPDATE', { x: '2' }, { x: '1' }],
        ['DELETE', undefined, { x: '2' }],
      ].map(([operation, now, old]) => [operation, now, Object.keys(old as object).length === 0 ? undefined : old]),
    )
    hook.seen.length = 0
    await create(server, 'b')
    await create(server, 'c')
    await send(server, 'DELETE', CONFIG_MAPS)
    assert.deepEqual(
      hook.seen
        .filter(({ operation }) => operation === 'DELETE')
        .map(({ oldObject }) => oldObject.metadata.name)
        .sort(),
      ['b', 'c'],
    )
  },
)

test('mutating webhooks change the object one after the other, and nobody owns what they set', patient, async t => {
  const server = await freshServer(t)
  const first = await webhook(t, patch({ op: 'add', path: '/data', value: { first: '1' } }))
  const second = await webhook(
    t,
    reviewing(({ object }) => ({
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify([{ op: 'add', path: '/data/second', value: object.data.first }])).toString('base64'),
    })),
  )
  await configure(server, 'mutating', 'b', named('second', second))
  await configure(server, 'mutating', 'a', named('first', first))
  const { json } = await create(server, 'x')
  assert.deepEqual(json.data, { first: '1', second: '1' })
  assert.equal(json.metadata.managedFields, undefined)
})

test('a mutating webhook is asked again, once, when another changed the object after it', patient, async t => {
  const server = await freshServer(t)
  const counting = (label: string) => (review: any) => [
    {
      op: 'add',
      path: '/metadata/labels',
      value: { ...review.object.metadata.labels, [label]: String(Number(review.object.metadata.labels?.[label] ?? 0) + 1) },
    },
  ]
  const counter = (label: string) =>
    webhook(
      t,
      reviewing(request => ({
        allowed: true,
        patchType: 'JSONPatch',
        patch: Buffer.from(JSON.stringify(counting(label)(request))).toString('base64'),
      })),
    )
  const [a, b, c] = [await counter('a'), await counter('b'), await counter('c')]
  await configure(
    server,
    'mutating',
    'x',
    named('a', a, { reinvocationPolicy: 'IfNeeded' }),
    named('b', b),
    named('c', c, { reinvocationPolicy: 'IfNeeded' }),
  )
  const { json } = await create(server, 'x')
  assert.deepEqual(json.metadata.labels, { a: '2', b: '1', c: '2' })
})

const broken: [what: string, answer: Parameters<typeof webhook>[1], message: RegExp][] = [
  [
    'text that is no review',
    (_, response) => void response.end('hello'),
    /failed to call webhook: couldn't get version\/kind; json parse error/,
  ],
  ['nothing', (_, response) => void response.end(), /failed to call webhook: 0-length response with status code: 200/],
  [
    'another uid',
    (review, response) => void response.end(JSON.stringify({ ...review, response: { uid: 'other', allowed: true } })),
    /received invalid webhook response: expected response\.uid=/,
  ],
  [
    'no response',
    (review, response) => void response.end(JSON.stringify(review)),
    /received invalid webhook response: webhook response was absent/,
  ],
  [
    'an error',
    (_, response) => void response.writeHead(500).end('broken'),
    /failed to call webhook: an error on the server \("broken"\) has prevented the request from succeeding/,
  ],
  [
    'a redirect to another address of the machine',
    (_, response) => void response.writeHead(307, { location: 'https://127.0.0.1:1/' }).end(),
    /failed to call webhook: Post "https:\/\/127\.0\.0\.1:1\/": address not allowed/,
  ],
  [
    'a closed connection',
    (_, __, request) => void request.socket.destroy(),
    /failed to call webhook: Post "https:\/\/127\.0\.0\.1:\d+\/review\?timeout=10s": EOF/,
  ],
  [
    'more than is read',
    (_, response) => {
      response.on('error', () => {})
      const piece = Buffer.alloc(1 << 20, 0x20)
      const more = () => {
        while (!response.destroyed && response.write(piece)) {}
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    },
    /failed to call webhook: .*response body too large/,
  ],
]
for (const [what, answer, message] of broken)
  test(`a webhook that answers with ${what} fails, which its failure policy judges`, patient, async t => {
    const server = await startInProcess(t, { logLevel: 'silent' } as never)
    const hook = await webhook(t, answer)
    await configure(server, 'validating', 'a', named('a', hook))
    const failed = await create(server, 'x')
    assert.equal(failed.status, 500)
    assert.match(failed.json.message, /^Internal error occurred: failed calling webhook "a\.example\.com": /)
    assert.match(failed.json.message, message)
    await send(server, 'DELETE', `${ADMISSION}/${kinds.validating.plural}/a`)
    await configure(server, 'validating', 'b', named('b', hook, { failurePolicy: 'Ignore' }))
    assert.equal((await create(server, 'x')).status, 201)
    const { text } = await send(server, 'GET', '/metrics')
    assert.match(text, /apiserver_admission_webhook_fail_open_count\{name="b.example.com",type="validating"\} 1\n/)
  })

/** A mutating webhook's answer, from fields that may be of any type. */
const answering =
  (response: object, review: object = {}): Parameters<typeof webhook>[1] =>
  ({ apiVersion, kind, request }, out) =>
    void out.end(JSON.stringify({ apiVersion, kind, ...review, response: { uid: request.uid, ...response } }))
const base64 = (text: string) => Buffer.from(text).toString('base64')
const patchType = 'JSONPatch'

// Any response that Go decodes without an error is accepted. At 6256f0f1 a patch of null was a 500, and so were the null members of lists.
const accepted: [what: string, answer: Parameters<typeof webhook>[1]][] = [
  ['the patch null', answering({ allowed: true, patchType, patch: base64('null') })],
  ['the patch null and space around it', answering({ allowed: true, patchType, patch: base64(' \n null\t') })],
  ['a patch without operations', answering({ allowed: true, patchType, patch: base64('[]') })],
  ['a patch as numbers of bytes', answering({ allowed: true, patchType, patch: [...Buffer.from('[]')] })],
  ['null in every field', answering({ allowed: true, patchType: null, patch: null, status: null, warnings: null, auditAnnotations: null })],
  ['null in lists and mappings', answering({ allowed: true, warnings: [null], auditAnnotations: { a: null } })],
  ['a status of nulls', answering({ allowed: true, status: { code: null, message: null, reason: null, details: null, metadata: null } })],
  ['fields nobody knows', answering({ allowed: true, Allowed: 'no', PATCH: 7 }, { metadata: {}, request: null })],
  [
    'a field twice, the last of which is read',
    ({ apiVersion, kind, request }, out) =>
      void out.end(
        ` ${JSON.stringify({ apiVersion, kind }).slice(0, -1)},"response":null,"response":{"uid":"${request.uid}","allowed":false,"allowed":true}} \n`,
      ),
  ],
]
for (const [what, answer] of accepted)
  test(`a webhook that answers with ${what} allows the request as it is`, patient, async t => {
    const server = await startInProcess(t, { logLevel: 'silent' } as never)
    await configure(server, 'mutating', 'a', named('a', await webhook(t, answer)))
    const { status, json, text } = await create(server, 'x')
    assert.equal(status, 201, text)
    assert.equal(json.data, undefined)
  })

const refused: [what: string, answer: Parameters<typeof webhook>[1], message: RegExp][] = [
  ['nothing about whether it allows', answering({}), /^400 admission webhook "a\.example\.com" denied the request without explanation$/],
  [
    'the word yes',
    answering({ allowed: 'yes' }),
    /json: cannot unmarshal string into Go struct field AdmissionResponse\.response\.allowed of type bool$/,
  ],
  ['null', (_, out) => void out.end('null'), /received invalid webhook response: webhook response was absent$/],
  [
    'the response null',
    ({ apiVersion, kind }, out) => void out.end(JSON.stringify({ apiVersion, kind, response: null })),
    /webhook response was absent$/,
  ],
  [
    'more than one document',
    (review, out) => void out.end(`${JSON.stringify({ ...review, response: { uid: review.request.uid, allowed: true } })} x`),
    /failed to call webhook: couldn't get version\/kind; json parse error: invalid character 'x' after top-level value$/,
  ],
  [
    'text after its patch',
    answering({ allowed: true, patchType, patch: base64('[] x') }),
    /received undecodable patch in webhook response: invalid character 'x' after top-level value$/,
  ],
  [
    'a patch that is an object',
    answering({ allowed: true, patchType, patch: base64('{}') }),
    /received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch\.Patch$/,
  ],
  [
    'an operation null',
    answering({ allowed: true, patchType, patch: base64('[null]') }),
    /^500 Internal error occurred: Unexpected kind: unknown$/,
  ],
  [
    'a patch without its type',
    answering({ allowed: true, patch: base64('null') }),
    /webhook returned response\.patch but not response\.patchType$/,
  ],
  ['a type without its patch', answering({ allowed: true, patchType }), /webhook returned response\.patchType but not response\.patch$/],
  ['a code that HTTP does not have', answering({ allowed: false, status: { code: 70_000, message: 'no' } }), /^500 /],
]
for (const [what, answer, message] of refused)
  test(`a webhook that answers with ${what} does not allow the request`, patient, async t => {
    const server = await startInProcess(t, { logLevel: 'silent' } as never)
    await configure(server, 'mutating', 'a', named('a', await webhook(t, answer)))
    assert.match(outcome(await create(server, 'x')), message)
  })

test('a webhook that is slower than its timeout fails', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, () => {})
  await configure(server, 'mutating', 'a', named('a', hook, { timeoutSeconds: 1 }))
  assert.match(
    outcome(await create(server, 'x')),
    /^500 Internal error occurred: failed calling webhook "a\.example\.com": failed to call webhook: Post "https:.*\?timeout=1s": context deadline exceeded$/,
  )
})

test('a certificate is trusted by its authority or by itself, and must be for the name', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, allow)
  const elsewhere = await webhook(t, allow, { names: ['elsewhere.example'] })
  const outcomes: string[] = []
  for (const clientConfig of [
    { ...hook.clientConfig, caBundle: pem(hook.cert) },
    { ...hook.clientConfig, caBundle: pem(strangers.cert) },
    elsewhere.clientConfig,
  ]) {
    await configure(server, 'validating', 'a', named('a', { clientConfig }))
    outcomes.push(outcome(await create(server, `c${outcomes.length}`)))
    await send(server, 'DELETE', `${ADMISSION}/${kinds.validating.plural}/a`)
  }
  assert.equal(outcomes[0], '201 stored')
  assert.match(outcomes[1]!, /^500 .*x509: certificate signed by unknown authority$/)
  assert.match(outcomes[2]!, /^500 .*x509: cannot validate certificate for 127\.0\.0\.1 because it doesn't contain any IP SANs$/)
  assert.equal(elsewhere.seen.length, 0)
})

test('a dry run asks only webhooks without side effects', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, allow)
  const dry = () => send(server, 'POST', `${CONFIG_MAPS}?dryRun=All`, configMap('x'))
  await configure(server, 'validating', 'a', named('a', hook, { sideEffects: 'NoneOnDryRun' }))
  assert.equal((await dry()).status, 201)
  assert.equal(hook.seen[0].dryRun, true)
  assert.deepEqual(hook.seen[0].options.dryRun, ['All'])
})

test('selectors and conditions decide which requests a webhook is asked about', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, deny('no'))
  await send(server, 'POST', '/api/v1/namespaces', {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'team', labels: { team: 'a' } },
  })
  await configure(
    server,
    'validating',
    'a',
    named('a', hook, {
      namespaceSelector: { matchLabels: { team: 'a' } },
      objectSelector: { matchExpressions: [{ key: 'skip', operator: 'DoesNotExist' }] },
      matchConditions: [
        { name: 'not-fine', expression: "object.metadata.name != 'fine'" },
        { name: 'not-the-admin', expression: "!authorizer.path('/nobody').check('get').allowed() || true" },
      ],
    }),
  )
  const inTeam = (name: string, labels = {}) =>
    send(server, 'POST', '/api/v1/namespaces/team/configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels } })
  assert.equal((await create(server, 'a')).status, 201)
  assert.equal((await inTeam('a')).status, 400)
  assert.equal((await inTeam('b', { skip: '' })).status, 201)
  assert.equal((await inTeam('fine')).status, 201)
  // With the label taken away, the new object is selected where the old was not.
  const patched = await send(
    server,
    'PATCH',
    '/api/v1/namespaces/team/configmaps/b',
    { metadata: { labels: { skip: null } } },
    { 'content-type': 'application/merge-patch+json' },
  )
  assert.equal(patched.status, 400)
})

test('a condition that fails leaves the request to the failure policy', patient, async t => {
  const server = await startInProcess(t)
  const hook = await webhook(t, allow)
  const matchConditions = [{ name: 'fails', expression: "object.data['missing'] == 'x'" }]
  await configure(server, 'validating', 'a', named('a', hook, { matchConditions }))
  const failed = await create(server, 'x')
  assert.equal(failed.status, 403)
  assert.match(failed.json.message, /no such key: data/)
  await send(server, 'DELETE', `${ADMISSION}/${kinds.validating.plural}/a`)
  await configure(server, 'validating', 'b', named('b', hook, { matchConditions, failurePolicy: 'Ignore' }))
  assert.equal((await create(server, 'x')).status, 201)
  assert.equal(hook.seen.length, 0)
  const { text } = await send(server, 'GET', '/metrics')
  assert.match(
    text,
    /apiserver_admission_match_condition_evaluation_errors_total\{name="b.example.com",kind="webhook",type="validating",operation="CREATE"\} 1\n/,
  )
})

test('a webhook that lists it first is asked with a v1beta1 review', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(
    t,
    (review, response) =>
      void response.end(
        JSON.stringify({ apiVersion: review.apiVersion, kind: review.kind, response: { allowed: false, status: { message: 'old' } } }),
      ),
  )
  await configure(server, 'validating', 'a', named('a', hook, { admissionReviewVersions: ['v2', 'v1beta1', 'v1'] }))
  assert.equal(outcome(await create(server, 'x')), '400 admission webhook "a.example.com" denied the request: old')
  assert.equal(hook.calls[0]!.review.apiVersion, 'admission.k8s.io/v1beta1')
})

test('a webhook for one version of a custom kind sees objects that were sent in another', patient, async t => {
  const server = await freshServer(t)
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const version = (name: string, storage: boolean) => ({ name, served: true, storage, schema })
  await send(server, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [version('v1', true), version('v2', false)],
    },
  })
  const equivalent = await webhook(t, patch({ op: 'add', path: '/metadata/labels', value: { by: 'v1' } }))
  const exact = await webhook(t, deny('never'))
  const rules = [{ apiGroups: ['example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] }]
  await configure(
    server,
    'mutating',
    'a',
    named('equivalent', equivalent, { rules }),
    named('exact', exact, { rules, matchPolicy: 'Exact' }),
  )
  const path = '/apis/example.com/v2/namespaces/default/things'
  await eventually('the kind', async () => ((await send(server, 'GET', path)).status === 200 ? true : undefined))
  const made = await send(server, 'POST', path, { apiVersion: 'example.com/v2', kind: 'Thing', metadata: { name: 't' } })
  assert.equal(made.status, 201, made.text)
  assert.equal(made.json.apiVersion, 'example.com/v2')
  assert.deepEqual(made.json.metadata.labels, { by: 'v1' })
  const [{ kind, requestKind, resource, requestResource, object }] = equivalent.seen
  assert.deepEqual(
    [kind.version, requestKind.version, resource.version, requestResource.version, object.apiVersion],
    ['v1', 'v2', 'v1', 'v2', 'example.com/v1'],
  )
})

testWith('own address', 'a service is reached at an endpoint of its slices, by its own name', patient, async (t, address) => {
  const server = await freshServer(t)
  const hook = await webhook(t, deny('by service'), { names: ['hook.default.svc'], host: address })
  const { caBundle } = hook.clientConfig
  const clientConfig = { caBundle, service: { namespace: 'default', name: 'hook', path: '/check', port: 8443 } } as never
  await configure(server, 'validating', 'a', named('a', { clientConfig }))
  assert.match(
    outcome(await create(server, 'x')),
    /^500 .*failed calling webhook "a\.example\.com": failed to call webhook: .*service "hook" not found$/,
  )
  await send(server, 'POST', '/api/v1/namespaces/default/services', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'hook' },
    spec: { clusterIP: 'None', ports: [{ name: 'https', port: 8443 }] },
  })
  await send(server, 'POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'hook-1', labels: { 'kubernetes.io/service-name': 'hook' } },
    addressType: 'IPv4',
    ports: [{ name: 'https', port: hook.port }],
    endpoints: [{ addresses: [address] }],
  })
  assert.equal(outcome(await create(server, 'x')), '400 admission webhook "a.example.com" denied the request: by service')
  assert.equal(hook.calls[0]!.url, '/check?timeout=10s')
  assert.equal(hook.calls[0]!.headers.host, 'hook.default.svc:8443')
})

test('a Service without cluster IP and without endpoints cannot be called', patient, async t => {
  const server = await freshServer(t)
  const clientConfig = { service: { namespace: 'default', name: 'hook', port: 8443 } }
  await configure(server, 'validating', 'a', named('a', { clientConfig: clientConfig as never }))
  const spec = { clusterIP: 'None', ports: [{ port: 8443 }] }
  await send(server, 'POST', '/api/v1/namespaces/default/services', { apiVersion: 'v1', kind: 'Service', metadata: { name: 'hook' }, spec })
  assert.match((await create(server, 'x')).json.message, /: cannot route to service with ClusterIP "None"$/)
})

test('a webhook that is the server itself ends in an error, not in a loop', patient, async t => {
  const server = await freshServer(t)
  const clientConfig = { url: `${server.url}${CONFIG_MAPS}`, caBundle: pem(server.credentials.ca) }
  await configure(server, 'mutating', 'a', named('a', { clientConfig }))
  const failed = await create(server, 'x')
  assert.equal(failed.status, 500)
  assert.match(failed.json.message, /failed calling webhook "a\.example\.com"/)
})

test('connections are kept, and one that the webhook has closed meanwhile costs no request', patient, async t => {
  const server = await freshServer(t)
  let dropped = 0
  const hook = await webhook(t, (review, response, request) => {
    // Closed as if it had timed out while the request was on its way: nothing is answered on the kept connection.
    if (review.request.name === 'c' && dropped++ === 0) request.socket.destroy()
    else void allow(review, response, request)
  })
  await configure(server, 'validating', 'a', named('a', hook))
  for (const name of ['a', 'b', 'c', 'd']) assert.equal(outcome(await create(server, name)), '201 stored')
  assert.equal(hook.calls[0]!.socket, hook.calls[1]!.socket)
  assert.equal(hook.calls.length, 5)
})

test('a change of a configuration applies to the next request', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, deny('no'))
  for (let i = 0; i < 10; i++) {
    await configure(server, 'validating', 'a', named('a', hook))
    assert.equal((await create(server, `x${i}`)).status, 400)
    await send(server, 'DELETE', `${ADMISSION}/${kinds.validating.plural}/a`)
    assert.equal((await create(server, `x${i}`)).status, 201)
  }
})

test('no webhook is asked about webhook configurations, lest none could be removed', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, deny('no'))
  await configure(
    server,
    'validating',
    'a',
    named('a', hook, {
      rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }],
    }),
  )
  assert.equal((await create(server, 'x')).status, 400)
  assert.equal((await send(server, 'DELETE', `${ADMISSION}/${kinds.validating.plural}/a`)).status, 200)
  assert.equal((await create(server, 'x')).status, 201)
})
