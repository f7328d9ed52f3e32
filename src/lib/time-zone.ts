/** Time zones of the IANA database: their names and local times. */

/** The error of a time zone's name, in Go's words; undefined for zones that exist. */
export function timeZoneFault(name: string): string | undefined {
  if (name === '' || name === 'UTC' || name === 'Local') return undefined
  return isKnown(name) ? undefined : `unknown time zone ${name}`
}

/** Names are case-sensitive and begin with a letter, which excludes offsets such as +0100. */
function isKnown(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions()
    return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase()
  } catch {
    return false
  }
}

/** The local time of a zone. Times are milliseconds since 1970 UTC. */
export interface ZoneClock {
  /** The local time at an instant, in the UTC fields of a date. */
  shownAt(ms: number): Date
  /** The instant of a local time, whose fields may exceed their range. A local time that occurs never or twice is resolved as Go does. */
  timeOf(year: number, month: number, day: number, hour?: number): number
  /** `2006-01-02T15:04:05+01:00`, with Z where the offset is zero. */
  format(ms: number): string
}

/** The clock of an existing zone. `Local` is UTC, as it is where Kubernetes' controllers run. */
export function clockOf(zone: string): ZoneClock {
  const offsetAt = zone === '' || zone === 'UTC' || zone === 'Local' ? () => 0 : offsets(zone)
  const shownAt = (ms: number) => new Date(ms + offsetAt(ms))
  return {
    shownAt,
    timeOf(year, month, day, hour = 0) {
      const shown = Date.UTC(year, month, day, hour)
      const offset = offsetAt(shown)
      return offset === 0 ? shown : shown - offsetAt(shown - offset)
    },
    format(ms) {
      const offset = offsetAt(ms) / 60_000
      const text = shownAt(ms).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length)
      const digits = (value: number) => String(Math.floor(Math.abs(value))).padStart(2, '0')
      return offset === 0 ? `${text}Z` : `${text}${offset < 0 ? '-' : '+'}${digits(offset / 60)}:${digits(Math.abs(offset) % 60)}`
    },
  }
}

/** Offsets change at quarters of an hour; computing one is slow. */
const QUARTER_MS = 900_000

/** The offset of a zone at an instant, in milliseconds. */
function offsets(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
  let known = { quarter: Number.NaN, offset: 0 }
  return ms => {
    const quarter = Math.floor(ms / QUARTER_MS)
    if (quarter !== known.quarter) known = { quarter, offset: parseOffset(format.format(ms)) }
    return known.offset
  }
}

/** Parses the end of `1/2/2006, GMT+05:30`. */
function parseOffset(text: string): number {
  const [, sign = '', hours = 0, minutes = 0, seconds = 0] = /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(text) ?? []
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -ms : ms
}
