// Metrics of several processes become those of one server.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addedUp, combinedFamilies, countersOf, familiesText, parseFamilies } from './combined-families.ts'
import { exposition, type Family, Histogram } from './exposition.ts'

const histogramOf = (...values: number[]) => {
  const histogram = new Histogram([1, 10])
  for (const value of values) histogram.observe(value)
  return histogram
}

const of = (requests: number, busy: number, ...durations: number[]): Family[] => [
  { name: 'requests_total', type: 'counter', help: 'h', samples: [[{ code: '200' }, requests]] },
  { name: 'busy', type: 'gauge', across: 'mean', help: 'h', samples: [[{}, busy]] },
  { name: 'objects', type: 'gauge', across: 'max', help: 'h', samples: [[{ a: '1', b: '2' }, 7]] },
  { name: 'seconds', type: 'histogram', help: 'h', samples: [[{}, histogramOf(...durations)]] },
]

test('families of processes become those of one', () => {
  const text = exposition(combinedFamilies([of(3, 0.5, 0.5, 5), of(4, 1, 50)]))
  assert.match(text, /^requests_total\{code="200"\} 7$/m)
  assert.match(text, /^busy 0\.75$/m)
  assert.match(text, /^objects\{a="1",b="2"\} 7$/m)
  assert.match(text, /^seconds_bucket\{le="1"\} 1$/m)
  assert.match(text, /^seconds_bucket\{le="10"\} 2$/m)
  assert.match(text, /^seconds_bucket\{le="\+Inf"\} 3$/m)
  assert.match(text, /^seconds_sum 55\.5$/m)
})

test('labels with the same values are the same, whatever their order, and others stay apart', () => {
  const family = (labels: Record<string, string>): Family[] => [{ name: 'n', type: 'counter', help: 'h', samples: [[labels, 1]] }]
  const [combined] = combinedFamilies([family({ a: '1', b: '2' }), family({ b: '2', a: '1' }), family({ a: '2', b: '1' })])
  assert.deepEqual(
    combined?.samples.map(([, value]) => value),
    [2, 1],
  )
})

test('families survive the way between processes, native buckets included', () => {
  const families = of(3, 0.5, 0.5, 5, 0)
  assert.equal(exposition(parseFamilies(familiesText(families))), exposition(families))
  const [, , , seconds] = parseFamilies(familiesText(families)) as [Family, Family, Family, Extract<Family, { type: 'histogram' }>]
  const [[, histogram]] = seconds.samples as [(typeof seconds.samples)[0]]
  const original = histogramOf(0.5, 5, 0)
  assert.deepEqual(histogram.native, new Map(original.native))
  const twice = addedUp(histogram, original)
  assert.equal(twice.zeros, 2)
  assert.equal(twice.count, 6)
})

test('gauges of a process end with it', () => {
  assert.deepEqual(
    countersOf(of(1, 1, 1)).map(({ name }) => name),
    ['requests_total', 'seconds'],
  )
})
