import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeZoneFault } from './time-zone.ts'

test('time zones are found by their exact names', () => {
  for (const name of ['UTC', 'Europe/Berlin', 'America/New_York', 'US/Eastern', 'Etc/GMT+5', 'EST5EDT'])
    assert.equal(timeZoneFault(name), undefined, name)
  for (const name of ['Mars/Base', 'europe/berlin', '+0100', '+01:00', 'x'.repeat(1000), '\0'])
    assert.equal(timeZoneFault(name), `unknown time zone ${name}`)
})
