import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { refTo } from '../../schema/refs.ts'
import { Event } from './event.ts'
import { validateStrictChange, validateStrictEvent } from './event-rules.ts'

const pod = { kind: 'Pod', name: 'web', namespace: 'default' }
const modern = {
  involvedObject: pod,
  eventTime: '2026-07-01T11:00:00.000000Z',
  reportingComponent: 'example.com/controller',
  reportingInstance: 'controller-0',
  action: 'Bind',
  reason: 'Bound',
  type: 'Normal',
}
const show = (errors: Iterable<{ field: string; message: string }>) => [...errors].map(e => `${e.field}: ${e.message}`)

test('an event is in the namespace of its object', () => {
  assert.deepEqual(check(Event, { involvedObject: pod }), [])
  assert.deepEqual(check(Event, { involvedObject: { kind: 'Node', name: 'n' } }), [])
  assert.deepEqual(check(Event, { involvedObject: { ...pod, namespace: 'other' } }), [
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
  ])
  assert.deepEqual(check(Event, { metadata: { namespace: 'dev' }, involvedObject: { kind: 'Node' } }), [
    'involvedObject.namespace: Invalid value: "": does not match event.namespace',
  ])
})

test('its name only has to fit into a path', () => {
  assert.deepEqual(check(Event, { metadata: { name: 'Web_1:x' }, involvedObject: pod }), [])
  assert.deepEqual(check(Event, { metadata: { name: 'a/b' }, involvedObject: pod }), [
    'metadata.name: Invalid value: "a/b": may not contain \'/\'',
  ])
})

test('an event of the new style names its reporter and its action', () => {
  assert.deepEqual(check(Event, modern), [])
  const errors = check(Event, { involvedObject: pod, eventTime: modern.eventTime })
  assert.deepEqual(
    errors.filter(e => e.includes('Required')),
    ['reportingComponent', 'reportingInstance', 'action', 'reason'].map(field => `${field}: Required value`),
  )
  assert.deepEqual(check(Event, { ...modern, reason: 'R'.repeat(129), message: 'm'.repeat(1025) }), [
    'reason: Invalid value: "": can have at most 128 characters',
    'message: Invalid value: "": can have at most 1024 characters',
  ])
})

test('the events group is strict about the new style', () => {
  const strict = (draft: object) => {
    const o: Event = withDefaults(Event, { ...draft })
    return show(validateStrictEvent(o, refTo(o)))
  }
  assert.deepEqual(strict(modern), [])
  assert.deepEqual(strict({ count: 1, firstTimestamp: '2026-07-01T11:00:00Z', source: { host: 'h' }, series: { count: 1 } }), [
    'series.count: Invalid value: "": should be at least 2',
    'series.lastObservedTime: Required value',
    'eventTime: Required value',
    'type: Invalid value: "": has invalid value: ',
    'firstTimestamp: Invalid value: "": needs to be unset',
    'count: Invalid value: "": needs to be unset',
    'source: Invalid value: "": needs to be unset',
  ])
})

test('through the events group only the series moves on', () => {
  const old = withDefaults(Event, modern)
  const series = { count: 2, lastObservedTime: '2026-07-01T11:30:00.000000Z' }
  const change = (more: object) => {
    const o: Event = withDefaults(Event, { ...modern, ...more })
    return show(validateStrictChange(o, old, refTo(o)))
  }
  assert.deepEqual(change({ series }), [])
  assert.deepEqual(change({ reason: 'Other', reportingComponent: 'example.com/other' }), [
    'reason: Invalid value: "Other": field is immutable',
    'reportingController: Invalid value: "example.com/other": field is immutable',
  ])
})

test('its fields can be selected by', () => {
  const o = withDefaults(Event, { ...modern, source: { component: 'kubelet' } })
  const selected = Object.fromEntries(Object.entries(Event.def.selectable!).map(([name, get]) => [name, get(o)]))
  assert.deepEqual([selected['involvedObject.name'], selected['source'], selected['type']], ['web', 'kubelet', 'Normal'])
})

test('the table shows time, reason and count', () => {
  const shown = cells(Event, { ...modern, message: ' hello\n', series: { count: 3, lastObservedTime: '2026-07-01T11:59:00.000000Z' } })
  assert.deepEqual(shown, {
    'Last Seen': '60s',
    Type: 'Normal',
    Reason: 'Bound',
    Object: 'pod/web',
    Subobject: '',
    Source: 'example.com/controller, controller-0',
    Message: 'hello',
    'First Seen': '60m',
    Count: 3,
    Name: 'x',
  })
  assert.equal(cells(Event, { involvedObject: pod })['Count'], 1)
})
