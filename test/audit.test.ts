// The audit: its log, its webhook and its modes, with a real server, a real webhook and real files.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { anonymous, ask, CONFIG_MAPS, configMap, eventually, patient, startInProcess, startProcess, temporaryDirectory } from './kit.ts'
import { reviewWebhook } from './kits/access.ts'
import { keelsonHere } from './kits/command-here.ts'
import { metricIn, startProcesses } from './kits/processes.ts'

const policy = (...rules: object[]) => ({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules })
const METADATA = policy({ level: 'Metadata' })
const PATCH = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } }
const named = (id: string) => ({ headers: { 'audit-id': id } })

test('a request is recorded at its stages, with user, object, outcome and the reason that it was allowed', patient, async t => {
  const server = await startInProcess(t, { audit: { policy: METADATA } })
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a'), headers: { 'audit-id': 'one', 'user-agent': 'test/1' } })
  const events = server.audit().filter(({ auditID }) => auditID === 'one')
  assert.deepEqual(
    events.map(({ stage }) => stage),
    ['RequestReceived', 'ResponseComplete'],
  )
  const { requestReceivedTimestamp, stageTimestamp, sourceIPs, user, ...event } = events[1]
  assert.ok(Date.parse(stageTimestamp) >= Date.parse(requestReceivedTimestamp))
  assert.match(stageTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  assert.deepEqual(sourceIPs, ['127.0.0.1'])
  assert.ok(user.groups.includes('system:masters'))
  // A slow machine makes it a slow request, which says so.
  delete event.annotations['apiserver.latency.k8s.io/total']
  assert.deepEqual(event, {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: 'one',
    stage: 'ResponseComplete',
    requestURI: CONFIG_MAPS,
    verb: 'create',
    userAgent: 'test/1',
    objectRef: { resource: 'configmaps', namespace: 'default', name: 'a', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 201 },
    annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
  })
})

test(
  'bodies are recorded from the levels Request and RequestResponse on, without managed fields if the policy says so',
  patient,
  async t => {
    const server = await startInProcess(t, {
      audit: { policy: policy({ level: 'Request', verbs: ['patch'] }, { level: 'RequestResponse', omitManagedFields: true }) },
    })
    const last = (id: string) => server.audit().findLast(({ auditID }) => auditID === id)
    await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('a', { x: '1' }), ...named('created') })
    assert.equal(last('created').requestObject.data.x, '1')
    assert.equal(last('created').responseObject.metadata.name, 'a')
    assert.equal(last('created').responseObject.metadata.managedFields, undefined)
    await ask(server, `${CONFIG_MAPS}/a`, { ...PATCH, body: { data: { y: '2' } }, headers: { ...PATCH.headers, 'audit-id': 'patched' } })
    assert.deepEqual(last('patched').requestObject, { data: { y: '2' } })
    assert.equal(last('patched').responseObject, undefined)
    await ask(server, CONFIG_MAPS, named('listed'))
    assert.equal(last('listed').responseObject.kind, 'ConfigMapList')
    await ask(server, `${CONFIG_MAPS}/none`, named('missing'))
    assert.deepEqual(last('missing').responseStatus, {
      metadata: {},
      status: 'Failure',
      message: 'configmaps "none" not found',
      reason: 'NotFound',
      details: { name: 'none', kind: 'configmaps' },
      code: 404,
    })
  },
)

test('refused, unauthenticated and impersonated requests, and watches, are recorded', patient, async t => {
  const server = await startInProcess(t, { audit: { policy: METADATA }, anonymousAuth: false })
  const of = (id: string) => server.audit().filter(({ auditID }) => auditID === id)
  await ask(server, CONFIG_MAPS, { ...anonymous, headers: { 'audit-id': 'nobody' } })
  assert.deepEqual(
    of('nobody').map(({ stage, user, responseStatus: { code } }) => [stage, user, code]),
    [['ResponseStarted', {}, 401]],
  )
  await ask(server, CONFIG_MAPS, { headers: { 'impersonate-user': 'jane', 'audit-id': 'jane' } })
  const refused = of('jane').at(-1)
  assert.equal(refused.impersonatedUser.username, 'jane')
  assert.equal(refused.responseStatus.code, 403)
  assert.equal(refused.annotations['authorization.k8s.io/decision'], 'forbid')
  await ask(server, `${CONFIG_MAPS}?watch=1&timeoutSeconds=1`, named('watch'))
  await eventually('the end of the watch', () => (of('watch').length === 3 ? true : undefined))
  assert.deepEqual(
    of('watch').map(({ stage }) => stage),
    ['RequestReceived', 'ResponseStarted', 'ResponseComplete'],
  )
})

test('the log is written before the response, and survives kill -9', patient, async t => {
  const folder = temporaryDirectory(t)
  const [policyFile, log] = [join(folder, 'policy.yaml'), join(folder, 'logs/audit.log')]
  writeFileSync(policyFile, JSON.stringify(METADATA))
  const server = await startProcess(t, { flags: ['--audit-policy-file', policyFile, '--audit-log-path', log] })
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  t.after(() => agent.destroy())
  const answered = new Map<string, number>()
  const requests = Array.from({ length: 100 }, async (_, i) => {
    const headers = { 'audit-id': `id-${i}` }
    const sent = i % 3 === 0 ? { method: 'POST', body: configMap(`c${i}`), headers } : { headers }
    const { status } = await ask(server, CONFIG_MAPS, { agent, ...sent })
    answered.set(`id-${i}`, status)
    // Others are under way.
    if (answered.size === 40) void server.stop('SIGKILL')
  })
  await Promise.allSettled(requests)
  await server.stop('SIGKILL')
  assert.ok(answered.size >= 40)
  const stages = new Map<string, string[]>()
  for (const line of readFileSync(log, 'utf8').trim().split('\n')) {
    const { auditID, stage, responseStatus } = JSON.parse(line)
    stages.set(auditID, [...(stages.get(auditID) ?? []), `${stage} ${responseStatus?.code ?? ''}`])
  }
  for (const [id, status] of answered) assert.deepEqual(stages.get(id), ['RequestReceived ', `ResponseComplete ${status}`], id)
})

test(
  'in batch mode the log gets its lines soon, though the clock of requests stands still, and all of them before the server has stopped',
  patient,
  async t => {
    const folder = temporaryDirectory(t)
    const [policyFile, log] = [join(folder, 'policy.yaml'), join(folder, 'audit.log')]
    writeFileSync(policyFile, JSON.stringify(METADATA))
    const flags = ['--audit-policy-file', policyFile, '--audit-log-path', log, '--audit-log-mode', 'batch', '--test-endpoints']
    const server = await startProcess(t, { flags })
    const { status } = await ask(server, '/keelson/v1/clock', { method: 'POST', body: { frozen: true } })
    assert.equal(status, 200)
    const stagesOf = (id: string) => readFileSync(log, 'utf8').match(new RegExp(`"auditID":"${id}","stage":"\\w+"`, 'g'))?.length ?? 0
    await ask(server, CONFIG_MAPS, named('early'))
    await eventually('the lines of a request', () => stagesOf('early') === 2 || undefined)
    for (let i = 0; i < 300; i++) await ask(server, CONFIG_MAPS, named('many'))
    await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('late'), ...named('late') })
    await server.stop('SIGTERM')
    assert.deepEqual([stagesOf('many'), stagesOf('late')], [600, 2])
  },
)

test(
  'lines for a standard output that is read slowly wait, and none is lost, cut off or mixed with that of another process',
  patient,
  async t => {
    const folder = temporaryDirectory(t)
    const policyFile = join(folder, 'policy.yaml')
    writeFileSync(policyFile, JSON.stringify(policy({ level: 'RequestResponse', verbs: ['create'] })))
    const server = await startProcesses(t, 2, { flags: ['--audit-policy-file', policyFile, '--audit-log-path', '-'] })
    const clients = [server.client(), server.client()]
    for (const client of clients) assert.equal((await client.ask('/version')).status, 200)
    // Each line is more than a pipe holds.
    const creating = Array.from({ length: 12 }, (_, i) =>
      clients[i % 2]!.ask(CONFIG_MAPS, { method: 'POST', body: configMap(`c${i}`, { x: 'x'.repeat(90_000) }), ...named(`id-${i}`) }),
    )
    const { stdout } = server.child
    let text = ''
    stdout!.setEncoding('utf8').on('data', (part: string) => {
      text += part
      stdout!.pause()
      setImmediate(() => stdout!.resume())
    })
    for (const { status } of await Promise.all(creating)) assert.equal(status, 201)
    const lines = () => text.split('\n').slice(0, -1)
    await eventually('all lines', () => (lines().length >= 24 ? true : undefined))
    const completed = lines()
      .map(line => JSON.parse(line))
      .filter(({ stage }) => stage === 'ResponseComplete')
    assert.deepEqual(completed.map(({ auditID }) => auditID).toSorted(), Array.from({ length: 12 }, (_, i) => `id-${i}`).toSorted())
  },
)

test('several processes write one log, which is rotated once, and count together', patient, async t => {
  const folder = temporaryDirectory(t)
  const [policyFile, log] = [join(folder, 'policy.yaml'), join(folder, 'logs/audit.log')]
  writeFileSync(
    policyFile,
    JSON.stringify(policy({ level: 'RequestResponse', verbs: ['create'], resources: [{ group: '', resources: ['configmaps'] }] })),
  )
  const flags = ['--audit-policy-file', policyFile, '--audit-log-path', log, '--audit-log-maxsize', '1', '--audit-log-compress']
  const server = await startProcesses(t, 2, { flags })
  const clients = [server.client(), server.client()]
  for (const client of clients) assert.equal((await client.ask('/version')).status, 200)
  const ids = Array.from({ length: 30 }, (_, i) => `id-${i}`)
  await Promise.all(
    clients.map(async (client, k) => {
      for (const id of ids.filter((_, i) => i % 2 === k)) {
        const created = { method: 'POST', body: configMap(id, { x: 'x'.repeat(60_000) }), ...named(id) }
        assert.equal((await client.ask(CONFIG_MAPS, created)).status, 201)
      }
    }),
  )
  const { text } = await ask(server, '/metrics')
  assert.equal(metricIn(text, 'apiserver_audit_event_total'), 60)
  assert.match(text, /^apiserver_audit_level_total\{level="RequestResponse"\} 30$/m)
  await server.stop('SIGTERM')
  const files = readdirSync(join(folder, 'logs')).map(name => readFileSync(join(folder, 'logs', name)))
  const texts = files.map(bytes => (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString())
  assert.ok(texts.length >= 3, String(texts.length))
  const events = texts.flatMap(each => each.split('\n').filter(Boolean)).map(line => JSON.parse(line))
  const expected = ids.flatMap(id => [`${id} RequestReceived`, `${id} ResponseComplete`])
  assert.deepEqual(events.map(({ auditID, stage }) => `${auditID} ${stage}`).toSorted(), expected.toSorted())
})

test(
  'a webhook gets batches; one that fails loses events in batch mode, and refuses requests in blocking-strict mode',
  patient,
  async t => {
    const webhook = await reviewWebhook(t, () => ({}))
    const batched = await startInProcess(t, {
      audit: { policy: METADATA, webhook: { configFile: webhook.kubeconfig, batchMaxSize: 2, batchMaxWaitMs: 10 } },
    })
    await ask(batched, CONFIG_MAPS, named('sent'))
    const stagesSent = () =>
      webhook.reviews.flatMap(({ items }) => items.filter(({ auditID }: any) => auditID === 'sent').map(({ stage }: any) => stage)).join()
    await eventually('the events of the request', () => (stagesSent() === 'RequestReceived,ResponseComplete' ? true : undefined))
    assert.equal(webhook.reviews[0].kind, 'EventList')

    webhook.state.decide = () => 500
    const strict = await startInProcess(t, {
      audit: { policy: METADATA, webhook: { configFile: webhook.kubeconfig, mode: 'blocking-strict', initialBackoffMs: 1 } },
    })
    const refused = await ask(strict, CONFIG_MAPS, { method: 'POST', body: configMap('refused') })
    assert.equal(refused.status, 500)
    assert.match(refused.text, /failed to store audit event/)
    webhook.state.decide = () => ({})
    assert.equal((await ask(strict, `${CONFIG_MAPS}/refused`)).status, 404)
    const metrics = (await ask(strict, '/metrics')).text
    assert.match(metrics, /^apiserver_audit_requests_rejected_total 1$/m)
    assert.match(metrics, /^apiserver_audit_error_total\{plugin="webhook"\} 1$/m)
  },
)

test('mistakes in flags and policies are named, and nothing is started', patient, async t => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'policy.yaml')
  const serve = async (text: string, ...flags: string[]) => {
    writeFileSync(file, text)
    const dataDir = join(folder, 'data')
    const ended = await keelsonHere(
      'serve',
      '--data-dir',
      dataDir,
      '--secure-port',
      '0',
      '--audit-policy-file',
      file,
      '--audit-log-path',
      '-',
      ...flags,
    )
    assert.equal(existsSync(dataDir), false)
    return `${ended.code} ${ended.stderr}`
  }
  assert.match(await serve('apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []\n'), /^1 .*loaded illegal policy with 0 rules: from file /)
  assert.match(
    await serve('apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: All }]\n'),
    /rules\[0\]\.level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"/,
  )
  assert.match(
    await serve(JSON.stringify(METADATA), '--audit-log-mode', 'never'),
    /^1 .*--audit-log-mode takes batch, blocking or blocking-strict/,
  )
  assert.match(await serve(JSON.stringify(METADATA), '--audit-log-maxage', '-1'), /^1 .*--audit-log-maxage takes a number/)
})

test('uses of tokens that are kept in secrets are recorded as such', patient, async t => {
  const server = await startInProcess(t, { audit: { policy: METADATA } })
  const secrets = '/api/v1/namespaces/default/secrets'
  const annotations = { 'kubernetes.io/service-account.name': 'default' }
  await ask(server, secrets, {
    method: 'POST',
    body: { metadata: { name: 's', annotations }, type: 'kubernetes.io/service-account-token' },
  })
  const data = await eventually('the token in the secret', async () => (await ask(server, `${secrets}/s`)).json.data)
  const authorization = `Bearer ${Buffer.from(data.token, 'base64').toString()}`
  const use = async (id: string) => {
    await ask(server, '/version', { headers: { authorization, 'audit-id': id }, ...anonymous })
    const [event] = server.audit().filter(({ auditID }) => auditID === id)
    return Object.fromEntries(Object.entries(event.annotations ?? {}).filter(([key]) => key.startsWith('authentication.')))
  }
  const subject = { 'authentication.k8s.io/legacy-token': 'system:serviceaccount:default:default' }
  // Before, there were none.
  assert.deepEqual(await use('manual'), { ...subject, 'authentication.k8s.io/legacy-token-manual-secret': 's' })
  await ask(server, '/api/v1/namespaces/default/serviceaccounts/default', { ...PATCH, body: { secrets: [{ name: 's' }] } })
  assert.deepEqual(await use('generated'), { ...subject, 'authentication.k8s.io/legacy-token-autogenerated-secret': 's' })
  const labels = { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' }
  await ask(server, `${secrets}/s`, { ...PATCH, body: { metadata: { labels } } })
  assert.deepEqual(await use('invalid'), { ...subject, 'authentication.k8s.io/legacy-token-invalidated': 's/default' })
})
