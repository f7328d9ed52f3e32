/** Metrics of webhooks and files that decide about access, under kube-apiserver's names. */
import type { WebhookObserver } from '../../authz/webhook-authorizer.ts'
import { Counts } from '../../lib/counts.ts'
import { type Family, Histogram, type Labels } from '../../lib/exposition.ts'
import { ReloadMetrics } from '../files/reload-metrics.ts'
import { KeySetMetrics } from './key-set-metrics.ts'

const HOUR = 3600
const DAY = 24 * HOUR
/** Remaining lifetime of a certificate, in seconds. */
const REMAINING = [
  0,
  HOUR / 2,
  HOUR,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  4 * DAY,
  7 * DAY,
  30 * DAY,
  90 * DAY,
  180 * DAY,
  360 * DAY,
]
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export type ConfigurationName = 'authentication' | 'authorization'

export class AccessMetrics implements WebhookObserver {
  readonly #evaluations = new Counts()
  readonly #failOpen = new Counts()
  readonly #exclusions = new Counts()
  readonly #conditionErrors = new Counts()
  readonly #decisions = new Counts()
  readonly #certificates = new Histogram(REMAINING)
  readonly #durations = new Map<string, { readonly labels: Labels; readonly histogram: Histogram }>()
  readonly keySets = new KeySetMetrics()
  /** Files that configure authentication and authorization. */
  readonly reloads: Readonly<Record<ConfigurationName, ReloadMetrics>> = {
    authentication: new ReloadMetrics('authentication', 'the authentication configuration'),
    authorization: new ReloadMetrics('authorization', 'the authorization configuration'),
  }

  evaluated(name: string, result: string, seconds: number): void {
    const labels = { name, result }
    this.#evaluations.add(labels)
    const key = keyOf(labels)
    let known = this.#durations.get(key)
    if (!known) this.#durations.set(key, (known = { labels, histogram: new Histogram(BOUNDS) }))
    known.histogram.observe(seconds)
  }

  failedOpen(name: string, result: string): void {
    this.#failOpen.add({ name, result })
  }

  excludedByCondition(name: string): void {
    this.#exclusions.add({ type: 'Webhook', name })
  }

  conditionFailed(name: string): void {
    this.#conditionErrors.add({ type: 'Webhook', name })
  }

  /** Counts a client certificate that expires in so many seconds. */
  certificateSeen(remainingSeconds: number): void {
    this.#certificates.observe(remainingSeconds)
  }

  /** The counter of an authorizer's decisions. */
  decisionsOf(type: string, name: string): (verdict: 'allow' | 'deny') => void {
    const allowed = this.#decisions.of({ type, name, decision: 'allowed' })
    const denied = this.#decisions.of({ type, name, decision: 'denied' })
    return verdict => (verdict === 'allow' ? allowed.count++ : denied.count++)
  }

  /** Families with any samples. */
  families(): Family[] {
    const counters: [name: string, help: string, counts: Counts][] = [
      ['apiserver_authorization_webhook_evaluations_total', 'Calls of webhook authorizers.', this.#evaluations],
      ['apiserver_authorization_webhook_evaluations_fail_open_total', 'Failed calls without an opinion as their result.', this.#failOpen],
      ['apiserver_authorization_decisions_total', 'Requests that an authorizer has decided about.', this.#decisions],
      ['apiserver_authorization_match_condition_exclusions_total', 'Requests that match conditions excluded.', this.#exclusions],
      ['apiserver_authorization_match_condition_evaluation_errors_total', 'Match conditions that failed.', this.#conditionErrors],
    ]
    return [
      ...counters.flatMap(([name, help, counts]): Family[] =>
        counts.samples.length === 0 ? [] : [{ name, help, type: 'counter', samples: counts.samples }],
      ),
      ...(this.#durations.size === 0
        ? []
        : [
            {
              name: 'apiserver_authorization_webhook_duration_seconds',
              help: 'Time that calls of webhook authorizers took.',
              type: 'histogram',
              samples: [...this.#durations.values()].map(({ labels, histogram }) => [labels, histogram] as const),
            } as const,
          ]),
      {
        name: 'apiserver_client_certificate_expiration_seconds',
        help: 'How long the certificates of clients are still valid, at each request.',
        type: 'histogram',
        samples: [[{}, this.#certificates]],
      },
      ...this.reloads.authentication.families(),
      ...this.reloads.authorization.families(),
      ...this.keySets.families(),
    ]
  }
}

const keyOf = (labels: Labels) => Object.values(labels).join('\n')
