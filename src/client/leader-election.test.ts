import assert from 'node:assert/strict'
import test from 'node:test'
import type { Lease } from '../kinds/coordination/lease.ts'
import { simulate } from '../lib/environment.ts'
import { type LeaseAccess, nextSpec, takePart } from './leader-election.ts'

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))

test('a lease names its holder, the time since when and until when, and how often it has changed hands', () => {
  const first = nextSpec(undefined, { holder: 'a', leaseMs: 5_500, now: at(0) })
  assert.deepEqual(first, {
    holderIdentity: 'a',
    leaseDurationSeconds: 6,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    leaseTransitions: 0,
  })
  const renewed = nextSpec(first, { holder: 'a', leaseMs: 5_500, now: at(2) })
  assert.deepEqual(renewed, { ...first, renewTime: '2026-01-01T00:00:02.000000Z' })
  const taken = nextSpec(renewed, { holder: 'b', leaseMs: 5_500, now: at(9) })
  const time = '2026-01-01T00:00:09.000000Z'
  assert.deepEqual(taken, { ...first, holderIdentity: 'b', acquireTime: time, renewTime: time, leaseTransitions: 1 })
})

test('a released lease is acquired as from another holder', () => {
  const released = { holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 3, strategy: 'kept' }
  const { leaseTransitions, holderIdentity, strategy } = nextSpec(released, { holder: 'a', leaseMs: 1_000, now: at(0) })
  assert.deepEqual([leaseTransitions, holderIdentity, strategy], [4, 'a', 'kept'])
})

/** The lease alone, as a client sees it; `holders` are those that it has named. */
function oneLease() {
  let stored: Lease | undefined
  let revision = 0
  const holders: (string | undefined)[] = []
  const write = async (object: any): Promise<Lease> => {
    const { resourceVersion } = object.metadata
    if (resourceVersion !== stored?.metadata.resourceVersion) throw new Error('conflict')
    const written: Lease = { ...object, metadata: { ...object.metadata, resourceVersion: `${++revision}` } }
    stored = written
    if (holders.at(-1) !== object.spec.holderIdentity) holders.push(object.spec.holderIdentity)
    return written
  }
  const leases: LeaseAccess = { now: () => at(0), get: () => stored, create: write, update: write }
  return { leases, holders, revision: () => revision }
}

test('a holder that cannot begin to lead gives the lease back, and tries again', async t => {
  const { leases, holders, revision } = oneLease()
  const end = new AbortController()
  t.after(() => end.abort())
  const errors: unknown[] = []
  let terms = 0
  const part = takePart({
    leases,
    namespace: 'n',
    name: 'l',
    holder: 'a',
    timing: { leaseMs: 60_000, renewMs: 50_000, retryMs: 1 },
    onError: error => errors.push(error),
    signal: end.signal,
    async lead({ signal, mayWrite, leaseRevision }) {
      if (++terms === 1) throw new Error('not yet')
      assert.ok(mayWrite())
      assert.equal(leaseRevision(), revision())
      end.abort()
      assert.ok(!signal.aborted, 'the term ends after that')
    },
  })
  await part
  assert.deepEqual([terms, errors.map(String), holders], [2, ['Error: not yet'], ['a', '', 'a', '']])
})

test('a lease is held from when it was seen to be renewed, not from when it was asked for', async () => {
  let now = 0
  let reads = 0
  let isTaken = false
  const end = new AbortController()
  const spec = { holderIdentity: 'a', leaseDurationSeconds: 60 }
  const held = { metadata: { namespace: 'n', name: 'l', resourceVersion: '1' }, spec } as Lease
  const leases: LeaseAccess = {
    now: () => at(0),
    async get() {
      // The first response takes long, and the lease is renewed just before it is sent.
      if (++reads === 1) now += 61_000
      if (reads === 3) end.abort()
      return held
    },
    create: async () => undefined,
    async update() {
      isTaken = true
      return undefined
    },
  }
  const timer = { unref: () => timer }
  simulate({
    wallMs: () => now,
    monotonicMs: () => now,
    chance: () => 0,
    nextIteration: setImmediate,
    startTimer(run) {
      setImmediate(run)
      return timer
    },
    stopTimer() {},
  })
  try {
    const timing = { leaseMs: 60_000, renewMs: 50_000, retryMs: 1_000 }
    await takePart({
      leases,
      namespace: 'n',
      name: 'l',
      holder: 'b',
      timing,
      onError: assert.ifError,
      signal: end.signal,
      lead: async () => {},
    })
  } finally {
    simulate(undefined)
  }
  assert.deepEqual([reads, isTaken], [3, false])
})
