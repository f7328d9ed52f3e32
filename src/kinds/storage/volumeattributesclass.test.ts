import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../../test/kits/kinds/kinds.ts'
import { VolumeAttributesClass } from './volumeattributesclass.ts'

const gold = { driverName: 'disk.example.com', parameters: { iops: '4000' } }

test('a class names a driver and at least one property', () => {
  assert.deepEqual(check(VolumeAttributesClass, gold), [])
  assert.deepEqual(check(VolumeAttributesClass, {}), [
    'driverName: Required value',
    'parameters: Required value: must contain at least one key/value pair',
  ])
})

test('neither changes', () => {
  assert.deepEqual(check(VolumeAttributesClass, { driverName: 'other', parameters: { iops: '1' } }, { old: gold }), [
    'driverName: Forbidden: updates to driverName are forbidden.',
    'parameters: Forbidden: updates to parameters are forbidden.',
  ])
  assert.deepEqual(check(VolumeAttributesClass, { ...gold, metadata: { labels: { a: 'b' } } }, { old: gold }), [])
})
