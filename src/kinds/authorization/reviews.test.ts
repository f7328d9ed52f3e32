import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBench } from '../../../test/kits/registry.ts'
import type { Access, Attributes, Decision } from '../../schema/access.ts'
import type { User } from '../../schema/user.ts'
import { LocalSubjectAccessReview } from './localsubjectaccessreview.ts'
import { SelfSubjectAccessReview } from './selfsubjectaccessreview.ts'
import { SelfSubjectRulesReview } from './selfsubjectrulesreview.ts'
import { SubjectAccessReview } from './subjectaccessreview.ts'

const KINDS = [LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview]

async function open(t: { after(undo: () => unknown): void }, decision: Decision = { verdict: 'allow', reason: 'because' }) {
  const asked: [User, Attributes][] = []
  const access: Partial<Access> = {
    authorize(user, attributes) {
      asked.push([user, attributes])
      return decision
    },
    rulesFor: ({ name }, namespace) => ({
      resourceRules: [{ verbs: ['get'], apiGroups: [name], resources: [namespace] }],
      nonResourceRules: [],
      incomplete: true,
      problem: 'something is missing',
    }),
  }
  const bench = await openBench(KINDS, { access })
  t.after(() => bench.close())
  return { send: bench.send, asked }
}
const get = { verb: 'get', resource: 'pods', namespace: 'ns' }

test('a SubjectAccessReview is answered with the decision and its reason', async t => {
  const { send, asked } = await open(t)
  const spec = {
    user: 'jane',
    uid: 'u',
    groups: ['devs'],
    extra: { k: ['v'], empty: [], none: null },
    resourceAttributes: { ...get, subresource: 'log', name: 'p', group: 'g' },
  }
  const { code, body } = await send('POST subjectaccessreviews', { spec, status: { allowed: false, denied: true } })
  assert.equal(code, 201)
  assert.deepEqual(body.status, { allowed: true, reason: 'because' })
  assert.deepEqual(body.spec, spec)
  assert.deepEqual(Object.keys(body.metadata), ['managedFields'])
  const resource = { group: 'g', version: '*', plural: 'pods', subresource: 'log', namespace: 'ns', name: 'p' }
  const user = { name: 'jane', uid: 'u', groups: ['devs'], extra: { k: ['v'], empty: [], none: [] } }
  assert.deepEqual(asked, [[user, { verb: 'get', path: '', resource }]])
})

test('non-resource URLs are checked by HTTP verb', async t => {
  const { send, asked } = await open(t, { verdict: 'deny', reason: 'no' })
  const { body } = await send('POST selfsubjectaccessreviews', { spec: { nonResourceAttributes: { path: '/x', verb: 'get' } } })
  assert.deepEqual(body.status, { allowed: false, denied: true, reason: 'no' })
  assert.deepEqual(asked, [
    [
      { name: 'tester', groups: [] },
      { verb: 'get', path: '/x' },
    ],
  ])
})

test('no opinion is returned as not allowed', async t => {
  const { send } = await open(t, { verdict: 'no-opinion' })
  const { body } = await send('POST selfsubjectaccessreviews', { spec: { resourceAttributes: get } })
  assert.deepEqual(body.status, { allowed: false })
})

test('questions that make no sense are refused', async t => {
  const { send } = await open(t)
  const refused = async (plural: string, object: object) => {
    const { code, body } = await send(`POST ${plural}`, object)
    return `${code} ${body.message}`
  }
  const one = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
  assert.equal(
    await refused('subjectaccessreviews', { spec: {} }),
    `422 .authorization.k8s.io "" is invalid: [spec: Invalid value: null: ${one}, spec.user: Invalid value: "": at least one of user or group must be specified]`,
  )
  assert.equal(
    await refused('selfsubjectaccessreviews', {
      metadata: { name: 'x' },
      spec: { resourceAttributes: get, nonResourceAttributes: { path: '/', verb: 'get' } },
    }).then(text => text.replace(/"managedFields":\[.*\]\}:/, '…:')),
    `422 .authorization.k8s.io "" is invalid: [spec: Invalid value: {"Path":"/","Verb":"get"}: ${one}, metadata: Invalid value: {"name":"x",…: must be empty]`,
  )
  const elsewhere = { spec: { user: 'jane', resourceAttributes: get } }
  assert.equal(
    await refused('localsubjectaccessreviews', elsewhere),
    '422 .authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "ns": must match metadata.namespace',
  )
  assert.equal(
    await refused('localsubjectaccessreviews', { spec: { user: 'jane', nonResourceAttributes: { path: '/' } } }),
    '422 .authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/","Verb":""}: disallowed on this kind of request',
  )
  assert.equal(await refused('selfsubjectrulesreviews', { spec: {} }), '400 no namespace on request')
})

test('the namespace of a local question is that of its path', async t => {
  const { send } = await open(t)
  const { code, body } = await send('POST localsubjectaccessreviews', {
    spec: { groups: ['devs'], resourceAttributes: { ...get, namespace: 'default' } },
  })
  assert.deepEqual([code, body.metadata.namespace, body.status.allowed], [201, 'default', true])
})

test('selectors are checked, and requirements that cannot be parsed are reported', async t => {
  const { send } = await open(t)
  const about = async (more: object) => {
    const { code, body } = await send('POST selfsubjectaccessreviews', { spec: { resourceAttributes: { ...get, ...more } } })
    return code === 201 ? (body.status.evaluationError ?? '') : body.message.replace('.authorization.k8s.io "" is invalid: ', '')
  }
  const ignored = (field: string, how = 'ignored') => `spec.resourceAttributes.${field} ${how} due to parse error`
  assert.equal(await about({ fieldSelector: { rawSelector: 'a=b' }, labelSelector: { rawSelector: 'a in (b)' } }), '')
  assert.equal(
    await about({ fieldSelector: { rawSelector: 'a' }, labelSelector: { rawSelector: 'a in' } }),
    `${ignored('fieldSelector')}; ${ignored('labelSelector')}`,
  )
  const some = [
    { key: 'a', operator: 'In', values: ['b'] },
    { key: 'a', operator: 'Resembles', values: ['b'] },
  ]
  assert.equal(await about({ fieldSelector: { requirements: some } }), ignored('fieldSelector', 'partially ignored'))
  assert.equal(await about({ labelSelector: { requirements: some.slice(1) } }), ignored('labelSelector'))
  assert.equal(await about({ fieldSelector: { requirements: [{ key: 'a', operator: 'Exists' }] } }), ignored('fieldSelector'))
  assert.equal(await about({ labelSelector: { requirements: [{ key: 'a', operator: 'Exists' }] } }), '')
  assert.equal(
    await about({ fieldSelector: {} }),
    'spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required',
  )
  assert.equal(
    await about({ labelSelector: { rawSelector: 'a=b', requirements: some } }),
    'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements',
  )
  assert.equal(
    await about({ fieldSelector: { requirements: [{ key: '', operator: 'In' }] } }),
    "[spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified, spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn']",
  )
  assert.equal(
    await about({ labelSelector: { requirements: [{ key: 'a', operator: 'Exists', values: ['x'] }] } }),
    "spec.resourceAttributes.labelSelector.requirements[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
  )
})

test('SelfSubjectRulesReview returns the rules without the spec that was sent', async t => {
  const { send } = await open(t)
  const { code, body } = await send('POST selfsubjectrulesreviews', { metadata: { name: 'x' }, spec: { namespace: 'ns' } })
  assert.equal(code, 201)
  assert.deepEqual(body, {
    kind: 'SelfSubjectRulesReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec: {},
    status: {
      resourceRules: [{ verbs: ['get'], apiGroups: ['tester'], resources: ['ns'] }],
      nonResourceRules: [],
      incomplete: true,
      evaluationError: 'something is missing',
    },
  })
})
