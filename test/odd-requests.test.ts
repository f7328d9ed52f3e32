// Requests that ask for something odd: names that no object has, an empty namespace, logs and proxies of missing objects.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually, patient, serverOfFile } from './kit.ts'

const DEFAULT = '/api/v1/namespaces/default'
const server = serverOfFile({ store: 'memory', controllers: ['none'], disableAdmissionPlugins: ['ServiceAccount'] })

/** The response to a request, as `CODE message`. */
async function told(method: string, path: string, body?: object): Promise<string> {
  const { status, json } = await ask(server, path, { method, ...(body && { body }) })
  return `${status} ${json?.message ?? json?.kind}`
}

test('names that cannot be part of a path are refused', patient, async () => {
  for (const [name, why] of [
    ['%2e', `".": may not be '.'`],
    ['..', `"..": may not be '..'`],
    ['a%25b', `"a%b": may not contain '%'`],
  ]) {
    assert.equal(await told('GET', `${DEFAULT}/configmaps/${name}`), `400 Name parameter invalid: ${why}`)
    assert.equal(await told('DELETE', `${DEFAULT}/configmaps/${name}`), `400 Name parameter invalid: ${why}`)
    assert.equal(await told('GET', `${DEFAULT}/pods/${name}/log`), `400 Name parameter invalid: ${why}`)
  }
})

test('an empty namespace means all of them where a collection is read', patient, async () => {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'here' } }
  assert.equal(await told('POST', `${DEFAULT}/configmaps`, body), '201 ConfigMap')
  const { status, json } = await ask(server, '/api/v1/namespaces//configmaps')
  assert.equal(status, 200)
  assert.ok(json.items.some((item: { metadata: { name: string } }) => item.metadata.name === 'here'))
  assert.equal(await told('DELETE', '/api/v1/namespaces//configmaps'), '400 Namespace parameter required.')
  assert.equal((await ask(server, '/api/v1/namespaces//configmaps', { method: 'PUT', body })).status, 405)
  assert.equal((await ask(server, '/api/v1/namespaces//configmaps/here/nothing')).status, 404)
})

test('parameters of a log are checked before the pod is looked for', patient, async () => {
  const log = (query: string) => told('GET', `${DEFAULT}/pods/none/log?${query}`)
  assert.equal(await log(''), '404 pods "none" not found')
  const about = '422 PodLogOptions "none" is invalid:'
  assert.equal(await log('tailLines=-1'), `${about} tailLines: Invalid value: -1: must be greater than or equal to 0`)
  assert.equal(
    await log('sinceSeconds=0&limitBytes=0'),
    `${about} [limitBytes: Invalid value: 0: must be greater than 0, sinceSeconds: Invalid value: 0: must be greater than 0]`,
  )
  assert.equal(
    await log('sinceSeconds=5&sinceTime=2020-01-01T00:00:00Z'),
    `${about} []: Forbidden: at most one of \`sinceTime\` or \`sinceSeconds\` may be specified`,
  )
  assert.equal(await log('tailLines=x'), '400 strconv.ParseInt: parsing "x": invalid syntax')
  assert.equal(await log('limitBytes=9223372036854775808'), '400 strconv.ParseInt: parsing "9223372036854775808": value out of range')
  assert.match(await log('sinceTime=x'), /^400 parsing time "x"/)
})

test('a proxy passes every method on, and names the missing object', patient, async () => {
  const none = '503 no endpoints available for service "none"'
  for (const method of ['GET', 'POST', 'OPTIONS']) assert.equal(await told(method, `${DEFAULT}/services/none/proxy/a`), none)
  assert.equal((await ask(server, `${DEFAULT}/services/none/proxy/a`, { method: 'HEAD' })).status, 503)
  assert.equal(await told('GET', `${DEFAULT}/services/http:none:80/proxy/a`), '404 services "none" not found')
  assert.equal(await told('OPTIONS', `${DEFAULT}/pods/none/proxy`), '404 pods "none" not found')
  assert.equal((await ask(server, `${DEFAULT}/pods/none`, { method: 'OPTIONS' })).status, 405)
})

test('a binding is answered with a Status that has its code', patient, async () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } }
  assert.equal(await told('POST', `${DEFAULT}/pods`, pod), '201 Pod')
  const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'p' }, target: { kind: 'Node', name: 'n' } }
  const { json } = await ask(server, `${DEFAULT}/pods/p/binding`, { method: 'POST', body: binding })
  assert.deepEqual(json, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 })
})

test('names of new objects: generated from any prefix, made up, or held to what the group says', patient, async () => {
  const create = async (path: string, apiVersion: string, kind: string, more: object) => {
    const { status, json } = await ask(server, path, { method: 'POST', body: { apiVersion, kind, ...more } })
    const causes = json.details?.causes?.map(({ field }: { field: string }) => field) ?? json.metadata.name
    return [status, causes] as const
  }
  const bad = { metadata: { generateName: 'Bad_' } }
  assert.deepEqual(await create('/apis/resource.k8s.io/v1/deviceclasses', 'resource.k8s.io/v1', 'DeviceClass', bad), [
    422,
    ['metadata.name'],
  ])
  const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
  assert.equal((await create(budgets, 'policy/v1', 'PodDisruptionBudget', { ...bad, spec: { maxUnavailable: 1 } }))[0], 201)
  const [status, name] = await create(`${DEFAULT}/limitranges`, 'v1', 'LimitRange', { spec: { limits: [] } })
  assert.equal(status, 201)
  assert.match(name, /^[0-9a-f]{8}-[0-9a-f-]{27}$/)
  const event = {
    ...bad,
    regarding: { namespace: 'default' },
    reason: 'r',
    action: 'a',
    type: 'Normal',
    eventTime: '2020-01-01T00:00:00.000000Z',
  }
  const reported = { ...event, reportingController: 'a/b', reportingInstance: 'i' }
  assert.deepEqual(await create('/apis/events.k8s.io/v1/namespaces/default/events', 'events.k8s.io/v1', 'Event', reported), [
    422,
    ['metadata.generateName', 'metadata.name'],
  ])
})

test('an object is named whole: its path leaves out neither its name nor its namespace', patient, async () => {
  for (const path of [
    '/api/v1/namespaces//configmaps/x',
    '/api/v1/namespaces//pods/x/status',
    '/apis/apps/v1/namespaces//deployments/x/scale',
  ])
    assert.equal(await told('GET', path), '400 Namespace parameter required.', path)
  for (const path of [`${DEFAULT}/pods//log`, '/api/v1/nodes//status', '/api/v1/namespaces//status'])
    assert.equal(await told('GET', path), '400 name must be provided', path)
  const nowhere = 'ConfigMap "a" is invalid: metadata.namespace: Required value'
  assert.equal(await told('POST', '/api/v1/namespaces//configmaps', { metadata: { name: 'a' } }), `422 ${nowhere}`)
  assert.equal(await told('GET', `${DEFAULT}/pods/none/proxy//a`), '404 pods "none" not found')
  for (const path of ['//api/v1/pods', '/apis//v1/pods']) assert.equal((await ask(server, path)).status, 404, path)
  assert.equal(await told('GET', '/apis/apps/v1//'), '200 APIResourceList')
})

test('a group is described whatever the method', patient, async () => {
  for (const method of ['GET', 'POST', 'DELETE']) assert.equal(await told(method, '/apis/apps'), '200 APIGroup', method)
  assert.equal((await ask(server, '/apis/apiregistration.k8s.io', { method: 'POST' })).status, 405)
})

test('a write that is refused still warns', patient, async () => {
  const body = { metadata: { name: 'warned' }, nothing: 1 }
  const codes: number[] = []
  for (let i = 0; i < 2; i++) {
    const { status, headers } = await ask(server, `${DEFAULT}/configmaps`, { method: 'POST', body })
    codes.push(status)
    assert.match(String(headers['warning']), /unknown field \\"nothing\\"/)
  }
  assert.deepEqual(codes, [201, 409])
})

test('the uid of another object is refused with the key under which kube-apiserver keeps it', patient, async () => {
  const path = '/api/v1/nodes'
  assert.equal(await told('POST', path, { metadata: { name: 'held' } }), '201 Node')
  const refusal = async (query: string) => told('PUT', `${path}/held${query}`, { metadata: { name: 'held', uid: 'x' } })
  assert.match(await refusal(''), /^409 .* Key: \/registry\/minions\/held, /)
  assert.match(await refusal('?dryRun=All'), /^409 .* Key: \/minions\/held, /)
})

test('a custom kind is served under the path of its resource, and refuses verbs that it lacks', patient, async () => {
  const name = 'oddities.odd.example.com'
  const schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        'x-kubernetes-validations': [{ rule: 'true' }],
        properties: { when: { type: 'string', format: 'date-time' } },
      },
    },
  }
  const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } }]
  const names = { plural: 'oddities', kind: 'Oddity' }
  const definition = { metadata: { name }, spec: { group: 'odd.example.com', names, scope: 'Namespaced', versions } }
  await ask(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { method: 'POST', body: definition })
  const all = '/apis/odd.example.com/v1/namespaces/default/oddities'
  await eventually('the kind is served', async () => ((await ask(server, all)).status === 200 ? true : undefined))
  const oddity = (more: object) => ({ apiVersion: 'odd.example.com/v1', kind: 'Oddity', metadata: { name: 'made' }, ...more })
  assert.equal(await told('POST', `${all}/other`, oddity({})), '201 Oddity')
  assert.equal(await told('GET', `${all}/made/status/more`), '200 Oddity')
  assert.equal(await told('PUT', all, oddity({})), '400 name must be provided')
  assert.equal((await ask(server, `${all}/made`, { method: 'HEAD' })).status, 200)
  assert.equal(await told('DELETE', `${all}/made/status`), '405 delete is not supported on resources of kind "oddities.odd.example.com"')
  assert.equal((await ask(server, '/apis/odd.example.com/v1/oddities', { method: 'POST', body: oddity({}) })).status, 404)
  const patched = await ask(server, `${all}/made`, {
    method: 'PATCH',
    body: { apiVersion: 'odd.example.com/v2' },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  assert.equal(patched.json.details.causes[0].message, 'Invalid value: "odd.example.com/v2": must be odd.example.com/v1')
  // Nobody owns fields that do not fit the schema.
  const misfit = await ask(server, `${all}?dryRun=All`, {
    method: 'POST',
    body: oddity({ metadata: { name: 'misfit' }, spec: { when: [] } }),
  })
  assert.deepEqual([misfit.status, misfit.json.metadata.managedFields], [201, undefined])
  const unnamed = await ask(server, `${all}?dryRun=All`, { method: 'POST', body: oddity({ metadata: {} }) })
  assert.deepEqual(
    unnamed.json.details.causes.map(({ field }: { field: string }) => field),
    ['metadata.name', '<nil>'],
  )
})
