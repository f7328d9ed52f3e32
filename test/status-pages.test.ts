// /statusz and /flagz, as kube-apiserver 1.37 answers them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { FLAGS } from '../src/flags/serve-flags.ts'
import { anonymous, ask, patient, serveHere, startInProcess } from './kit.ts'

const form = (type: string, kind: string, version = 'v1beta1') => ({
  accept: `application/${type};v=${version};g=config.k8s.io;as=${kind}`,
})

test('/statusz says what runs, as text and as an object', patient, async t => {
  const server = await startInProcess(t)
  const text = await ask(server, '/statusz')
  assert.equal(text.headers['content-type'], 'text/plain; charset=utf-8')
  assert.match(
    text.text,
    /^\napiserver statusz\nWarning: This endpoint is not meant to be machine parseable, .*\n\nStarted(:|: |=| ) \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d UTC \d{4}\nUp\1 \d+ hr \d\d min \d\d sec\nGo version\1 node\S+\nBinary version\1 1\.37\.0\S+\nEmulation version\1 1\.37\nPaths\1 \/flagz \/healthz \/livez \/metrics \/readyz \/statusz \/version\n$/,
  )
  const json = await ask(server, '/statusz', { headers: form('json', 'Statusz') })
  assert.equal(json.status, 200)
  assert.equal(json.headers['content-type'], 'application/json;g=config.k8s.io;v=v1beta1;as=Statusz')
  const { startTime, uptimeSeconds, binaryVersion, goVersion, ...rest } = json.json
  assert.deepEqual(rest, {
    kind: 'Statusz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'apiserver' },
    emulationVersion: '1.37',
    paths: ['/flagz', '/healthz', '/livez', '/metrics', '/readyz', '/statusz', '/version'],
  })
  assert.ok(Date.parse(startTime) <= Date.now() && Number.isSafeInteger(uptimeSeconds))
  const { gitVersion } = (await ask(server, '/version')).json
  assert.deepEqual([`v${binaryVersion}`, goVersion], [gitVersion, `node${process.version.slice(1)}`])
  const yaml = await ask(server, '/statusz', { headers: form('yaml', 'Statusz') })
  assert.equal(parse(yaml.text).startTime, startTime)
})

test('an old version of the objects comes with a warning, and unknown ones are refused', patient, async t => {
  const server = await startInProcess(t)
  const old = await ask(server, '/flagz', { headers: form('json', 'Flagz', 'v1alpha1') })
  assert.equal(old.json.apiVersion, 'config.k8s.io/v1alpha1')
  assert.equal(old.headers['warning'], '299 - "This version of the flagz endpoint is deprecated. Please use a newer version."')
  for (const accept of [
    'application/json',
    'application/vnd.kubernetes.protobuf',
    'application/cbor;v=v1beta1;g=config.k8s.io;as=Statusz',
    'application/vnd.kubernetes.protobuf;v=v1beta1;g=config.k8s.io;as=Statusz',
    ...['v1', 'v1beta1'].map(v => form('json', 'Pod', v).accept),
  ]) {
    const { status, json, headers } = await ask(server, '/statusz', { headers: { accept, 'user-agent': 'x' } })
    assert.equal(status, 406, accept)
    // There is no form in protobuf, also of the error.
    assert.equal(headers['content-type'], 'application/json', accept)
    assert.equal(json.message, 'only the following media types are accepted: application/json, application/yaml, text/plain')
  }
  const yaml = await ask(server, '/statusz', { headers: { accept: 'application/yaml' } })
  assert.deepEqual([yaml.status, yaml.headers['content-type'], parse(yaml.text).code], [406, 'application/yaml', 406])
  for (const accept of ['*/*', 'text/*', 'application/json, text/plain;q=0.5'])
    assert.match((await ask(server, '/statusz', { headers: { accept } })).text, /^\napiserver statusz\n/)
})

test('requests of the pages are counted as for a resource of that name, in the version of the object', patient, async t => {
  const server = await startInProcess(t)
  await ask(server, '/statusz')
  await ask(server, '/statusz', { headers: form('json', 'Statusz') })
  await ask(server, '/statusz', { headers: form('json', 'Statusz', 'v1alpha1') })
  await ask(server, '/statusz', { headers: { accept: 'text/html' } })
  const { text } = await ask(server, '/metrics')
  const total = (code: number, group: string, version: string) =>
    `apiserver_request_total{code="${code}",verb="GET",group="${group}",version="${version}",resource="statusz",subresource="",scope="",component="apiserver",dry_run=""} 1\n`
  for (const line of [
    total(200, '', ''),
    total(406, '', ''),
    total(200, 'config.k8s.io', 'v1beta1'),
    total(200, 'config.k8s.io', 'v1alpha1'),
    'apiserver_requested_deprecated_apis{group="config.k8s.io",version="v1alpha1",resource="statusz",subresource="",removed_release=""} 1\n',
  ])
    assert.ok(text.includes(line), `${line} is missing`)
  assert.ok(!text.includes('subresource="/statusz"'))
  // Those that are being answered: this one.
  assert.match(text, /^apiserver_current_inflight_requests\{request_kind="mutating"\} 0$/m)
})

test('/flagz has every flag of the server with its value', patient, async t => {
  const server = await serveHere(t, { flags: ['--history-window=90s', '--tls-min-version=VersionTLS13', '--oidc-username-claim=email'] })
  const { flags } = (await ask(server, '/flagz', { headers: form('json', 'Flagz') })).json
  const ofCommands = ['apply', 'output', 'exit-with-parent']
  assert.deepEqual(
    Object.keys(flags).sort(),
    FLAGS.map(({ name }) => name)
      .filter(name => !ofCommands.includes(name))
      .sort(),
  )
  const some = {
    'history-window': '1m30s',
    'tls-min-version': 'VersionTLS13',
    'oidc-username-claim': 'email',
    'authorization-mode': '[RBAC]',
    'authentication-token-webhook-cache-ttl': '2m0s',
    'service-cluster-ip-range': '10.0.0.0/24',
    'service-node-port-range': '30000-32767',
    'audit-log-path': '',
    'service-account-max-token-expiration': '0s',
  }
  assert.deepEqual(Object.fromEntries(Object.keys(some).map(name => [name, flags[name]])), some)
  assert.match((await ask(server, '/flagz')).text, /^\napiserver flagz\nWarning: .*\n(\S+(:|: |=| ).*\n)+$/)
})

test('the pages are for monitoring, not for everybody, and gates turn them off', patient, async t => {
  const server = await startInProcess(t)
  for (const path of ['/statusz', '/flagz']) {
    assert.equal((await ask(server, path, anonymous)).status, 403)
    const as = (group: string) => ({ headers: { 'impersonate-user': 'jane', 'impersonate-group': group } })
    assert.equal((await ask(server, path, as('system:monitoring'))).status, 200)
    assert.equal((await ask(server, path, as('dev'))).status, 403)
  }
  const without = await startInProcess(t, { featureGates: 'ComponentFlagz=false,ComponentStatusz=false' })
  for (const path of ['/statusz', '/flagz']) assert.equal((await ask(without, path)).status, 404)
})
