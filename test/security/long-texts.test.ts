// Long texts everywhere: in each text field of each kind, in parameters and in headers. None costs much, and all answers are bounded.
import assert from 'node:assert/strict'
import type { ClientHttp2Session } from 'node:http2'
import { test } from 'node:test'
import { ask, connection, patient } from '../kit.ts'
import { sampleOf } from '../samples.ts'
import { collectionOf, make, openAll, type Served } from '../served.ts'
import { over } from '../watch-transcripts.ts'

const KIB = 1024
const LENGTH = 64 * KIB
/** The maximum size of a refusal, however long the value was and however often it would be named. */
const MAX_RESPONSE_BYTES = 1024 * KIB
/** The limit of processor time of client and server for one request, in milliseconds. Quadratic time would take minutes. */
const MAX_CPU_MS = 3_000
/** How many text fields of one kind are tried, those next to the root first. */
const FIELDS_PER_KIND = 18

/** Texts that make patterns go back and quoting go wrong; each field gets one of them. */
const TEXTS: readonly string[] = [
  'a',
  '0',
  ' ',
  '\n',
  '"',
  'é',
  '.',
  '-',
  '/',
  '1.',
  'a-',
  'A=',
  '{{',
  '((',
  '\\',
  '%',
  'T00:',
  '💥',
  ',a',
].map(part => part.repeat(Math.ceil(LENGTH / part.length)).slice(0, LENGTH))

type Schema = {
  readonly type?: string
  readonly $ref?: string
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema
}
type Step = string | number
type Path = readonly Step[]

/** Paths of the text fields of a schema, the shortest first; fields that contain themselves are entered once. */
function textFields(root: Schema, schemas: Readonly<Record<string, Schema>>): Path[] {
  const found: Path[] = []
  const ahead: { schema: Schema; path: Path; within: readonly string[] }[] = [{ schema: root, path: [], within: [] }]
  for (let next = ahead.shift(); next && found.length < FIELDS_PER_KIND; next = ahead.shift()) {
    const { path, within } = next
    const ref = next.schema.$ref ?? next.schema.allOf?.[0]?.$ref
    const name = ref?.split('/').at(-1)
    if (name !== undefined && within.includes(name)) continue
    const schema = name === undefined ? next.schema : schemas[name]!
    const inside = name === undefined ? within : [...within, name]
    if (schema.type === 'string') found.push(path)
    if (schema.items) ahead.push({ schema: schema.items, path: [...path, 0], within: inside })
    if (schema.additionalProperties) ahead.push({ schema: schema.additionalProperties, path: [...path, 'key'], within: inside })
    for (const [field, each] of Object.entries(schema.properties ?? {}))
      if (field !== 'managedFields') ahead.push({ schema: each, path: [...path, field], within: inside })
  }
  return found
}

/** A copy of an object with a value at a path; missing parents are created. */
function withValue(object: any, [step, ...rest]: Path, value: unknown): any {
  if (step === undefined) return value
  const copy = typeof step === 'number' ? [...(object ?? [])] : { ...object }
  copy[step] = withValue(object?.[step], rest, value)
  return copy
}

/** The error of a response; undefined if it is fine. */
function faultOf(status: number, length: number, cpuMs: number): string {
  if (status >= 500) return `was answered with ${status}`
  if (status >= 400 && length > MAX_RESPONSE_BYTES) return `was answered with ${length} bytes`
  return cpuMs > MAX_CPU_MS ? `took ${cpuMs.toFixed(0)} ms of processor time` : ''
}

async function watched(send: () => Promise<{ status: number; length: number }>): Promise<string> {
  const before = process.cpuUsage()
  const { status, length } = await send()
  const { user, system } = process.cpuUsage(before)
  return faultOf(status, length, (user + system) / 1000)
}

async function schemasOf(session: ClientHttp2Session, root: string): Promise<Readonly<Record<string, Schema>>> {
  return (await over(session, `/openapi/v3${root}`)).json.components.schemas
}

const isOf =
  ({ apiVersion, kind }: Served) =>
  (schema: any) =>
    schema['x-kubernetes-group-version-kind']?.some(
      (each: any) => each.kind === kind && (each.group ? `${each.group}/${each.version}` : each.version) === apiVersion,
    )

test('a long text in any field is refused or stored without much work, with a bounded answer', {
  timeout: 2 * patient.timeout,
}, async t => {
  const { session, served } = await openAll(t)
  const faults: string[] = []
  let rows = 0
  const known = new Map<string, Readonly<Record<string, Schema>>>()
  for (const resource of served) {
    const schemas = known.get(resource.root) ?? (await schemasOf(session, resource.root))
    known.set(resource.root, schemas)
    const schema = Object.values(schemas).find(isOf(resource))
    assert.ok(schema, `there is a schema of ${resource.apiVersion} ${resource.kind}`)
    for (const path of textFields(schema, schemas)) {
      const body = withValue(sampleOf(resource, 1), path, TEXTS[rows++ % TEXTS.length])
      const fault = await watched(async () => {
        const answer = await over(session, `${collectionOf(resource)}?dryRun=All`, { method: 'POST', body })
        return { status: answer.status, length: answer.body.length }
      })
      if (fault) faults.push(`${resource.apiVersion} ${resource.kind} ${path.join('.')} ${fault}`)
    }
  }
  assert.ok(rows > 900, `${rows} fields were tried`)
  assert.deepEqual(faults, [])
})

/** Fields that rules of their own read, quote and compare, each with a text that fills the body. */
const LARGE: readonly (readonly [kind: string, path: Path])[] = [
  ['ConfigMap', ['kind']],
  ['ConfigMap', ['apiVersion']],
  ['ConfigMap', ['metadata', 'name']],
  ['ConfigMap', ['metadata', 'generateName']],
  ['ConfigMap', ['metadata', 'namespace']],
  ['ConfigMap', ['metadata', 'labels', 'a']],
  ['ConfigMap', ['metadata', 'annotations', 'a']],
  ['ConfigMap', ['metadata', 'finalizers', 0]],
  ['ConfigMap', ['metadata', 'ownerReferences', 0, 'uid']],
  ['ConfigMap', ['metadata', 'resourceVersion']],
  ['ConfigMap', ['binaryData', 'a']],
  ['Secret', ['data', 'a']],
  ['Secret', ['type']],
  ['Pod', ['spec', 'containers', 0, 'image']],
  ['Pod', ['spec', 'containers', 0, 'resources', 'requests', 'cpu']],
  ['Pod', ['spec', 'nodeSelector', 'a']],
  ['Service', ['spec', 'clusterIP']],
  ['CronJob', ['spec', 'schedule']],
  ['CronJob', ['spec', 'timeZone']],
  ['Deployment', ['spec', 'selector', 'matchLabels', 'a']],
  ['Ingress', ['spec', 'rules', 0, 'host']],
  ['NetworkPolicy', ['spec', 'ingress', 0, 'from', 0, 'ipBlock', 'cidr']],
  ['CertificateSigningRequest', ['spec', 'request']],
  ['CertificateSigningRequest', ['spec', 'signerName']],
  ['ClusterRole', ['rules', 0, 'verbs', 0]],
  ['ValidatingAdmissionPolicy', ['spec', 'validations', 0, 'expression']],
  ['CustomResourceDefinition', ['spec', 'group']],
  ['Lease', ['spec', 'renewTime']],
]

test('a text that fills the body is refused or stored without much work, with a bounded answer', patient, async t => {
  const { session, served } = await openAll(t)
  const faults: string[] = []
  for (const [i, [kind, path]] of LARGE.entries()) {
    const resource = served.find(each => each.kind === kind)
    assert.ok(resource, kind)
    const part = ['a', '"', 'é', '1.', ' '][i % 5]!
    const body = withValue(sampleOf(resource, 1), path, part.repeat(Math.floor((1_400 * KIB) / part.length)))
    const fault = await watched(async () => {
      const answer = await over(session, `${collectionOf(resource)}?dryRun=All`, { method: 'POST', body })
      return { status: answer.status, length: answer.body.length }
    })
    if (fault) faults.push(`${kind} ${path.join('.')} ${fault}`)
  }
  assert.deepEqual(faults, [])
})

/** Headers and parameters are limited together with the path, so their texts are shorter. */
const SHORT = 40 * KIB
const PARAMETERS = [
  ...['fieldSelector', 'labelSelector', 'continue', 'limit', 'resourceVersion', 'resourceVersionMatch', 'timeoutSeconds', 'timeout'],
  ...['pretty', 'watch', 'allowWatchBookmarks', 'sendInitialEvents', 'includeObject', 'unknown'],
]
const WRITE_PARAMETERS = [
  'dryRun',
  'fieldManager',
  'fieldValidation',
  'force',
  'gracePeriodSeconds',
  'propagationPolicy',
  'orphanDependents',
]
const HEADERS = [
  ...['accept', 'accept-encoding', 'authorization', 'content-type', 'cookie', 'expect', 'if-none-match', 'impersonate-user'],
  ...[
    'impersonate-group',
    'impersonate-uid',
    'impersonate-extra-a',
    'keelson-explain',
    'origin',
    'range',
    'te',
    'traceparent',
    'user-agent',
  ],
  ...['x-forwarded-for', 'x-remote-user', 'sec-websocket-protocol', 'warning', 'audit-id'],
]

test('a long text in a parameter, a path or a header is answered without much work, with a bounded answer', patient, async t => {
  const { server, session, served } = await openAll(t)
  const agent = connection(t)
  await make(session, served.find(({ kind }) => kind === 'ConfigMap')!)
  const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
  const texts = ['a', 'a=b,', '(', '%2C', '1', 'a/b;q=0.1,', '.'].map(part =>
    part.repeat(Math.ceil(SHORT / part.length)).slice(0, SHORT - (SHORT % 3)),
  )
  const faults: string[] = []
  const attempt = async (name: string, path: string, sent: Parameters<typeof ask>[2] = {}) => {
    const fault = await watched(async () => {
      const { status, text } = await ask(server, path, { agent, ...sent }).catch(() => ({ status: 0, text: '' }))
      return { status, length: text.length }
    })
    if (fault) faults.push(`${name} ${fault}`)
  }
  for (const [i, text] of texts.entries()) {
    const encoded = text.includes('%') ? text.slice(0, SHORT - (SHORT % 3)) : encodeURIComponent(text).slice(0, SHORT)
    const safe = encoded.replace(/%.?$/, '')
    for (const name of PARAMETERS)
      await attempt(`${name} ${i}`, `${CONFIG_MAPS}?${name}=${safe}${name === 'watch' ? '&timeoutSeconds=1' : ''}`)
    for (const name of WRITE_PARAMETERS)
      await attempt(`DELETE ${name} ${i}`, `${CONFIG_MAPS}/every-1?dryRun=All&${name}=${safe}`, { method: 'DELETE' })
    for (const name of HEADERS) await attempt(`header ${name} ${i}`, CONFIG_MAPS, { headers: { [name]: text } })
    for (const path of [
      '/',
      '/api/',
      '/apis/',
      '/api/v1/namespaces/',
      `${CONFIG_MAPS}/`,
      `${CONFIG_MAPS}/every-1/`,
      '/openapi/v3/',
      '/healthz/',
    ])
      await attempt(`path ${path} ${i}`, `${path}${safe}`)
  }
  assert.deepEqual(faults, [])
})
