import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { found, realWorld, type SimpleDevice, type SimpleRequest, type SimpleWorld, simpleWorlds, slowly } from '../../test/kits/devices.ts'
import { AllocationError } from './claim-requests.ts'

// A run can be repeated with the seed that a failure names.
const seed = Number(process.env['KEELSON_SEED'] ?? Date.now() % 2 ** 31)

/** The result of the allocator; a request for all devices that a constraint forbids is an error, not only a failure. */
function quickly(simple: SimpleWorld): string[][] | string {
  const { world, claims } = realWorld(simple)
  try {
    return found(world, claims)
  } catch (error) {
    assert(error instanceof AllocationError && /a claim constraint would not be satisfied/.test(error.message), String(error))
    return 'none'
  }
}

test('over random worlds it finds what a slow and obviously right allocator finds', () => {
  let runs = 0
  let allocated = 0
  fc.assert(
    fc.property(simpleWorlds, simple => {
      runs++
      const fast = quickly(simple)
      assert.deepEqual(fast, slowly(simple))
      if (fast !== 'none') allocated++
    }),
    { numRuns: 3_000, seed },
  )
  // The cases are worth something only if both outcomes are common.
  assert(allocated > runs / 5 && allocated < (runs * 4) / 5, `${allocated} of ${runs} could be allocated`)
})

test('over all worlds of up to three devices and two requests, too', () => {
  const plain = {
    kind: 'a',
    zone: ['x'],
    size: 4,
    policy: undefined,
    isShared: false,
    takes: {},
    groups: [],
    taints: [],
    isElsewhere: false,
  }
  const devices: Omit<SimpleDevice, 'name'>[] = [
    plain,
    { ...plain, kind: 'b', zone: ['y'] },
    { ...plain, zone: ['x', 'y'], takes: { slots: 1 }, groups: ['g'] },
    { ...plain, size: 3, isShared: true, policy: { standard: 1, values: [1, 2] } },
    { ...plain, taints: ['t'], takes: { slots: 2 }, groups: ['g', 'h'] },
  ]
  const one = { kind: undefined, count: 1, isAdmin: false, tolerates: [], size: undefined }
  const requests: SimpleRequest[][] = [
    [one],
    [{ ...one, kind: 'a', count: 2 }],
    [{ ...one, count: 0, tolerates: ['t'] }],
    [{ ...one, size: 2, tolerates: ['t'] }],
    [
      { ...one, kind: 'b', count: 2 },
      { ...one, kind: 'a' },
    ],
    [{ ...one, isAdmin: true }],
  ]
  const constraints = [[], [{ type: 'match' as const, requests: [] }], [{ type: 'distinct' as const, requests: ['r0'] }]]
  let cases = 0
  for (const chosen of [...sequences(devices, 1), ...sequences(devices, 2), ...sequences(devices, 3)]) {
    const named = chosen.map((device, i) => ({ ...device, name: `dev-${i}` }))
    for (const wanted of [...sequences(requests, 1), ...sequences(requests, 2)])
      for (const constraint of constraints) {
        cases++
        const world = { devices: named, counters: { slots: 2 }, used: {}, claims: [{ requests: wanted, constraints: constraint }] }
        assert.deepEqual(quickly(world), slowly(world), JSON.stringify(world))
      }
  }
  assert.equal(cases, (5 + 25 + 125) * (6 + 36) * 3)
})

const sequences = <T>(all: readonly T[], length: number): T[][] =>
  length === 0 ? [[]] : all.flatMap(first => sequences(all, length - 1).map(rest => [first, ...rest]))
