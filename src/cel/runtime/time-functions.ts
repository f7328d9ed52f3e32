/** The parts of timestamps and durations: `getHours()` and the like. */

import { dayOfYear, durationPart, inTimeZone } from './times.ts'
import { CelDuration, CelFault, CelTimestamp, type CelValue } from './values.ts'

/** Returns a part, or undefined for values of other types. */
export interface TimePart {
  plain(value: CelValue): CelValue | undefined
  inZone(value: CelValue, zone: CelValue): CelValue | undefined
}

type DurationPart = Parameters<typeof durationPart>[1]

function part(read: (date: Date, moment: CelTimestamp) => number, ofDuration?: DurationPart): TimePart {
  const at = (moment: CelTimestamp, zone: string): CelValue => {
    const local = inTimeZone(moment, zone)
    return local instanceof CelFault ? local : read(local, moment)
  }
  return {
    plain(value) {
      if (value instanceof CelTimestamp) return at(value, 'UTC')
      return ofDuration && value instanceof CelDuration ? durationPart(value, ofDuration) : undefined
    },
    inZone: (value, zone) => (value instanceof CelTimestamp && typeof zone === 'string' ? at(value, zone) : undefined),
  }
}

/** The parts by the names of their functions. */
export const timeParts: ReadonlyMap<string, TimePart> = new Map([
  ['getFullYear', part(date => date.getUTCFullYear())],
  ['getMonth', part(date => date.getUTCMonth())],
  ['getDayOfYear', part(dayOfYear)],
  ['getDayOfMonth', part(date => date.getUTCDate() - 1)],
  ['getDate', part(date => date.getUTCDate())],
  ['getDayOfWeek', part(date => date.getUTCDay())],
  ['getHours', part(date => date.getUTCHours(), 'hours')],
  ['getMinutes', part(date => date.getUTCMinutes(), 'minutes')],
  ['getSeconds', part(date => date.getUTCSeconds(), 'seconds')],
  ['getMilliseconds', part((_, moment) => Math.floor(moment.nanos / 1_000_000), 'milliseconds')],
])
