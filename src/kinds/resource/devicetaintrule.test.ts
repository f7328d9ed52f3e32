import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withGates } from '../../../test/kits/kinds/devices.ts'
import { cells, check, checkSubresource, created, updated } from '../../../test/kits/kinds/kinds.ts'
import { DeviceTaintRule } from './devicetaintrule.ts'

const ctx = withGates()
const taint = { key: 'example.com/bad', effect: 'NoSchedule' }
const faults = (spec: object, old?: object) => check(DeviceTaintRule, { spec }, old ? { ctx, old: { spec: old } } : { ctx })

test('a taint has a label key, a label value and an effect', () => {
  assert.deepEqual(faults({ taint: { ...taint, value: 'v' } }), [])
  const empty = faults({})
  assert.equal(empty[0], 'spec.taint.key: Invalid value: "": name part must be non-empty')
  assert.equal(empty.at(-1), 'spec.taint.effect: Required value')
  assert.deepEqual(faults({ taint: { ...taint, effect: 'PreferNoSchedule' } }), [
    'spec.taint.effect: Unsupported value: "PreferNoSchedule": supported values: "NoExecute", "NoSchedule", "None"',
  ])
  assert.match(faults({ taint: { ...taint, value: 'a b' } })[0] ?? '', /^spec\.taint\.value: Invalid value: "a b": a valid label must/)
})

test('devices are selected by driver, pool and name', () => {
  assert.deepEqual(faults({ taint, deviceSelector: { driver: 'GPU.example.com', pool: 'a/b.c', device: 'd0' } }), [])
  assert.deepEqual(faults({ taint, deviceSelector: { driver: '', pool: '' } }), [
    'spec.deviceSelector.driver: Required value',
    'spec.deviceSelector.pool: Required value',
  ])
  assert.match(faults({ taint, deviceSelector: { device: 'a.b' } })[0] ?? '', /device: Invalid value: "a\.b": must not contain dots/)
  assert.match(faults({ taint, deviceSelector: { pool: 'a//b' } })[0] ?? '', /pool: Invalid value: "": a lowercase RFC 1123 subdomain/)
})

test('a taint is given the time at which it was added', () => {
  assert.equal(created(DeviceTaintRule, { spec: { taint } }, ctx).spec.taint.timeAdded, '2026-07-01T12:00:00Z')
  const timeAdded = '2020-01-01T00:00:00Z'
  assert.equal(created(DeviceTaintRule, { spec: { taint: { ...taint, timeAdded } } }, ctx).spec.taint.timeAdded, timeAdded)
})

test('the time moves with the effect, unless the client sets another', () => {
  const old = { spec: { taint: { ...taint, timeAdded: '2020-01-01T00:00:00Z' } } }
  const after = (change: object) =>
    updated(DeviceTaintRule, { spec: { taint: { ...old.spec.taint, ...change } } }, old, ctx).spec.taint.timeAdded
  assert.equal(after({ effect: 'NoExecute' }), '2026-07-01T12:00:00Z')
  assert.equal(after({ effect: 'NoExecute', timeAdded: '2021-01-01T00:00:00Z' }), '2021-01-01T00:00:00Z')
  assert.equal(after({ value: 'new' }), '2020-01-01T00:00:00Z')
})

test('the status holds at most 8 conditions', () => {
  const condition = (i: number) => ({ type: `T${i}`, status: 'True', reason: 'R', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' })
  const write = (count: number) =>
    checkSubresource(
      DeviceTaintRule,
      'status',
      { status: { conditions: Array.from({ length: count }, (_, i) => condition(i)) } },
      { spec: { taint } },
      ctx,
    )
  assert.deepEqual(write(8), [])
  assert.deepEqual(write(9), ['status.conditions: Too many: 9: must have at most 8 items'])
})

test('its table shows the taint', () => {
  const shown = cells(DeviceTaintRule, { spec: { taint: { ...taint, timeAdded: '2026-07-01T11:00:00Z' } } })
  assert.deepEqual([shown['Key'], shown['Value'], shown['Effect'], shown['TimeAdded']], ['example.com/bad', '', 'NoSchedule', '60m'])
})
