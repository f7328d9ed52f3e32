/** Endpoints that answer for all processes of a server, whichever of them got the request. Loaded only where there are several. */
import type { CheckResult, Health, OtherResults, Probe } from '../../http/observability/health.ts'
import { PING_CHECK } from '../../http/observability/health.ts'
import type { Metrics } from '../../http/observability/metrics.ts'
import { type KnownWrites, knownWrites } from '../../http/write-authors.ts'
import { combinedFamilies, familiesText, parseFamilies } from '../../lib/combined-families.ts'
import type { Family } from '../../lib/exposition.ts'
import type { Writers } from '../../registry/writers.ts'
import { COUNTED } from '../processes/messages.ts'
import type { Siblings } from '../processes/siblings.ts'

/** The metrics of `/metrics`, and those of `/metrics/slis`. */
export type MetricsTopic = typeof COUNTED | 'slis'
const [HEALTH, WRITES] = ['health', 'writes'] as const

export interface AllProcesses {
  /** Metrics of this process together with those of the others. */
  families(topic: MetricsTopic, own: readonly Family[]): Promise<Family[]>
  /** Results of health checks in the other processes. */
  readonly results: OtherResults
  /** Writes that the other processes know of. */
  writes(revisions: readonly string[]): Promise<readonly KnownWrites[]>
  /** From now on the other processes get answers. */
  answer(parts: { readonly metrics: Metrics; readonly health: Health; readonly writers: Writers }): void
}

export function allProcesses(siblings: Siblings): AllProcesses {
  return {
    async families(topic, own) {
      // The supervisor keeps what this process has counted, for when it ends.
      const answers = await siblings.ask(topic, topic === COUNTED ? familiesText(own) : '')
      return combinedFamilies([own, ...answers.flatMap(({ body }) => (body === undefined ? [] : [parseFamilies(body)]))])
    },
    async results(probe) {
      const answers = await siblings.ask(HEALTH, probe)
      return answers.flatMap(({ number, body }): readonly CheckResult[] => {
        if (body === undefined) return [{ name: PING_CHECK, reason: `process ${number} does not answer` }]
        const results = JSON.parse(body) as readonly CheckResult[]
        return results.map(each => (each.reason === undefined ? each : { ...each, reason: `process ${number}: ${each.reason}` }))
      })
    },
    async writes(revisions) {
      const answers = await siblings.ask(WRITES, JSON.stringify(revisions))
      return answers.flatMap(({ body }) => (body === undefined ? [] : [JSON.parse(body) as KnownWrites]))
    },
    answer({ metrics, health, writers }) {
      siblings.answer(COUNTED, () => familiesText(metrics.families()))
      siblings.answer('slis', () => familiesText(health.families()))
      siblings.answer(HEALTH, async probe => JSON.stringify(await health.results(probe as Probe)))
      siblings.answer(WRITES, revisions => JSON.stringify(knownWrites(writers, JSON.parse(revisions) as readonly string[])))
    },
  }
}
