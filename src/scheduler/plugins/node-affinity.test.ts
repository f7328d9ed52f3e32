import assert from 'node:assert/strict'
import test from 'node:test'
import { clusterOf, cycleOf, filterResults, nodeOf, podOf, scoreResults } from '../../../test/kits/scheduler.ts'
import { nodeAffinity, nodeAffinityWith } from './node-affinity.ts'
import { nodeName } from './node-name.ts'

const NO = "unresolvable: node(s) didn't match Pod's node affinity/selector"

const required = (...terms: object[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
})
const labels = (key: string, operator: string, ...values: string[]) => ({ matchExpressions: [{ key, operator, values }] })
const fields = (operator: string, ...values: string[]) => ({ matchFields: [{ key: 'metadata.name', operator, values }] })

test('a node matches when its labels and its name meet what the pod demands', () => {
  const node = nodeOf('node_1', { labels: { foo: 'bar', n: '5' } })
  const cases: [what: string, spec: object, expected: unknown][] = [
    ['no demand', {}, 'nothing to say'],
    ['a selector', { nodeSelector: { foo: 'bar' } }, 'ok'],
    ['a selector with a label that is not there', { nodeSelector: { foo: 'bar', baz: 'x' } }, NO],
    ['In', required(labels('foo', 'In', 'bar', 'value2')), 'ok'],
    ['In without a match', required(labels('foo', 'In', 'value1')), NO],
    ['NotIn', required(labels('foo', 'NotIn', 'x')), 'ok'],
    ['Exists', required(labels('foo', 'Exists')), 'ok'],
    ['DoesNotExist', required(labels('foo', 'DoesNotExist')), NO],
    ['Gt', required(labels('n', 'Gt', '3')), 'ok'],
    ['Gt that is not greater', required(labels('n', 'Gt', '5')), NO],
    ['Lt of no number', required(labels('foo', 'Lt', '5')), NO],
    ['no terms', required(), NO],
    ['an empty term', required({}), NO],
    ['one of two terms', required(labels('diffkey', 'In', 'x'), labels('foo', 'In', 'bar')), 'ok'],
    ['both conditions of a term', required({ ...labels('foo', 'In', 'bar'), ...fields('NotIn', 'node_1') }), NO],
    ['selector and affinity', { nodeSelector: { foo: 'other' }, ...required(labels('foo', 'Exists')) }, NO],
    ['an operator that is unknown', required(labels('foo', 'Like', 'b*')), NO],
    ['the name', required(fields('In', 'node_1')), 'ok'],
    ['another name', required(fields('NotIn', 'node_1')), NO],
  ]
  for (const [what, spec, expected] of cases) {
    const result = filterResults(nodeAffinity, cycleOf(podOf({ spec }), clusterOf([node])))
    assert.deepEqual(result, typeof expected === 'string' && expected !== 'nothing to say' ? { node_1: expected } : expected, what)
  }
})

test('names in all terms restrict the nodes to look at, and names that contradict leave none', () => {
  const namesOf = (spec: object) => {
    const filter = nodeAffinity.filter!(cycleOf(podOf({ spec }), clusterOf([nodeOf('a'), nodeOf('b')])))
    return filter && 'reasons' in filter ? filter.reasons[0] : filter?.names && [...filter.names]
  }
  assert.deepEqual(namesOf(required(fields('In', 'a'), fields('In', 'b'))), ['a', 'b'])
  assert.equal(namesOf(required(fields('In', 'a'), labels('foo', 'Exists'))), undefined)
  const both = { matchFields: [...fields('In', 'a').matchFields, ...fields('In', 'b').matchFields] }
  assert.equal(namesOf(required(both)), 'pod affinity terms conflict')
})

test('the weights of preferences that a node meets add up', () => {
  const cluster = clusterOf([
    nodeOf('one', { labels: { foo: 'bar' } }),
    nodeOf('two', { labels: { key: 'value' } }),
    nodeOf('three', { labels: { foo: 'bar', key: 'value', az: 'az1' } }),
  ])
  const preferred = [
    { weight: 2, preference: labels('foo', 'In', 'bar') },
    { weight: 4, preference: labels('key', 'In', 'value') },
    { weight: 5, preference: { matchExpressions: ['foo', 'key', 'az'].map(key => ({ key, operator: 'Exists' })) } },
  ]
  const spec = { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } } }
  assert.deepEqual(scoreResults(nodeAffinity, cycleOf(podOf({ spec }), cluster)), { one: 18, two: 36, three: 100 })
  assert.equal(scoreResults(nodeAffinity, cycleOf(podOf(), cluster)), undefined)
})

test('a pod waits for labels with which a node matches', () => {
  const pod = podOf({ spec: { nodeSelector: { foo: 'bar' } } })
  const retries = (before: object, after: object) =>
    nodeAffinity.queueingHints!['node labels']!(
      pod,
      {
        about: 'node',
        name: 'node labels',
        before: nodeOf('n', { labels: before as never }),
        after: nodeOf('n', { labels: after as never }),
      },
      {} as never,
    )
  assert.equal(retries({}, { foo: 'bar' }), true)
  assert.equal(retries({ foo: 'bar' }, { foo: 'bar', x: 'y' }), false)
  assert.equal(retries({ foo: 'bar' }, {}), false)
})

test('a pod that names its node can be on no other', () => {
  const cluster = clusterOf([nodeOf('foo'), nodeOf('bar')])
  assert.equal(filterResults(nodeName, cycleOf(podOf(), cluster)), 'nothing to say')
  assert.deepEqual(filterResults(nodeName, cycleOf(podOf({ node: 'foo' }), cluster)), {
    foo: 'ok',
    bar: "unresolvable: node(s) didn't match the requested node name",
  })
})

test('an added affinity holds for every pod, beside its own', () => {
  const plugin = nodeAffinityWith({
    addedAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [labels('pool', 'In', 'batch')] },
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 10, preference: labels('disk', 'Exists') }],
    } as never,
  })
  const cluster = clusterOf([nodeOf('a', { labels: { pool: 'batch', disk: '' } }), nodeOf('b', { labels: { pool: 'batch' } }), nodeOf('c')])
  const enforced = "unresolvable: node(s) didn't match scheduler-enforced node affinity"
  assert.deepEqual(filterResults(plugin, cycleOf(podOf(), cluster)), { a: 'ok', b: 'ok', c: enforced })
  assert.deepEqual(filterResults(plugin, cycleOf(podOf({ spec: { nodeSelector: { disk: '' } } }), cluster)), {
    a: 'ok',
    b: NO,
    c: enforced,
  })
  assert.deepEqual(scoreResults(plugin, cycleOf(podOf(), cluster)), { a: 100, b: 0, c: 0 })
  const hint = plugin.queueingHints!['node labels']!
  const [before, after] = [nodeOf('c'), nodeOf('c', { labels: { pool: 'batch' } })]
  assert.equal(hint(podOf(), { about: 'node', name: 'node labels', before, after }, cycleOf(podOf(), cluster)), true)
  assert.equal(hint(podOf(), { about: 'node', name: 'node labels', before: after, after: before }, cycleOf(podOf(), cluster)), false)
})
