import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addToTimestamp,
  betweenTimestamps,
  dayOfYear,
  formatDurationValue,
  formatTimestamp,
  inTimeZone,
  parseDurationValue,
  parseTimestamp,
} from './times.ts'
import { CelDuration, CelFault, CelTimestamp, intOf } from './values.ts'

const seconds = fc.integer({ min: -62_135_596_800, max: 253_402_300_799 })
const timestamp = fc.tuple(seconds, fc.integer({ min: 0, max: 999_999_999 })).map(([s, n]) => new CelTimestamp(s, n))
const duration = fc.bigInt(-(2n ** 62n), 2n ** 62n).map(nanos => new CelDuration(intOf(nanos)))

test('times parse back from their text', () => {
  fc.assert(
    fc.property(timestamp, moment => {
      assert.deepEqual(parseTimestamp(formatTimestamp(moment)), moment)
    }),
  )
  for (const text of ['2009-02-13T23:31:30Z', '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999Z', '2024-05-01T01:02:03.5-07:30']) {
    assert.equal(formatTimestamp(parseTimestamp(text) as CelTimestamp), text)
  }
})

test('adding what lies between leads from one moment to the other', () => {
  fc.assert(
    fc.property(timestamp, duration, (moment, span) => {
      const later = addToTimestamp(moment, span)
      if (later instanceof CelFault) assert.equal(later.message, 'timestamp overflow')
      else assert.deepEqual(betweenTimestamps(later, moment), span)
    }),
  )
})

test('moments too far apart have no duration between them', () => {
  const far = betweenTimestamps(new CelTimestamp(253_402_300_799, 0), new CelTimestamp(-62_135_596_800, 0))
  assert.equal((far as CelFault).message, 'integer overflow')
})

test('strings that are no times are rejected', () => {
  for (const text of ['', '2024', '2024-02-30T00:00:00Z', '2024-01-01T00:00:00', '2024-01-01 00:00:00Z', 'x']) {
    assert.equal(parseTimestamp(text), undefined, text)
  }
  assert.equal((parseTimestamp('0000-12-31T23:59:59Z') as CelFault).message, 'timestamp overflow')
  assert.equal(parseDurationValue('1'), undefined)
})

test('durations are written as seconds without an exponent', () => {
  const written = (nanos: bigint) => formatDurationValue(new CelDuration(intOf(nanos)))
  assert.equal(written(0n), '0s')
  assert.equal(written(1n), '0.000000001s')
  assert.equal(written(-1_500_000_000n), '-1.5s')
  assert.equal(written(9_223_372_036_000_000_000n), '9223372036s')
})

test('the day of the year counts from the first of January', () => {
  fc.assert(
    fc.property(seconds, at => {
      const date = new Date(at * 1000)
      const first = new Date(0)
      first.setUTCFullYear(date.getUTCFullYear(), 0, 1)
      assert.equal(dayOfYear(date), Math.floor((date.getTime() - first.getTime()) / 86_400_000))
    }),
  )
})

test('a fixed offset moves the clock and UTC does not', () => {
  const moment = new CelTimestamp(1_700_000_000, 0)
  assert.equal((inTimeZone(moment, 'UTC') as Date).getTime(), 1_700_000_000_000)
  assert.equal((inTimeZone(moment, '-01:30') as Date).getTime(), 1_700_000_000_000 - 90 * 60_000)
  assert.equal((inTimeZone(moment, '02:00') as Date).getTime(), 1_700_000_000_000 + 120 * 60_000)
  assert.equal((inTimeZone(moment, '99999999999999999999:00') as CelFault).message.includes('value out of range'), true)
})
