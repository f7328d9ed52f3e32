import assert from 'node:assert/strict'
import test from 'node:test'
import {
  clusterOf,
  cycleOf,
  filterResults,
  lookupsIn,
  nodeOf,
  type PodDraft,
  podOf,
  scoreResults,
  type World,
} from '../../../test/kits/scheduler.ts'
import { podInfoOf } from '../pod-info.ts'
import { interPodAffinity, interPodAffinityWith } from './inter-pod-affinity.ts'

const NOT_NEAR = "unresolvable: node(s) didn't match pod affinity rules"
const TOO_NEAR = "node(s) didn't match pod anti-affinity rules"
const UNWANTED = "node(s) didn't satisfy existing pods anti-affinity rules"

const selector = (...values: string[]) => ({ labelSelector: { matchExpressions: [{ key: 'service', operator: 'In', values }] } })
const term = (topologyKey: string, more: object = selector('security')) => ({ topologyKey, ...more })
const near = (...terms: object[]) => ({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } })
const away = (...terms: object[]) => ({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } } })

/** Two nodes in region r1, one in r2. */
const nodes = [
  nodeOf('one', { labels: { region: 'r1' } }),
  nodeOf('two', { labels: { region: 'r1' } }),
  nodeOf('three', { labels: { region: 'r2' } }),
]
const SECURITY = { service: 'security' }
const there = (node: string, more: PodDraft = {}) => podOf({ name: `there-${node}`, node, labels: SECURITY, ...more })

test('required affinity and anti-affinity hold within the domains of the topology key', () => {
  const cases: [what: string, pod: PodDraft, existing: ReturnType<typeof podOf>[], world: World, expected: unknown][] = [
    ['no demands', {}, [there('one')], {}, 'nothing to say'],
    ['near a pod', { spec: near(term('region')) }, [there('one')], {}, ['ok', 'ok', NOT_NEAR]],
    ['near a pod on the same node', { spec: near(term('kubernetes.io/hostname')) }, [there('one')], {}, ['ok', NOT_NEAR, NOT_NEAR]],
    ['nobody to be near to', { spec: near(term('region', selector('nobody'))) }, [there('one')], {}, [NOT_NEAR, NOT_NEAR, NOT_NEAR]],
    ['the first of its kind', { labels: SECURITY, spec: near(term('region')) }, [], {}, ['ok', 'ok', 'ok']],
    [
      'the first of its kind where the key is missing',
      { labels: SECURITY, spec: near(term('rack')) },
      [],
      {},
      [NOT_NEAR, NOT_NEAR, NOT_NEAR],
    ],
    [
      'pods of another namespace',
      { spec: near(term('region')) },
      [there('one', { namespace: 'other' })],
      {},
      [NOT_NEAR, NOT_NEAR, NOT_NEAR],
    ],
    [
      'a namespace that is named',
      { spec: near(term('region', { ...selector('security'), namespaces: ['other'] })) },
      [there('one', { namespace: 'other' })],
      {},
      ['ok', 'ok', NOT_NEAR],
    ],
    [
      'namespaces by label',
      { spec: near(term('region', { ...selector('security'), namespaceSelector: { matchLabels: { team: 'a' } } })) },
      [there('one', { namespace: 'other' }), there('three')],
      { namespaces: { other: { team: 'a' }, default: {} } },
      ['ok', 'ok', NOT_NEAR],
    ],
    [
      'all namespaces',
      { spec: away(term('kubernetes.io/hostname', { ...selector('security'), namespaceSelector: {} })) },
      [there('one', { namespace: 'other' }), there('three')],
      {},
      [TOO_NEAR, 'ok', TOO_NEAR],
    ],
    [
      'one pod must meet all terms',
      { spec: near(term('region'), term('region', { labelSelector: { matchLabels: { tier: 'db' } } })) },
      [there('one'), there('three', { labels: { ...SECURITY, tier: 'db' } })],
      {},
      [NOT_NEAR, NOT_NEAR, 'ok'],
    ],
    ['away from a pod', { spec: away(term('region')) }, [there('one')], {}, [TOO_NEAR, TOO_NEAR, 'ok']],
    ['away from one node', { spec: away(term('kubernetes.io/hostname')) }, [there('one')], {}, [TOO_NEAR, 'ok', 'ok']],
    ['others want it away', { labels: SECURITY }, [there('three', { labels: {}, spec: away(term('region')) })], {}, ['ok', 'ok', UNWANTED]],
    ['others want somebody else away', {}, [there('three', { labels: {}, spec: away(term('region')) })], {}, 'nothing to say'],
    [
      'others want its namespace away',
      { labels: SECURITY },
      [
        there('one', {
          namespace: 'other',
          spec: away(term('kubernetes.io/hostname', { ...selector('security'), namespaceSelector: { matchLabels: { team: 'b' } } })),
        }),
      ],
      { namespaces: { default: { team: 'b' } } },
      [UNWANTED, 'ok', 'ok'],
    ],
    ['no selector means nobody', { spec: away({ topologyKey: 'region' }) }, [there('one')], {}, ['ok', 'ok', 'ok']],
    [
      'an empty selector means everybody',
      { spec: away({ topologyKey: 'region', labelSelector: {} }) },
      [there('one')],
      {},
      [TOO_NEAR, TOO_NEAR, 'ok'],
    ],
  ]
  for (const [what, pod, existing, world, expected] of cases) {
    const result = filterResults(interPodAffinity, cycleOf(podOf(pod), clusterOf(nodes, existing), world))
    assert.deepEqual(typeof result === 'string' ? result : Object.values(result), expected, what)
  }
})

test('added and removed pods are taken into account', () => {
  const cluster = clusterOf(nodes, [there('one')])
  const node = cluster.node('one')!
  const filterOf = (draft: PodDraft) => {
    const filter = interPodAffinity.filter!(cycleOf(podOf(draft), cluster))!
    assert.ok(!('reasons' in filter))
    return filter.copy!()
  }
  const distant = filterOf({ spec: away(term('region')) })
  distant.adjust!(podInfoOf(there('one')), node, -1)
  assert.equal(distant.test(node), undefined)
  const close = filterOf({ spec: near(term('region')) })
  close.adjust!(podInfoOf(there('one')), node, -1)
  assert.equal(`unresolvable: ${close.test(node)!.reasons[0]}`, NOT_NEAR)
  const wanted = filterOf({ labels: SECURITY, spec: away(term('rack')) })
  wanted.adjust!(podInfoOf(there('one', { name: 'more', spec: away(term('region')) })), node, 1)
  assert.equal(wanted.test(node)!.reasons[0], UNWANTED)
})

const preferring = (kind: 'podAffinity' | 'podAntiAffinity', weight: number, topologyKey: string) => ({
  affinity: { [kind]: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight, podAffinityTerm: term(topologyKey) }] } },
})

test('preferences of the pod and of those that are there add up by topology domain', () => {
  const scores = (pod: PodDraft, existing: ReturnType<typeof podOf>[]) =>
    scoreResults(interPodAffinity, cycleOf(podOf(pod), clusterOf(nodes, existing)))
  assert.equal(scores({}, [there('one')]), undefined)
  assert.deepEqual(scores({ spec: preferring('podAffinity', 5, 'region') }, [there('one')]), { one: 100, two: 100, three: 0 })
  assert.deepEqual(scores({ spec: preferring('podAntiAffinity', 5, 'region') }, [there('one')]), { one: 0, two: 0, three: 100 })
  assert.deepEqual(
    scores({ spec: preferring('podAffinity', 8, 'kubernetes.io/hostname') }, [there('one'), there('three'), there('two', { labels: {} })]),
    { one: 100, two: 0, three: 100 },
  )
  // Those that are there have preferences, and demands, about the new one.
  assert.deepEqual(scores({ labels: SECURITY }, [there('three', { spec: preferring('podAffinity', 5, 'region') })]), {
    one: 0,
    two: 0,
    three: 100,
  })
  assert.deepEqual(scores({ labels: SECURITY }, [there('three', { spec: preferring('podAntiAffinity', 5, 'region') })]), {
    one: 100,
    two: 100,
    three: 0,
  })
  assert.deepEqual(scores({ labels: SECURITY }, [there('one', { spec: near(term('region')) })]), { one: 100, two: 100, three: 0 })
})

test('a pod is retried when pods that it needs appear, or pods that conflict with it by anti-affinity are deleted', () => {
  const context = { lookups: lookupsIn({ namespaces: { other: { team: 'a' } } }), cluster: clusterOf([]) }
  const { queueingHints } = interPodAffinity
  const added = (pod: PodDraft, other: PodDraft) =>
    queueingHints!['pod added']!(podOf(pod), { about: 'pod', name: 'pod added', after: podInfoOf(there('one', other)) }, context)
  assert.equal(added({ spec: near(term('region')) }, {}), true)
  assert.equal(added({ spec: near(term('region')) }, { labels: {} }), false)
  const byLabel = { spec: near(term('region', { ...selector('security'), namespaceSelector: { matchLabels: { team: 'a' } } })) }
  assert.equal(added(byLabel, { namespace: 'other' }), true)
  const gone = (pod: PodDraft, other: PodDraft) =>
    queueingHints!['pod deleted']!(podOf(pod), { about: 'pod', name: 'pod deleted', before: podInfoOf(there('one', other)) }, context)
  assert.equal(gone({ spec: away(term('region')) }, {}), true)
  assert.equal(gone({ labels: SECURITY }, { labels: {}, spec: away(term('region')) }), true)
  assert.equal(gone({}, {}), false)
})

test('the weight of required terms of existing pods can be chosen, and their preferences ignored', () => {
  const preferred = [{ weight: 5, podAffinityTerm: term('region', selector('new')) }]
  const cluster = clusterOf(nodes, [
    podOf({ name: 'x', node: 'one', spec: near(term('region', selector('new'))) }),
    podOf({
      name: 'y',
      node: 'three',
      spec: { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } } },
    }),
  ])
  const pod = podOf({ name: 'new', labels: { service: 'new' } })
  const scoresWith = (hardPodAffinityWeight: number, ignorePreferredTermsOfExistingPods = false) =>
    scoreResults(interPodAffinityWith({ hardPodAffinityWeight, ignorePreferredTermsOfExistingPods }), cycleOf(pod, cluster))
  // The same cluster, so that a kept answer of other arguments would show.
  assert.deepEqual(scoresWith(1), { one: 0, two: 0, three: 100 })
  assert.deepEqual(scoresWith(50), { one: 100, two: 100, three: 0 })
  assert.deepEqual(scoresWith(0), { one: 0, two: 0, three: 100 })
  assert.equal(scoresWith(50, true), undefined)
})
