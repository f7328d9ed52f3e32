import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Bench, openBench } from '../../../test/kits/registry.ts'
import { Event as CoreEvent } from '../core/event.ts'
import { Event } from './event.ts'

let bench: Bench
before(async () => {
  bench = await openBench([CoreEvent, Event])
})
after(() => bench.close())

const core = (request: string, body?: unknown) => bench.send(request, body, { apiVersion: 'v1' })
const events = (request: string, body?: unknown) => bench.send(request, body, { apiVersion: 'events.k8s.io/v1' })

const pod = { kind: 'Pod', name: 'web', namespace: 'default' }
const bound = {
  metadata: { name: 'a' },
  eventTime: '2026-07-01T11:00:00.000000Z',
  reportingController: 'example.com/controller',
  reportingInstance: 'controller-0',
  action: 'Bind',
  reason: 'Bound',
  regarding: pod,
  note: 'on node n',
  type: 'Normal',
}

test('an event is the same in both groups', async () => {
  const made = await events('POST events', bound)
  assert.deepEqual([made.code, made.body.apiVersion, made.body.regarding, made.body.note], [201, 'events.k8s.io/v1', pod, 'on node n'])
  const { body } = await core('GET events/a')
  assert.deepEqual(
    [body.apiVersion, body.involvedObject, body.message, body.reportingComponent],
    ['v1', pod, 'on node n', 'example.com/controller'],
  )
})

test('events of the old style are read through the events group', async () => {
  await core('POST events', {
    metadata: { name: 'b' },
    involvedObject: pod,
    count: 3,
    source: { component: 'kubelet' },
    firstTimestamp: '2026-07-01T11:00:00Z',
  })
  const { body } = await events('GET events/b')
  assert.deepEqual(
    [body.deprecatedCount, body.deprecatedSource, body.deprecatedFirstTimestamp, body.eventTime],
    [3, { component: 'kubelet' }, '2026-07-01T11:00:00Z', null],
  )
})

test('the events group is strict', async () => {
  const { code, body } = await events('POST events', { metadata: { name: 'c' }, regarding: pod, deprecatedCount: 1 })
  assert.equal(code, 422)
  assert.deepEqual(
    body.details.causes.map((c: any) => c.field),
    ['eventTime', 'type', 'count'],
  )
  assert.equal((await core('POST events', { metadata: { name: 'c' }, involvedObject: pod, count: 1 })).code, 201)
})

test('through the events group only the series moves on', async () => {
  const series = { count: 2, lastObservedTime: '2026-07-01T11:30:00.000000Z' }
  assert.equal((await events('PATCH events/a', { series })).code, 200)
  assert.deepEqual((await core('GET events/a')).body.series, series)
  const { code, body } = await events('PATCH events/a', { reason: 'Other' })
  assert.deepEqual([code, body.details.causes[0].field], [422, 'reason'])
})

test('fields are selected by their names of the group', async () => {
  const { body } = await events('GET events?fieldSelector=regarding.name%3Dweb,reportingController%3Dexample.com/controller')
  assert.deepEqual(
    body.items.map((o: any) => o.metadata.name),
    ['a'],
  )
  assert.equal((await events('GET events?fieldSelector=involvedObject.name%3Dweb')).code, 400)
})
