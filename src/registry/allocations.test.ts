import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bench, openBench } from '../../test/kits/registry.ts'
import { Assertions } from '../schema/assertions.ts'
import { defineKind } from '../schema/kind.ts'
import { resourcesOf } from '../schema/resource.ts'
import { internalError } from '../schema/status-error.ts'
import { message, string } from '../schema/types.ts'
import { MemoryStore } from '../storage/memory.ts'
import type { Swap } from '../storage/store.ts'
import { Allocations, type Allocator, type Holder } from './allocations.ts'

const Guest = defineKind({
  group: 'theatre.k8s.io',
  version: 'v1',
  kind: 'Guest',
  scope: 'Namespaced',
  names: { plural: 'guests' },
  spec: message('GuestSpec', { seat: [1, string, 'Where the guest sits.'], mood: [2, string, 'How the guest is.'] }),
  claims: {
    held: ({ spec: { seat } }) => (seat ? [{ allocator: 'seats', item: seat }] : []),
    *take({ spec }, old, { allocators }) {
      if (spec.seat !== undefined && spec.seat === old?.spec.seat) return
      if (spec.mood === 'standing') return
      const taken = yield* allocators.take('seats', spec.seat)
      if (!taken.ok) throw internalError(taken.why)
      spec.seat = taken.item
    },
  },
  *validate({ spec }) {
    if (spec.mood === 'angry') yield { reason: 'FieldValueInvalid', field: 'spec.mood', message: 'Invalid value' }
  },
  subresources: { status: {} },
})

class Seats implements Allocator {
  readonly taken = new Map<string, string>()

  async take({ uid }: Holder, item: string | undefined) {
    const seat = item ?? ['a', 'b', 'c'].find(free => !this.taken.has(free))
    if (seat === undefined || this.taken.has(seat)) return { ok: false, why: 'taken', isFull: item === undefined } as const
    this.taken.set(seat, uid)
    return { ok: true, item: seat } as const
  }
  preview(item: string | undefined) {
    return { ok: true, item: item ?? 'some' } as const
  }
  async release({ uid }: Holder, item: string) {
    if (this.taken.get(item) === uid) this.taken.delete(item)
  }
  async repair() {}
}

/** A store that loses its connection in the middle of a write. */
class LosingStore extends MemoryStore {
  loses = false

  override async swap(...change: Parameters<MemoryStore['swap']>): Promise<Swap> {
    const swap = await super.swap(...change)
    if (this.loses) throw new Error('connection lost')
    return swap
  }
}

async function open(): Promise<Bench & { seats: Seats; store: LosingStore }> {
  const [seats, store] = [new Seats(), new LosingStore()]
  const bench = await openBench([Guest], { store, allocations: async () => new Allocations(new Map([['seats', seats]])) })
  return { ...bench, seats, store }
}
const guest = (name: string, spec: object = {}) => ({ metadata: { name }, spec })

test('what is allocated is kept with the object and released when it is deleted', async () => {
  const { send, seats, close } = await open()
  assert.equal((await send('POST guests', guest('x'))).body.spec.seat, 'a')
  assert.deepEqual([...seats.taken.keys()], ['a'])
  assert.equal((await send('PATCH guests/x', { spec: { seat: 'b' } })).code, 200)
  assert.deepEqual([...seats.taken.keys()], ['b'])
  await send('PATCH guests/x', { spec: { seat: null, mood: 'standing' } })
  assert.deepEqual([...seats.taken.keys()], [])
  await send('POST guests', guest('y'))
  await send('DELETE guests')
  assert.deepEqual([...seats.taken.keys()], [])
  await close()
})

test('a write that is rejected, loses a race or is a dry run keeps nothing', async () => {
  const { send, seats, close } = await open()
  assert.equal((await send('POST guests', guest('x', { mood: 'angry' }))).code, 422)
  assert.equal((await send('POST guests?dryRun=All', guest('x'))).body.spec.seat, 'some')
  assert.deepEqual([...seats.taken.keys()], [])
  await send('POST guests', guest('x', { seat: 'a' }))
  assert.equal((await send('POST guests', guest('x'))).body.reason, 'AlreadyExists')
  assert.equal((await send('POST guests', guest('y', { seat: 'a' }))).code, 500)
  assert.deepEqual([...seats.taken.keys()], ['a'])
  const moves = ['b', 'c'].map(seat => send('PATCH guests/x', { spec: { seat } }))
  assert.deepEqual(
    (await Promise.all(moves)).map(({ code }) => code),
    [200, 200],
  )
  const { seat } = (await send('GET guests/x')).body.spec
  assert.deepEqual([...seats.taken.keys()], [seat])
  await close()
})

test('when it is unknown whether the object was stored, its allocations are kept', async () => {
  const { send, seats, store, close } = await open()
  store.loses = true
  await assert.rejects(send('POST guests', guest('x')), /connection lost/)
  store.loses = false
  assert.equal((await send('GET guests/x')).body.spec.seat, 'a')
  assert.deepEqual([...seats.taken.keys()], ['a'])
  await close()
})

test('an item that is given twice fails the second write, and is counted', async () => {
  const assertions = new Assertions()
  const lent = new Allocations(new Map([['seats', new Generous()]]), assertions)
  const bench = await openBench([Guest], { allocations: async () => lent })
  const answers = await Promise.all([bench.send('POST guests', guest('one')), bench.send('POST guests', guest('two'))])
  assert.deepEqual(answers.map(({ code }) => code).sort(), [201, 500])
  const refused = answers.find(({ code }) => code === 500)!
  assert.match(refused.body.message, /assertion allocated_once failed: a of seats is given to a write that is under way and to guests/)
  assert.equal(countOf(assertions), 1)
  await bench.close()
})

test('an item that two stored objects have is counted when they are compared with the records', async () => {
  const assertions = new Assertions()
  // Without allocators objects keep what they ask for.
  const bench = await openBench([Guest])
  const lent = new Allocations(new Map([['seats', new Generous()]]), assertions)
  const made = [await bench.send('POST guests', guest('one', { seat: 'a' })), await bench.send('POST guests', guest('two', { seat: 'a' }))]
  const [resource] = resourcesOf([Guest], 'k8s.io')
  await lent.repair(() => made.map(({ body }) => [resource!, body] as const), new Date())
  assert.equal(countOf(assertions), 1)
  await bench.close()
})

/** Gives the same seat to everybody. */
class Generous extends Seats {
  override async take() {
    return { ok: true, item: 'a' } as const
  }
  override async repair(held?: () => unknown) {
    held?.()
  }
}

const countOf = (assertions: Assertions) =>
  assertions.families()[0]!.samples.find(([labels]) => labels['assertion'] === 'allocated_once')![1]
