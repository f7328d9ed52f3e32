import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, type Draft, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { CronJob } from './cronjob.ts'

const template = { spec: { restartPolicy: 'OnFailure', containers: [{ name: 'c', image: 'i', imagePullPolicy: 'Always' }] } }
const cron = (spec: object = {}, job: object = {}): Draft => ({
  spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template, ...job } }, ...spec },
})

test('a cron job keeps three jobs that succeeded and one that failed', () => {
  const { spec } = withDefaults(CronJob, cron())
  const { concurrencyPolicy, suspend, successfulJobsHistoryLimit, failedJobsHistoryLimit } = spec
  assert.deepEqual([concurrencyPolicy, suspend, successfulJobsHistoryLimit, failedJobsHistoryLimit], ['Allow', false, 3, 1])
  assert.equal(spec.jobTemplate.spec.completions, undefined)
  assert.deepEqual(check(CronJob, cron()), [])
})

test('its schedule is one', () => {
  assert.deepEqual(check(CronJob, cron({ schedule: '' })), ['spec.schedule: Required value'])
  assert.deepEqual(check(CronJob, cron({ schedule: 'often' })), [
    'spec.schedule: Invalid value: "often": expected exactly 5 fields, found 1: [often]',
  ])
})

test('a time zone is set in its own field, unless the stored schedule has one', () => {
  const zoned = cron({ schedule: 'TZ=UTC 0 3 * * *' })
  assert.deepEqual(check(CronJob, zoned), [
    'spec.schedule: Invalid value: "TZ=UTC 0 3 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
  ])
  assert.deepEqual(check(CronJob, zoned, { old: zoned }), [])
  assert.equal(warnings(CronJob, zoned, { old: zoned }).length, 1)
  assert.deepEqual(check(CronJob, cron({ schedule: 'TZ=UTC 0 3 * * *', timeZone: 'UTC' }), { old: zoned }), [
    'spec.schedule: Invalid value: "TZ=UTC 0 3 * * *": cannot use both timeZone field and TZ or CRON_TZ in schedule',
  ])
})

test('zones are those of the world', () => {
  const zone = (timeZone: string) => check(CronJob, cron({ timeZone }))
  assert.deepEqual(zone('Europe/Berlin'), [])
  assert.deepEqual(zone(''), ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string'])
  assert.deepEqual(zone('../etc'), ['spec.timeZone: Invalid value: "../etc": unknown time zone ../etc'])
  assert.deepEqual(zone('Mars/Base'), ['spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base'])
  assert.deepEqual(zone('Local'), [
    'spec.timeZone: Invalid value: "Local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
  ])
})

test('job templates have no selector, and names are short enough for the time suffix', () => {
  assert.deepEqual(check(CronJob, cron({}, { selector: { matchLabels: { a: 'b' } }, manualSelector: true })), [
    'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` will be auto-generated',
    'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
  ])
  const name = 'x'.repeat(53)
  assert.deepEqual(check(CronJob, { ...cron(), metadata: { name } }), [
    `metadata.name: Invalid value: "${name}": must be no more than 52 characters`,
  ])
})

test('jobs of a template follow the rules of jobs', () => {
  assert.deepEqual(check(CronJob, cron({ concurrencyPolicy: 'Maybe', startingDeadlineSeconds: -1 }, { completions: -1 })), [
    'spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0',
    'spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"',
    'spec.jobTemplate.spec.completions: Invalid value: -1: must be greater than or equal to 0',
  ])
})

test('the status of a CronJob is not validated', () => {
  assert.deepEqual(checkSubresource(CronJob, 'status', { ...cron(), status: { lastScheduleTime: '2026-07-01T03:00:00Z' } }, cron()), [])
})

test('its table shows when it last ran', () => {
  const { Age: _, ...shown } = cells(CronJob, { ...cron(), status: { lastScheduleTime: '2026-07-01T11:00:00Z', active: [{ name: 'a' }] } })
  assert.deepEqual(shown, {
    Schedule: '0 3 * * *',
    Timezone: '<none>',
    Suspend: 'False',
    Active: 1,
    'Last Schedule': '60m',
    Containers: 'c',
    Images: 'i',
    Selector: '<none>',
  })
})
