import assert from 'node:assert/strict'
import test from 'node:test'
import { type Header, Lineage } from './lineage.ts'

const at = (revision: number, term = 2, cluster = 7): Header => ({ cluster, term, revision })

function lineageAt(header: Header): Lineage {
  const lineage = new Lineage()
  assert.equal(lineage.answered(lineage.mark(), header), undefined)
  return lineage
}

test('an answer below what was known when the request was sent is of another history', () => {
  for (const [header, why] of [
    [at(9), 'its revision is 9, and was 10'],
    [at(11, 1), 'its raft term is 1, and was 2'],
    [at(11, 3, 8), 'it is cluster 8 now, and was 7'],
  ] as const) {
    const lineage = lineageAt(at(10))
    assert.equal(lineage.answered(lineage.mark(), header), why)
    assert.equal(lineage.generation, 1)
    assert.equal(lineage.answered(lineage.mark(), { ...header, revision: header.revision + 1 }), undefined)
  }
})

test('an answer that was overtaken by another is none', () => {
  const lineage = lineageAt(at(10))
  const slow = lineage.mark()
  assert.equal(lineage.answered(lineage.mark(), at(12)), undefined)
  assert.equal(lineage.answered(slow, at(11)), undefined)
  assert.equal(lineage.answered(lineage.mark(), at(11)), 'its revision is 11, and was 12')
})

test('events of watches count, and going back is told once', () => {
  const lineage = lineageAt(at(10))
  lineage.saw(15)
  const [first, second] = [lineage.mark(), lineage.mark()]
  assert.equal(lineage.answered(first, at(14)), 'its revision is 14, and was 15')
  assert.equal(lineage.answered(second, at(14)), undefined)
  assert.ok(lineage.isPast(second))
  assert.equal(lineage.generation, 1)
})
