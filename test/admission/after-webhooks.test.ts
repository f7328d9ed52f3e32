// Objects after webhooks have changed them, and the deadlines of webhooks: the cases of Kubernetes' integration tests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, CONFIG_MAPS, configMap, freshServer, patient, type Target } from '../kit.ts'
import { configure, podRule, ruleFor } from '../kits/admission-objects.ts'
import { allow, reviewing, webhook } from '../kits/webhooks.ts'

const PODS = '/api/v1/namespaces/default/pods'
const pod = (name: string, metadata: object = {}, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'c', image: 'example.com/c' }], ...spec },
})
const send = (target: Target, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  ask(target, path, { method, ...(body !== undefined && { body }), headers })
const warnings = (answer: { headers: NodeJS.Dict<string | string[]> }) => String(answer.headers['warning'] ?? '')

/** A patch that depends on the object. */
const patching = (operations: (object: any) => object[]) =>
  reviewing(({ object }) => {
    const patch = object ? operations(object) : []
    if (patch.length === 0) return { allowed: true }
    return { allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }
  })

test('owner references that a webhook repeats are removed, with a warning', patient, async t => {
  // Without controllers nobody collects what has no owner.
  const server = await freshServer(t, { controllers: ['none'] })
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: '1c8bd8e6-1c9b-4e1c-a7ae-6c5f1e3f8d11' }
  const { json } = await send(server, 'POST', PODS, pod('p', { ownerReferences: [owner] }))
  const hook = await webhook(
    t,
    patching(({ metadata }) => (metadata.ownerReferences ? [{ op: 'add', path: '/metadata/ownerReferences/-', value: owner }] : [])),
  )
  await configure(server, 'mutating', 'owners', { hook, rules: [podRule()] })
  const patched = await send(server, 'PATCH', `${PODS}/p`, [], { 'content-type': 'application/json-patch+json' })
  const repeated = `299 - ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${owner.uid}"`
  assert.equal(warnings(patched), repeated)
  assert.deepEqual(patched.json.metadata.ownerReferences, [owner])
  const updated = await send(server, 'PUT', `${PODS}/p`, json)
  assert.equal(warnings(updated), repeated)
  const sentTwice = await send(server, 'PUT', `${PODS}/p`, {
    ...json,
    metadata: { ...json.metadata, ownerReferences: [owner, owner, { ...owner, blockOwnerDeletion: true }] },
  })
  assert.match(warnings(sentTwice), /^299 - "\.metadata\.ownerReferences contains duplicate entries; API server dedups/)
})

test('managedFields that a webhook breaks are restored, with a warning', patient, async t => {
  const server = await freshServer(t)
  const { json } = await send(server, 'POST', PODS, pod('p'))
  const hook = await webhook(
    t,
    patching(() => ['apiVersion', 'fieldsV1', 'fieldsType'].map(field => ({ op: 'remove', path: `/metadata/managedFields/0/${field}` }))),
  )
  await configure(server, 'mutating', 'fields', { hook, rules: [podRule()] })
  const patched = await send(server, 'PATCH', `${PODS}/p`, [], { 'content-type': 'application/json-patch+json' })
  assert.match(
    warnings(patched),
    /^299 - "\.metadata\.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: apiVersion must not be empty"$/,
  )
  assert.deepEqual(patched.json.metadata.managedFields, json.metadata.managedFields)
})

test('a webhook is told its timeout: its own, or the rest of that of the request', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, allow)
  for (const type of ['mutating', 'validating'] as const)
    await configure(server, type, 'a', { hook, timeoutSeconds: 20 }, { hook, timeoutSeconds: 5 })
  await send(server, 'POST', `${CONFIG_MAPS}?timeout=10s`, configMap('a'))
  assert.deepEqual(
    hook.calls.map(({ url }) => url),
    ['10s', '5s', '10s', '5s'].map(time => `/review?timeout=${time}`),
  )
})

test('when the time of the request is over, webhooks that may fail do not save it', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, () => {})
  await configure(server, 'mutating', 'a', { hook, failurePolicy: 'Ignore' }, { hook, failurePolicy: 'Ignore' })
  const late = await send(server, 'POST', `${CONFIG_MAPS}?timeout=1s`, configMap('a'))
  assert.deepEqual([late.status, late.json.reason], [504, 'Timeout'])
  assert.equal(late.json.message, 'Timeout: request did not complete within the allotted timeout')
  assert.equal(hook.calls.length, 1)
  assert.equal((await send(server, 'GET', `${CONFIG_MAPS}/a`)).status, 404)
})

const label = (name: string) =>
  patching(({ metadata }) => (metadata.labels?.[name] ? [] : [{ op: 'add', path: `/metadata/labels/${name}`, value: 'true' }]))
const setLabel = (name: string, value: string) =>
  patching(({ metadata }) =>
    metadata.labels[name] === value ? [] : [{ op: metadata.labels[name] ? 'replace' : 'add', path: `/metadata/labels/${name}`, value }],
  )
/** Adds a label where another one is. */
const labelIf = (given: string, name: string) =>
  patching(({ metadata: { labels } }) =>
    labels[given] && !labels[name] ? [{ op: 'add', path: `/metadata/labels/${name}`, value: 'true' }] : [],
  )
const priority = (className: string) =>
  patching(({ spec }) =>
    spec.priorityClassName === className
      ? []
      : [
          { op: 'add', path: '/spec/priorityClassName', value: className },
          ...(spec.priority === undefined ? [] : [{ op: 'remove', path: '/spec/priority' }]),
        ],
  )
const always = { reinvocationPolicy: 'IfNeeded' }
const once = {}

const reinvocations: {
  readonly what: string
  readonly priorityClassName?: string
  readonly webhooks: readonly [answer: Parameters<typeof webhook>[1], more: object][]
  readonly calls: readonly number[]
  readonly labels?: Record<string, string>
  readonly error?: string
}[] = [
  { what: 'what a plugin changed before them', priorityClassName: 'low', webhooks: [[allow, always]], calls: [1] },
  { what: 'their own change, when plugins add nothing to it', priorityClassName: 'low', webhooks: [[label('a'), always]], calls: [1] },
  { what: 'what a plugin makes of their change', priorityClassName: 'low', webhooks: [[priority('high'), always]], calls: [2] },
  {
    what: 'the change of a later webhook, which is not asked about its own',
    webhooks: [
      [label('a'), always],
      [labelIf('a', 'b'), always],
    ],
    calls: [2, 1],
    labels: { x: 'true', a: 'true', b: 'true' },
  },
  {
    what: 'each other, once, when they contradict each other',
    webhooks: [
      [setLabel('fight', 'true'), always],
      [setLabel('fight', 'false'), always],
    ],
    calls: [2, 2],
    labels: { x: 'true', fight: 'false' },
  },
  {
    what: 'nothing, when they were not asked the first time',
    webhooks: [
      [labelIf('a', 'b'), { ...always, objectSelector: { matchLabels: { a: 'true' } } }],
      [label('a'), always],
    ],
    calls: [0, 1],
    labels: { x: 'true', a: 'true' },
  },
  {
    what: 'nothing that plugins reject',
    webhooks: [[priority('missing'), always]],
    calls: [1],
    error: 'pods "p" is forbidden: no PriorityClass with name missing was found',
  },
  {
    what: 'nothing, when they do not want to be',
    webhooks: [
      [labelIf('a', 'b'), { reinvocationPolicy: 'Never' }],
      [label('a'), once],
    ],
    calls: [1, 1],
    labels: { x: 'true', a: 'true' },
  },
]
for (const { what, priorityClassName, webhooks, calls, labels, error } of reinvocations)
  test(`mutating webhooks are asked again about ${what}`, patient, async t => {
    const server = await freshServer(t)
    for (const [name, value] of [
      ['low', 1],
      ['high', 10],
    ] as const)
      await send(server, 'POST', '/apis/scheduling.k8s.io/v1/priorityclasses', {
        apiVersion: 'scheduling.k8s.io/v1',
        kind: 'PriorityClass',
        metadata: { name },
        value,
      })
    const hooks = await Promise.all(webhooks.map(([answer]) => webhook(t, answer)))
    await configure(server, 'mutating', 'a', ...hooks.map((hook, i) => ({ hook, rules: [podRule()], ...webhooks[i]![1] })))
    const made = await send(server, 'POST', PODS, pod('p', { labels: { x: 'true' } }, priorityClassName ? { priorityClassName } : {}))
    assert.equal(made.status, error ? 403 : 201, made.text)
    if (error) assert.equal(made.json.message, error)
    if (labels) assert.deepEqual(made.json.metadata.labels, labels)
    assert.deepEqual(
      hooks.map(({ seen }) => seen.length),
      calls,
    )
  })

test('fields that a webhook adds get their defaults and are validated like the rest', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(
    t,
    patching(({ spec }) => [
      { op: 'add', path: '/spec/initContainers', value: [{ ...spec.containers[0], name: 'init' }, { name: 'bare' }] },
    ]),
  )
  await configure(server, 'mutating', 'a', {
    hook,
    rules: [podRule()],
    matchConditions: [{ name: 'new', expression: 'oldObject == null' }],
  })
  const { status, text } = await send(server, 'POST', PODS, pod('p'))
  assert.equal(status, 422, text)
  assert.match(text, /spec\.initContainers\[1\]\.image: Required value/)
})

test('a webhook about one of the two kinds of events sees those that are sent as the other', patient, async t => {
  const server = await freshServer(t)
  const hook = await webhook(t, allow)
  await configure(server, 'validating', 'a', { hook, rules: [ruleFor(['events'], { version: 'v1' })] })
  const made = await send(server, 'POST', '/apis/events.k8s.io/v1/namespaces/default/events', {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'e' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'example.com/c',
    reportingInstance: 'i',
    action: 'a',
    reason: 'r',
    type: 'Normal',
    regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
    note: 'what happened',
  })
  assert.equal(made.status, 201, made.text)
  const [{ kind, requestKind, object }] = hook.seen
  assert.deepEqual([kind.group, requestKind.group, object.apiVersion, object.message], ['', 'events.k8s.io', 'v1', 'what happened'])
})
