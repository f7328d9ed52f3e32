import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cronFault } from './cron.ts'

test('five fields, names and intervals are valid schedules', () => {
  for (const schedule of [
    '* * * * *',
    '*/15 0-5,22,23 1/2 JAN-dec mon-FRI',
    '0  3\t? * ?',
    '+5 * * * 0',
    ', * * * *',
    '@yearly',
    '@midnight',
    '@every 1h30m',
    'CRON_TZ=Europe/Berlin 0 3 * * *',
    'TZ=UTC @daily',
  ])
    assert.equal(cronFault(schedule), undefined, schedule)
})

test('invalid schedules have the error message of Kubernetes', () => {
  const faults: Record<string, string> = {
    '': 'empty spec string',
    ' ': 'expected exactly 5 fields, found 0: []',
    '* * * *': 'expected exactly 5 fields, found 4: [* * * *]',
    '60 * * * *': 'end of range (60) above maximum (59): 60',
    '* * 0 * *': 'beginning of range (0) below minimum (1): 0',
    '* * * * 7': 'end of range (7) above maximum (6): 7',
    '5-1 * * * *': 'beginning of range (5) beyond end of range (1): 5-1',
    '1-2-3 * * * *': 'too many hyphens: 1-2-3',
    '*/1/2 * * * *': 'too many slashes: */1/2',
    '*/0 * * * *': 'step of range should be a positive number: */0',
    'x * * * *': 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax',
    '99999999999999999999 * * * *':
      'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
    '-1 * * * *': 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax',
    '@often': 'unrecognized descriptor: @often',
    '@every x': 'failed to parse duration @every x: time: invalid duration "x"',
    'TZ=Mars/Base * * * * *': 'provided bad location Mars/Base: unknown time zone Mars/Base',
    'TZ=0': 'invalid schedule format: runtime error: slice bounds out of range [:-1]',
  }
  for (const [schedule, expected] of Object.entries(faults)) assert.equal(cronFault(schedule), expected, schedule)
})

test('property: any text is a schedule or has a problem', () => {
  const word = fc.constantFrom('*', '?', '-', '/', ',', '@', 'TZ=', ' ', 'mon', '0', '61', '__proto__')
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(word).map(w => w.join('')),
      ),
      s => ['string', 'undefined'].includes(typeof cronFault(s)),
    ),
  )
})
