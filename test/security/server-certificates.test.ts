// Servers that this server calls are trusted as Go trusts them: by signatures, not by the names of certificates.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import {
  anonymous,
  ask,
  CONFIG_MAPS,
  configMap,
  eventually,
  freshServer,
  patient,
  startInProcess,
  type Target,
  temporaryDirectory,
} from '../kit.ts'
import { openProvider, reviewWebhook } from '../kits/access.ts'
import { availability, FLUNDERS, register, startAggregatedApi } from '../kits/aggregated-api.ts'
import { makeNamed } from '../kits/chains.ts'
import { type Issued, pem, reviewing, type Webhook, webhook } from '../kits/webhooks.ts'
import { testWith } from '../programs.ts'

const names = { dnsNames: ['wardle.default.svc'], addresses: [[127, 0, 0, 1]] }
/** As Tekton, Knative (one subject) and Pepr (none) make them: nothing but the signature tells that the authority issued the other. */
const made = makeNamed({
  one: { subject: 'x', ca: true, usages: ['digitalSignature', 'certSign'], issuer: 'one', key: 0 },
  oneServer: { subject: 'x', issuer: 'one', key: 1, ...names },
  none: { subject: '', ca: true, usages: ['digitalSignature', 'certSign'], issuer: 'none', key: 0 },
  noneServer: { subject: '', issuer: 'none', key: 1, ...names },
  // Issued by an authority of the same name with another key.
  stranger: { subject: 'x', ca: true, issuer: 'stranger', key: 2 },
  strangeServer: { subject: 'x', issuer: 'stranger', key: 1, ...names },
})
const CERTIFICATES: Readonly<Record<string, Issued>> = {
  'one subject': { ca: made.one.cert, ...made.oneServer },
  'no subject': { ca: made.none.cert, ...made.noneServer },
}
const FORGED: Issued = { ca: made.one.cert, ...made.strangeServer }
const UNTRUSTED = /tls: failed to verify certificate: x509: certificate signed by unknown authority/

const post = (server: Target, path: string, body: object) => ask(server, path, { method: 'POST', body })
const as = (token: string) => ({ ...anonymous, headers: { authorization: `Bearer ${token}` } })

// At 6256f0f1 each of these was refused: `certificate signed by unknown authority`, since OpenSSL said DEPTH_ZERO_SELF_SIGNED_CERT.
for (const [what, issued] of Object.entries(CERTIFICATES)) {
  test(`OpenSSL refuses certificates made with ${what}, which is why it is not asked`, async t => {
    const hook = await webhook(t, () => {}, { issued })
    const refused = new Promise<string>(resolve =>
      connect({ host: '127.0.0.1', port: hook.port, ca: issued.ca }).on('error', error =>
        resolve((error as NodeJS.ErrnoException).code ?? ''),
      ),
    )
    assert.equal(await refused, 'DEPTH_ZERO_SELF_SIGNED_CERT')
  })

  test(`an admission webhook with ${what}`, patient, async t => {
    const server = await freshServer(t)
    const hook = await webhook(
      t,
      reviewing(() => ({ allowed: false, status: { message: 'was asked' } })),
      { issued },
    )
    await configure(server, hook)
    assert.match((await post(server, CONFIG_MAPS, configMap('a'))).json.message, /was asked/)
  })

  test(`a conversion webhook with ${what}`, patient, async t => {
    const server = await freshServer(t)
    const hook = await webhook(t, convert, { issued })
    await defineConverted(server, hook)
    const { status, json } = await ask(server, '/apis/example.com/v2/namespaces/default/tabs/a')
    assert.deepEqual([status, json.apiVersion], [200, 'example.com/v2'], json.message)
  })

  test(`webhooks that authenticate and authorize with ${what}`, patient, async t => {
    const tokens = await reviewWebhook(t, () => ({ authenticated: true, user: { username: 'jane' } }), issued)
    const access = await reviewWebhook(t, ({ user }) => ({ allowed: user === 'jane' }), issued)
    const server = await startInProcess(t, {
      authenticationTokenWebhookConfigFile: tokens.kubeconfig,
      authenticationTokenWebhookVersion: 'v1',
      authorizationMode: ['RBAC', 'Webhook'],
      authorizationWebhookConfigFile: access.kubeconfig,
    })
    assert.equal((await ask(server, CONFIG_MAPS, as('any'))).status, 200)
  })

  testWith('own address', `an aggregated server with ${what}`, patient, async t => {
    const [server, api] = await Promise.all([freshServer(t), startAggregatedApi(t, { pair: issued })])
    await register(server, api.port, { spec: { caBundle: pem(issued.ca) } })
    await availability(server, 'Passed')
    assert.equal((await ask(server, FLUNDERS)).status, 200)
  })

  test(`an OpenID provider with ${what}`, patient, async t => {
    const provider = await openProvider(t, { issued })
    const file = join(temporaryDirectory(t), 'ca.pem')
    writeFileSync(file, provider.ca)
    const server = await startInProcess(t, { oidc: { issuerUrl: provider.issuer, clientId: 'keelson', caFile: file } })
    const { status, json } = await ask(server, WHO, { method: 'POST', body: {}, ...as(provider.token({})) })
    assert.deepEqual([status, json.status?.userInfo.username], [201, `${provider.issuer}#jane`])
  })
}

test('a server with the names of a trusted one and another signature is sent nothing', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, convert, { issued: FORGED })
  await defineConverted(server, hook)
  assert.match((await ask(server, '/apis/example.com/v2/namespaces/default/tabs/a')).json.message, UNTRUSTED)
  await configure(server, hook)
  assert.match((await post(server, CONFIG_MAPS, configMap('a'))).json.message, UNTRUSTED)
  assert.deepEqual(hook.calls, [])
})

const WHO = '/apis/authentication.k8s.io/v1/selfsubjectreviews'

async function configure(server: Target, { clientConfig }: Pick<Webhook, 'clientConfig'>): Promise<void> {
  const { status, text } = await post(server, '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'w' },
    webhooks: [
      {
        name: 'w.example.com',
        clientConfig,
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  })
  assert.equal(status, 201, text)
}

const convert = ({ request, ...review }: any, response: { end(text: string): unknown }) => {
  const convertedObjects = request.objects.map((object: any) => ({ ...object, apiVersion: request.desiredAPIVersion }))
  response.end(JSON.stringify({ ...review, response: { uid: request.uid, result: { status: 'Success' }, convertedObjects } }))
}

/** Defines a kind with two versions, and creates an object of the first. */
async function defineConverted(server: Target, { clientConfig }: Pick<Webhook, 'clientConfig'>): Promise<void> {
  const version = (name: string) => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  })
  const { status, text } = await post(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'tabs.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'tabs', singular: 'tab', kind: 'Tab', listKind: 'TabList' },
      scope: 'Namespaced',
      versions: [version('v1'), version('v2')],
      conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
    },
  })
  assert.equal(status, 201, text)
  await eventually('the kind is served', async () => {
    const { status } = await post(server, '/apis/example.com/v1/namespaces/default/tabs', {
      apiVersion: 'example.com/v1',
      kind: 'Tab',
      metadata: { name: 'a' },
    })
    return status === 201 ? true : undefined
  })
}
