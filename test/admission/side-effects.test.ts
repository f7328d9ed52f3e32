// Dry runs and webhooks with side effects, for every verb; configurations that change under load; writes that wait for a webhook.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, ask, CONFIG_MAPS, configMap, connection, freshServer, patient, type Target } from '../kit.ts'
import { ADMISSION, configure, make, ruleFor } from '../kits/admission-objects.ts'
import { allow, deny, reviewing, webhook } from '../kits/webhooks.ts'

const MERGE = { 'content-type': 'application/merge-patch+json' }
const APPLY = { 'content-type': 'application/apply-patch+yaml' }
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const PODS = '/api/v1/namespaces/default/pods'

const labels = { app: 'a' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'example.com/c' }] } }
const deployment = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: { replicas: 0, selector: { matchLabels: labels }, template },
})

type Write = {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly headers?: Record<string, string>
}

/** Every way to write, each about something that is there where it has to be. */
const writes: readonly Write[] = [
  { what: 'create', method: 'POST', path: CONFIG_MAPS, body: configMap('new') },
  { what: 'replace', method: 'PUT', path: `${CONFIG_MAPS}/there`, body: configMap('there', { a: 'b' }) },
  {
    what: 'replace that creates',
    method: 'PUT',
    path: '/api/v1/namespaces/default/endpoints/new',
    body: { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'new' } },
  },
  { what: 'merge patch', method: 'PATCH', path: `${CONFIG_MAPS}/there`, body: { data: { a: 'b' } }, headers: MERGE },
  {
    what: 'JSON patch',
    method: 'PATCH',
    path: `${CONFIG_MAPS}/there`,
    body: [{ op: 'add', path: '/data', value: { a: 'b' } }],
    headers: { 'content-type': 'application/json-patch+json' },
  },
  {
    what: 'strategic merge patch',
    method: 'PATCH',
    path: `${CONFIG_MAPS}/there`,
    body: { data: { a: 'b' } },
    headers: { 'content-type': 'application/strategic-merge-patch+json' },
  },
  { what: 'apply', method: 'PATCH', path: `${CONFIG_MAPS}/there?fieldManager=m`, body: configMap('there', { a: 'b' }), headers: APPLY },
  { what: 'apply that creates', method: 'PATCH', path: `${CONFIG_MAPS}/new?fieldManager=m`, body: configMap('new'), headers: APPLY },
  { what: 'status', method: 'PATCH', path: `${DEPLOYMENTS}/there/status`, body: { status: { replicas: 3 } }, headers: MERGE },
  { what: 'scale', method: 'PATCH', path: `${DEPLOYMENTS}/there/scale`, body: { spec: { replicas: 0 } }, headers: MERGE },
  {
    what: 'eviction',
    method: 'POST',
    path: `${PODS}/there/eviction`,
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'there' } },
  },
  {
    what: 'token request',
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts/there/token',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  },
  { what: 'delete', method: 'DELETE', path: `${CONFIG_MAPS}/there` },
  { what: 'delete of a collection', method: 'DELETE', path: CONFIG_MAPS },
]

const send = (server: Target, { method, path, body, headers = {} }: Write, query: string): Promise<Answer> =>
  ask(server, `${path}${path.includes('?') ? '&' : '?'}${query}`, { method, ...(body && { body }), headers })

async function makeAll(server: Target): Promise<void> {
  await make(server, CONFIG_MAPS, configMap('there'))
  await make(server, DEPLOYMENTS, deployment('there'))
  await make(server, PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'there' }, spec: template.spec })
  await make(server, '/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'there' },
  })
}

const everything = [ruleFor(['*/*'], { group: '*' })]

test('a dry run of every verb reaches webhooks without side effects, and changes nothing', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  await makeAll(server)
  const hook = await webhook(t, allow)
  for (const type of ['mutating', 'validating'] as const)
    await configure(server, type, 'all', { hook, rules: everything, sideEffects: 'NoneOnDryRun' })
  for (const write of writes) {
    hook.seen.length = 0
    const before = (await ask(server, CONFIG_MAPS)).json.metadata.resourceVersion
    const { status, text } = await send(server, write, 'dryRun=All')
    assert.ok(status < 300, `${write.what}: ${text}`)
    assert.equal(hook.seen.length, 2, write.what)
    for (const { dryRun, options } of hook.seen) assert.deepEqual([dryRun, options.dryRun], [true, ['All']], write.what)
    assert.equal((await ask(server, CONFIG_MAPS)).json.metadata.resourceVersion, before, write.what)
  }
})

for (const sideEffects of ['Some', 'Unknown'])
  for (const type of ['mutating', 'validating'] as const)
    test(`a ${type} webhook cannot be given side effects ${sideEffects}`, patient, async t => {
      const server = await freshServer(t, { controllers: ['none'] })
      const hook = await webhook(t, allow)
      await configure(server, type, 'all', { hook, rules: everything, sideEffects: 'None', failurePolicy: 'Ignore' })
      const path = `${ADMISSION}/${type}webhookconfigurations/all`
      const refused = await ask(server, path, {
        method: 'PATCH',
        body: [{ op: 'replace', path: '/webhooks/0/sideEffects', value: sideEffects }],
        headers: { 'content-type': 'application/json-patch+json' },
      })
      assert.equal(refused.status, 422, refused.text)
      assert.match(
        refused.text,
        /webhooks\[0\]\.sideEffects: Unsupported value: \\"(Some|Unknown)\\": supported values: \\"None\\", \\"NoneOnDryRun\\"/,
      )
    })

test('while configurations change under load, each request meets the one that was acknowledged before it began', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  const hook = await webhook(t, deny('no'))
  let isOn = false
  let stop = false
  const agent = connection(t)
  // Requests about other things go on all the time.
  const load = Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      for (let n = 0; !stop; n++)
        await ask(server, '/api/v1/namespaces/default/secrets', {
          method: 'POST',
          body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: `s-${i}-${n}` } },
        })
    }),
  )
  for (let round = 0; round < 20; round++) {
    if (isOn) await ask(server, `${ADMISSION}/validatingwebhookconfigurations/a`, { method: 'DELETE', agent })
    else await configure(server, 'validating', 'a', { hook })
    isOn = !isOn
    const { status } = await ask(server, `${CONFIG_MAPS}?dryRun=All`, { method: 'POST', body: configMap('x'), agent })
    assert.equal(status, isOn ? 400 : 201, `round ${round}`)
  }
  stop = true
  await load
})

test('other requests are answered while two hundred writes wait for a webhook', patient, async t => {
  const server = await freshServer(t, { controllers: ['none'] })
  let release = () => {}
  const opened = new Promise<void>(resolve => (release = resolve))
  let waiting = 0
  const hook = await webhook(
    t,
    reviewing(async () => {
      waiting++
      await opened
      return { allowed: true }
    }),
  )
  await configure(server, 'validating', 'slow', { hook, timeoutSeconds: 30 })
  await make(server, '/api/v1/namespaces/default/secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } })
  const writers = { headers: { 'Impersonate-User': 'writer', 'Impersonate-Group': 'system:masters' } }
  const held = Array.from({ length: 200 }, (_, i) => ask(server, CONFIG_MAPS, { method: 'POST', body: configMap(`c${i}`), ...writers }))
  while (waiting === 0) await new Promise(setImmediate)
  // None of the writes has been answered, and yet reads and writes of other things are.
  for (let i = 0; i < 20; i++) {
    assert.equal((await ask(server, '/api/v1/namespaces/default/secrets/s')).status, 200)
    assert.equal(
      (
        await ask(server, '/api/v1/namespaces/default/secrets', {
          method: 'POST',
          body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: `s${i}` } },
        })
      ).status,
      201,
    )
  }
  release()
  for (const answer of await Promise.all(held)) assert.equal(answer.status, 201, answer.text)
})
