import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { afterScaling, type Behavior, type Limits, type Memory, NOTHING_REMEMBERED, normalize } from './behavior.ts'

const NOW = 1_000_000_000
const limits = (more: Partial<Limits> = {}): Limits => ({
  current: 4,
  min: 1,
  max: 100,
  behavior: undefined,
  downscaleStabilizationMs: 300_000,
  nowMs: NOW,
  ...more,
})
const remembered = (...recommendations: [replicas: number, secondsAgo: number][]): Memory => ({
  ...NOTHING_REMEMBERED,
  recommendations: recommendations.map(([replicas, ago]) => ({ replicas, atMs: NOW - ago * 1000 })),
})
const outcome = (recommended: number, memory: Memory, given: Limits) => {
  const { desired, able, limited } = normalize(recommended, memory, given)
  return `${desired} ${able.reason} ${limited.status === 'True' ? '!' : ''}${limited.reason}`
}
const BEHAVIOR: Behavior = {
  scaleUp: { stabilizationWindowSeconds: 0, selectPolicy: 'Max', policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }] },
  scaleDown: { stabilizationWindowSeconds: 300, selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
}

test('a size grows to twice what it was, or to four, and stays within its bounds', () => {
  assert.equal(outcome(4, NOTHING_REMEMBERED, limits()), '4 ReadyForNewScale DesiredWithinRange')
  assert.equal(outcome(8, NOTHING_REMEMBERED, limits()), '8 ReadyForNewScale DesiredWithinRange')
  assert.equal(outcome(9, NOTHING_REMEMBERED, limits()), '8 ReadyForNewScale !ScaleUpLimit')
  assert.equal(outcome(9, NOTHING_REMEMBERED, limits({ current: 1 })), '4 ReadyForNewScale !ScaleUpLimit')
  assert.equal(outcome(9, NOTHING_REMEMBERED, limits({ max: 6 })), '6 ReadyForNewScale !TooManyReplicas')
  assert.equal(outcome(1, NOTHING_REMEMBERED, limits({ min: 2 })), '2 ReadyForNewScale !TooFewReplicas')
})

test('a size shrinks only when nothing higher was recommended for a while', () => {
  assert.equal(outcome(2, remembered([5, 100]), limits()), '5 ScaleDownStabilized DesiredWithinRange')
  assert.equal(outcome(2, remembered([5, 301]), limits()), '2 ReadyForNewScale DesiredWithinRange')
  const { memory } = normalize(2, remembered([5, 301], [3, 10]), limits())
  assert.deepEqual(memory, remembered([3, 10], [2, 0]))
})

test('rules say how far back recommendations count in each direction', () => {
  const behavior = { ...BEHAVIOR, scaleUp: { ...BEHAVIOR.scaleUp, stabilizationWindowSeconds: 60 } }
  assert.equal(outcome(8, remembered([5, 30]), limits({ behavior })), '5 ScaleUpStabilized DesiredWithinRange')
  assert.equal(outcome(8, remembered([5, 90]), limits({ behavior })), '8 ReadyForNewScale DesiredWithinRange')
  assert.equal(outcome(2, remembered([3, 200]), limits({ behavior })), '3 ScaleDownStabilized DesiredWithinRange')
  // Between the lowest and the highest the size stays.
  assert.equal(outcome(6, remembered([3, 30]), limits({ behavior })), '4 ScaleUpStabilized DesiredWithinRange')
  const withoutWindow = { ...BEHAVIOR, scaleDown: { selectPolicy: 'Max', policies: BEHAVIOR.scaleDown!.policies! } }
  assert.equal(
    outcome(2, remembered([3, 200]), limits({ behavior: withoutWindow, downscaleStabilizationMs: 100_000 })),
    '2 ReadyForNewScale DesiredWithinRange',
  )
})

test('policies count from the size at the beginning of their period', () => {
  const past = (ups: [number, number][], downs: [number, number][] = []): Memory => ({
    recommendations: [],
    ups: ups.map(([change, ago]) => ({ change, atMs: NOW - ago * 1000 })),
    downs: downs.map(([change, ago]) => ({ change, atMs: NOW - ago * 1000 })),
  })
  const up = (memory: Memory, policies: object[], selectPolicy = 'Max') =>
    outcome(50, memory, limits({ current: 10, behavior: { ...BEHAVIOR, scaleUp: { selectPolicy, policies: policies as never } } }))
  const pods = { type: 'Pods', value: 4, periodSeconds: 15 }
  const percent = { type: 'Percent', value: 25, periodSeconds: 15 }
  assert.equal(up(past([]), [pods]), '14 ReadyForNewScale !ScaleUpLimit')
  assert.equal(up(past([]), [percent]), '13 ReadyForNewScale !ScaleUpLimit')
  assert.equal(up(past([]), [pods, percent]), '14 ReadyForNewScale !ScaleUpLimit')
  assert.equal(up(past([]), [pods, percent], 'Min'), '13 ReadyForNewScale !ScaleUpLimit')
  assert.equal(up(past([]), [pods], 'Disabled'), '10 ReadyForNewScale !ScaleUpLimit')
  assert.equal(up(past([[3, 10]]), [pods]), '11 ReadyForNewScale !ScaleUpLimit')
  assert.equal(up(past([[3, 20]]), [pods]), '14 ReadyForNewScale !ScaleUpLimit')
  assert.equal(up(past([[9, 10]]), [pods]), '10 ReadyForNewScale !ScaleUpLimit')
  assert.equal(up(past([], [[2, 10]]), [pods]), '16 ReadyForNewScale !ScaleUpLimit')
  const down = (policies: object[], selectPolicy = 'Max') =>
    outcome(
      1,
      past([]),
      limits({
        current: 10,
        behavior: { ...BEHAVIOR, scaleDown: { stabilizationWindowSeconds: 0, selectPolicy, policies: policies as never } },
      }),
    )
  assert.equal(down([pods]), '6 ReadyForNewScale !ScaleDownLimit')
  assert.equal(down([percent]), '7 ReadyForNewScale !ScaleDownLimit')
  assert.equal(down([pods, percent], 'Min'), '7 ReadyForNewScale !ScaleDownLimit')
  assert.equal(down([{ ...percent, value: 100 }]), '1 ReadyForNewScale DesiredWithinRange')
})

test('what was done is remembered for as long as a policy asks for it', () => {
  const first = afterScaling(NOTHING_REMEMBERED, BEHAVIOR, { from: 4, to: 8, nowMs: NOW })
  assert.deepEqual(first.ups, [{ change: 4, atMs: NOW }])
  const later = afterScaling(first, BEHAVIOR, { from: 8, to: 9, nowMs: NOW + 16_000 })
  assert.deepEqual(later.ups, [{ change: 1, atMs: NOW + 16_000 }])
  assert.deepEqual(afterScaling(later, BEHAVIOR, { from: 9, to: 3, nowMs: NOW + 16_000 }).downs, [{ change: 6, atMs: NOW + 16_000 }])
  assert.equal(afterScaling(NOTHING_REMEMBERED, undefined, { from: 4, to: 8, nowMs: NOW }), NOTHING_REMEMBERED)
})

const policy = fc.record({
  type: fc.constantFrom('Pods', 'Percent'),
  value: fc.integer({ min: 1, max: 300 }),
  periodSeconds: fc.integer({ min: 1, max: 1800 }),
})
const rules = fc.record({
  stabilizationWindowSeconds: fc.integer({ min: 0, max: 3600 }),
  selectPolicy: fc.constantFrom('Max', 'Min', 'Disabled'),
  policies: fc.array(policy, { minLength: 1, maxLength: 4 }),
})
const events = fc.array(fc.record({ change: fc.integer({ min: 1, max: 50 }), atMs: fc.integer({ min: NOW - 4_000_000, max: NOW }) }), {
  maxLength: 5,
})
const memory = fc.record({
  recommendations: fc.array(
    fc.record({ replicas: fc.integer({ min: 0, max: 100 }), atMs: fc.integer({ min: NOW - 4_000_000, max: NOW }) }),
    { maxLength: 8 },
  ),
  ups: events,
  downs: events,
})

test('whatever is recommended, the size stays between its bounds and moves no further than it may', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1000 }),
      fc.record({
        min: fc.integer({ min: 0, max: 10 }),
        more: fc.integer({ min: 0, max: 100 }),
        at: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
      fc.option(fc.record({ scaleUp: rules, scaleDown: rules }), { nil: undefined }),
      memory,
      (recommended, { min, more, at }, behavior, past) => {
        const max = min + more + 1
        const current = Math.max(1, Math.round(min + at * (max - min)))
        const given = limits({ current, min, max, behavior })
        const { desired, able, limited, memory: after } = normalize(recommended, past, given)
        assert.ok(Number.isInteger(desired) && desired >= Math.min(min, current) && desired <= Math.max(max, current), `${desired}`)
        if (!behavior) assert.ok(desired <= Math.max(2 * current, 4))
        if (behavior?.scaleUp.selectPolicy === 'Disabled') assert.ok(desired <= current)
        if (behavior?.scaleDown.selectPolicy === 'Disabled') assert.ok(desired >= current)
        assert.equal(able.status, 'True')
        assert.equal(limited.status === 'True', limited.reason !== 'DesiredWithinRange')
        assert.deepEqual(after.recommendations.at(-1), { replicas: recommended, atMs: NOW })
        // Deciding again at the same moment with the new memory changes nothing but the memory.
        assert.equal(normalize(recommended, after, given).desired, desired)
      },
    ),
  )
})
