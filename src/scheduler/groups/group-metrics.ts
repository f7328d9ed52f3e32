/** The metrics about groups of pods, and about preemption by groups and by pods, that kube-scheduler has with the gates of groups. */
import { type Family, Histogram, type Labels } from '../../lib/exposition.ts'

const doubling = (first: number, count: number) => Array.from({ length: count }, (_, i) => first * 2 ** i)
const ATTEMPTS = doubling(0.001, 15)
const PREEMPTIONS = doubling(0.001, 16)
const UNITS = doubling(1, 11)

export type GroupAttemptResult = 'scheduled' | 'unschedulable' | 'waiting_on_preemption' | 'error'
/** A pod, or the type of a group. */
export type PreemptorType = 'pod' | 'podgroup' | 'compositepodgroup'
/** The code of a status in kube-scheduler. */
export type StatusCode = 'Success' | 'Unschedulable' | 'UnschedulableAndUnresolvable' | 'Error'

export class GroupMetrics {
  readonly #attempts = new Histograms(ATTEMPTS)
  readonly #algorithm = new Histogram(ATTEMPTS)
  readonly #preemptions = new Counters()
  readonly #victims = new Histogram(UNITS)
  readonly #disruptions = new Histograms(UNITS)
  readonly #evaluations = new Histograms(PREEMPTIONS)
  readonly #executions = new Histograms(PREEMPTIONS)
  readonly #violations = new Counters()
  readonly #generated = new Counters()
  readonly #placements = new Histograms(ATTEMPTS)
  #begun: { readonly hasTopology: boolean } | undefined

  /** Groups are scheduled from now on. */
  begun(features: { readonly hasTopology: boolean }): void {
    this.#begun = features
  }

  /** A group was tried. */
  attempted(result: GroupAttemptResult, profile: string, seconds: number): void {
    this.#attempts.observe({ result, profile }, seconds)
  }

  /** Nodes were looked for, for all pods of a group. */
  searched(seconds: number): void {
    this.#algorithm.observe(seconds)
  }

  /** Room for a group was looked for. */
  preempted(result: StatusCode): void {
    this.#preemptions.add({ result }, 1)
  }

  /** Victims were looked for. */
  evaluated(preemptor: PreemptorType, result: StatusCode, seconds: number): void {
    this.#evaluations.observe({ preemptor, result }, seconds)
  }

  /** Notes that pods are preempted for a group; `units` counts victims that are groups, or pods of a group. */
  chosen(preemptor: PreemptorType, { victims, units }: { readonly victims: number; readonly units: number }): void {
    this.#victims.observe(victims)
    if (units > 0) this.#disruptions.observe({ preemptor }, units)
  }

  /** Disruption budgets do not allow so many of the deletions. */
  violated(preemptor: PreemptorType, budgets: number): void {
    if (budgets > 0) this.#violations.add({ preemptor }, budgets)
  }

  /** Victims were deleted. */
  executed(preemptor: PreemptorType, result: 'success' | 'error', seconds: number): void {
    this.#executions.observe({ preemptor, result }, seconds)
  }

  /** There are so many topology domains to try. */
  generated(profile: string, placements: number): void {
    this.#generated.add({ profile }, placements)
  }

  /** A topology domain was tried. */
  tried(result: 'feasible' | 'infeasible', profile: string, seconds: number): void {
    this.#placements.observe({ result, profile }, seconds)
  }

  /** Nothing where groups are not scheduled. */
  families(): Family[] {
    if (!this.#begun) return []
    const histogram = (name: string, help: string, samples: Extract<Family, { type: 'histogram' }>['samples']): Family => ({
      name: `scheduler_${name}`,
      type: 'histogram',
      help,
      samples,
    })
    const counter = (name: string, help: string, samples: Counters['samples']): Family => ({
      name: `scheduler_${name}`,
      type: 'counter',
      help,
      samples,
    })
    return [
      counter('podgroup_schedule_attempts_total', 'Attempts to schedule groups of pods, by result.', this.#attempts.counts),
      histogram('podgroup_scheduling_attempt_duration_seconds', 'Time of attempts to schedule groups of pods.', this.#attempts.samples),
      histogram('podgroup_scheduling_algorithm_duration_seconds', 'Time that the search for nodes for a group took.', [
        [{}, this.#algorithm],
      ]),
      counter('workload_preemption_attempts_total', 'Attempts to make room for a group of pods.', this.#preemptions.samples),
      histogram('workload_preemption_victims', 'Pods that had to go for one group.', [[{}, this.#victims]]),
      histogram('preemption_workload_disruptions', 'Groups, or pods of groups, that had to go at once.', this.#disruptions.samples),
      histogram('preemption_evaluation_duration_seconds', 'Time that the choice of victims took.', this.#evaluations.samples),
      histogram('preemption_execution_duration_seconds', 'Time that the deletion of victims took.', this.#executions.samples),
      counter('preemption_pdb_violations_total', 'Preempted pods that a disruption budget protects.', this.#violations.samples),
      ...(this.#begun.hasTopology
        ? [
            counter('generated_placements_total', 'Topology domains that groups could be placed in.', this.#generated.samples),
            counter('placement_evaluations_total', 'Topology domains in which groups were tried, by result.', this.#placements.counts),
            histogram('placement_evaluation_duration_seconds', 'Time that a group was tried in one domain.', this.#placements.samples),
          ]
        : []),
    ]
  }
}

const keyOf = (labels: Labels): string => Object.values(labels).join(' ')

/** Histograms of the same bounds, by labels. */
class Histograms {
  readonly #bounds: readonly number[]
  readonly #byLabels = new Map<string, { readonly labels: Labels; readonly histogram: Histogram }>()

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
  }

  observe(labels: Labels, value: number): void {
    const key = keyOf(labels)
    let known = this.#byLabels.get(key)
    if (!known) this.#byLabels.set(key, (known = { labels, histogram: new Histogram(this.#bounds) }))
    known.histogram.observe(value)
  }

  get samples(): readonly (readonly [Labels, Histogram])[] {
    return Array.from(this.#byLabels.values(), ({ labels, histogram }) => [labels, histogram] as const)
  }

  /** How many values were observed. */
  get counts(): Counters['samples'] {
    return this.samples.map(([labels, { count }]) => [labels, count] as const)
  }
}

/** Numbers that grow, by labels. */
class Counters {
  readonly #byLabels = new Map<string, { readonly labels: Labels; value: number }>()

  add(labels: Labels, value: number): void {
    const key = keyOf(labels)
    let known = this.#byLabels.get(key)
    if (!known) this.#byLabels.set(key, (known = { labels, value: 0 }))
    known.value += value
  }

  get samples(): readonly (readonly [Labels, number])[] {
    return Array.from(this.#byLabels.values(), ({ labels, value }) => [labels, value] as const)
  }
}
