import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { cronFault, parseCron } from './cron.ts'
import { clockOf } from './time-zone.ts'

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

test('a schedule may be as long as a request, and a message about it shows its beginning', () => {
  const parsed = parseCron(`${'5,050,17-19/2,'.repeat(200_000)}7 * * * ${'mon,TUE,'.repeat(200_000)}`)
  assert.ok(parsed.ok)
  assert.equal(parsed.schedule.next(Date.UTC(2026, 0, 5, 0, 7)), Date.UTC(2026, 0, 5, 0, 17))
  assert.equal(parsed.schedule.next(Date.UTC(2026, 0, 6, 23, 50)), Date.UTC(2026, 0, 12, 0, 5))
  const wrong = cronFault(`${'1,'.repeat(1_000_000)}60 * * * *`)
  assert.equal(wrong, 'end of range (60) above maximum (59): 60')
  assert.match(cronFault('* '.repeat(1_000_000))!, /^expected exactly 5 fields, found 1000000: \[\* \* .{1000,20000}\]$/)
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

const next = (schedule: string, after: string, zone?: string): string => {
  const parsed = parseCron(schedule, zone)
  assert.ok(parsed.ok)
  const time = parsed.schedule.next(Date.parse(after))
  return time === undefined ? 'never' : clockOf(zone ?? '').format(time)
}

test('the next time is the first that all fields allow', () => {
  const from = '2026-07-01T12:30:15.5Z'
  assert.equal(next('* * * * *', from), '2026-07-01T12:31:00Z')
  assert.equal(next('* * * * *', '2026-07-01T12:31:00Z'), '2026-07-01T12:32:00Z')
  assert.equal(next('15 * * * *', from), '2026-07-01T13:15:00Z')
  assert.equal(next('0 3 * * *', from), '2026-07-02T03:00:00Z')
  assert.equal(next('0 0 1 1 *', from), '2027-01-01T00:00:00Z')
  assert.equal(next('0 0 29 2 *', from), '2028-02-29T00:00:00Z')
  assert.equal(next('0 12 * * mon', from), '2026-07-06T12:00:00Z')
  assert.equal(next('0 0 13 * fri', from), '2026-07-03T00:00:00Z')
  assert.equal(next('0 0 */2 * fri', from), '2026-07-03T00:00:00Z')
  assert.equal(next('@weekly', from), '2026-07-05T00:00:00Z')
  assert.equal(next('@every 1h30m', from), '2026-07-01T14:00:15Z')
  assert.equal(next('@every 1ms', from), '2026-07-01T12:30:16Z')
  assert.equal(next('59 23 31 2 *', from), 'never')
  assert.equal(next(', * * * *', from), 'never')
})

test('a schedule is about the clocks of its zone', () => {
  assert.equal(next('30 9 * * *', '2026-07-01T12:00:00Z', 'Asia/Kolkata'), '2026-07-02T09:30:00+05:30')
  assert.equal(next('0 0 1 * *', '2026-07-31T23:00:00Z', 'America/New_York'), '2026-08-01T00:00:00-04:00')
  assert.equal(next('CRON_TZ=Europe/Berlin 0 3 * * *', '2026-07-01T12:00:00Z'), '2026-07-02T01:00:00Z')
})

test('hours that clocks skip are skipped, hours that they repeat are repeated', () => {
  // Clocks go from two to three on 29 March 2026, and back on 25 October.
  assert.equal(next('30 2 * * *', '2026-03-28T12:00:00Z', 'Europe/Berlin'), '2026-03-30T02:30:00+02:00')
  assert.equal(next('30 2 * * *', '2026-10-24T12:00:00Z', 'Europe/Berlin'), '2026-10-25T02:30:00+02:00')
  assert.equal(next('30 2 * * *', '2026-10-25T00:30:00Z', 'Europe/Berlin'), '2026-10-25T02:30:00+01:00')
  assert.equal(next('30 2 * * *', '2026-10-25T01:30:00Z', 'Europe/Berlin'), '2026-10-26T02:30:00+01:00')
  // Midnight does not exist on 4 November 2018.
  assert.equal(next('0 0 4 11 *', '2018-11-03T12:00:00Z', 'America/Sao_Paulo'), '2019-11-04T00:00:00-03:00')
  assert.equal(next('0 5 4 11 *', '2018-11-03T12:00:00Z', 'America/Sao_Paulo'), '2018-11-04T05:00:00-02:00')
})

test('property: the next time is allowed, later, and no allowed minute is passed over', () => {
  const values = (max: number, min = 0) =>
    fc.oneof(
      fc.constant('*'),
      fc.integer({ min, max }).map(String),
      fc.integer({ min: 2, max: 20 }).map(step => `*/${step}`),
    )
  const schedules = fc.tuple(values(59), values(23), values(28, 1), fc.constant('*'), values(6)).map(fields => fields.join(' '))
  const zones = fc.constantFrom('', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu')
  // Half a year in which all of these zones change their clocks.
  const starts = fc.integer({ min: Date.parse('2026-03-01'), max: Date.parse('2026-11-10') })
  fc.assert(
    fc.property(schedules, zones, starts, (text, zone, after) => {
      const parsed = parseCron(text, zone)
      assert.ok(parsed.ok)
      const found = parsed.schedule.next(after)!
      assert.ok(found > after && found % 60_000 === 0)
      const clock = clockOf(zone)
      assert.ok(allows(text, clock.shownAt(found)))
      const last = Math.min(found, after + 3 * 86_400_000)
      // Where clocks are put back within an hour that is skipped, Kubernetes may pass over some minutes: only whole hours are compared.
      if (zone === 'Australia/Lord_Howe') return
      for (let time = Math.ceil((after + 1) / 60_000) * 60_000; time < last; time += 60_000)
        assert.ok(!allows(text, clock.shownAt(time)), new Date(time).toISOString())
    }),
    { numRuns: 60 },
  )
})

/** Whether fields of the simple forms of the property allow the time that a clock shows. */
function allows(text: string, shown: Date): boolean {
  const [minute, hour, day, , weekday] = text.split(' ') as [string, string, string, string, string]
  const fits = (field: string, value: number, min = 0) =>
    field === '*' || (field.startsWith('*/') ? (value - min) % Number(field.slice(2)) === 0 : Number(field) === value)
  const [isInMonth, isInWeek] = [fits(day, shown.getUTCDate(), 1), fits(weekday, shown.getUTCDay())]
  const isDay = day === '*' || weekday === '*' ? isInMonth && isInWeek : isInMonth || isInWeek
  return isDay && fits(hour, shown.getUTCHours()) && fits(minute, shown.getUTCMinutes())
}
