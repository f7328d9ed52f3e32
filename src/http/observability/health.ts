/** Health for probes: `/healthz`, `/livez`, `/readyz`, whole or check by check. */
import type { EndpointRule } from '../endpoints.ts'
import { textResponse } from '../message.ts'
import type { Log } from './log.ts'

/** One thing that must hold; it throws, or returns the reason, when it does not. */
export type HealthCheck = { readonly name: string; readonly check: () => Promise<string | undefined> | string | undefined }

export type Health = {
  readonly live: readonly HealthCheck[]
  /** What readiness needs beyond being alive. */
  readonly ready: readonly HealthCheck[]
}

const PING: HealthCheck = { name: 'ping', check: () => undefined }

/** The endpoints of health. Reasons of failure go to the log, not to the anonymous who may ask. */
export function healthEndpoints({ live, ready }: Health, log: Log): EndpointRule[] {
  const alive = [PING, ...live]
  return [...endpointsOf('healthz', alive, log), ...endpointsOf('livez', alive, log), ...endpointsOf('readyz', [...alive, ...ready], log)]
}

function endpointsOf(name: string, checks: readonly HealthCheck[], log: Log): EndpointRule[] {
  const whole: EndpointRule = { path: `/${name}`, answer: (_, { query }) => answerAll(name, checks, { query, log }) }
  return [whole, ...checks.map(check => ({ path: `/${name}/${check.name}`, answer: () => answerOne(check) }))]
}

async function answerOne(check: HealthCheck) {
  const reason = await run(check)
  return reason === undefined ? textResponse(200, 'ok') : textResponse(500, 'internal server error: reason withheld\n')
}

async function answerAll(name: string, checks: readonly HealthCheck[], { query, log }: { query: URLSearchParams; log: Log }) {
  const unknown = new Set(query.getAll('exclude'))
  const excluded = new Set(unknown)
  let report = ''
  let healthy = true
  for (const check of checks) {
    unknown.delete(check.name)
    if (excluded.has(check.name)) {
      report += `[+]${check.name} excluded: ok\n`
      continue
    }
    const reason = await run(check)
    if (reason === undefined) report += `[+]${check.name} ok\n`
    else {
      healthy = false
      report += `[-]${check.name} failed: reason withheld\n`
      log.warn({ check: check.name, probe: name, reason }, 'health check failed')
    }
  }
  if (unknown.size > 0) {
    const names = [...unknown].sort().map(n => JSON.stringify(n))
    report += `warn: some health checks cannot be excluded: no matches for ${names.join(',')}\n`
  }
  if (!healthy) return textResponse(500, `${report}${name} check failed\n`)
  return textResponse(200, query.has('verbose') ? `${report}${name} check passed\n` : 'ok')
}

async function run({ check }: HealthCheck): Promise<string | undefined> {
  try {
    return await check()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
