// Lists and watches of every kind that is served, built in or custom, on every path, in every representation, over every protocol.
import assert from 'node:assert/strict'
import type { ClientHttp2Session } from 'node:http2'
import { test } from 'node:test'
import { parse } from 'yaml'
import { patient } from './kit.ts'
import { sampleOf } from './samples.ts'
import { collectionBelowRoot, collectionOf, make, openAll, type Served } from './served.ts'
import { ACCEPT, fieldsOf, over, type Transcript, unwrapped, watchAlone, watchOver } from './watch-transcripts.ts'

/** The revision from which to watch. */
const versionOf = async (session: ClientHttp2Session, path: string) =>
  (await over(session, `${path}?limit=1`)).json.metadata.resourceVersion as string

test('every kind is watched on every path, in every representation and over every protocol, with the same events', patient, async t => {
  const { server, session, served } = await openAll(t)
  assert.ok(served.length > 60)
  // The versions of a kind share paths and protocols: those after the first are watched in fewer ways.
  const kinds = new Set<string>()
  for (const resource of served) {
    const kind = `${resource.root.split('/')[2]} ${resource.plural}`
    const isFirst = !kinds.has(kind)
    kinds.add(kind)
    const { root, plural, namespaced, isCustom } = resource
    const [path, collection] = [collectionOf(resource), collectionBelowRoot(resource)]
    const [first, second] = [sampleOf(resource, 1), sampleOf(resource, 2)]
    const name = first.metadata.name
    const since = `resourceVersion=${await versionOf(session, path)}`
    const whole = await Promise.all([
      watchOver(session, `${path}?watch=true&${since}`),
      watchOver(session, `${path}?watch=true&${since}`, 'table'),
      ...(isCustom ? [] : [watchOver(session, `${path}?watch=true&${since}`, 'protobuf')]),
      ...(isFirst
        ? [
            watchOver(session, `${path}?watch=true&${since}`, 'metadata'),
            watchOver(session, `${path}?watch=true&${since}`, 'protobufMetadata'),
            watchOver(session, `${root}/watch/${collection}?${since}`),
            watchAlone(t, server, `${path}?watch=true&${since}`),
            watchAlone(t, server, `${path}?watch=true&${since}`, { webSocket: true }),
          ]
        : []),
      ...(isFirst && namespaced
        ? [watchOver(session, `${root}/${plural}?watch=1&${since}`), watchOver(session, `${root}/watch/${plural}?${since}`)]
        : []),
    ])
    const one = await Promise.all([
      watchOver(session, `${root}/watch/${collection}/${name}?${since}`),
      watchOver(session, `${root}/watch/${collection}/${name}?fieldSelector=metadata.name%3D${name}&${since}`, 'table'),
      watchOver(session, `${path}?watch=true&fieldSelector=metadata.name%3D${name}&${since}`),
      watchAlone(t, server, `${root}/watch/${collection}/${name}?${since}`, { webSocket: true }),
    ])
    const marked = await watchOver(session, `${path}?watch=true&labelSelector=step%3Dpatched&${since}`)
    await live(session, resource, [first, second])
    await compare(whole, { names: [first, second].map(o => o.metadata.name), what: path })
    await compare(one, { names: [name], what: `${path}/${name}` })
    const sent = await marked.until(`DELETED ${name}@`)
    assert.match(sent[0]!, /^ADDED /, path)
    for (const transcript of [...whole, ...one, marked]) transcript.close()
  }
})

/** Creates two objects, one of them twice and once more without effect, changes both, and deletes them. */
async function live(session: ClientHttp2Session, resource: Served, [first, second]: any[]): Promise<void> {
  const path = collectionOf(resource)
  const send = async (method: string, at: string, body: unknown, type?: string) => {
    const reply = await over(session, at, { method, body, ...(type && { type }) })
    assert.ok(reply.status < 300, `${method} ${at}: ${reply.body.toString()}`)
    return reply.json
  }
  await send('POST', `${path}?dryRun=All`, first)
  for (const object of [first, second]) await send('POST', path, object)
  const labels = { metadata: { labels: { step: 'patched' } } }
  await send('PATCH', `${path}/${first.metadata.name}`, labels, 'application/merge-patch+json')
  const stored = (await over(session, `${path}/${second.metadata.name}`)).json
  await send('PUT', `${path}/${second.metadata.name}`, {
    ...stored,
    metadata: { ...stored.metadata, annotations: { 'example.com/a': 'b' } },
  })
  await listed(session, resource, [first, second])
  if (resource.verbs.includes('deletecollection')) {
    const query = 'labelSelector=every%3Dkind&gracePeriodSeconds=0'
    const { metadata } = await send('DELETE', `${path}?${query}&limit=1`, undefined)
    assert.ok(metadata.continue, `${path}: one of two was asked for`)
    await send('DELETE', `${path}?${query}`, undefined)
  } else for (const { metadata } of [first, second]) await send('DELETE', `${path}/${metadata.name}?gracePeriodSeconds=0`, undefined)
  for (const { metadata } of [first, second]) await release(session, `${path}/${metadata.name}`)
}

/** Takes away what holds a deletion back where a controller would. */
async function release(session: ClientHttp2Session, path: string): Promise<void> {
  const { status, json } = await over(session, path)
  if (status === 404) return
  if (json.spec?.finalizers) {
    const body = { ...json, spec: { ...json.spec, finalizers: [] } }
    await over(session, `${path}/finalize`, { method: 'PUT', body })
  } else {
    const body = { metadata: { finalizers: null } }
    await over(session, path, { method: 'PATCH', body, type: 'application/merge-patch+json' })
  }
  assert.equal((await over(session, path)).status, 404, path)
}

/** Every transcript tells what the first does, from the creation of each name to its deletion, in the order of revisions. */
async function compare(transcripts: readonly Transcript[], { names, what }: { names: readonly string[]; what: string }): Promise<void> {
  const sent = await Promise.all(transcripts.map(transcript => transcript.until(...names.map(name => `DELETED ${name}@`))))
  const expected = sent[0]!
  for (const lines of sent) assert.deepEqual(lines, expected, what)
  for (const name of names) {
    const types = expected.filter(line => line.includes(` ${name}@`)).map(line => line.split(' ')[0])
    assert.deepEqual([types[0], types[1], types.at(-1)], ['ADDED', 'MODIFIED', 'DELETED'], `${what} ${name}: ${expected}`)
  }
  const versions = expected.map(line => Number(line.split('@')[1]))
  assert.deepEqual(
    versions,
    [...new Set(versions)].sort((a, b) => a - b),
    what,
  )
}

/** Both objects are in the list in every representation, on every path. */
async function listed(session: ClientHttp2Session, resource: Served, objects: readonly any[]): Promise<void> {
  const names = objects.map(o => o.metadata.name)
  const selected = 'labelSelector=every%3Dkind'
  const paths = [collectionOf(resource), ...(resource.namespaced ? [`${resource.root}/${resource.plural}`] : [])]
  for (const path of paths) {
    const ask = (accept: string, more = '') => over(session, `${path}?${selected}${more}`, { accept })
    const of = (items: any[]) => items.map(item => item.metadata.name)
    const { json } = await ask(ACCEPT.json)
    assert.deepEqual([json.kind, json.apiVersion, of(json.items)], [`${resource.kind}List`, resource.apiVersion, names], path)
    const yaml = parse((await ask('application/yaml')).body.toString())
    assert.deepEqual(of(yaml.items), names, path)
    const table = (await ask(ACCEPT.table)).json
    assert.deepEqual([table.kind, of(table.rows.map((row: any) => row.object))], ['Table', names], path)
    // The addresses of services have a cell that no column names, as kube-apiserver sends them.
    const unnamed = resource.plural === 'ipaddresses' ? 1 : 0
    assert.equal(table.rows[0].cells.length - unnamed, table.columnDefinitions.length, path)
    const metadata = (await ask('application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io')).json
    assert.deepEqual([metadata.kind, of(metadata.items)], ['PartialObjectMetadataList', names], path)
    const protobuf = await ask(ACCEPT.protobuf)
    if (resource.isCustom) assert.equal(protobuf.status, 406, path)
    else assert.ok(fieldsOf(unwrapped(protobuf.body)).get(2)!.includes(names[1]), path)
    const page = (await ask(ACCEPT.json, '&limit=1')).json
    const next = (await ask(ACCEPT.json, `&limit=1&continue=${encodeURIComponent(page.metadata.continue)}`)).json
    // Lists of custom objects say so with an empty token.
    const end = resource.isCustom ? '' : undefined
    assert.deepEqual([...of(page.items), ...of(next.items), next.metadata.continue], [...names, end], path)
    assert.equal(next.metadata.resourceVersion, page.metadata.resourceVersion)
  }
}

test('initial objects are sent first, then the bookmark of their end, then changes; in every representation', patient, async t => {
  const { session, served } = await openAll(t)
  const initial = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  const quiet: Transcript[] = []
  for (const resource of served) {
    const path = collectionOf(resource)
    const { name } = sampleOf(resource, 1).metadata
    await make(session, resource)
    const named = `fieldSelector=metadata.name%3D${name}`
    const revision = (await over(session, `${path}/${name}`)).json.metadata.resourceVersion
    for (const representation of ['json', 'table', 'metadata'] as const) {
      const transcript = await watchOver(session, `${path}?${initial}&${named}`, representation)
      const [added, mark] = await transcript.until('ADDED', 'BOOKMARK')
      assert.equal(added, `ADDED ${name}@${revision}`)
      assert.match(mark!, /^BOOKMARK @\d+ end$/, `${representation} ${path}`)
      transcript.close()
    }
    const bare = await watchOver(session, `${path}?${initial}&${named}&includeObject=None`, 'table')
    assert.match((await bare.until('BOOKMARK'))[1]!, /^BOOKMARK @\d+ end$/)
    bare.close()
    quiet.push(await watchOver(session, `${path}?watch=true&resourceVersion=${revision}&${named}&timeoutSeconds=1`))
  }
  for (const transcript of quiet) assert.deepEqual(await transcript.end(), [], 'nothing happens after the last revision')
})

/** Where kube-apiserver lets a kind be selected by more than its name and namespace: each field with what the sample has there. */
const FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'v1 Pod': {
    'spec.nodeName': 'n',
    'spec.host': 'n',
    'spec.restartPolicy': 'Never',
    'spec.schedulerName': 'default-scheduler',
    'spec.serviceAccountName': 'a',
    'spec.hostNetwork': 'true',
    'status.phase': 'Pending',
    'status.podIP': '',
    'status.podIPs': '',
    'status.nominatedNodeName': '',
  },
  'v1 Node': { 'spec.unschedulable': 'true' },
  'v1 ReplicationController': { 'status.replicas': '0' },
  'v1 Event': {
    'involvedObject.kind': 'Pod',
    'involvedObject.namespace': 'default',
    'involvedObject.name': 'p',
    'involvedObject.uid': 'u',
    'involvedObject.apiVersion': 'v1',
    'involvedObject.resourceVersion': '7',
    'involvedObject.fieldPath': 'spec',
    reason: 'Why',
    reportingComponent: 'me',
    source: 'tester',
    type: 'Normal',
  },
  'events.k8s.io/v1 Event': {
    'regarding.kind': 'Pod',
    'regarding.namespace': 'default',
    'regarding.name': 'p',
    'regarding.uid': 'u',
    'regarding.apiVersion': 'v1',
    'regarding.resourceVersion': '7',
    'regarding.fieldPath': 'spec',
    reason: 'Why',
    reportingController: 'example.com/me',
    type: 'Normal',
  },
  'v1 Namespace': { 'status.phase': 'Active' },
  'v1 Secret': { type: 'Opaque' },
  'v1 Service': { 'spec.clusterIP': 'None', 'spec.type': 'ClusterIP' },
  'batch/v1 Job': { 'status.successful': '0' },
  'certificates.k8s.io/v1 CertificateSigningRequest': { 'spec.signerName': 'example.com/s' },
  'certificates.k8s.io/v1 ClusterTrustBundle': { 'spec.signerName': 'example.com/s' },
  'certificates.k8s.io/v1 PodCertificateRequest': { 'spec.signerName': 'example.com/s', 'spec.podName': 'p', 'spec.nodeName': 'n' },
  'resource.k8s.io/v1 ResourceSlice': { 'spec.driver': 'd.example.com', 'spec.nodeName': 'n', 'spec.pool.name': 'p' },
  'custom.example.com/v1 Near': { 'spec.color': 'red', 'spec.size': '3' },
  'custom.example.com/v1 Far': { 'spec.color': 'red', 'spec.size': '3' },
}

test('every kind is selected by its name, its namespace and the fields of kube-apiserver, and by no other', patient, async t => {
  const { session, served } = await openAll(t)
  for (const resource of served) {
    const { apiVersion, kind, namespaced } = resource
    const [path, sample] = [collectionOf(resource), sampleOf(resource, 1)]
    const { name } = sample.metadata
    await make(session, resource)
    // All versions of a kind have the fields of the stable one.
    const own = FIELDS[`${apiVersion.replace(/(?<=\/v\d+)(alpha|beta)\d+$/, '')} ${kind}`]
    const isPlain = own === undefined
    const byNamespace = kind !== 'PodCertificateRequest' && (namespaced || isPlain)
    const fields = { 'metadata.name': name, ...(byNamespace && { 'metadata.namespace': namespaced ? 'default' : '' }), ...own }
    for (const [field, value] of Object.entries(fields)) await selects(session, path, { name, field, value })
    assert.equal(await refusalAt(session, resource, 'spec.nope'), refusalOf(resource, 'spec.nope', isPlain))
    if (byNamespace) continue
    assert.equal(await refusalAt(session, resource, 'metadata.namespace'), refusalOf(resource, 'metadata.namespace', isPlain))
  }
})

type Selecting = { readonly name: string; readonly field: string; readonly value: string }

/** The object is found where its field has the value, and not elsewhere; by lists and by watches. */
async function selects(session: ClientHttp2Session, path: string, { name, field, value }: Selecting): Promise<void> {
  const select = async (term: string) => {
    const { status, json } = await over(session, `${path}?fieldSelector=${encodeURIComponent(term)}`)
    assert.equal(status, 200, `${path} ${term}: ${json.message}`)
    return json.items.some((item: any) => item.metadata.name === name)
  }
  const terms = [`${field}=${value}`, `${field}!=${value}`, `${field}==other`, `${field}!=other`]
  assert.deepEqual(await Promise.all(terms.map(select)), [true, false, false, true], `${path} ${field}`)
  const both = encodeURIComponent(`metadata.name=${name},${field}=${value}`)
  const transcript = await watchOver(session, `${path}?watch=true&fieldSelector=${both}`)
  assert.equal((await transcript.until('ADDED'))[0]!.split('@')[0], `ADDED ${name}`)
  transcript.close()
}

/** The text with which lists, watches and deletions alike refuse a field. */
async function refusalAt(session: ClientHttp2Session, resource: Served, field: string): Promise<string> {
  const path = collectionOf(resource)
  const query = `fieldSelector=${field}%3Dx`
  const list = await over(session, `${path}?${query}`)
  const watch = await over(session, `${path}?watch=true&${query}`)
  assert.deepEqual([list.status, watch.status, watch.json.message], [400, 400, list.json.message], path)
  if (resource.verbs.includes('deletecollection')) {
    const deletion = await over(session, `${path}?${query}&propagationPolicy=Odd`, { method: 'DELETE' })
    assert.deepEqual([deletion.status, deletion.json.message], [400, list.json.message], path)
  }
  return list.json.message
}

function refusalOf({ apiVersion, kind }: Served, field: string, isPlain: boolean): string {
  if (isPlain) return `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`
  if (kind === 'Job') return `field label "${field}" not supported for Job`
  if (kind === 'ResourceSlice') return `field label not supported for ${apiVersion}, Kind=ResourceSlice: ${field}`
  return `field label not supported: ${field}`
}
