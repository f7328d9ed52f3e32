// Webhooks are asked about every verb of every resource that is served, with the objects and options that belong to it.
import assert from 'node:assert/strict'
import type { ClientHttp2Session } from 'node:http2'
import { test } from 'node:test'
import { patient } from '../kit.ts'
import { reviewing, webhook } from '../kits/webhooks.ts'
import { sampleOf } from '../samples.ts'
import { collectionOf, openAll, type Served } from '../served.ts'
import { over } from '../watch-transcripts.ts'

const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1'
/** The users that write on behalf of the server itself. */
const SERVER = ['system:apiserver', 'system:kube-controller-manager']
const MERGE = 'application/merge-patch+json'
const BINDINGS = '/api/v1/namespaces/default/bindings'
const EXEMPT = 'admissionregistration.k8s.io/v1'

type Seen = { readonly phase: string; readonly request: any }
/** The expected content of a review. */
type Expected = {
  readonly operation: string
  readonly name: string
  readonly namespace: string
  readonly resource: string
  readonly kind: string
  readonly subresource?: string
  readonly has: readonly ('object' | 'oldObject')[]
  readonly options: string | undefined
}

const kindOf = (object: any) => (object === null || object === undefined ? undefined : `${object.apiVersion} ${object.kind}`)

/** Each of them once, in their order. */
const distinct = (all: readonly Expected[]): Expected[] => [...new Map(all.map(each => [JSON.stringify(each), each])).values()]

function described({ request }: Seen): Expected {
  const { operation, name = '', namespace = '', resource, kind, subResource, object, oldObject, options } = request
  return {
    operation,
    name,
    namespace,
    resource: resource.resource,
    kind: `${kind.group === '' ? '' : `${kind.group}/`}${kind.version} ${kind.kind}`,
    ...(subResource && { subresource: subResource }),
    has: [...(object ? (['object'] as const) : []), ...(oldObject ? (['oldObject'] as const) : [])],
    options: kindOf(options),
  }
}

test('webhooks see every write of every resource, with its objects and its options', patient, async t => {
  const { session, served } = await openAll(t)
  const seen: Seen[] = []
  const patching = (phase: string) =>
    webhook(
      t,
      reviewing(request => {
        if (!SERVER.includes(request.userInfo.username)) seen.push({ phase, request })
        // Unknown fields are dropped from the object, and do not hold the request up.
        const patch = Buffer.from('[{"op":"add","path":"/foo","value":"test"}]').toString('base64')
        return { allowed: true, ...(phase === 'mutating' && request.object && { patchType: 'JSONPatch', patch }) }
      }),
    )
  for (const [phase, plural, kind] of [
    ['mutating', 'mutatingwebhookconfigurations', 'MutatingWebhookConfiguration'],
    ['validating', 'validatingwebhookconfigurations', 'ValidatingWebhookConfiguration'],
  ] as const) {
    const { clientConfig } = await patching(phase)
    const webhooks = [
      {
        name: 'all.example.com',
        clientConfig,
        rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/*'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ]
    const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: 'all' }, webhooks }
    assert.equal((await over(session, `${WEBHOOKS}/${plural}`, { method: 'POST', body })).status, 201)
  }
  const problems: string[] = []
  for (const resource of served) {
    const subresources = await subresourcesOf(session, resource)
    problems.push(...(await writesOf(session, { ...resource, subresources }, seen)))
  }
  assert.deepEqual(problems, [])
})

type SentRequest = {
  readonly method: string
  readonly at: string
  readonly body?: unknown
  readonly type?: string
  readonly status?: number | 'any'
}
type Subresource = { readonly name: string; readonly kind: string; readonly verbs: readonly string[] }
type WithSubresources = Served & { readonly subresources: readonly Subresource[] }

async function subresourcesOf(session: ClientHttp2Session, { root, plural, apiVersion }: Served): Promise<Subresource[]> {
  const { resources } = (await over(session, root)).json
  return resources
    .filter(({ name }: any) => name.startsWith(`${plural}/`))
    .map(({ name, kind, verbs, group, version }: any) => ({
      name: name.slice(plural.length + 1),
      kind: `${version ? (group ? `${group}/${version}` : version) : apiVersion} ${kind}`,
      verbs,
    }))
}

const METHODS: Readonly<Record<string, string>> = { create: 'POST', get: 'GET', update: 'PUT', patch: 'PATCH', delete: 'DELETE' }
const CONNECTED = ['Attach', 'Exec', 'PortForward', 'Proxy']
  .map(what => `v1 Pod${what}Options`)
  .concat('v1 ServiceProxyOptions', 'v1 NodeProxyOptions')

/** Bodies of subresources of another kind. */
const MESSAGES: Readonly<Record<string, (name: string) => object>> = {
  'pods/binding': name => ({ apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: 'n' } }),
  'pods/eviction': name => ({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, deleteOptions: { dryRun: ['All'] } }),
  'serviceaccounts/token': () => ({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['api'] } }),
}

/** Sends every kind of write of a resource, and tells where a review is missing or says something else. */
async function writesOf(session: ClientHttp2Session, resource: WithSubresources, seen: Seen[]): Promise<string[]> {
  const problems: string[] = []
  const isExempt = resource.apiVersion.startsWith(EXEMPT)
  const path = collectionOf(resource)
  const sample = sampleOf(resource, 1)
  const { name } = sample.metadata
  const isNamespace = resource.kind === 'Namespace' && resource.apiVersion === 'v1'
  const namespace = resource.namespaced ? 'default' : isNamespace ? name : ''
  const kind = `${resource.apiVersion} ${resource.kind}`
  const one = `${path}/${name}`
  const send = (ask: Omit<SentRequest, 'status'>) => {
    seen.length = 0
    return over(session, ask.at, ask)
  }
  const check = async (what: string, expected: Expected, { status: wantedStatus, ...ask }: SentRequest) => {
    let { status, body } = await send(ask)
    // Somebody of the server's own, such as a controller that keeps the status, was quicker.
    for (let tries = 0; ask.method === 'PUT' && status === 409 && tries < 5; tries++) {
      const { resourceVersion } = (await over(session, one)).json.metadata
      const sent = ask.body as { metadata: object }
      ;({ status, body } = await send({ ...ask, body: { ...sent, metadata: { ...sent.metadata, resourceVersion } } }))
    }
    if (wantedStatus !== 'any' && (wantedStatus ? status !== wantedStatus : status >= 300))
      problems.push(`${what} ${path}: ${status} ${body}`)
    for (const phase of ['mutating', 'validating']) {
      // After a lost race against the server's own writes, such as those of status, a request is admitted again.
      const found = distinct(seen.filter(each => each.phase === phase).map(described))
      const wanted = isExempt ? [] : [expected]
      try {
        assert.deepEqual(found, wanted)
      } catch {
        problems.push(`${what} ${path} ${phase}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`)
      }
    }
  }
  const create = {
    operation: 'CREATE',
    name,
    namespace,
    resource: resource.plural,
    kind,
    has: ['object'],
    options: 'meta.k8s.io/v1 CreateOptions',
  } as const
  const update = { ...create, operation: 'UPDATE', has: ['object', 'oldObject'], options: 'meta.k8s.io/v1 UpdateOptions' } as const
  const remove = { ...create, operation: 'DELETE', has: ['oldObject'], options: 'meta.k8s.io/v1 DeleteOptions' } as const
  await check('create', create, { method: 'POST', at: path, body: sample })
  const annotate = (key: string) => ({ metadata: { annotations: { [`example.com/${key}`]: 'yes' } } })
  await check('patch', update, { method: 'PATCH', at: one, body: annotate('patched'), type: MERGE })
  const stored = (await over(session, one)).json
  const annotated = { ...stored, metadata: { ...stored.metadata, ...annotate('updated').metadata } }
  await check('update', update, { method: 'PUT', at: one, body: annotated })
  const applied = { apiVersion: resource.apiVersion, kind: resource.kind, metadata: { name, labels: { applied: 'yes' } } }
  await check('apply', update, {
    method: 'PATCH',
    at: `${one}?fieldManager=m&force=true`,
    body: applied,
    type: 'application/apply-patch+yaml',
  })
  for (const { name: subresource, verbs, kind: spoken } of resource.subresources) {
    const at = `${one}/${subresource}`
    const about = { subresource, kind: spoken }
    if (verbs.includes('patch') && !CONNECTED.includes(spoken))
      await check(`patch of ${subresource}`, { ...update, ...about }, { method: 'PATCH', at, body: annotate(subresource), type: MERGE })
    if (verbs.includes('update') && !CONNECTED.includes(spoken)) {
      const read = verbs.includes('get') ? at : one
      const now = (await over(session, read)).json
      const body = { ...now, metadata: { ...now.metadata, annotations: { 'example.com/updated': subresource } } }
      await check(`update of ${subresource}`, { ...update, ...about }, { method: 'PUT', at, body })
    }
    if (CONNECTED.includes(spoken))
      // The other end of the connection answers these, if anything does.
      for (const verb of verbs)
        await check(
          `${verb} of ${subresource}`,
          { ...create, ...about, operation: 'CONNECT', options: undefined },
          { method: METHODS[verb]!, at, status: 'any' },
        )
    const message = MESSAGES[`${resource.plural}/${subresource}`]?.(name)
    // The pod has a node already, which is found out after it was admitted.
    const status = subresource === 'binding' ? 409 : 201
    if (message) await check(`create of ${subresource}`, { ...create, ...about }, { method: 'POST', at, body: message, status })
    if (message && subresource === 'binding')
      await check(
        'create of a binding',
        { ...create, kind: spoken, resource: 'bindings' },
        { method: 'POST', at: BINDINGS, body: message, status },
      )
  }
  const grace = 'gracePeriodSeconds=0'
  await check('delete', remove, { method: 'DELETE', at: `${one}?${grace}` })
  await gone(session, one)
  if (resource.verbs.includes('deletecollection')) {
    await over(session, path, { method: 'POST', body: sample })
    await check(
      'deletecollection',
      { ...remove, name: '', namespace: isNamespace ? '' : namespace },
      {
        method: 'DELETE',
        at: `${path}?labelSelector=every%3Dkind&${grace}`,
      },
    )
    await gone(session, one)
  }
  return problems
}

/** Takes away what holds a deletion back where a controller would. */
async function gone(session: ClientHttp2Session, path: string): Promise<void> {
  const { status, json } = await over(session, path)
  if (status === 404) return
  if (json.spec?.finalizers)
    await over(session, `${path}/finalize`, { method: 'PUT', body: { ...json, spec: { ...json.spec, finalizers: [] } } })
  else await over(session, path, { method: 'PATCH', body: { metadata: { finalizers: null } }, type: MERGE })
}
