/**
 * Places pods one after another on the nodes of the cluster to find out whether the pods fit together, and takes them off again. A placed
 * pod occupies its node, and plugins reserve volumes and devices for it, until the pod is taken off or the trial is kept. A trial waits for
 * nothing, so that nobody else sees it. If the answer of an extender is missing, the trial is taken back and begins again with the answer.
 */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { messageOf } from '../../lib/error-message.ts'
import type { PluginReservation } from '../binder.ts'
import type { Cluster } from '../cluster.ts'
import { describe } from '../diagnosis.ts'
import { type KnownAnswers, MissingAnswers } from '../extenders/known-answers.ts'
import { KeptResults } from '../local-results.ts'
import type { Lookups } from '../lookups.ts'
import type { NodeInfo } from '../node-info.ts'
import type { Nominations } from '../nominations.ts'
import { type Cycle, PluginError, placedOn } from '../plugin.ts'
import { type PodInfo, podInfoOf } from '../pod-info.ts'
import type { Profile, ProfileOf } from '../profile.ts'
import { schedulePod, testPodOn } from '../schedule-pod.ts'

export type TrialParts = {
  readonly profileOf: ProfileOf
  readonly cluster: Cluster
  readonly lookups: Lookups
  readonly nominations: Nominations
  readonly onError: (error: unknown) => void
  /** From 0 to below 1: decides between nodes that are equally good. */
  readonly random: () => number
}

/** The node that was found for a pod. */
export type Placed = {
  readonly type: 'placed'
  readonly cycle: Cycle
  info: PodInfo
  reservations: readonly PluginReservation[]
}
export type PodOutcome =
  | Placed
  /** `isFinal`: no preemption would help. */
  | { readonly type: 'rejected'; readonly message: string; readonly isFinal: boolean; readonly cycle: Cycle }
  | { readonly type: 'error'; readonly message: string }

export type PlaceOptions = {
  /** The nodes that the pod may be placed on; all nodes if undefined. */
  readonly among?: readonly NodeInfo[] | undefined
  /** The answers of extenders; undefined when there are no extenders. */
  readonly answers?: KnownAnswers | undefined
}

export class Trial {
  readonly #parts: TrialParts
  readonly #rotation = { next: 0 }
  /** Position of the rotation at the beginning of the decision, and its random numbers: a repeated decision uses both again. */
  #firstNode = 0
  #drawn: number[] = []
  #drawnAgain = 0
  readonly #kept = new Map<Profile, KeptResults>()
  readonly #undo: (() => void)[] = []
  /** State of plugins that the pods of one group share. */
  #shared = new Map<string, unknown>()

  constructor(parts: TrialParts) {
    this.#parts = parts
  }

  /** How far the trial has come, for `revert`. */
  get mark(): number {
    return this.#undo.length
  }

  /** Takes back everything after a mark, the last first. */
  revert(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()!()
  }

  /** A new decision begins. */
  begin(): void {
    this.#firstNode = this.#rotation.next
    this.#drawn = []
    this.#drawnAgain = 0
  }

  /** Takes back everything, so that the same decision can be made again. */
  again(): void {
    this.revert(0)
    this.#shared = new Map()
    this.#rotation.next = this.#firstNode
    this.#drawnAgain = 0
  }

  /** From 0 to below 1. */
  readonly random = (): number => {
    const index = this.#drawnAgain++
    return (this.#drawn[index] ??= this.#parts.random())
  }

  /** Keeps the pods where they are: nothing can be taken back any more. */
  keep(): void {
    this.#undo.length = 0
    this.#shared = new Map()
  }

  /** Places a pod on the best node. Throws MissingAnswers when extenders must be asked before. */
  place(pod: Pod, { among, answers }: PlaceOptions): PodOutcome {
    const { profileOf, nominations, onError } = this.#parts
    const { random } = this
    const cycle = this.#cycleOf(pod)
    try {
      const profile = profileOf(cycle.info.schedulerName)
      const parts = { profile, nominations, random, rotation: this.#rotation, kept: this.#keptFor(profile), ...(among && { among }) }
      const placement = answers ? answers.schedulePod(cycle, parts) : schedulePod(cycle, parts)
      if (placement.type === 'no nodes') return { type: 'rejected', message: 'no nodes available to schedule pods', isFinal: true, cycle }
      if (placement.type === 'rejected') return { type: 'rejected', message: describe(placement.diagnosis), isFinal: false, cycle }
      const placed: Placed = { type: 'placed', cycle, info: { ...cycle.info, nodeName: placement.node }, reservations: [] }
      this.assume(placed)
      return placed
    } catch (error) {
      if (error instanceof MissingAnswers) throw error
      if (!(error instanceof PluginError)) onError(error)
      return { type: 'error', message: messageOf(error) }
    }
  }

  /** Places a pod where it was placed before. */
  assume(placed: Placed): void {
    const { profileOf, cluster, nominations } = this.#parts
    const { cycle, info } = placed
    const { uid, nodeName } = info
    const nominated = nominations.nodeOf(uid)
    const reservations = profileOf(info.schedulerName).reservers.flatMap(({ name, reserve }): PluginReservation[] => {
      const reservation = reserve?.(cycle, nodeName)
      return reservation ? [{ plugin: name, reservation }] : []
    })
    placed.reservations = reservations
    placed.info = placedOn(nodeName, info, reservations)
    cluster.setPod(placed.info)
    nominations.remove(uid)
    this.#undo.push(() => {
      cluster.removePod(uid)
      for (const { reservation } of reservations) reservation.withdraw()
      if (nominated !== undefined) nominations.set(cycle.info, nominated)
    })
  }

  /** Whether a pod still fits where it was placed before; if so it is placed there. */
  placeAgain({ cycle: { pod }, info: { nodeName } }: Placed): boolean {
    const { profileOf, cluster, nominations } = this.#parts
    const cycle = this.#cycleOf(pod)
    const node = cluster.node(nodeName)
    if (!node || testPodOn(node, cycle, { profile: profileOf(cycle.info.schedulerName), nominations })) return false
    this.assume({ type: 'placed', cycle, info: { ...cycle.info, nodeName }, reservations: [] })
    return true
  }

  /** Takes a pod of the cluster off its node. */
  remove(pod: PodInfo): void {
    const { cluster } = this.#parts
    cluster.removePod(pod.uid)
    this.#undo.push(() => cluster.setPod(pod))
  }

  /** Puts a pod back that was taken off its node. */
  putBack(pod: PodInfo): void {
    const { cluster } = this.#parts
    cluster.setPod(pod)
    this.#undo.push(() => void cluster.removePod(pod.uid))
  }

  /** Results depend on the plugins and their weights. */
  #keptFor(profile: Profile): KeptResults {
    let kept = this.#kept.get(profile)
    if (!kept) this.#kept.set(profile, (kept = new KeptResults()))
    return kept
  }

  #cycleOf(pod: Pod): Cycle {
    const { cluster, lookups, nominations } = this.#parts
    const stored = podInfoOf(pod)
    const info = { ...stored, nominatedNodeName: nominations.nodeOf(stored.uid) ?? stored.nominatedNodeName }
    return { pod, info, cluster, lookups, state: new Map(), shared: this.#shared }
  }
}
