/** Times for people: ages that go on by themselves. */
import { signal } from '@preact/signals'
import { duration } from './duration.ts'

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

export const age = (time: string | undefined, at = now.value): string =>
  time ? duration(Math.max(0, Math.max(at, present() - 5000) - Date.parse(time))) : ''

/** Local date and time, to the second. */
export function clock(time: string | number | undefined): string {
  if (time === undefined || time === '') return ''
  const date = new Date(time)
  return Number.isNaN(date.getTime()) ? String(time) : date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}
