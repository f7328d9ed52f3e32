/** Times for people: ages that go on by themselves. */
import { signal } from '@preact/signals'

/** How far the server's clock is ahead of the browser's. Times of objects are the server's. */
let ahead = 0
const MAX_IGNORED_MS = 2_000

const present = (): number => Date.now() + ahead

/** The server's present, moved on every few seconds. */
export const now = signal(present())
setInterval(() => {
  if (!document.hidden) now.value = present()
}, 5_000)

/** Follows the server's clock; answers take some time, so a small difference is none. */
export function followServer(time: string | undefined): void {
  const difference = Date.parse(time ?? '') - Date.now()
  if (Number.isNaN(difference)) return
  ahead = Math.abs(difference) < MAX_IGNORED_MS ? 0 : difference
  now.value = present()
}

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

export const age = (time: string | undefined, at = now.value): string =>
  time ? duration(Math.max(0, Math.max(at, present() - 5000) - Date.parse(time))) : ''

/** Local date and time, to the second. */
export function clock(time: string | number | undefined): string {
  if (time === undefined || time === '') return ''
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? String(time) : date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

export const millis = (ms: number): string =>
  ms < 1 ? `${(ms * 1000).toFixed(0)} µs` : ms < 1000 ? `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`
