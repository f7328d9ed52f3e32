import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DiscoveredGroup } from '../peers.ts'
import { inCommonOrder, mergedGroups } from './discovery-merged.ts'

/** Groups by name, with the resources of each version. */
const groups = (described: Record<string, Record<string, readonly (string | object)[]>>): DiscoveredGroup[] =>
  Object.entries(described).map(([name, versions]) => ({
    metadata: { name },
    versions: Object.entries(versions).map(([version, resources]) => ({
      version,
      resources: resources.map(each => (typeof each === 'string' ? { resource: each, verbs: ['get'] } : each)) as never,
      freshness: 'Current',
    })),
  }))
const merged = (own: DiscoveredGroup[], peers: Record<string, DiscoveredGroup[]>, name = 'm') =>
  mergedGroups(own, { own: name, groups: () => new Map(Object.entries(peers)) })

test('without peers, or with equal ones, the groups of the server stay as they are', () => {
  const own = groups({ apps: { v1: ['deployments'] } })
  assert.equal(merged(own, {}), own)
  assert.equal(merged(own, { a: groups({ apps: { v1: ['deployments'] } }), z: groups({ apps: { v1: ['deployments'] } }) }), own)
})

test('groups, versions and resources of all servers are listed once, in their order', () => {
  const own = groups({ apps: { v1: ['deployments'] }, policy: { v1: ['budgets'] } })
  const a = groups({ apps: { v1: ['daemons', 'deployments'] }, batch: { v1: ['jobs'] }, policy: { v1: ['budgets'] } })
  const z = groups({ apps: { v2: ['deployments'], v1: ['deployments', 'sets'] } })
  const expected = groups({
    apps: { v2: ['deployments'], v1: ['daemons', 'deployments', 'sets'] },
    batch: { v1: ['jobs'] },
    policy: { v1: ['budgets'] },
  })
  assert.deepEqual(merged(own, { a, z }), expected)
  assert.deepEqual(merged(a, { m: own, z }, 'a'), expected, 'every server merges to the same')
})

test('a resource that servers describe otherwise has the verbs and subresources of both, and else the description of the first', () => {
  const status = { subresource: 'status', verbs: ['get'] }
  const scale = { subresource: 'scale', verbs: ['get'] }
  const own = groups({ apps: { v1: [{ resource: 'sets', scope: 'Cluster', verbs: ['list', 'get'], subresources: [status] }] } })
  const z = groups({ apps: { v1: [{ resource: 'sets', scope: 'Namespaced', verbs: ['watch', 'get'], subresources: [scale] }] } })
  const both = { resource: 'sets', scope: 'Cluster', verbs: ['get', 'list', 'watch'], subresources: [scale, status] }
  assert.deepEqual(merged(own, { z }), groups({ apps: { v1: [both] } }))
  assert.deepEqual(merged(own, { z: groups({ apps: { v1: [{ resource: 'sets', verbs: ['watch'] }] } }) }), [
    ...groups({ apps: { v1: [{ ...both, subresources: [status] }] } }),
  ])
})

test('names keep the order that lists agree on, and are sorted where it is open', () => {
  const cases: readonly (readonly [readonly string[][], readonly string[]])[] = [
    [[], []],
    [[['b', 'a']], ['b', 'a']],
    [
      [
        ['a', 'b', 'c'],
        ['b', 'c'],
      ],
      ['a', 'b', 'c'],
    ],
    [
      [
        ['a', 'c'],
        ['b', 'c'],
      ],
      ['a', 'b', 'c'],
    ],
    [
      [
        ['z', 'b'],
        ['b', 'a'],
      ],
      ['z', 'b', 'a'],
    ],
    [
      [
        ['a', 'b', 'c'],
        ['b', 'a'],
      ],
      ['a', 'b', 'c'],
    ],
    [
      [
        ['d', 'b', 'a'],
        ['a', 'b', 'c'],
      ],
      ['a', 'b', 'c', 'd'],
    ],
  ]
  for (const [lists, order] of cases) assert.deepEqual(inCommonOrder(lists), order, JSON.stringify(lists))
})
