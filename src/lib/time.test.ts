import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as time from './time.ts'

test('times are parsed with any fraction and offset, and printed in UTC with seconds', () => {
  const canonical = (text: string) => time.formatTime(time.parseTime(text))
  assert.equal(canonical('2024-02-29T23:59:59Z'), '2024-02-29T23:59:59Z')
  assert.equal(canonical('2024-01-01T00:00:00.999999999Z'), '2024-01-01T00:00:00Z')
  assert.equal(canonical('2024-01-01T01:30:00+02:00'), '2023-12-31T23:30:00Z')
  assert.equal(canonical('2024-01-01T01:30:00,5-00:30'), '2024-01-01T02:00:00Z')
  assert.equal(canonical('2024-01-01T5:04:05Z'), '2024-01-01T05:04:05Z')
  assert.equal(canonical('0050-03-01T00:00:00Z'), '0050-03-01T00:00:00Z')
  assert.equal(canonical('1969-12-31T23:59:59.5Z'), '1969-12-31T23:59:59Z')
})

test('micro times are written with six digits and need six', () => {
  assert.equal(time.formatMicroTime(time.parseMicroTime('2024-01-01T00:00:00.123456+01:00')), '2023-12-31T23:00:00.123456Z')
  const layout = '"2006-01-02T15:04:05.000000Z07:00"'
  assert.throws(() => time.parseMicroTime('2024-01-01T00:00:00Z'), {
    message: `parsing time "2024-01-01T00:00:00Z" as ${layout}: cannot parse "Z" as ".000000"`,
  })
  assert.throws(() => time.parseMicroTime('2024-01-01T00:00:00.1234567Z'), {
    message: `parsing time "2024-01-01T00:00:00.1234567Z" as ${layout}: cannot parse "7Z" as "Z07:00"`,
  })
})

test('a clock reading and its text are the same instant', () => {
  fc.assert(
    fc.property(fc.integer({ min: Date.UTC(1, 0, 1), max: Date.UTC(9999, 11, 31) }), ms => {
      const instant = time.instantOf(ms)
      assert.equal(time.millisecondsOf(instant), ms)
      assert.equal(time.formatTime(instant), new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z'))
      assert.deepEqual(time.parseMicroTime(time.formatMicroTime(instant)), instant)
      // With a fraction it is read element by element.
      const text = time.formatTime(instant)
      assert.deepEqual(time.parseTime(text), time.parseTime(text.replace('Z', '.0Z')))
    }),
  )
})

test('errors are those of Go', () => {
  const layout = '"2006-01-02T15:04:05Z07:00"'
  const cases: [string, string][] = [
    ['x', `parsing time "x" as ${layout}: cannot parse "x" as "2006"`],
    ['', `parsing time "" as ${layout}: cannot parse "" as "2006"`],
    ['2024', `parsing time "2024" as ${layout}: cannot parse "" as "-"`],
    ['2024-01-01', `parsing time "2024-01-01" as ${layout}: cannot parse "" as "T"`],
    ['2024-1-01T00:00:00Z', `parsing time "2024-1-01T00:00:00Z" as ${layout}: cannot parse "1-01T00:00:00Z" as "01"`],
    ['2024-01-01T00:00:00', `parsing time "2024-01-01T00:00:00" as ${layout}: cannot parse "" as "Z07:00"`],
    ['2024-01-01T00:00:00Zx', 'parsing time "2024-01-01T00:00:00Zx": extra text: "x"'],
    ['2024-13-01T00:00:00Z', 'parsing time "2024-13-01T00:00:00Z": month out of range'],
    ['2024-02-30T00:00:00Z', 'parsing time "2024-02-30T00:00:00Z": day out of range'],
    ['2024-01-01T24:00:00Z', 'parsing time "2024-01-01T24:00:00Z": hour out of range'],
    ['2024-01-01T00:00:60Z', 'parsing time "2024-01-01T00:00:60Z": second out of range'],
    ['"é', `parsing time "\\"\\xc3\\xa9" as ${layout}: cannot parse "\\"\\xc3\\xa9" as "2006"`],
  ]
  for (const [text, message] of cases) assert.throws(() => time.parseTime(text), { name: 'TimeError', message })
})

test('year 1 is the zero time', () => {
  assert.ok(time.isZeroTime(time.parseTime('0001-01-01T00:00:00Z')))
  assert.ok(!time.isZeroTime(time.parseTime('1970-01-01T00:00:00Z')))
})

test('ages are printed in the units that kubectl uses', () => {
  const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]
  const cases: [number, string][] = [
    [-2 * second, '<invalid>'],
    [-1999, '0s'],
    [0, '0s'],
    [999, '0s'],
    [119 * second, '119s'],
    [120 * second, '2m'],
    [121 * second, '2m1s'],
    [10 * minute + 30 * second, '10m'],
    [179 * minute, '179m'],
    [3 * hour, '3h'],
    [3 * hour + minute, '3h1m'],
    [8 * hour + 59 * minute, '8h'],
    [47 * hour, '47h'],
    [48 * hour, '2d'],
    [49 * hour, '2d1h'],
    [8 * day, '8d'],
    [729 * day, '729d'],
    [730 * day, '2y'],
    [731 * day, '2y1d'],
    [8 * 365 * day + 5 * day, '8y'],
  ]
  for (const [ms, text] of cases) assert.equal(time.humanDuration(ms), text)
})

test('clock readings become timestamps, and timestamps milliseconds', () => {
  const reading = Date.parse('2026-07-01T12:00:00.123Z')
  assert.equal(time.timestampOf(reading), '2026-07-01T12:00:00Z')
  assert.equal(time.timestampOf(new Date(reading)), '2026-07-01T12:00:00Z')
  assert.equal(time.dateOf(reading), '2026-07-01')
  assert.equal(time.microTimestampOf(reading), '2026-07-01T12:00:00.123000Z')
  assert.equal(time.millisecondsAt('2026-07-01T12:00:00.123Z'), reading)
  assert.deepEqual([time.millisecondsAt(undefined), time.millisecondsAt('', 5), time.millisecondsAt(null, Infinity)], [0, 5, Infinity])
})

test('a date is a day that exists, without a time', () => {
  const texts = ['2026-07-01', '2026-13-01', '2026-7-1', '2026-07-01T12:00:00Z', '', undefined]
  assert.deepEqual(texts.map(time.isDate), [true, false, false, false, false, false])
})
