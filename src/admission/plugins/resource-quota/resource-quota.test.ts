import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributesOf, drive, readerOf } from '../../../../test/kits/admission.ts'
import { ConfigMap } from '../../../kinds/core/configmap.ts'
import { Secret } from '../../../kinds/core/secret.ts'
import type { AnyObject } from '../../../schema/object-meta.ts'
import { resourceOf } from '../../../schema/resource.ts'
import { StatusError } from '../../../schema/status-error.ts'
import type { Attributes, Outcome } from '../../attributes.ts'
import { evaluators } from './evaluators.ts'
import { MAX_RESERVED_MS, type Note, type Notes, Reservations } from './reservations.ts'
import { resourceQuota } from './resource-quota.ts'

const CONFIG_MAPS = resourceOf(ConfigMap, 'k8s.io')
const SECRETS = resourceOf(Secret, 'k8s.io')
const CONFLICT = new StatusError(409, 'Conflict', 'the object has been modified')

/** The resource of a quota: its name tells it, or it is configmaps. */
const limitedBy = (name: string) => (name === 'secrets' ? 'secrets' : 'configmaps')

/** The plugin over quotas, given as usage and limit. */
function open(given: Record<string, readonly [used: number, hard: number]>, notes?: Notes) {
  const amounts = (name: string, [used, hard]: readonly [number, number]): AnyObject =>
    ({
      metadata: { name, namespace: 'default' },
      spec: {},
      status: { hard: { [limitedBy(name)]: String(hard) }, used: { [limitedBy(name)]: String(used) } },
    }) as never
  const quotas = new Map(Object.entries(given).map(([name, numbers]) => [name, amounts(name, numbers)]))
  const stored: AnyObject[] = []
  const reader = {
    ...readerOf({ configmaps: stored }),
    list: () => [...quotas.values()],
    get: ({ plural }: { plural: string }, name: string) =>
      plural === 'resourcequotas' ? quotas.get(name) : stored.find(({ metadata }) => metadata.name === name),
  }
  const reservations = new Reservations(notes)
  const state = { writes: 0, onWrite: (_: string): StatusError | undefined => undefined }
  const plugin = resourceQuota({
    reader,
    reservations,
    evaluatorOf: evaluators({ reader, groupDomain: 'k8s.io', now: () => new Date(0), hasPodLevel: true, hasExtendedResources: true }),
    async writeStatus(quota) {
      state.writes++
      await Promise.resolve()
      const conflict = state.onWrite(quota.metadata.name!)
      if (!conflict) quotas.set(quota.metadata.name!, quota)
      return conflict
    },
  })
  return {
    state,
    stored,
    reservations,
    used: () => [...quotas.values()].map(quota => Number(quota['status'].used[limitedBy(quota.metadata.name!)])),
    setUsed: (name: string, numbers: readonly [number, number]) => quotas.set(name, amounts(name, numbers)),
    /** Admits a create; its end is the test's to say. */
    async create(name: string, more: Partial<Attributes> = {}) {
      const object = { metadata: { name, namespace: 'default', uid: `uid-${name}` } } as AnyObject
      let end = async (_: Outcome) => {}
      const onEnd: Attributes['onEnd'] = listener => (end = async outcome => drive(listener(outcome)))
      await drive(plugin.validate!(attributesOf(CONFIG_MAPS, object, { namespace: 'default', name, onEnd, ...more })))
      return { object, end: (outcome: Outcome) => end(outcome) }
    },
  }
}

test('writes that wait together are written to a quota together', async () => {
  const { create, used, state } = open({ a: [0, 50] })
  const results = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => create(`c${i}`)))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 50)
  assert.deepEqual(used(), [50])
  assert.ok(state.writes <= 2, `${state.writes} writes`)
})

test('a quota that was changed concurrently is read again', async () => {
  const { create, used, state, setUsed } = open({ a: [0, 5], b: [0, 5] })
  let conflicts = 3
  state.onWrite = name => {
    if (name !== 'b' || conflicts-- <= 0) return undefined
    setUsed('b', [2, 5])
    return CONFLICT
  }
  await create('c')
  assert.deepEqual(used(), [1, 3])
})

test('a write that another quota refuses after a conflict gives back what it has taken', async () => {
  const { create, used, state, setUsed } = open({ a: [0, 5], b: [0, 5] })
  state.onWrite = name => {
    if (name !== 'b') return undefined
    setUsed('b', [5, 5])
    return CONFLICT
  }
  await assert.rejects(create('c'), /exceeded quota: b, requested: configmaps=1, used: configmaps=5, limited: configmaps=5/)
  assert.deepEqual(used(), [0, 5])
})

test('a write that always loses the race gets the conflict, and reserves nothing', async () => {
  const { create, used, state } = open({ a: [0, 5], b: [0, 5] })
  state.onWrite = name => (name === 'b' ? CONFLICT : undefined)
  await assert.rejects(create('c'), CONFLICT)
  assert.deepEqual(used(), [0, 0])
})

test('a quota that cannot be written rejects, and later writes are decided anew', async () => {
  const { create, used, state } = open({ a: [0, 5] })
  const failure = new StatusError(503, 'ServiceUnavailable', 'the store is away')
  state.onWrite = () => {
    throw failure
  }
  await assert.rejects(create('c'), failure)
  state.onWrite = () => undefined
  await create('c')
  assert.deepEqual(used(), [1])
})

test('an admitted write stays admitted when another quota cannot be written', async () => {
  const { create, used, state } = open({ configmaps: [0, 5], secrets: [0, 5] })
  state.onWrite = name => (name === 'secrets' ? CONFLICT : undefined)
  const results = await Promise.allSettled([create('x'), create('y', { resource: SECRETS })])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  assert.deepEqual(used(), [1, 0])
})

test('what one quota has written is given back when another cannot be written', async () => {
  const { create, used, state } = open({ a: [0, 5], b: [0, 5] })
  const failure = new StatusError(503, 'ServiceUnavailable', 'the store is away')
  state.onWrite = name => {
    if (name === 'b') throw failure
    return undefined
  }
  await assert.rejects(create('c'), failure)
  assert.deepEqual(used(), [0, 0])
})

test('what is reserved is added by whoever counts, until the object can be seen or is given up', async () => {
  const { create, used, stored, reservations } = open({ a: [0, 5] })
  const [first, second] = await Promise.all([create('x'), create('y')])
  const reserved = () => reservations.takeOver('default', 'a').length
  assert.deepEqual([reserved(), reservations.isCounted('uid-x', 'a'), reservations.isCounted('uid-z', 'a')], [2, true, false])
  stored.push(first!.object)
  assert.equal(reserved(), 1)
  await first!.end('stored')
  await second!.end('not stored')
  assert.equal(reserved(), 0)
  assert.deepEqual(used(), [1])
})

/** Notes as other servers find them. */
function noteBoard() {
  const board = new Set<readonly Note[]>()
  const notes: Notes = {
    async write(_, written) {
      board.add(written)
      return async () => void board.delete(written)
    },
    readOthers: async () => [],
    fresh: () => undefined,
  }
  return { board, notes }
}

test('a write with an unknown outcome on a shared store is reserved and noted as long as it may still be stored', async t => {
  const { board, notes } = noteBoard()
  const { create, used, reservations, stored } = open({ a: [0, 5] }, notes)
  const reserved = () => reservations.takeOver('default', 'a').length
  const { end } = await create('x')
  await end('unknown')
  assert.deepEqual([reserved(), board.size, used()], [1, 1, [1]])
  const late = await create('y')
  await late.end('unknown')
  stored.push(late.object)
  assert.equal(reserved(), 1)
  const now = performance.now()
  t.mock.method(performance, 'now', () => now + MAX_RESERVED_MS)
  assert.deepEqual([reserved(), reservations.isCounted('uid-x', 'a')], [0, false])
})

for (const outcome of ['stored', 'not stored'] as const)
  test(`the note of a write that was ${outcome} is removed`, async () => {
    const { board, notes } = noteBoard()
    const { create, reservations, used } = open({ a: [0, 5] }, notes)
    const { end } = await create('x')
    assert.equal(board.size, 1)
    await end(outcome)
    await Promise.resolve()
    assert.deepEqual([board.size, reservations.isCounted('uid-x', 'a'), used()], [0, false, [outcome === 'stored' ? 1 : 0]])
  })

test('a dry run is checked with all that wait, and takes nothing', async () => {
  const { create, used } = open({ a: [4, 5] })
  await Promise.all([create('x', { dryRun: true }), create('y', { dryRun: true })])
  assert.deepEqual(used(), [4])
  await create('z')
  await assert.rejects(create('x', { dryRun: true }), /exceeded quota/)
})
