/** A pod on a simulated node without a server: time jumps from one event to the next. */
import { Pod } from '../../src/kinds/core/pod/pod.ts'
import { textOf } from '../../src/nodes/pod/container-state.ts'
import { NONE_LIVE } from '../../src/nodes/pod/live-containers.ts'
import type { PodEvent, Surroundings } from '../../src/nodes/pod/pod-draft.ts'
import { type PodStep, reconcilePod } from '../../src/nodes/pod/reconcile.ts'
import { understand } from '../../src/nodes/script/command.ts'
import type { Commands } from '../../src/nodes/script/commands.ts'
import { withDefaults } from './kinds/kinds.ts'

const BEGIN = Date.UTC(2026, 6, 1, 12)
const GATES = ['ContainerRestartRules', 'RestartAllContainersOnContainerExits', 'KubeletEnsureSecretPulledImages']

/** Runs commands synchronously, without input. */
const COMMANDS: Commands = {
  run: container => understand(container),
  knownRun: container => understand(container),
  command: words => understand({ command: [...words] }),
  mountProblem: () => undefined,
}

export type SimulatedPodOptions = { readonly spec?: object; readonly annotations?: Record<string, string> }

export class SimulatedPod {
  pod: Pod
  now = BEGIN
  /** All recorded events, as `reason message`. */
  readonly events: string[] = []
  /** All written statuses. */
  readonly statuses: Pod['status'][] = []
  isGone = false
  surroundings: Partial<Surroundings> = {}
  #nextAt: number | undefined
  #said = new Set<string>()

  constructor({ spec = {}, annotations = {} }: SimulatedPodOptions = {}) {
    const metadata = { name: 'p', namespace: 'ns', uid: 'u', generation: 1, annotations }
    const draft = { metadata, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'web:1' }], ...spec }, status: { phase: 'Pending' } }
    this.pod = withDefaults(Pod, draft) as unknown as Pod
  }

  /** The state around the pod now. */
  around(): Surroundings {
    return {
      now: this.now,
      hostIPs: ['172.18.0.2'],
      freePodIPs: ['10.244.0.2'],
      rejection: () => undefined,
      missingForVolumes: [],
      missingForContainer: () => undefined,
      commands: COMMANDS,
      live: NONE_LIVE,
      resizeProblem: () => undefined,
      gate: name => GATES.includes(name),
      ...this.surroundings,
    }
  }

  /** One reconcile. */
  step(): PodStep {
    const step = reconcilePod(this.pod, this.around())
    if (step.status) {
      this.statuses.push(step.status)
      // Stored objects have been through JSON.
      this.pod = { ...this.pod, status: JSON.parse(JSON.stringify(step.status)) }
    }
    for (const event of step.events) this.#record(event)
    this.#nextAt = step.nextAt
    this.isGone ||= step.isGone
    return step
  }

  /** Reconciles as long as there is work within `ms`, then lets the rest of the time pass. */
  run(ms = 0): this {
    const until = this.now + ms
    for (let looks = 0; ; looks++) {
      if (looks > 1000) throw new Error('the pod never comes to rest')
      const { status } = this.step()
      if (status) continue
      if (this.#nextAt === undefined || this.#nextAt > until || this.isGone) break
      this.now = Math.max(this.#nextAt, this.now + 1)
    }
    this.now = until
    return this
  }

  delete(seconds = 30): this {
    const deletionTimestamp = textOf(this.now + seconds * 1000)
    this.pod = { ...this.pod, metadata: { ...this.pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: seconds } as never }
    return this
  }

  change(spec: object): this {
    this.pod = { ...this.pod, spec: { ...this.pod.spec, ...spec } } as Pod
    return this
  }

  annotate(annotations: Record<string, string>): this {
    this.pod = { ...this.pod, metadata: { ...this.pod.metadata, annotations } }
    return this
  }

  container(name = 'c') {
    const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = this.pod.status
    return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(each => each.name === name)!
  }

  condition(type: string) {
    return this.pod.status.conditions?.find(each => each.type === type)
  }

  #record(event: PodEvent): void {
    const text = `${event.reason} ${event.message}`
    if (event.repeats && this.#said.has(text)) return
    if (event.repeats) this.#said.add(text)
    this.events.push(text)
  }
}
