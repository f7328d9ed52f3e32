import assert from 'node:assert/strict'
import { test } from 'node:test'
import { divideSeats, type LevelConfiguration } from './seats.ts'

const level = (name: string, shares: number, lendablePercent: number, borrowingLimitPercent?: number): LevelConfiguration => ({
  name,
  uid: '',
  isExempt: false,
  shares,
  lendablePercent,
  borrowingLimitPercent,
  queuing: undefined,
})

test('the levels of a fresh server have the seats that kube-apiserver gives them', () => {
  const levels = [
    level('catch-all', 5, 0),
    level('system', 30, 33),
    level('node-high', 40, 25),
    level('leader-election', 10, 0),
    level('workload-high', 40, 50),
    level('workload-low', 100, 90),
    level('global-default', 20, 50),
  ]
  assert.deepEqual(Object.fromEntries(divideSeats(600, levels)), {
    'catch-all': { nominal: 13, lower: 13, upper: 613 },
    system: { nominal: 74, lower: 50, upper: 674 },
    'node-high': { nominal: 98, lower: 73, upper: 698 },
    'leader-election': { nominal: 25, lower: 25, upper: 625 },
    'workload-high': { nominal: 98, lower: 49, upper: 698 },
    'workload-low': { nominal: 245, lower: 24, upper: 845 },
    'global-default': { nominal: 49, lower: 24, upper: 649 },
  })
})

test('a level borrows no more than it may, and shares of nothing are nothing', () => {
  assert.deepEqual(divideSeats(100, [level('a', 1, 0, 0), level('b', 1, 100, 50)]).get('a'), { nominal: 50, lower: 50, upper: 50 })
  assert.deepEqual(divideSeats(100, [level('a', 1, 0, 0), level('b', 1, 100, 50)]).get('b'), { nominal: 50, lower: 0, upper: 75 })
  assert.deepEqual(divideSeats(100, [level('a', 0, 0, 0)]).get('a'), { nominal: 0, lower: 0, upper: 0 })
  assert.equal(divideSeats(Number.POSITIVE_INFINITY, [level('a', 1, 50)]).get('a')!.nominal, Number.POSITIVE_INFINITY)
})

test('processes share the seats of each level, and each has one', () => {
  const levels = [level('many', 100, 0), level('few', 1, 0)]
  const whole = divideSeats(600, levels)
  for (const of of [2, 3, 7, 64]) {
    const parts = Array.from({ length: of }, (_, place) => divideSeats(600, levels, { place, of }))
    const sum = (name: string) => parts.reduce((seats, part) => seats + part.get(name)!.nominal, 0)
    assert.equal(sum('many'), whole.get('many')!.nominal)
    assert.equal(sum('few'), Math.max(of, whole.get('few')!.nominal))
    for (const part of parts) assert.ok(part.get('few')!.nominal >= 1)
  }
})
