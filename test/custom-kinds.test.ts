// Custom kinds against the real server: by kubectl, by @kubernetes/client-node and by hand.
import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ApiextensionsV1Api, CustomObjectsApi, KubeConfig } from '@kubernetes/client-node'
import { loadPki } from '../src/server/credentials/pki.ts'
import { ask, eventually, freshServer, patient, run, type ServedHere, serveHere, temporaryDirectory, Watching } from './kit.ts'
import { create, DEFINITIONS, define, definition, established, GROUP, SPEC, TABS, tab, version } from './kits/cron-tabs.ts'
import { testWith } from './programs.ts'

type Kubectl = (args: string[], input?: unknown) => Promise<string>

function kubectlOf(
  t: TestContext,
  program: string,
  server: ServedHere,
): { kubectl: Kubectl; refused: (args: string[], input?: unknown) => Promise<string> } {
  const home = temporaryDirectory(t)
  const env = { PATH: process.env['PATH'], HOME: home }
  const attempt = (args: string[], input: unknown) =>
    run(program, ['--kubeconfig', server.kubeconfig, '--cache-dir', join(home, 'cache'), ...args], {
      env,
      input: input === undefined ? '' : JSON.stringify(input),
    })
  return {
    async kubectl(args, input) {
      const { code, stdout, stderr } = await attempt(args, input)
      assert.equal(code, 0, `kubectl ${args.join(' ')}: ${stderr}`)
      return stdout
    },
    async refused(args, input) {
      const { code, stderr } = await attempt(args, input)
      assert.notEqual(code, 0, `kubectl ${args.join(' ')} was not refused`)
      return stderr
    },
  }
}

testWith('kubectl', 'kubectl defines a kind and uses it as any other', patient, async (t, program) => {
  const { kubectl, refused } = kubectlOf(t, program, await serveHere(t, { flags: ['--controllers=none'] }))
  assert.match(await refused(['apply', '-f', '-'], tab('early')), /no matches for kind "CronTab" in version "stable.example.com\/v1"/)
  assert.match(await kubectl(['apply', '-f', '-'], definition()), /crontabs.stable.example.com created/)
  await kubectl(['wait', '--for=condition=Established', 'crd/crontabs.stable.example.com'])
  assert.equal(await kubectl(['apply', '-f', '-'], tab('a')), 'crontab.stable.example.com/a created\n')
  assert.equal(await kubectl(['apply', '-f', '-'], tab('a')), 'crontab.stable.example.com/a unchanged\n')
  assert.equal(await kubectl(['apply', '-f', '-'], tab('a', { cronSpec: '* *', replicas: 2 })), 'crontab.stable.example.com/a configured\n')
  assert.match(await kubectl(['get', 'ct']), /^NAME +SPEC +AGE\na +\* \* +\d+s\n$/)
  assert.match(await kubectl(['get', 'ct', '-o', 'wide']), /^NAME +SPEC +REPLICAS +AGE\na +\* \* +2 +\d+s\n$/)
  assert.match(await kubectl(['get', 'all']), /crontab\.stable\.example\.com\/a/)
  assert.match(await kubectl(['api-resources', `--api-group=${GROUP}`]), /crontabs +ct +stable.example.com\/v1 +true +CronTab/)
  assert.match(await kubectl(['explain', 'ct']), /A cron tab\./)
  assert.match(await kubectl(['explain', 'ct.spec.cronSpec']), /When\./)
  assert.match(await kubectl(['scale', '--replicas=4', 'ct/a']), /scaled/)
  assert.equal(await kubectl(['get', 'ct', 'a', '-o', 'jsonpath={.spec.replicas}{.spec.image}']), '4busybox')
  assert.equal(await kubectl(['get', 'ct', '--field-selector=spec.image=busybox', '-o', 'name']), 'crontab.stable.example.com/a\n')
  await kubectl(['patch', 'ct', 'a', '--type=merge', '-p', '{"spec":{"image":"nginx"}}'])
  await kubectl(['label', 'ct', 'a', 'tier=front'])
  assert.match(await refused(['patch', 'ct', 'a', '--type=merge', '-p', '{"spec":{"replicas":11}}']), /should be less than or equal to 10/)
  assert.match(await refused(['apply', '-f', '-'], tab('b', { cronspec: '*' })), /unknown field "cronspec"|unknown field "spec\.cronspec"/)
  const sent = tab('a', { cronSpec: '1 1' })
  assert.match(
    await refused(['apply', '--server-side', '--field-manager=other', '-f', '-'], sent),
    /conflict with "kubectl-client-side-apply"/,
  )
  await kubectl(['apply', '--server-side', '--field-manager=other', '--force-conflicts', '-f', '-'], sent)
  assert.match(await kubectl(['describe', 'ct', 'a']), /Cron Spec: +1 1/)
  await kubectl(['delete', 'ct', 'a'])
  await kubectl(['delete', 'crd', 'crontabs.stable.example.com'])
  assert.match(await refused(['get', 'crontabs']), /doesn't have a resource type "crontabs"|could not find the requested resource/)
})

test('client-node defines, watches for Established and uses custom objects', patient, async t => {
  const server = await serveHere(t)
  const config = new KubeConfig()
  config.loadFromFile(server.kubeconfig)
  // The client has its own name for a field that is a word of the language.
  const image = { type: 'string', _default: 'busybox' }
  const body = definition([version('v1', {}, { ...SPEC, image })]) as any
  await config.makeApiClient(ApiextensionsV1Api).createCustomResourceDefinition({ body })
  await established(server, body.metadata.name)
  const objects = config.makeApiClient(CustomObjectsApi)
  const collection = { group: GROUP, version: 'v1', namespace: 'default', plural: 'crontabs' }
  await objects.createNamespacedCustomObject({ ...collection, body: tab('a') })
  const read: any = await objects.getNamespacedCustomObject({ ...collection, name: 'a' })
  assert.deepEqual(read.spec, { cronSpec: '* *', image: 'busybox' })
  await objects.replaceNamespacedCustomObject({ ...collection, name: 'a', body: { ...read, spec: { cronSpec: '1' } } })
  const status = { ...(await objects.getNamespacedCustomObject({ ...collection, name: 'a' })), status: { replicas: 1 } }
  await objects.replaceNamespacedCustomObjectStatus({ ...collection, name: 'a', body: status })
  const list: any = await objects.listNamespacedCustomObject(collection)
  assert.deepEqual(
    list.items.map((item: any) => [item.apiVersion, item.kind, item.spec.cronSpec, item.status]),
    [[`${GROUP}/v1`, 'CronTab', '1', { replicas: 1 }]],
  )
  await objects.deleteNamespacedCustomObject({ ...collection, name: 'a' })
  assert.equal(((await objects.listNamespacedCustomObject(collection)) as any).items.length, 0)
})

test('tables, metadata alone and no protobuf', patient, async t => {
  const server = await freshServer(t)
  await define(server, definition())
  await create(server, tab('a'))
  const as = (accept: string) => ask(server, TABS, { headers: { accept } })
  const table = await as('application/json;as=Table;v=v1;g=meta.k8s.io')
  assert.deepEqual(
    table.json.columnDefinitions.map((c: any) => [c.name, c.type, c.priority, c.description.slice(0, 41)]),
    [
      ['Name', 'string', 0, 'Name must be unique within a namespace. I'],
      ['Spec', 'string', 0, 'Custom resource definition column (in JSO'],
      ['Replicas', 'integer', 1, 'Custom resource definition column (in JSO'],
      ['Age', 'date', 0, 'Custom resource definition column (in JSO'],
    ],
  )
  assert.deepEqual(table.json.rows[0].cells.slice(0, 3), ['a', '* *', null])
  const metadata = await as('application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io')
  assert.deepEqual([metadata.json.items[0].metadata.name, metadata.json.items[0].spec], ['a', undefined])
  assert.equal((await as('application/vnd.kubernetes.protobuf')).status, 406)
  assert.equal((await as('application/vnd.kubernetes.protobuf,application/json')).headers['content-type'], 'application/json')
  const bytes = { method: 'POST', body: Buffer.from('k8s\0'), headers: { 'content-type': 'application/vnd.kubernetes.protobuf' } }
  assert.equal((await ask(server, TABS, bytes)).status, 415)
  const aggregated = await ask(server, '/apis', {
    headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
  })
  const group = aggregated.json.items.find((item: any) => item.metadata.name === GROUP)
  assert.deepEqual(
    group.versions[0].resources.map((r: any) => [r.resource, r.shortNames, r.categories, r.subresources.map((s: any) => s.subresource)]),
    [['crontabs', ['ct'], ['all'], ['status', 'scale']]],
  )
  const { json } = await ask(server, `/openapi/v3/apis/${GROUP}/v1`)
  const schema = json.components.schemas['com.example.stable.v1.CronTab']
  assert.deepEqual(schema['x-kubernetes-group-version-kind'], [{ group: GROUP, version: 'v1', kind: 'CronTab' }])
  assert.equal(schema.properties.spec.properties.cronSpec.pattern, SPEC.cronSpec.pattern)
})

test('a watch of a kind that is redefined ends cleanly and is resumed without a gap', patient, async t => {
  const server = await freshServer(t)
  await define(server, definition())
  const first = await create(server, tab('a'))
  const from = (revision: string) => Watching.open(t, server, `${TABS}?watch=true&resourceVersion=${revision}`)
  const before = await from(first.metadata.resourceVersion)
  const second = await create(server, tab('b'))
  assert.equal((await before.next())?.object.metadata.name, 'b')
  const changed = { spec: { versions: [version('v1', {}, { ...SPEC, zone: { type: 'string', default: 'UTC' } })] } }
  const headers = { 'content-type': 'application/merge-patch+json' }
  await ask(server, `${DEFINITIONS}/crontabs.${GROUP}`, { method: 'PATCH', body: changed, headers })
  assert.equal(await before.end(), 'clean')
  const third = await create(server, tab('c'))
  assert.equal(third.spec.zone, 'UTC')
  const after = await from(second.metadata.resourceVersion)
  assert.equal((await after.next())?.object.metadata.name, 'c')
  await ask(server, `${DEFINITIONS}/crontabs.${GROUP}`, { method: 'DELETE' })
  await eventually('the end of the watch', async () => ((await after.end()) === 'clean' ? true : undefined))
})

test('fifty kinds at once', patient, async t => {
  const server = await freshServer(t)
  const kinds = Array.from({ length: 50 }, (_, i) => ({ plural: `kind${i}s`, kind: `Kind${i}`, shortNames: [`k${i}`], categories: [] }))
  const answers = await Promise.all(
    kinds.map(names => ask(server, DEFINITIONS, { method: 'POST', body: definition([version('v1')], names) })),
  )
  assert.deepEqual([...new Set(answers.map(a => a.status))], [201])
  await Promise.all(kinds.map(({ plural }) => established(server, `${plural}.${GROUP}`)))
  await Promise.all(
    kinds.map(({ plural, kind }) => create(server, { ...tab('a'), kind }, `/apis/${GROUP}/v1/namespaces/default/${plural}`)),
  )
  const { resources } = (await ask(server, `/apis/${GROUP}/v1`)).json
  assert.equal(resources.filter((r: any) => !r.name.includes('/')).length, 50)
  assert.equal((await ask(server, '/openapi/v2')).status, 200)
  await ask(server, DEFINITIONS, { method: 'DELETE' })
  await eventually('the end of all', async () => ((await ask(server, DEFINITIONS)).json.items.length === 0 ? true : undefined))
  assert.equal((await ask(server, `/apis/${GROUP}/v1`)).status, 404)
})

test('hostile schemas do not affect other requests', patient, async t => {
  const server = await freshServer(t)
  const nested = (depth: number): object => (depth === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(depth - 1) } })
  const wide = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`field${i}`, { type: 'string', default: 'x'.repeat(20) }]))
  const odd = JSON.parse(
    '{"__proto__":{"type":"string"},"constructor":{"type":"object","properties":{"prototype":{"type":"string","default":"p"}}}}',
  )
  const specs = {
    deep: { deep: nested(120) },
    wide,
    odd,
    pattern: { p: { type: 'string', pattern: '^(a+)+$' } },
    numbers: {
      n: { type: 'integer', maximum: 1e18, multipleOf: 0.5 },
      e: { type: 'string', enum: ['', '\u0000', '__proto__'] },
    },
  }
  for (const [name, spec] of Object.entries(specs)) {
    const names = { plural: `${name}s`, kind: name[0]!.toUpperCase() + name.slice(1), shortNames: [], categories: [] }
    const { status, text } = await ask(server, DEFINITIONS, {
      method: 'POST',
      body: definition([{ ...version('v1', {}, spec), subresources: undefined, selectableFields: undefined }], names),
    })
    assert.ok(status === 201 || status === 422, `${name}: ${status} ${text.slice(0, 300)}`)
    if (status !== 201) continue
    await established(server, `${names.plural}.${GROUP}`)
    const path = `/apis/${GROUP}/v1/namespaces/default/${names.plural}`
    await create(server, { apiVersion: `${GROUP}/v1`, kind: names.kind, metadata: { name: 'a' }, spec: {} }, path)
    const body = JSON.stringify({ apiVersion: `${GROUP}/v1`, kind: names.kind, metadata: { name: 'b' }, spec: { p: `${'a'.repeat(40)}!` } })
    const answer = await ask(server, path, { method: 'POST', body })
    assert.ok(answer.status === 201 || answer.status === 422, answer.text.slice(0, 300))
  }
  for (const path of ['/openapi/v2', '/openapi/v3', `/openapi/v3/apis/${GROUP}/v1`, '/apis'])
    assert.equal((await ask(server, path)).status, 200, path)
  const protobuf = { headers: { accept: 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf' } }
  assert.equal((await ask(server, '/openapi/v2', protobuf)).status, 200)
})

type Convert = (object: any, apiVersion: string) => any

/** The conversion of a definition by a webhook that listens on this machine. */
async function conversionBy(t: TestContext, convert: Convert) {
  const { authority, server: own } = loadPki({ directory: undefined, names: [], now: new Date() })
  const webhook = createServer({ cert: own.cert, key: own.key }, (request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', part => (text += part))
    request.on('end', () => {
      const { request: asked, ...review } = JSON.parse(text)
      const convertedObjects = asked.objects.map((object: any) => convert(object, asked.desiredAPIVersion))
      response.end(JSON.stringify({ ...review, response: { uid: asked.uid, result: { status: 'Success' }, convertedObjects } }))
    })
  })
  await new Promise<void>(resolve => webhook.listen(0, '127.0.0.1', resolve))
  t.after(() => webhook.close())
  const { port } = webhook.address() as AddressInfo
  const clientConfig = { url: `https://127.0.0.1:${port}/convert`, caBundle: Buffer.from(authority.cert).toString('base64') }
  return { webhook, conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } } }
}

test('versions are converted by a webhook that really listens', patient, async t => {
  const server = await freshServer(t)
  const { webhook, conversion } = await conversionBy(t, (object, apiVersion) => ({ ...object, apiVersion }))
  await define(server, definition([version('v1'), version('v2', { storage: false })], {}, { conversion }))
  await create(server, tab('a'))
  const { status, json, text } = await ask(server, `${TABS.replace('/v1/', '/v2/')}/a`)
  assert.equal(status, 200, text)
  assert.equal(json.apiVersion, `${GROUP}/v2`)
  webhook.closeAllConnections()
  await new Promise(resolve => webhook.close(resolve))
  const failed = await ask(server, `${TABS.replace('/v1/', '/v2/')}/a`)
  assert.match(failed.json.message, /^conversion webhook for stable\.example\.com\/v1, Kind=CronTab failed: Post "https:/)
  assert.equal(failed.status, 500)
  assert.equal((await ask(server, `${TABS}/a`)).status, 200)
})

test('field selectors look at the fields of the served version, also where a webhook makes them', patient, async t => {
  const server = await freshServer(t)
  // Stored as v1 with hostPort; v2 has host and port.
  const { conversion } = await conversionBy(t, (object, apiVersion) => {
    const { hostPort, host, port, ...rest } = object
    if (apiVersion.endsWith('/v1')) return { ...rest, apiVersion, hostPort: hostPort ?? `${host}:${port}` }
    const [first, second] = (hostPort ?? `${host}:${port}`).split(':')
    return { ...rest, apiVersion, host: first, port: second }
  })
  const fields = (...names: string[]) => ({
    schema: { openAPIV3Schema: { type: 'object', properties: Object.fromEntries(names.map(name => [name, { type: 'string' }])) } },
    selectableFields: names.map(name => ({ jsonPath: `.${name}` })),
    subresources: {},
    additionalPrinterColumns: [],
  })
  const versions = [version('v1', fields('hostPort')), version('v2', { storage: false, ...fields('host', 'port') })]
  await define(server, definition(versions, {}, { conversion }))
  const [v1, v2] = [TABS, TABS.replace('/v1/', '/v2/')]
  const object = (name: string, host: string, port: string) => ({
    apiVersion: `${GROUP}/v2`,
    kind: 'CronTab',
    metadata: { name },
    host,
    port,
  })
  const make = async (name: string, host: string, port: string) => {
    const { status, text } = await ask(server, v2, { method: 'POST', body: object(name, host, port) })
    assert.equal(status, 201, text)
  }
  const selected = (text: string) => `fieldSelector=${encodeURIComponent(text)}`
  const watching = await Watching.open(t, server, `${v2}?watch=true&${selected('host=a')}`)
  await make('one', 'a', '80')
  await make('two', 'a', '8080')
  await make('three', 'b', '80')
  const names = async (path: string, selector: string) => {
    const { json, text } = await ask(server, `${path}?${selected(selector)}`)
    return (json.items ?? assert.fail(text)).map((item: any) => item.metadata.name).sort()
  }
  assert.deepEqual(await names(v2, 'host=a'), ['one', 'two'])
  assert.deepEqual(await names(v2, 'host=a,port=80'), ['one'])
  assert.deepEqual(await names(v2, 'host!=a'), ['three'])
  assert.deepEqual(await names(v1, 'hostPort=a:80'), ['one'])
  assert.deepEqual(await names(v2, 'metadata.name=two,host=a'), ['two'])
  assert.equal((await ask(server, `${v2}?${selected('hostPort=a:80')}`)).status, 400)
  const { resourceVersion } = (await ask(server, v2)).json.metadata
  const later = await Watching.open(t, server, `${v2}?watch=true&resourceVersion=${resourceVersion}&${selected('host=a')}`)
  const change = (name: string, body: object) =>
    ask(server, `${v2}/${name}`, { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' }, body })
  await change('one', { host: 'b' })
  await change('two', { port: '9' })
  await change('three', { host: 'a' })
  await ask(server, `${v2}/two`, { method: 'DELETE' })
  await ask(server, `${v2}/one`, { method: 'DELETE' })
  const told = (events: readonly any[]) =>
    events.map(({ type, object: { metadata, host, port } }) => `${type} ${metadata.name} ${host}:${port}`)
  const changes = ['DELETED one a:80', 'MODIFIED two a:9', 'ADDED three a:80', 'DELETED two a:9']
  const isLast = ({ type, object }: any) => type === 'DELETED' && object.metadata.name === 'two'
  const [first, second] = [await watching.until(isLast), await later.until(isLast)]
  assert.deepEqual(told(first), ['ADDED one a:80', 'ADDED two a:8080', ...changes])
  assert.deepEqual(told(second), changes)
  const removed = await ask(server, `${v2}?${selected('host=b')}`, { method: 'DELETE' })
  assert.deepEqual(removed.json.items, [])
  await ask(server, `${v2}?${selected('host=a')}`, { method: 'DELETE' })
  assert.deepEqual(await names(v2, 'port!=none'), [])
})
