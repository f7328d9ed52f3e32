/**
 * Health for probes: `/healthz`, `/livez`, `/readyz`, whole or check by check, in kube-apiserver's format; and the number of failed checks.
 */

import { messageOf } from '../../lib/error-message.ts'
import type { Family } from '../../lib/exposition.ts'
import type { EndpointRule } from '../endpoints.ts'
import { textResponse } from '../message.ts'
import type { Log } from './log.ts'

/** One health check; it throws, or returns the reason, when it fails. */
export type HealthCheck = {
  readonly name: string
  readonly check: () => Promise<string | undefined> | string | undefined
  /** A warning for operators although the check passes. */
  readonly warning?: () => string | undefined
}

export type Checks = {
  /** The checks for liveness: if one fails, the process should be restarted. */
  readonly live: readonly HealthCheck[]
  /** The additional checks of /healthz and /readyz: a restart of the process would not help. */
  readonly healthy?: readonly HealthCheck[]
  /** The additional checks for readiness. */
  readonly ready: readonly HealthCheck[]
}

/** The check that a process which does not answer fails. */
export const PING_CHECK = 'ping'
const PING: HealthCheck = { name: PING_CHECK, check: () => undefined }

export type Probe = 'healthz' | 'livez' | 'readyz'
/** The result of one check; without a reason it has passed. */
export type CheckResult = { readonly name: string; readonly reason?: string | undefined; readonly warning?: string | undefined }
/** Gets the results of the other processes of this server. */
export type OtherResults = (probe: Probe) => Promise<readonly CheckResult[]>
type Counted = { success: number; error: number; last: 'success' | 'error' }

export class Health {
  readonly #checks: Readonly<Record<Probe, readonly HealthCheck[]>>
  readonly #log: Log
  readonly #counted = new Map<string, Counted>()

  readonly #others: OtherResults

  constructor({ live, healthy = [], ready }: Checks, log: Log, others: OtherResults = async () => []) {
    this.#others = others
    const alive = [PING, ...live]
    this.#checks = { healthz: [...alive, ...healthy], livez: alive, readyz: [...alive, ...healthy, ...ready] }
    this.#log = log
  }

  /** The health endpoints. The reason of a failure is only shown at the path of the single check; otherwise it is in the log. */
  endpoints(): EndpointRule[] {
    return (Object.keys(this.#checks) as Probe[]).flatMap(probe => [
      { path: `/${probe}`, answer: (_, { query }) => this.#answerAll(probe, query) },
      ...this.#checks[probe].map(
        (check): EndpointRule => ({ path: `/${probe}/${check.name}`, answer: () => this.#answerOne(probe, check) }),
      ),
    ])
  }

  /** For `/metrics/slis`: the state of each check, and how often it had each result. */
  families(): Family[] {
    const counted = [...this.#counted].map(([key, each]) => {
      const [type = '', name = ''] = key.split(' ')
      return { labels: { name, type }, ...each }
    })
    return [
      {
        name: 'kubernetes_healthcheck',
        type: 'gauge',
        across: 'min',
        help: 'Whether a check succeeded when it was last made.',
        samples: counted.map(({ labels, last }) => [labels, last === 'success' ? 1 : 0] as const),
      },
      {
        name: 'kubernetes_healthchecks_total',
        type: 'counter',
        help: 'How often a check was made, by its result.',
        samples: counted.flatMap(each =>
          (['success', 'error'] as const).flatMap(status =>
            each[status] > 0 ? [[{ ...each.labels, status }, each[status]] as const] : [],
          ),
        ),
      },
    ]
  }

  /** The results of all checks in this process. */
  async results(probe: Probe): Promise<CheckResult[]> {
    const results: CheckResult[] = []
    for (const check of this.#checks[probe]) results.push(await resultOf(check))
    return results
  }

  async #answerOne(probe: Probe, check: HealthCheck) {
    const { reason, warning } = together(await resultOf(check), await this.#others(probe))
    if (reason === undefined && warning !== undefined) return textResponse(200, `ok\nwarn: ${warning}\n`)
    return reason === undefined ? textResponse(200, 'ok') : textResponse(500, `internal server error: ${reason}\n`)
  }

  async #answerAll(probe: Probe, query: URLSearchParams) {
    const others = await this.#others(probe)
    const excluded = new Set(query.getAll('exclude'))
    const unknown = new Set(excluded)
    let report = ''
    const failed: string[] = []
    const warnings: string[] = []
    for (const check of this.#checks[probe]) {
      unknown.delete(check.name)
      if (excluded.has(check.name)) {
        report += `[+]${check.name} excluded: ok\n`
        continue
      }
      const { reason, warning } = together(await resultOf(check), others)
      this.#count(probe, check.name, reason === undefined ? 'success' : 'error')
      report += reason === undefined ? `[+]${check.name} ok\n` : `[-]${check.name} failed: reason withheld\n`
      if (warning !== undefined) warnings.push(`warn: ${check.name}: ${warning}\n`)
      if (reason === undefined) continue
      failed.push(check.name)
      this.#log.warn({ check: check.name, probe, reason }, 'health check failed')
    }
    if (unknown.size > 0) {
      const names = [...unknown].sort().map(name => JSON.stringify(name))
      report += `warn: some health checks cannot be excluded: no matches for ${names.join(',')}\n`
    }
    report += warnings.join('')
    if (failed.length > 0) return textResponse(500, `${report}${probe} check failed\n`)
    return textResponse(200, query.has('verbose') ? `${report}${probe} check passed\n` : 'ok')
  }

  #count(probe: Probe, name: string, result: 'success' | 'error'): void {
    const key = `${probe} ${name}`
    const counted = this.#counted.get(key) ?? { success: 0, error: 0, last: result }
    counted[result]++
    counted.last = result
    this.#counted.set(key, counted)
  }
}

/** A check passes if it does in all processes. */
function together({ name, reason, warning }: CheckResult, others: readonly CheckResult[]): CheckResult {
  const same = others.filter(other => other.name === name)
  return {
    name,
    reason: reason ?? same.find(other => other.reason !== undefined)?.reason,
    warning: warning ?? same.find(other => other.warning !== undefined)?.warning,
  }
}

async function resultOf(check: HealthCheck): Promise<CheckResult> {
  return { name: check.name, reason: await run(check), warning: check.warning?.() }
}

async function run({ check }: HealthCheck): Promise<string | undefined> {
  try {
    return await check()
  } catch (error) {
    return messageOf(error)
  }
}
