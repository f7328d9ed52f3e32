/** Durations for people. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A duration with at most two units, as kubectl prints ages. */
export function duration(ms: number): string {
  if (ms < 0) return '0s'
  if (ms < 2 * MINUTE) return `${Math.floor(ms / 1000)}s`
  if (ms < 10 * MINUTE) return pair(ms, MINUTE, 'm', 1000, 's')
  if (ms < 3 * HOUR) return `${Math.floor(ms / MINUTE)}m`
  if (ms < 8 * HOUR) return pair(ms, HOUR, 'h', MINUTE, 'm')
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`
  if (ms < 8 * DAY) return pair(ms, DAY, 'd', HOUR, 'h')
  if (ms < 730 * DAY) return `${Math.floor(ms / DAY)}d`
  return pair(ms, 365 * DAY, 'y', DAY, 'd')
}

function pair(ms: number, unit: number, name: string, smaller: number, smallerName: string): string {
  const rest = Math.floor((ms % unit) / smaller)
  return `${Math.floor(ms / unit)}${name}${rest > 0 ? `${rest}${smallerName}` : ''}`
}

export const millis = (ms: number): string =>
  ms < 1 ? `${(ms * 1000).toFixed(0)} µs` : ms < 1000 ? `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`
