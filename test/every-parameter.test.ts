// The query parameters of writes, for every kind that is served: what they allow, what they refuse, and that a refusal changes nothing.
import assert from 'node:assert/strict'
import type { ClientHttp2Session } from 'node:http2'
import { test } from 'node:test'
import { patient } from './kit.ts'
import { sampleOf } from './samples.ts'
import { collectionOf, make, openAll, type Served } from './served.ts'
import { over, type Question } from './watch-transcripts.ts'

const MERGE = 'application/merge-patch+json'
const APPLY = 'application/apply-patch+yaml'
const LONG = 'm'.repeat(129)

/** Requests that are refused, with the code and how the message goes on after the name of the options. */
const REFUSED: readonly (readonly [request: string, code: number, message: RegExp])[] = [
  ['POST ?dryRun=Some', 422, /^CreateOptions\.meta\.k8s\.io "" is invalid: dryRun: Unsupported value: .*supported values: "All"$/],
  ['POST ?dryRun=', 422, /^CreateOptions.* dryRun: Unsupported value/],
  [`POST ?fieldManager=${LONG}`, 422, /^CreateOptions.* fieldManager: Too long: may not be more than 128 bytes$/],
  ['POST ?fieldManager=a%07', 422, /^CreateOptions.* fieldManager: Invalid value: .*: invalid character U\+0007 \(at position 1\)$/],
  [
    'POST ?fieldValidation=Odd',
    422,
    /^CreateOptions.* fieldValidation: Unsupported value: "Odd": supported values: "", "Ignore", "Strict", "Warn"$/,
  ],
  ['PUT ?dryRun=Some', 422, /^UpdateOptions.* dryRun: Unsupported value/],
  [`PUT ?fieldManager=${LONG}`, 422, /^UpdateOptions.* fieldManager: Too long/],
  ['PATCH ?dryRun=Some', 422, /^PatchOptions.* dryRun: Unsupported value/],
  ['PATCH ?force=true', 422, /^PatchOptions.* force: Forbidden: may not be specified for non-apply patch$/],
  ['PATCH ?force=false', 422, /^PatchOptions.* force: Forbidden: may not be specified for non-apply patch$/],
  ['APPLY ', 422, /^PatchOptions.* fieldManager: Required value: is required for apply patch$/],
  ['DELETE ?dryRun=Some', 422, /^DeleteOptions.* dryRun: Unsupported value/],
  ['DELETE ?gracePeriodSeconds=soon', 400, /^strconv\.ParseInt: parsing "soon": invalid syntax$/],
  [
    'DELETE ?propagationPolicy=Odd',
    422,
    /^DeleteOptions.* propagationPolicy: Unsupported value: "Odd": supported values: "Foreground", "Background", "Orphan", "nil"$/,
  ],
  [
    'DELETE ?propagationPolicy=Orphan&orphanDependents=true',
    422,
    /^DeleteOptions.* propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set$/,
  ],
  [
    'DELETE ?ignoreStoreReadErrorWithClusterBreakingPotential=true&gracePeriodSeconds=1',
    422,
    /cannot be set together with \.gracePeriodSeconds$/,
  ],
]

test('every kind takes the parameters of writes, and refused writes and dry runs change nothing', patient, async t => {
  const { session, served } = await openAll(t)
  for (const resource of served) await t.test(`${resource.apiVersion} ${resource.kind}`, () => takesParameters(session, resource))
})

async function takesParameters(session: ClientHttp2Session, resource: Served): Promise<void> {
  await make(session, resource)
  const [path, sample] = [collectionOf(resource), sampleOf(resource, 1)]
  const item = `${path}/${sample.metadata.name}`
  const stored = (await over(session, item)).json
  const writing: Writing = { path, item, sample, stored }
  for (const [request, code, message] of REFUSED) {
    const { status, json } = await send(session, request, writing)
    assert.equal(status, code, `${request}: ${json.message}`)
    assert.match(json.message, message, request)
  }
  await tryAll(session, writing)
  await validates(session, resource)
  const pretty = (await over(session, `${item}?pretty=true`)).body.toString()
  assert.ok(pretty.includes('\n  "metadata": {'))
  assert.deepEqual((await over(session, item)).json, stored)
}

type Writing = { readonly path: string; readonly item: string; readonly sample: any; readonly stored: any }

/** Sends a change of the object, or another object like it. */
function send(session: ClientHttp2Session, request: string, { path, item, sample, stored }: Writing) {
  const [method = '', query = ''] = request.split(' ')
  const marked = { labels: { ...stored.metadata.labels, tried: 'yes' } }
  const { kind, apiVersion } = stored
  const questions: Readonly<Record<string, Question & { readonly at: string }>> = {
    POST: { at: path, body: { ...sample, metadata: { ...sample.metadata, name: `${sample.metadata.name}1` } } },
    PUT: { at: item, body: { ...stored, metadata: { ...stored.metadata, ...marked } } },
    PATCH: { at: item, body: { metadata: marked }, type: MERGE },
    APPLY: { at: item, method: 'PATCH', body: { kind, apiVersion, metadata: { name: stored.metadata.name, ...marked } }, type: APPLY },
    DELETE: { at: item },
  }
  const { at, ...question } = questions[method]!
  return over(session, `${at}${query}`, { method, ...question })
}

/** Dry runs answer like the real thing. */
async function tryAll(session: ClientHttp2Session, writing: Writing): Promise<void> {
  for (const method of ['PUT', 'PATCH', 'APPLY', 'DELETE']) {
    const query = method === 'APPLY' ? '?dryRun=All&fieldManager=tester&force=true' : '?dryRun=All'
    const { status, json } = await send(session, `${method} ${query}`, writing)
    assert.equal(status, 200, `${method} ${writing.item}: ${json.message}`)
    if (method !== 'DELETE') assert.equal(json.metadata.labels.tried, 'yes', writing.item)
  }
}

/** Unknown fields are refused, warned of or left out, as asked; warned of when nothing is asked. */
async function validates(session: ClientHttp2Session, resource: Served): Promise<void> {
  const path = collectionOf(resource)
  const body = { ...sampleOf(resource, 3), unknown: 1 }
  const create = (validation: string) => over(session, `${path}?dryRun=All${validation}`, { method: 'POST', body })
  const strict = await create('&fieldValidation=Strict')
  assert.equal(strict.status, 400, `${path}: ${strict.json.message}`)
  assert.match(strict.json.message, /strict decoding error: unknown field "unknown"/, path)
  for (const [validation, warns] of [
    ['', true],
    ['&fieldValidation=Warn', true],
    ['&fieldValidation=Ignore', false],
  ] as const) {
    const { status, warning, json } = await create(validation)
    assert.equal(status, 201, `${path}: ${json.message}`)
    assert.equal(/299 - "unknown field \\"unknown\\""/.test(warning), warns, `${path}${validation}: ${warning}`)
    assert.equal(json.unknown, undefined, path)
  }
}
