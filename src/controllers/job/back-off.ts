/** The back-off of a job before it replaces failed pods: it grows with every failure in a row. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { endOf } from './job-pod.ts'

/** Failures since the last success, and when the last of them was. */
export type FailureRecord = { readonly failures: number; readonly lastAt: number }
export const NO_FAILURES: FailureRecord = { failures: 0, lastAt: 0 }

const FIRST_MS = 10_000
const MAX_DELAY_MS = 600_000

/** The record after further pods have ended. */
export function recordEnds(record: FailureRecord, succeeded: readonly Pod[], failed: readonly Pod[]): FailureRecord {
  const failedAt = failed.map(endOf)
  if (succeeded.length === 0) return failed.length === 0 ? record : { failures: record.failures + failed.length, lastAt: latest(failedAt) }
  const lastSuccess = latest(succeeded.map(endOf))
  const since = failedAt.filter(at => at > lastSuccess)
  return since.length === 0 ? NO_FAILURES : { failures: since.length, lastAt: latest(since) }
}

/** In how many milliseconds a pod may be replaced. */
export function waitAfter({ failures, lastAt }: FailureRecord, now: number): number {
  if (failures === 0) return 0
  return Math.max(0, lastAt + Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 10), MAX_DELAY_MS) - now)
}

const latest = (times: readonly number[]): number => times.reduce((last, time) => Math.max(last, time), 0)
