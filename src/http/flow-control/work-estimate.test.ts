import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../route.ts'
import { maxSeatsOf, seatsOf, seatsOfWrite } from './work-estimate.ts'

const route = (verb: string, query = '', name = ''): Route =>
  ({
    type: 'call',
    call: { resource: {} },
    attributes: { verb, path: '', resource: { group: '', version: 'v1', plural: 'pods', subresource: '', namespace: '', name } },
    query: new URLSearchParams(query),
  }) as never
const estimating = (count: number, bytes: number, ...off: string[]) => ({
  sizeOf: () => ({ count, bytes }),
  gate: (name: string) => !off.includes(name),
})

test('a list takes a seat for every 100 kB, and ten at most as it is sent in pieces', () => {
  const seats = (count: number, bytes: number, query = '') => seatsOf(route('list', query), 50, estimating(count, bytes))
  assert.deepEqual([seats(0, 0), seats(10, 50_000), seats(100, 450_000), seats(10_000, 90_000_000)], [1, 1, 5, 10])
  assert.equal(seats(10_000, 9_000_000, 'limit=500'), 5)
  assert.equal(seatsOf(route('list'), 3, estimating(10_000, 90_000_000)), 3)
})

test('without the gate for sizes, objects are counted', () => {
  const seats = (count: number) => seatsOf(route('list'), 50, estimating(count, 0, 'SizeBasedListCostEstimate'))
  assert.deepEqual([seats(100), seats(101), seats(5000)], [1, 2, 10])
})

test('a watch takes the seats of a list only if it begins with one', () => {
  const seats = (query: string, ...off: string[]) => seatsOf(route('watch', query), 50, estimating(100, 450_000, ...off))
  assert.deepEqual([seats(''), seats('resourceVersion=0'), seats('resourceVersion=7')], [5, 5, 1])
  assert.equal(seats('resourceVersion=7&sendInitialEvents=true'), 5)
  assert.equal(seats('', 'WatchList'), 1)
  assert.equal(seatsOf(route('get', '', 'x'), 50, estimating(100, 450_000)), 1)
})

test('a write takes a seat for every ten watches that it concerns, and ten at most', () => {
  assert.deepEqual(
    [0, 9, 10, 11, 95, 5000].map(watches => seatsOfWrite(watches, 37)),
    [1, 1, 1, 2, 10, 10],
  )
  assert.equal(seatsOfWrite(5000, 4), 4)
})

test('one request takes a part of its level', () => {
  const level = { queuing: { queues: 64, handSize: 6, queueLengthLimit: 50 } } as never
  const most = (nominal: number) => maxSeatsOf(level, { nominal, lower: 0, upper: 0 })
  assert.deepEqual([most(2), most(40), most(245)], [1, 6, 37])
})
