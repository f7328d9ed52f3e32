// Which watches a write concerns.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attributes } from '../../schema/access.ts'
import { WatchTracker } from './watch-tracker.ts'

const about = (plural: string, namespace = '', name = '', more: object = {}): Attributes =>
  ({ verb: '', path: '', resource: { group: '', version: 'v1', plural, subresource: '', namespace, name, ...more } }) as never

test('a write concerns the watches of its resource, of its namespace and of its object', () => {
  const tracker = new WatchTracker()
  const forget = [
    tracker.register(about('secrets')),
    tracker.register(about('secrets')),
    tracker.register(about('secrets', 'a')),
    tracker.register(about('secrets', 'b')),
    tracker.register(about('secrets', 'a', 'x')),
    tracker.register(about('configmaps')),
    tracker.register(about('secrets', '', '', { group: 'other' })),
  ]
  const counted = () =>
    [about('secrets', 'a'), about('secrets', 'a', 'x'), about('secrets', 'a', 'y'), about('secrets', 'c', 'x')].map(a =>
      tracker.concernedBy(a),
    )
  assert.deepEqual(counted(), [3, 4, 3, 2])
  forget[2]!()
  forget[4]!()
  assert.deepEqual(counted(), [2, 2, 2, 2])
  for (const i of [0, 1, 3]) forget[i]!()
  assert.deepEqual(counted(), [0, 0, 0, 0])
  assert.equal(tracker.concernedBy(about('configmaps', 'a')), 1)
})

test('watches of the pods of one node are not counted: few writes concern each', () => {
  const tracker = new WatchTracker()
  for (const fieldSelector of ['spec.nodeName=a', 'status.phase=Running,spec.nodeName==b'])
    tracker.register(about('pods', '', '', { fieldSelector }), 'spec.nodeName')
  assert.equal(tracker.concernedBy(about('pods', 'x')), 0)
  for (const fieldSelector of ['spec.nodeName=', 'spec.nodeName!=a', 'status.phase=Running'])
    tracker.register(about('pods', '', '', { fieldSelector }), 'spec.nodeName')
  assert.equal(tracker.concernedBy(about('pods', 'x')), 3)
})
