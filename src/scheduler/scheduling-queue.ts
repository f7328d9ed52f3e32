/**
 * Pods that wait for a node:
 *
 *     active ──→ being tried ──→ placed
 *       ↑           │ ↘ rejected by plugins
 *       │           ↓         unschedulable ── a change that can make a difference ─┐
 *       └──────  back-off  ←────────────────────────────────────────────────────────┘
 *
 * The most important pod is tried first, and among equals the one that waits longest. A pod that was tried before waits a second,
 * two, four, up to ten; but when nobody else is to be tried, its turn comes earlier.
 */
import type { PendingPods } from './scheduler-metrics.ts'

export type QueuedPod = {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly priority: number
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

export type Waiting = { readonly uid: string; readonly namespace: string; readonly name: string; readonly priority: number }

const FIRST_BACK_OFF_MS = 1000
const MAX_BACK_OFF_MS = 10_000
/** After so long a pod is tried again even if nothing has changed that is known to make a difference. */
const MAX_WAIT_MS = 5 * 60_000

export type QueueParts = {
  /** Milliseconds. */
  readonly now: () => number
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
  add({ uid, namespace, name, priority }: Waiting): void {
    if (this.#pods.has(uid)) return
    const now = this.#parts.now()
    const pod: QueuedPod = {
      uid,
      namespace,
      name,
      priority,
      since: now,
      arrived: now,
      attempts: 0,
      rejections: 0,
      errors: 0,
      rejectors: NOBODY,
      state: 'active',
      backOffUntil: 0,
      stamp: 0,
    }
    this.#pods.set(uid, pod)
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
    pod.backOffUntil = pod.since + backOff(pod.rejections)
    this.#park(pod)
  }

  /** Puts back a pod that could not be tried or bound because something went wrong: it is tried again after a while. */
  fail(pod: QueuedPod): void {
    if (!this.#pods.has(pod.uid)) return
    pod.errors++
    pod.rejectors = NOBODY
    pod.since = this.#parts.now()
    pod.backOffUntil = pod.since + backOff(pod.errors)
    this.#retry(pod)
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
    const pending = { active: 0, backoff: 0, unschedulable: 0, gated: 0 }
    for (const pod of this.#pods.values()) {
      if (pod.state === 'active') pending.active++
      else if (pod.state === 'back-off') pending.backoff++
      else if (pod.state === 'unschedulable') pending[this.#parts.gateOf(pod) === undefined ? 'unschedulable' : 'gated']++
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

  #retry(pod: QueuedPod): boolean {
    if (this.#isGated(pod)) return false
    this.#unschedulable.delete(pod.uid)
    if (pod.backOffUntil <= this.#parts.now()) {
      this.#activate(pod)
      return true
    }
    pod.state = 'back-off'
    pod.stamp = ++this.#stamp
    const heap = pod.errors > 0 ? this.#failed : this.#backOff
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

const backOff = (times: number): number => Math.min(FIRST_BACK_OFF_MS * 2 ** Math.min(times - 1, 10), MAX_BACK_OFF_MS)

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
