// API groups of other servers: requests are passed on to the Service of an APIService, and discovery and OpenAPI tell of them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:http2'
import { request } from 'node:https'
import { join } from 'node:path'
import { issueAuthority, issueClient } from '../src/lib/x509/issue.ts'
import { ask, eventually, freshServer, patient, type Scope, startInProcess, type Target, temporaryDirectory, Watching } from './kit.ts'
import {
  type AggregatedApi,
  APISERVICES,
  type ApiOptions,
  apiService,
  availability,
  create,
  FLUNDERS,
  GROUP,
  NAME,
  register,
  slice,
  startAggregatedApi,
  strangers,
  VERSION,
} from './kits/aggregated-api.ts'
import { OWN_ADDRESS, testWith } from './programs.ts'

async function open(
  t: Scope,
  options: ApiOptions & { spec?: object; reason?: string } = {},
): Promise<{ server: Target; api: AggregatedApi }> {
  const [server, api] = await Promise.all([freshServer(t), startAggregatedApi(t, options)])
  await register(server, api.port, { spec: options.spec ?? {} })
  await availability(server, options.reason ?? 'Passed')
  return { server, api }
}

testWith(
  'own address',
  'requests are proxied with the user in headers, authenticated by the published front-proxy certificate',
  patient,
  async t => {
    const { server, api } = await open(t)
    const made = await ask(server, FLUNDERS, {
      method: 'POST',
      body: { kind: 'Flunder', apiVersion: `${GROUP}/${VERSION}`, metadata: { name: 'first' } },
      headers: { 'x-remote-user': 'evil', 'x-remote-group': 'system:masters', 'x-remote-extra-a': 'b', authorization: '' },
    })
    assert.equal(made.status, 201)
    const seen = api.seen.findLast(({ method }) => method === 'POST')!
    assert.equal(seen.headers['x-remote-user'], 'kubernetes-admin')
    assert.equal(seen.headers['x-remote-group'], 'system:masters, system:authenticated')
    assert.equal(seen.headers['x-remote-extra-a'], undefined)
    assert.equal(seen.headers['authorization'], undefined)
    assert.equal(seen.headers['host'], 'wardle.default.svc:443')
    assert.equal(seen.headers['x-forwarded-uri'], FLUNDERS)
    assert.equal(seen.client, 'front-proxy-client')
    const { json } = await ask(server, '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication')
    assert.match(json.data['requestheader-client-ca-file'], /BEGIN CERTIFICATE/)
    assert.equal(json.data['requestheader-allowed-names'], '["front-proxy-client"]')
    assert.equal(json.data['requestheader-username-headers'], '["X-Remote-User"]')

    const read = await ask(server, `${FLUNDERS}/first?pretty=true`)
    assert.equal(read.json.metadata.name, 'first')
    assert.notEqual(read.headers['audit-id'], 'theirs')
    assert.equal(lastSeen(api).url, `${FLUNDERS}/first?pretty=true`)
    const missing = await ask(server, `${FLUNDERS}/none`)
    assert.equal(`${missing.status} ${missing.json.message}`, '404 flunders "none" not found')
    assert.equal((await ask(server, FLUNDERS, { method: 'HEAD' })).status, 200)
    const crossing = await ask(server, `${FLUNDERS}/crossorigin`)
    assert.equal(crossing.headers['access-control-allow-origin'], undefined)
    const moved = await ask(server, `${FLUNDERS}/moved`)
    assert.deepEqual(
      [moved.status, moved.headers['location'], moved.text],
      [502, undefined, 'the backend attempted to redirect this request, which is not permitted'],
    )
  },
)

/** The last request of a client: the aggregator looks now and then whether the API is available. */
const lastSeen = ({ seen }: Pick<Awaited<ReturnType<typeof startAggregatedApi>>, 'seen'>) =>
  seen.findLast(({ headers }) => headers['x-remote-user'] !== 'system:kube-aggregator')!

testWith('own address', 'this server authorizes a request before it is proxied', patient, async t => {
  const { server, api } = await open(t)
  const as = (name: string) => ask(server, FLUNDERS, { headers: { 'impersonate-user': name } })
  const before = api.seen.length
  const refused = await as('jane')
  assert.equal(refused.status, 403)
  assert.match(
    refused.json.message,
    /flunders\.wardle\.example\.com is forbidden: User "jane" cannot list resource "flunders" in API group "wardle\.example\.com"/,
  )
  assert.equal(api.seen.slice(before).filter(({ url }) => url.startsWith(FLUNDERS)).length, 0)
  await create(server, '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
    metadata: { name: 'fish' },
    rules: [{ apiGroups: [GROUP], resources: ['flunders'], verbs: ['list'] }],
  })
  await create(server, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'fish' },
    subjects: [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { kind: 'ClusterRole', name: 'fish', apiGroup: 'rbac.authorization.k8s.io' },
  })
  assert.equal((await as('jane')).status, 200)
  const { headers } = lastSeen(api)
  assert.equal(headers['x-remote-user'], 'jane')
  assert.equal(headers['impersonate-user'], undefined)
})

testWith('own address', 'watches and upgrades are streamed, and end with their client', patient, async t => {
  const { server, api } = await open(t)
  const watching = await Watching.open(t, server, `${FLUNDERS}?watch=1`)
  for (const name of ['a', 'b']) {
    api.change('ADDED', { metadata: { name } })
    assert.equal((await watching.next())!.object.metadata.name, name)
  }
  watching.close()
  const leaving = new AbortController()
  const gone = ask(server, `${FLUNDERS}/slow`, { signal: leaving.signal }).catch(() => 'gone')
  await eventually('the slow request', () => (api.slow.size === 1 ? true : undefined))
  leaving.abort()
  assert.equal(await gone, 'gone')
  await eventually('the end of the slow request', () => (api.slow.size === 0 ? true : undefined))
  const late = await ask(server, `${FLUNDERS}/slow?timeout=200ms`)
  assert.equal(late.status, 504)

  const echoed = await new Promise<string>((resolve, reject) => {
    const outgoing = request(new URL(server.url), {
      ...server.credentials,
      agent: false,
      path: `${FLUNDERS}/a/connect`,
      headers: { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-remote-user': 'evil' },
    })
    outgoing.on('upgrade', (_, socket) => {
      let text = ''
      socket.on('data', part => {
        text += part
        if (text === 'hello ') socket.write('there')
        if (text.endsWith('there')) {
          resolve(text)
          socket.destroy()
        }
      })
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
  assert.equal(echoed, 'hello there')
  assert.equal(lastSeen(api).headers['x-remote-user'], 'kubernetes-admin')
})

testWith('own address', 'requests are proxied over HTTP/2 as well, and a broken response is reported', patient, async t => {
  const { server, api } = await open(t)
  const { ca, cert, key } = server.credentials
  const session = connect(server.url, { ca, cert, key })
  t.after(() => session.destroy())
  const open2 = (path: string, method = 'GET', body?: object) => {
    const stream = session.request({ ':path': path, ':method': method, ...(body && { 'content-type': 'application/json' }) })
    stream.end(body && JSON.stringify(body))
    return stream
  }
  const text = async (stream: ReturnType<typeof open2>) => {
    let all = ''
    for await (const part of stream) all += part
    return all
  }
  const made = await text(open2(FLUNDERS, 'POST', { metadata: { name: 'second' } }))
  assert.equal(JSON.parse(made).metadata.name, 'second')
  const all = await Promise.all(Array.from({ length: 30 }, () => text(open2(FLUNDERS))))
  assert.ok(all.every(each => JSON.parse(each).items.length === 1))
  const watch = open2(`${FLUNDERS}?watch=1`)
  await new Promise(resolve => watch.once('response', resolve))
  api.change('ADDED', { metadata: { name: 'third' } })
  const [event] = await once(watch, 'data')
  assert.equal(JSON.parse(String(event)).object.metadata.name, 'third')
  api.close()
  await new Promise(resolve => watch.once('close', resolve).on('error', () => {}))
  const { status, text: said } = await ask(server, FLUNDERS)
  assert.ok(
    status === 503 && /^(error trying to reach service: dial tcp .*: connect: connection refused|service unavailable)\n$/.test(said),
    said,
  )
})

testWith('own address', 'a server that speaks only HTTP/2 is described, and sent requests, bodies and watches', patient, async t => {
  const { server, api } = await open(t, { isHttp2Only: true })
  const name = 'x'.repeat(100_000)
  const headers = { authorization: '' }
  const made = await ask(server, FLUNDERS, { method: 'POST', body: { metadata: { name } }, headers })
  assert.deepEqual([made.status, made.json.metadata.name], [201, name])
  const { headers: sent, client } = api.seen.findLast(({ method }) => method === 'POST')!
  assert.deepEqual(
    [sent[':authority'], sent['x-remote-user'], sent['authorization'], client],
    ['wardle.default.svc:443', 'kubernetes-admin', undefined, 'front-proxy-client'],
  )
  const all = await Promise.all(Array.from({ length: 30 }, () => ask(server, FLUNDERS)))
  assert.ok(all.every(({ json }) => json.items.length === 1))
  assert.equal((await ask(server, FLUNDERS, { method: 'HEAD' })).status, 200)
  const leaving = new AbortController()
  const gone = ask(server, `${FLUNDERS}/slow`, { signal: leaving.signal }).catch(() => 'gone')
  await eventually('the slow request', () => (api.slow.size === 1 ? true : undefined))
  leaving.abort()
  assert.equal(await gone, 'gone')
  await eventually('the end of the slow request', () => (api.slow.size === 0 ? true : undefined))
  const watching = await Watching.open(t, server, `${FLUNDERS}?watch=1`)
  api.change('ADDED', { metadata: { name: 'third' } })
  assert.equal((await watching.next())!.object.metadata.name, 'third')
  api.close()
  assert.equal(await watching.next().catch(() => undefined), undefined)
})

testWith('own address', 'discovery has the group, classic and aggregated, in the order of the priorities', patient, async t => {
  const { server, api } = await open(t)
  const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
  const discovered = async (fits: (version: any) => boolean) =>
    eventually('the discovery', async () => {
      const { json } = await ask(server, '/apis', { headers: { accept: aggregated } })
      const at = json.items.findIndex((item: any) => item.metadata.name === GROUP)
      const version = json.items[at]?.versions[0]
      return version && fits(version) ? { version, at, last: json.items.length - 1 } : undefined
    })
  const { version, at, last } = await discovered(each => each.freshness === 'Current')
  assert.equal(at, last)
  assert.equal(version.resources[0].shortNames[0], 'fl')
  assert.deepEqual(version.resources[0].subresources[0].responseKind, { group: '', version: '', kind: '' })
  const { json } = await ask(server, '/apis')
  assert.deepEqual(json.groups.at(-1), {
    name: GROUP,
    versions: [{ groupVersion: `${GROUP}/${VERSION}`, version: VERSION }],
    preferredVersion: { groupVersion: `${GROUP}/${VERSION}`, version: VERSION },
  })
  assert.equal((await ask(server, `/apis/${GROUP}`)).json.kind, 'APIGroup')
  assert.equal((await ask(server, `/apis/${GROUP}/${VERSION}`)).json.resources[0].name, 'flunders')
  assert.ok((await ask(server, '/')).json.paths.includes(`/apis/${GROUP}/${VERSION}`))

  await ask(server, `${APISERVICES}/${NAME}`, {
    method: 'PATCH',
    body: { spec: { groupPriorityMinimum: 17_850 } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  const names = await eventually('the new order', async () => {
    const groups = (await ask(server, '/apis')).json.groups.map((group: any) => group.name)
    return groups.indexOf(GROUP) === 1 ? groups : undefined
  })
  assert.deepEqual(names.slice(0, 3), ['apiregistration.k8s.io', GROUP, 'apps'])

  api.mode = 'classic'
  await ask(server, `${APISERVICES}/${NAME}`, {
    method: 'PATCH',
    body: { metadata: { annotations: { look: 'again' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  const classic = await discovered(each => each.resources?.[0]?.subresources?.[0]?.responseKind?.kind === 'Flunder')
  assert.equal(classic.version.resources[0].scope, 'Namespaced')
  api.mode = 'failing'
  await ask(server, `${APISERVICES}/${NAME}`, {
    method: 'PATCH',
    body: { metadata: { annotations: { look: 'once more' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  const stale = await discovered(each => each.freshness === 'Stale')
  assert.equal(stale.version.resources, undefined)
  await availability(server, 'FailedDiscoveryCheck')
  const refused = await ask(server, FLUNDERS)
  assert.deepEqual([refused.status, refused.text], [503, 'service unavailable\n'])

  await ask(server, `${APISERVICES}/${NAME}`, { method: 'DELETE' })
  const gone = await ask(server, `/apis/${GROUP}`)
  assert.equal(gone.status, 404)
  assert.equal((await ask(server, FLUNDERS)).status, 404)
})

testWith('own address', 'OpenAPI documents have the parts of the other server', patient, async t => {
  const { server, api } = await open(t)
  const path = `/apis/${GROUP}/${VERSION}/flunders`
  const v2 = await eventually('the OpenAPI 2 document', async () => {
    const { json } = await ask(server, '/openapi/v2', { headers: { accept: 'application/json' } })
    return json.paths[path] && json
  })
  assert.deepEqual(v2.paths[path].get.parameters, [{ name: 'limit', in: 'query', description: 'at most', type: 'integer' }])
  assert.notEqual(v2.paths['/apis/apps/v1/deployments']?.get?.operationId, 'hijacked')
  assert.equal(
    v2.definitions['example.Flunder'].properties.metadata.$ref,
    '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta_v2',
  )
  assert.equal(v2.definitions['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta_v2'].description, 'another ObjectMeta')
  assert.equal(v2.definitions.unused, undefined)
  const protobuf = await ask(server, '/openapi/v2', {
    headers: { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' },
  })
  assert.equal(protobuf.status, 200)
  assert.ok(protobuf.text.includes('example.Flunder'))

  const key = `apis/${GROUP}/${VERSION}`
  const { json: index } = await ask(server, '/openapi/v3')
  assert.equal(index.paths[key].serverRelativeURL, `/openapi/v3/${key}?hash=ABC`)
  assert.equal(index.paths.evil, undefined)
  const v3 = await ask(server, `/openapi/v3/${key}?hash=ABC`)
  assert.equal(v3.json.asked, 'kubernetes-admin')
  api.mode = 'without OpenAPI 3'
  await ask(server, `${APISERVICES}/${NAME}`, {
    method: 'PATCH',
    body: { metadata: { annotations: { look: 'again' } } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  const made = await eventually('the converted document', async () => {
    const { json } = await ask(server, `/openapi/v3/${key}`)
    return json?.components ? json : undefined
  })
  assert.equal(
    made.components.schemas['example.Flunder'].properties.metadata.$ref,
    '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta',
  )
  assert.deepEqual(made.paths[path].get.parameters, [{ name: 'limit', in: 'query', description: 'at most', schema: { type: 'integer' } }])
  assert.equal(made.paths[path].post.requestBody.content['application/json'].schema.$ref, '#/components/schemas/example.Flunder')
})

testWith('own address', 'the condition Available says why a server is not available', patient, async t => {
  const [server, api] = await Promise.all([startInProcess(t), startAggregatedApi(t)])
  await create(server, APISERVICES, apiService())
  assert.equal((await availability(server, 'ServiceNotFound')).message, 'service/wardle in "default" is not present')
  await create(server, '/api/v1/namespaces/default/services', {
    metadata: { name: 'wardle' },
    spec: { ports: [{ name: 'https', port: 8443 }] },
  })
  assert.equal((await availability(server, 'ServicePortError')).message, 'service/wardle in "default" is not listening on port 443')
  const services = '/api/v1/namespaces/default/services/wardle'
  const patch = (path: string, body: object) =>
    ask(server, path, { method: 'PATCH', body, headers: { 'content-type': 'application/merge-patch+json' } })
  await patch(services, { spec: { ports: [{ name: 'https', port: 443 }] } })
  assert.equal((await availability(server, 'EndpointsNotFound')).message, 'cannot find endpointslices for service/wardle in "default"')
  const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
  await create(server, slices, { ...slice(api.port), endpoints: [{ addresses: [OWN_ADDRESS], conditions: { ready: false } }] })
  assert.equal(
    (await availability(server, 'MissingEndpoints')).message,
    'endpointslices for service/wardle in "default" have no addresses with port name "https"',
  )
  assert.equal((await ask(server, FLUNDERS)).status, 503)
  await patch(`${slices}/wardle-1`, { endpoints: [{ addresses: [OWN_ADDRESS], conditions: { ready: true } }] })
  const passed = await availability(server, 'Passed')
  assert.deepEqual([passed.status, passed.message], ['True', 'all checks passed'])
  api.close()
  const url = `https://${OWN_ADDRESS}:${api.port}/apis/${GROUP}/${VERSION}`
  const refused = `failing or missing response from ${url}: Get "${url}": dial tcp ${OWN_ADDRESS}:${api.port}: connect: connection refused`
  let looks = 0
  // A connection that was open is reset first.
  await eventually(refused, async () => {
    await patch(`${APISERVICES}/${NAME}`, { metadata: { annotations: { look: `${++looks}` } } })
    return (await availability(server, 'FailedDiscoveryCheck')).message === refused ? true : undefined
  })
  const metrics = (await ask(server, '/metrics')).text
  assert.match(metrics, new RegExp(`^aggregator_unavailable_apiservice\\{name="${NAME}"\\} 1$`, 'm'))
  assert.match(metrics, /^aggregator_unavailable_apiservice\{name="v1\.apps"\} 0$/m)
  assert.match(metrics, new RegExp(`^aggregator_unavailable_apiservice_total\\{name="${NAME}",reason="FailedDiscoveryCheck"\\} 1$`, 'm'))
  await patch(`${APISERVICES}/${NAME}`, { spec: { service: null, caBundle: null } })
  assert.equal((await availability(server, 'Local')).message, 'Local APIServices are always available')
})

testWith(
  'own address',
  'a server with an unknown CA or another name is not trusted unless insecureSkipTLSVerify is set',
  patient,
  async t => {
    const { server } = await open(t, { signer: strangers, reason: 'FailedDiscoveryCheck' })
    const { message } = await availability(server, 'FailedDiscoveryCheck')
    assert.match(message, /tls: failed to verify certificate: x509: certificate signed by unknown authority/)
    await ask(server, `${APISERVICES}/${NAME}`, {
      method: 'PATCH',
      body: { spec: { caBundle: null, insecureSkipTLSVerify: true } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    await availability(server, 'Passed')
    assert.equal((await ask(server, FLUNDERS)).status, 200)

    const other = await open(t, { names: ['wardle.other.svc'], reason: 'FailedDiscoveryCheck' })
    assert.match(
      (await availability(other.server, 'FailedDiscoveryCheck')).message,
      /x509: certificate is valid for wardle\.other\.svc, not wardle\.default\.svc$/,
    )
  },
)

testWith('own address', 'a request is not proxied in a loop, by whatever name the Service leads back', patient, async t => {
  const server = await startInProcess(t, { host: '0.0.0.0' })
  const pointAt = async (host: string, port: number) => {
    await ask(server, `${APISERVICES}/${NAME}`, { method: 'DELETE' })
    await ask(server, '/api/v1/namespaces/default/services/wardle', { method: 'DELETE' })
    await create(server, '/api/v1/namespaces/default/services', {
      metadata: { name: 'wardle' },
      spec: { type: 'ExternalName', externalName: host, ports: [{ port }] },
    })
    await create(
      server,
      APISERVICES,
      apiService({ insecureSkipTLSVerify: true, caBundle: undefined, service: { namespace: 'default', name: 'wardle', port } }),
    )
    return (await availability(server, 'FailedDiscoveryCheck')).message
  }
  // The server is not believed about users by itself, and is never available.
  for (const host of ['127.0.0.1', 'localhost', OWN_ADDRESS!])
    assert.match(await pointAt(host, server.port), /bad status from .*: (401|403|503)$/, host)
  await ask(server, `${APISERVICES}/${NAME}/status`, {
    method: 'PATCH',
    body: {
      status: { conditions: [{ type: 'Available', status: 'True', lastTransitionTime: new Date().toISOString().replace(/\.\d+/, '') }] },
    },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  const { status } = await ask(server, FLUNDERS)
  assert.ok([401, 403, 503, 508].includes(status), String(status))
})

testWith(
  'own address',
  'a namespace is deleted with its objects on other servers, and waits while their discovery fails',
  patient,
  async t => {
    const { server, api } = await open(t)
    await eventually('the discovery', async () => {
      const { json } = await ask(server, '/apis', {
        headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' },
      })
      return json.items.find((item: any) => item.metadata.name === GROUP)?.versions[0].resources
    })
    for (const name of ['doomed', 'stuck']) {
      await create(server, '/api/v1/namespaces', { metadata: { name } })
      api.flunders.set(`${name}/first`, { metadata: { name: 'first', namespace: name } })
    }
    await ask(server, '/api/v1/namespaces/doomed', { method: 'DELETE' })
    await eventually('the end of the namespace', async () =>
      (await ask(server, '/api/v1/namespaces/doomed')).status === 404 ? true : undefined,
    )
    assert.deepEqual([...api.flunders.keys()], ['stuck/first'])
    const { headers } = api.seen.findLast(({ method }) => method === 'DELETE')!
    assert.equal(headers['x-remote-user'], 'system:serviceaccount:kube-system:namespace-controller')

    api.mode = 'failing'
    const look = (again: string) =>
      ask(server, `${APISERVICES}/${NAME}`, {
        method: 'PATCH',
        body: { metadata: { annotations: { look: again } } },
        headers: { 'content-type': 'application/merge-patch+json' },
      })
    await look('again')
    await availability(server, 'FailedDiscoveryCheck')
    await ask(server, '/api/v1/namespaces/stuck', { method: 'DELETE' })
    const condition = await eventually('the condition', async () => {
      const { json } = await ask(server, '/api/v1/namespaces/stuck')
      return json.status.conditions?.find((each: any) => each.type === 'NamespaceDeletionDiscoveryFailure' && each.status === 'True')
    })
    const at = `${GROUP}/${VERSION}`
    assert.equal(
      condition.message,
      `Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: ${at}: stale GroupVersion discovery: ${at}`,
    )
    api.mode = 'well'
    await look('once more')
    await eventually('the end of the namespace', async () =>
      (await ask(server, '/api/v1/namespaces/stuck')).status === 404 ? true : undefined,
    )
    assert.equal(api.flunders.size, 0)
  },
)

testWith('own address', 'garbage collection works across servers, in both directions', patient, async t => {
  const { server, api } = await open(t)
  const maps = '/api/v1/namespaces/default/configmaps'
  const owner = await create(server, maps, { metadata: { name: 'owner' } })
  const references = (apiVersion: string, kind: string, name: string, uid: string) => [{ apiVersion, kind, name, uid }]
  const flunder = (name: string, uid: string, ownerReferences: object[] = []) =>
    api.flunders.set(`default/${name}`, { metadata: { name, namespace: 'default', uid, ownerReferences } })
  flunder('owned', 'f-1', references('v1', 'ConfigMap', 'owner', owner.metadata.uid))
  flunder('kept', 'f-2', references('example.com/v1', 'Unknown', 'x', 'u'))
  flunder('parent', 'f-3')
  const second = await create(server, maps, { metadata: { name: 'second' } })
  flunder('second', 'f-4', references('v1', 'ConfigMap', 'second', second.metadata.uid))
  await create(server, maps, {
    metadata: { name: 'child', ownerReferences: references(`${GROUP}/${VERSION}`, 'Flunder', 'parent', 'f-3') },
  })
  await create(server, maps, { metadata: { name: 'late', ownerReferences: references(`${GROUP}/${VERSION}`, 'Flunder', 'nobody', 'f-9') } })
  const lists = () => api.seen.filter(({ url }) => url.includes('flunders?limit=500')).length
  await eventually('a look at all of it', () => (lists() > 0 ? true : undefined))
  await ask(server, `${maps}/owner`, { method: 'DELETE' })
  await eventually('the end of what was owned', () => (api.flunders.has('default/owned') ? undefined : true))
  await eventually('the end of what had no owner', async () => ((await ask(server, `${maps}/late`)).status === 404 ? true : undefined))
  assert.deepEqual([...api.flunders.keys()], ['default/kept', 'default/parent', 'default/second'])
  assert.equal((await ask(server, `${maps}/child`)).status, 200)
  api.flunders.delete('default/parent')
  await ask(server, `${maps}/second`, { method: 'DELETE' })
  await eventually('the end of the child', async () => ((await ask(server, `${maps}/child`)).status === 404 ? true : undefined))
})

testWith('own address', 'the proxy client certificate can be configured', patient, async t => {
  const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }
  const front = issueAuthority('given front', validity)
  const { cert, key } = issueClient(front, { commonName: 'aggregator' }, validity)
  const folder = temporaryDirectory(t)
  const files = {
    proxyClientCertFile: join(folder, 'cert'),
    proxyClientKeyFile: join(folder, 'key'),
    requestheaderClientCaFile: join(folder, 'ca'),
  }
  writeFileSync(files.proxyClientCertFile, cert)
  writeFileSync(files.proxyClientKeyFile, key)
  writeFileSync(files.requestheaderClientCaFile, front.cert)
  const api = await startAggregatedApi(t)
  const server = await startInProcess(t, {
    ...files,
    requestheaderUsernameHeaders: ['X-Remote-User'],
    requestheaderAllowedNames: ['aggregator'],
  })
  await register(server, api.port)
  await availability(server, 'Passed')
  assert.equal((await ask(server, FLUNDERS)).status, 200)
  assert.equal(lastSeen(api).client, 'aggregator')
  const { json } = await ask(server, '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication')
  assert.equal(json.data['requestheader-client-ca-file'].trim(), front.cert.trim())
})
