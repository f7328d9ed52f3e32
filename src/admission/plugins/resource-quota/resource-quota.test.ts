import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributesOf, drive, readerOf } from '../../../../test/kits/admission.ts'
import { ConfigMap } from '../../../kinds/core/configmap.ts'
import { Secret } from '../../../kinds/core/secret.ts'
import type { AnyObject } from '../../../schema/object-meta.ts'
import { resourceOf } from '../../../schema/resource.ts'
import { StatusError } from '../../../schema/status-error.ts'
import type { Attributes } from '../../attributes.ts'
import { evaluators } from './evaluators.ts'
import { Reservations } from './reservations.ts'
import { resourceQuota } from './resource-quota.ts'

const CONFIG_MAPS = resourceOf(ConfigMap, 'k8s.io')
const SECRETS = resourceOf(Secret, 'k8s.io')
const CONFLICT = new StatusError(409, 'Conflict', 'the object has been modified')

/** The resource of a quota: its name tells it, or it is configmaps. */
const limitedBy = (name: string) => (name === 'secrets' ? 'secrets' : 'configmaps')

/** The plugin over quotas, given as usage and limit. */
function open(given: Record<string, readonly [used: number, hard: number]>) {
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
  const reservations = new Reservations()
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
      let end = async (_: boolean) => {}
      const onEnd: Attributes['onEnd'] = listener => (end = async isStored => drive(listener(isStored)))
      await drive(plugin.validate!(attributesOf(CONFIG_MAPS, object, { namespace: 'default', name, onEnd, ...more })))
      return { object, end: (isStored: boolean) => end(isStored) }
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
  await first!.end(true)
  await second!.end(false)
  assert.equal(reserved(), 0)
  assert.deepEqual(used(), [1])
})

test('a dry run is checked with all that wait, and takes nothing', async () => {
  const { create, used } = open({ a: [4, 5] })
  await Promise.all([create('x', { dryRun: true }), create('y', { dryRun: true })])
  assert.deepEqual(used(), [4])
  await create('z')
  await assert.rejects(create('x', { dryRun: true }), /exceeded quota/)
})
