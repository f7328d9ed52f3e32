import assert from 'node:assert/strict'
import test from 'node:test'
import { entryOf, Widget, widgets } from '../../test/kits/cache/widgets.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { ObjectRevision, Observer } from '../schema/object-revision.ts'
import type { Resource } from '../schema/resource.ts'
import { objectRevisionOf } from './cached-revision.ts'
import { Observers } from './observers.ts'

const revisionOf = (color: string, revision: number) => objectRevisionOf(widgets, entryOf('default/a', { color }, revision))

/** An observer that keeps what it is told. */
function listObserver() {
  const told: unknown[][] = []
  const observer: Observer = {
    changed: (resource, current, previous) => void told.push([resource.plural, current.revision, previous?.revision]),
    joined: ({ plural }) => void told.push([plural]),
  }
  return { told, observer }
}

test('observers are told every change and every resource until their signal is aborted', () => {
  const observers = new Observers()
  const [first, second, ending] = [listObserver(), listObserver(), new AbortController()]
  observers.add(first.observer, new AbortController().signal)
  observers.add(second.observer, ending.signal)
  const [one, two] = [revisionOf('red', 1), revisionOf('blue', 2)]
  observers.joined(widgets)
  observers.changed(widgets, { current: one, previous: undefined })
  ending.abort()
  observers.changed(widgets, { current: two, previous: one })
  assert.deepEqual(first.told, [['widgets'], ['widgets', 1, undefined], ['widgets', 2, 1]])
  assert.deepEqual(second.told, first.told.slice(0, 2))
})

test('the object of the writer is offered to observers, not to those who read later, nor for a custom kind', () => {
  const written = { metadata: { name: 'a' }, spec: { color: 'of the writer' } } as unknown as AnyObject
  const custom = { ...widgets, def: { ...Widget, custom: {} } } as unknown as Resource
  const colorOf = ({ object }: ObjectRevision) => object?.['spec'].color
  for (const [resource, isRead, expected] of [
    [widgets, true, 'of the writer'],
    [widgets, false, 'red'],
    [custom, true, 'red'],
  ] as const) {
    const observers = new Observers()
    const current = revisionOf('red', 1)
    const changed = (_: Resource, revision: ObjectRevision) => void (isRead && assert.equal(colorOf(revision), expected))
    observers.add({ changed, joined() {} }, new AbortController().signal)
    observers.changed(resource, { current, previous: undefined }, written)
    assert.equal(colorOf(current), expected)
  }
})
