/** Metrics of admission, under the names of kube-apiserver. */
import type { AdmissionObserver, StepType, Timer } from '../../admission/observer.ts'
import { withoutQuoted } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import { type Family, Histogram, type Labels } from '../../lib/exposition.ts'
import { ReloadMetrics } from '../files/reload-metrics.ts'

/** Seconds. */
const PLUGIN_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 2.5]
const WEBHOOK_SECONDS = [...PLUGIN_SECONDS, 10, 25]
const POLICY_SECONDS = [0.0000005, 0.001, 0.01, 0.1, 1]

/** Webhooks may answer with any number; codes above count as one. */
const MAX_CODE = 600

/** Limit of series: names of webhooks and policies come from clients. The oldest series is dropped. */
const MAX_SERIES = 5_000

export class AdmissionMetrics implements AdmissionObserver {
  readonly #log: Log
  readonly #steps = new HistogramSeries(PLUGIN_SECONDS)
  readonly #plugins = new HistogramSeries(PLUGIN_SECONDS)
  /** Plugins that did not handle a request, added to the above when it is read. */
  readonly #uninvolved = new Map<string, Uninvolved>()
  readonly #webhooks = new HistogramSeries(WEBHOOK_SECONDS)
  readonly #webhookRequests = new Counters()
  readonly #rejections = new Counters()
  readonly #failedOpen = new Counters()
  readonly #conditionErrors = new Counters()
  readonly #exclusions = new Counters()
  readonly #checks = new Counters()
  readonly #checkSeconds = new HistogramSeries(POLICY_SECONDS)
  readonly #mutations = new Counters()
  readonly #mutationSeconds = new HistogramSeries(POLICY_SECONDS)

  /** Reloads of manifest files, by plugin. */
  readonly manifests = new ReloadMetrics('manifest_admission', 'the admission manifests of a plugin')

  constructor(log: Log) {
    this.#log = log
  }

  plugin(name: string, type: StepType): Timer {
    return timerOf(this.#plugins, { name, type })
  }

  uninvolved(names: readonly string[], type: StepType): (operation: Operation) => void {
    const key = [type, ...names].join()
    let known = this.#uninvolved.get(key)
    if (!known) this.#uninvolved.set(key, (known = { names, type, requests: {} }))
    const { requests } = known
    return operation => {
      requests[operation] = (requests[operation] ?? 0) + 1
    }
  }

  step(type: StepType): Timer {
    return timerOf(this.#steps, { type })
  }

  webhookCalled({ name, type, operation, rejected, code, seconds }: Parameters<AdmissionObserver['webhookCalled']>[0]): void {
    const labels = { name, type, operation, rejected: String(rejected) }
    this.#webhooks.of(labels).observe(seconds)
    this.#webhookRequests.count({ ...labels, code: codeText(code) })
  }

  webhookRejected({ name, type, operation, errorType, code }: Parameters<AdmissionObserver['webhookRejected']>[0]): void {
    this.#rejections.count({ name, type, operation, error_type: errorType, rejection_code: codeText(code) })
  }

  webhookFailedOpen({ name, type, message }: Parameters<AdmissionObserver['webhookFailedOpen']>[0]): void {
    this.#log.warn(
      { webhook: name, error: withoutQuoted(message) },
      'a webhook could not be called; its failure policy lets the request through',
    )
    this.#failedOpen.count({ name, type })
  }

  excludedByCondition(about: Parameters<AdmissionObserver['excludedByCondition']>[0]): void {
    this.#exclusions.count({ ...about })
  }

  conditionFailed(about: Parameters<AdmissionObserver['conditionFailed']>[0]): void {
    this.#conditionErrors.count({ ...about })
  }

  policyChecked({ policy, binding, errorType, seconds, action }: Parameters<AdmissionObserver['policyChecked']>[0]): void {
    const labels = { policy, policy_binding: binding, error_type: errorType, enforcement_action: action }
    this.#checks.count(labels)
    this.#checkSeconds.of(labels).observe(seconds)
  }

  policyMutated({ policy, binding, errorType, seconds }: Parameters<AdmissionObserver['policyMutated']>[0]): void {
    const labels = { policy, policy_binding: binding, error_type: errorType }
    this.#mutations.count(labels)
    this.#mutationSeconds.of(labels).observe(seconds)
  }

  families(): Family[] {
    this.#countUninvolved()
    const counter = (name: string, help: string, { samples }: Counters): Family => ({ name, help, type: 'counter', samples })
    const histogram = (name: string, help: string, { samples }: HistogramSeries): Family => ({ name, help, type: 'histogram', samples })
    const [admission, validating, mutating] = [
      'apiserver_admission',
      'apiserver_validating_admission_policy',
      'apiserver_mutating_admission_policy',
    ]
    return [
      histogram(`${admission}_step_admission_duration_seconds`, 'Time that all plugins took to mutate or to validate.', this.#steps),
      histogram(`${admission}_controller_admission_duration_seconds`, 'Time that a plugin took.', this.#plugins),
      histogram(`${admission}_webhook_admission_duration_seconds`, 'Time that calls of a webhook took.', this.#webhooks),
      counter(`${admission}_webhook_request_total`, 'Calls of a webhook, by the code that came of them.', this.#webhookRequests),
      counter(`${admission}_webhook_rejection_count`, 'Requests rejected by a webhook, or because it failed.', this.#rejections),
      counter(`${admission}_webhook_fail_open_count`, 'Failed calls of a webhook that were ignored.', this.#failedOpen),
      counter(`${admission}_match_condition_evaluation_errors_total`, 'Match conditions that failed.', this.#conditionErrors),
      counter(`${admission}_match_condition_exclusions_total`, 'Requests left out by match conditions.', this.#exclusions),
      counter(`${validating}_check_total`, 'Failed validations of a policy, by what was done about them.', this.#checks),
      histogram(`${validating}_check_duration_seconds`, 'Time that failed evaluations of a policy took.', this.#checkSeconds),
      counter(`${mutating}_check_total`, 'Evaluations of a mutating policy.', this.#mutations),
      histogram(`${mutating}_check_duration_seconds`, 'Time that evaluations of a mutating policy took.', this.#mutationSeconds),
      ...this.manifests.families(),
    ]
  }

  #countUninvolved(): void {
    for (const { names, type, requests } of this.#uninvolved.values())
      for (const operation of Object.keys(requests) as Operation[]) {
        for (const name of names) this.#plugins.of({ name, type, operation, rejected: 'false' }).observeZeros(requests[operation]!)
        delete requests[operation]
      }
  }
}

const codeText = (code: number): string => String(Math.min(code, MAX_CODE))

type Operation = Parameters<Timer>[0]
type Operations = { [operation in Operation]?: Histogram }
type Uninvolved = { readonly names: readonly string[]; readonly type: StepType; readonly requests: { [operation in Operation]?: number } }

/** Every plugin is timed for every write, so its series are found without building a key. */
function timerOf(series: HistogramSeries, labels: Labels): Timer {
  const [admitted, rejections]: [Operations, Operations] = [{}, {}]
  return (operation, seconds, rejected) => {
    const known = rejected ? rejections : admitted
    known[operation] ??= series.of({ ...labels, operation, rejected: String(rejected) })
    known[operation].observe(seconds)
  }
}

/** A bounded number of series, by their labels. */
class Series<T> {
  readonly #known = new Map<string, { readonly labels: Labels; value: T }>()

  entry(labels: Labels, make: () => T): { value: T } {
    const key = Object.values(labels).join('\n')
    let known = this.#known.get(key)
    if (!known) {
      if (this.#known.size >= MAX_SERIES) this.#known.delete(this.#known.keys().next().value!)
      this.#known.set(key, (known = { labels, value: make() }))
    }
    return known
  }

  get samples(): (readonly [Labels, T])[] {
    return [...this.#known.values()].map(({ labels, value }) => [labels, value] as const)
  }
}

class Counters {
  readonly #series = new Series<number>()

  count(labels: Labels): void {
    this.#series.entry(labels, () => 0).value++
  }

  get samples(): (readonly [Labels, number])[] {
    return this.#series.samples
  }
}

class HistogramSeries {
  readonly #bounds: readonly number[]
  readonly #series = new Series<Histogram>()

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
  }

  of(labels: Labels): Histogram {
    return this.#series.entry(labels, () => new Histogram(this.#bounds)).value
  }

  get samples(): (readonly [Labels, Histogram])[] {
    return this.#series.samples
  }
}
