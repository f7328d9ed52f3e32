/**
 * Pods that wait for a node:
 *
 *     active ──→ being tried ──→ placed
 *       ↑           │ ↘ rejected by plugins
 *       │           ↓         unschedulable ── a change that can make a difference ─┐
 *       └──────  back-off  ←────────────────────────────────────────────────────────┘
 *
 * The most important pod is tried first, and among equals the one that waits longest. A pod that was tried before waits a second,
 * two, four, up to ten, unless the configuration has other times; but when nobody else is to be tried, its turn comes earlier.
 */
import type { PendingPods } from './scheduler-metrics.ts'
import { type BackOff, DEFAULT_SETTINGS } from './settings.ts'

export type QueuedPod = Waiting & {
  /** Since when it waits: its arrival, or its last attempt. */
  since: number
  /** When it arrived, and how often it was tried. */
  readonly arrived: number
  attempts: number
  /** How often plugins have rejected it, and how often in a row something has gone wrong. */
  rejections: number
  errors: number
  rejectors: ReadonlySet<string>
  state: 'active' | 'back-off' | 'unschedulable' | 'in flight'
  backOffUntil: number
  /** Tells the entries of a heap that are still meant from those that are not. */
  stamp: number
}

export type Waiting = {
  /** For a group, the key of the group. */
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly priority: number
  /** Names the profile that decides about it. */
  readonly schedulerName?: string
  /** The pods that wait in a group, which is tried as a whole; undefined for a pod on its own. */
  readonly pods?: ReadonlyMap<string, QueuedPod>
}

/** After so long a pod is tried again even if nothing has changed that is known to make a difference. */
const MAX_WAIT_MS = 5 * 60_000

export type QueueParts = {
  /** Milliseconds. */
  readonly now: () => number
  /** How long a pod waits between attempts. */
  readonly backOff?: BackOff
  /** The plugin whose events a pod waits for before it may be tried, empty for no plugin; undefined when it may be tried. */
  readonly gateOf: (pod: QueuedPod) => string | undefined
}

export class SchedulingQueue {
  readonly #parts: QueueParts
  readonly #pods = new Map<string, QueuedPod>()
  readonly #active = new Heap((a, b) => b.pod.priority - a.pod.priority || a.since - b.since || a.stamp - b.stamp)
  /** Pods that plugins have rejected, and pods whose attempt ended with an error. */
  readonly #backOff = new Heap((a, b) => a.until - b.until || b.pod.priority - a.pod.priority || a.since - b.since || a.stamp - b.stamp)
  readonly #failed = new Heap((a, b) => a.until - b.until || a.stamp - b.stamp)
  readonly #unschedulable = new Map<string, QueuedPod>()
  #stamp = 0

  constructor(parts: QueueParts) {
    this.#parts = parts
  }

  has(uid: string): boolean {
    return this.#pods.has(uid)
  }

  /** Takes in a pod that is not there yet. One that must not be tried waits among the unschedulable. */
  add(waiting: Waiting): void {
    if (this.#pods.has(waiting.uid)) return
    const pod = queuedPod(waiting, this.#parts.now())
    this.#pods.set(pod.uid, pod)
    this.#activate(pod)
  }

  remove(uid: string): void {
    const pod = this.#pods.get(uid)
    if (!pod) return
    this.#pods.delete(uid)
    this.#unschedulable.delete(uid)
    pod.stamp = ++this.#stamp
  }

  /** The next pod to be tried, if there is one; it is in flight until it is removed or put back. */
  pop(): QueuedPod | undefined {
    const now = this.#parts.now()
    for (const heap of [this.#backOff, this.#failed])
      for (let next = heap.peek(); next && next.until <= now; next = heap.peek()) {
        heap.pop()
        this.#activate(next.pod)
      }
    // Back-off exists for the sake of pods that were not tried yet. Without such pods it ends early, except after errors.
    const pod = (this.#active.pop() ?? this.#backOff.pop())?.pod
    if (!pod) return undefined
    pod.state = 'in flight'
    pod.stamp = ++this.#stamp
    pod.attempts++
    return pod
  }

  /** Puts back a pod that plugins have rejected: it waits for a change that concerns them. */
  reject(pod: QueuedPod, rejectors: ReadonlySet<string>): void {
    if (!this.#pods.has(pod.uid)) return
    pod.rejections++
    pod.errors = 0
    pod.rejectors = rejectors
    pod.since = this.#parts.now()
    pod.backOffUntil = pod.since + this.#backOffAfter(pod.rejections)
    this.#park(pod)
  }

  /** Puts back a pod that could not be tried or bound because something went wrong: it is tried again after a while. */
  fail(pod: QueuedPod): void {
    if (!this.#pods.has(pod.uid)) return
    pod.errors++
    pod.rejectors = NOBODY
    pod.since = this.#parts.now()
    pod.backOffUntil = pod.since + this.#backOffAfter(pod.errors)
    this.#retry(pod)
  }

  /** Puts back a group of which no pod was placed: it is tried again after a while, whatever changes meanwhile. */
  delay(group: QueuedPod, outcome: 'rejected' | 'error'): void {
    if (!this.#pods.has(group.uid)) return
    if (outcome === 'error') group.errors++
    else {
      group.rejections++
      group.errors = 0
    }
    group.since = this.#parts.now()
    group.backOffUntil = group.since + this.#backOffAfter(group.errors || group.rejections, Math.sqrt(group.pods?.size || 1))
    this.#retry(group)
  }

  /** Has a group that has just come wait a while, because something went wrong with its pod so many times. */
  defer(uid: string, errors: number): void {
    const group = this.#pods.get(uid)
    if (!group) return
    group.errors = errors - 1
    this.delay(group, 'error')
  }

  /** Puts back a group of which some pods were placed: the others are tried at once. With `keepsTurn` before those that came later. */
  continue(group: QueuedPod, { keepsTurn }: { readonly keepsTurn: boolean }): void {
    if (!this.#pods.has(group.uid)) return
    group.rejections = group.errors = group.backOffUntil = 0
    if (!keepsTurn) group.since = this.#parts.now()
    this.#activate(group)
  }

  /** Holds back a group that must not be tried any more, until it is retried. */
  hold(uid: string, gate: string): void {
    const group = this.#pods.get(uid)
    if (!group || group.state === 'in flight') return
    if (gate) group.rejectors = new Set([gate])
    this.#park(group)
  }

  /** Tries again the pods that a change makes a difference to. Says whether there are any. */
  requeue(isWorth: (pod: QueuedPod) => boolean): boolean {
    let isAny = false
    for (const pod of this.#unschedulable.values()) if (isWorth(pod) && this.#retry(pod)) isAny = true
    return isAny
  }

  /** A pod that waits for a change. */
  unschedulable(uid: string): QueuedPod | undefined {
    return this.#unschedulable.get(uid)
  }

  /** Tries one pod again. */
  retry(uid: string): boolean {
    const pod = this.#unschedulable.get(uid)
    return pod !== undefined && this.#retry(pod)
  }

  /** Tries again the pods that have waited very long. Says in how many milliseconds the next has, if any waits. */
  retryOverdue(): number | undefined {
    const now = this.#parts.now()
    let next: number | undefined
    for (const pod of [...this.#unschedulable.values()]) {
      const left = pod.since + MAX_WAIT_MS - now
      if (left > 0 || !this.#retry(pod)) next = Math.min(next ?? MAX_WAIT_MS, left > 0 ? left : MAX_WAIT_MS)
    }
    return next
  }

  /** How many pods wait, and where. */
  get pending(): PendingPods {
    return this.count(({ pods }) => pods?.size ?? 1)
  }

  /** The sum of a number of each pod and group, by where they wait. */
  count(numberOf: (pod: QueuedPod) => number): PendingPods {
    const pending = { active: 0, backoff: 0, unschedulable: 0, gated: 0 }
    for (const pod of this.#pods.values()) {
      const count = numberOf(pod)
      if (pod.state === 'active') pending.active += count
      else if (pod.state === 'back-off') pending.backoff += count
      else if (pod.state === 'unschedulable' && count > 0)
        pending[this.#parts.gateOf(pod) === undefined ? 'unschedulable' : 'gated'] += count
    }
    return pending
  }

  get isAnyUnschedulable(): boolean {
    return this.#unschedulable.size > 0
  }

  /** In how many milliseconds a pod is to be tried: zero for now, undefined when no time decides that. */
  get nextAfterMs(): number | undefined {
    if (this.#active.peek() || this.#backOff.peek()) return 0
    const next = this.#failed.peek()
    return next && Math.max(0, next.until - this.#parts.now())
  }

  /** `factor` makes the longest time longer, for groups. */
  #backOffAfter(times: number, factor = 1): number {
    const { firstMs, mostMs } = this.#parts.backOff ?? DEFAULT_SETTINGS.backOff
    return Math.min(firstMs * 2 ** (times - 1), mostMs * factor)
  }

  #retry(pod: QueuedPod): boolean {
    if (this.#isGated(pod)) return false
    this.#unschedulable.delete(pod.uid)
    if (pod.backOffUntil <= this.#parts.now()) {
      this.#activate(pod)
      return true
    }
    pod.state = 'back-off'
    pod.stamp = ++this.#stamp
    const heap = pod.errors > 0 || pod.pods ? this.#failed : this.#backOff
    heap.push({ pod, stamp: pod.stamp, since: pod.since, until: pod.backOffUntil })
    return true
  }

  #activate(pod: QueuedPod): void {
    if (this.#isGated(pod)) return
    pod.state = 'active'
    pod.stamp = ++this.#stamp
    this.#active.push({ pod, stamp: pod.stamp, since: pod.since, until: 0 })
  }

  /** Whether a pod must not be tried for now; if so it is parked. */
  #isGated(pod: QueuedPod): boolean {
    const gate = this.#parts.gateOf(pod)
    if (gate === undefined) return false
    if (gate) pod.rejectors = new Set([gate])
    this.#park(pod)
    return true
  }

  #park(pod: QueuedPod): void {
    pod.state = 'unschedulable'
    pod.stamp = ++this.#stamp
    this.#unschedulable.set(pod.uid, pod)
  }
}

const NOBODY: ReadonlySet<string> = new Set()

/** A pod, or a group, that has just arrived. */
export const queuedPod = ({ uid, namespace, name, priority, schedulerName = '', pods }: Waiting, now: number): QueuedPod => ({
  uid,
  namespace,
  name,
  priority,
  schedulerName,
  ...(pods && { pods }),
  since: now,
  arrived: now,
  attempts: 0,
  rejections: 0,
  errors: 0,
  rejectors: NOBODY,
  state: 'active',
  backOffUntil: 0,
  stamp: 0,
})

type Entry = { readonly pod: QueuedPod; readonly stamp: number; readonly since: number; readonly until: number }

/** A binary heap. Pods leave it without being looked for: an entry whose stamp is not that of its pod is skipped. */
class Heap {
  readonly #entries: Entry[] = []
  readonly #compare: (a: Entry, b: Entry) => number

  constructor(compare: (a: Entry, b: Entry) => number) {
    this.#compare = compare
  }

  push(entry: Entry): void {
    const entries = this.#entries
    let i = entries.push(entry) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (this.#compare(entries[parent]!, entry) <= 0) break
      entries[i] = entries[parent]!
      i = parent
    }
    entries[i] = entry
  }

  peek(): Entry | undefined {
    for (let first = this.#entries[0]; first; first = this.#entries[0]) {
      if (first.stamp === first.pod.stamp) return first
      this.#take()
    }
    return undefined
  }

  pop(): Entry | undefined {
    const first = this.peek()
    if (first) this.#take()
    return first
  }

  #take(): void {
    const entries = this.#entries
    const last = entries.pop()!
    if (entries.length === 0) return
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= entries.length) break
      if (child + 1 < entries.length && this.#compare(entries[child + 1]!, entries[child]!) < 0) child++
      if (this.#compare(last, entries[child]!) <= 0) break
      entries[i] = entries[child]!
      i = child
    }
    entries[i] = last
  }
}
