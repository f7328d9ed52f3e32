/**
 * Who goes next: requests that cannot start at once wait in a queue of their user, and users take turns.
 *
 * Two things are scarce. Seats: so many requests of a kind at a time. And the processor: one turn of the event loop starts a
 * handful of requests and then looks at the sockets again, so that nobody waits for a thousand requests of somebody else that
 * happened to arrive in one packet.
 */

/** Requests started in one turn of the event loop, and how long they may take together before the sockets get theirs. */
const BURST = 8
const SLICE_MS = 0.5
/**
 * While more than one user asks, a turn starts one request of whoever comes next, and after it only those of users who have
 * few waiting: who waits for each answer is not made to wait for the many of somebody else. Those many, the crowd, get an eighth
 * of the time at most: after turns of so many milliseconds that one of them was started in, they rest for seven times as long. A server
 * that is busy to the last moment with a crowd would let everybody else wait behind what it has just begun.
 */
const FEW = 4
const SHARED_FOR_MS = 50
const CROWD_MS = 0.25
const REST = 7
const CHECK_MS = 1000
const USERS_REMEMBERED = 1000

export type LaneLimits = {
  /** Requests under way at once. */
  readonly seats: number
  /** How many of them one user may have: fewer than all, so that who keeps his seats for long leaves some to others. */
  readonly seatsPerUser: number
  /** Whether requests wait for a seat. Where seats are kept for hours they do not. */
  readonly waits: boolean
}
export type QueueLimits = {
  /** Requests that may wait in one lane, and how many of them one user's. */
  readonly waiting: number
  readonly waitingPerUser: number
  readonly waitMs: number
}

/** What came of asking for a seat. */
export type Entry = 'seated' | 'full' | 'refused'

/** `start` is called when it is its turn, `refuse` when that takes too long. */
export type Waiter = { readonly user: string; readonly isGone: () => boolean; readonly start: () => void; readonly refuse: () => void }
type Waiting = { readonly waiter: Waiter; readonly since: number }

/** The lanes of one server, which share its processor. */
export class FairQueues implements Disposable {
  readonly #limits: QueueLimits
  readonly #lanes: Lane[] = []
  readonly #now: () => number
  #started = 0
  #scheduled = 0
  #turnBegan = 0
  #idle = true
  #next = 0
  #checking: NodeJS.Timeout | undefined
  #lastUser: string | undefined
  #sharedUntil = 0
  /** Time of turns with the crowd since it last rested. */
  #crowdMs = 0
  #restsUntil = 0
  #resting: NodeJS.Timeout | undefined

  constructor(limits: QueueLimits, now: () => number = () => performance.now()) {
    this.#limits = limits
    this.#now = now
  }

  lane(limits: LaneLimits): Lane {
    const lane = new Lane(limits, {
      queue: this.#limits,
      now: this.#now,
      mayStart: () => this.#mayStart(),
      onWaiting: () => this.#whenWaiting(),
    })
    this.#lanes.push(lane)
    return lane
  }

  [Symbol.dispose](): void {
    clearInterval(this.#checking)
    clearTimeout(this.#resting)
  }

  /** Somebody asks, whether in a lane or past them all. */
  seen(user: string): void {
    if (user === this.#lastUser) return
    if (this.#lastUser !== undefined) this.#sharedUntil = this.#now() + SHARED_FOR_MS
    this.#lastUser = user
  }

  get #isShared(): boolean {
    return this.#sharedUntil > 0 && this.#now() < this.#sharedUntil
  }

  /** Counts what starts in this turn of the event loop. */
  #mayStart(): boolean {
    if (this.#started >= (this.#isShared ? FEW : BURST)) return false
    if (this.#started++ === 0) setImmediate(this.#endTurn)
    return true
  }

  #endTurn = (): void => {
    this.#started = 0
  }

  #whenWaiting(): void {
    this.#schedule()
    this.#checking ??= setInterval(this.#refuseLate, CHECK_MS).unref()
  }

  /** Each start has a callback of its own, so that all it does before it waits for something is done before the next. */
  #schedule(): void {
    if (this.#scheduled > 0) return
    const ready = this.#lanes.reduce((sum, lane) => sum + lane.ready, 0)
    this.#scheduled = Math.min(BURST, ready)
    this.#turnBegan = 0
    this.#idle = true
    for (let i = 0; i < this.#scheduled; i++) setImmediate(this.#startOne)
  }

  #startOne = (): void => {
    this.#scheduled--
    const now = this.#now()
    if (this.#turnBegan === 0) this.#turnBegan = now
    const isShared = now < this.#sharedUntil
    const rests = isShared && now < this.#restsUntil
    const forAll = !isShared || (this.#idle && !rests)
    if (now - this.#turnBegan < SLICE_MS && this.#startNext(forAll ? Number.POSITIVE_INFINITY : FEW)) {
      this.#idle = false
      if (isShared && forAll) this.#countCrowd(now)
    }
    if (this.#scheduled > 0) return
    if (!this.#idle) this.#schedule()
    // Otherwise somebody has to leave first, or the crowd has rested.
    else if (rests) this.#resting ??= setTimeout(this.#endRest, Math.min(this.#restsUntil, this.#sharedUntil) - now)
  }

  /** A turn is over when the next one's callbacks come; what others did in it counts as well, it is they who are to be spared. */
  #countCrowd(began: number): void {
    setImmediate(() => {
      const now = this.#now()
      this.#crowdMs += now - began
      if (this.#crowdMs < CROWD_MS) return
      this.#restsUntil = now + this.#crowdMs * REST
      this.#crowdMs = 0
    })
  }

  #endRest = (): void => {
    this.#resting = undefined
    this.#schedule()
  }

  #startNext(only: number): boolean {
    for (let i = 0; i < this.#lanes.length; i++) if (this.#lanes[this.#next++ % this.#lanes.length]!.startNext(only)) return true
    return false
  }

  #refuseLate = (): void => {
    const eldest = this.#now() - this.#limits.waitMs
    let waiting = 0
    for (const lane of this.#lanes) waiting += lane.refuseBefore(eldest)
    if (waiting > 0) return
    clearInterval(this.#checking)
    this.#checking = undefined
  }
}

type Owner = {
  readonly queue: QueueLimits
  readonly now: () => number
  readonly mayStart: () => boolean
  readonly onWaiting: () => void
}

/** Requests of one kind: their seats and their queues. */
export class Lane {
  readonly #limits: LaneLimits
  readonly #owner: Owner
  /** Users in the order in which they come next. */
  readonly #queues = new Map<string, Queue>()
  readonly #taken = new Map<string, number>()
  #seated = 0
  #waiting = 0

  constructor(limits: LaneLimits, owner: Owner) {
    this.#limits = limits
    this.#owner = owner
  }

  get seated(): number {
    return this.#seated
  }
  get waiting(): number {
    return this.#waiting
  }
  /** How many of those who wait there are seats for. */
  get ready(): number {
    return Math.min(this.#waiting, this.#limits.seats - this.#seated)
  }

  /** Takes a seat if there is one and nobody waits for it. Whoever sat down must `leave`. */
  enter(user: string): Entry {
    const hasSeat = this.#seated < this.#limits.seats && this.#mayTake(user)
    if (!hasSeat) return this.#limits.waits ? 'full' : 'refused'
    if (this.#waiting > 0 || !this.#owner.mayStart()) return 'full'
    this.#sit(user)
    return 'seated'
  }

  /** Takes a place in the queue; false when that is full too. */
  wait(waiter: Waiter): boolean {
    const { waiting, waitingPerUser } = this.#owner.queue
    const queue = this.#queues.get(waiter.user)
    if (this.#waiting >= waiting || (queue?.length ?? 0) >= waitingPerUser) return false
    const place = { waiter, since: this.#owner.now() }
    if (queue) queue.push(place)
    else this.#queues.set(waiter.user, new Queue(place))
    this.#waiting++
    this.#owner.onWaiting()
    return true
  }

  leave(user: string): void {
    this.#seated--
    const left = this.#taken.get(user)! - 1
    // Users come back: a map that they enter and leave all the time makes garbage, one of a thousand users does not matter.
    if (left > 0 || this.#taken.size <= USERS_REMEMBERED) this.#taken.set(user, left)
    else this.#taken.delete(user)
    if (this.#waiting > 0) this.#owner.onWaiting()
  }

  /** Starts one request of the user whose turn it is, of those who have no more than `only` waiting; false when nobody can. */
  startNext(only = Number.POSITIVE_INFINITY): boolean {
    if (this.ready <= 0) return false
    for (const [user, queue] of this.#queues) {
      if (queue.length > only || !this.#mayTake(user)) continue
      const waiter = this.#nextOf(user, queue)
      if (waiter === undefined) continue
      this.#sit(user)
      waiter.start()
      return true
    }
    return false
  }

  /** The first of a user's who is still there; the user then stands behind everyone else who waits. */
  #nextOf(user: string, queue: Queue): Waiter | undefined {
    let waiter: Waiter | undefined
    while (waiter === undefined && queue.length > 0) {
      const first = queue.shift().waiter
      this.#waiting--
      if (first.isGone()) first.refuse()
      else waiter = first
    }
    this.#queues.delete(user)
    if (queue.length > 0) this.#queues.set(user, queue)
    return waiter
  }

  /** Turns away who has waited since before a time; returns how many still wait. */
  refuseBefore(time: number): number {
    for (const [user, queue] of this.#queues) {
      while (queue.length > 0 && queue.first.since < time) {
        this.#waiting--
        queue.shift().waiter.refuse()
      }
      if (queue.length === 0) this.#queues.delete(user)
    }
    return this.#waiting
  }

  #mayTake(user: string): boolean {
    return (this.#taken.get(user) ?? 0) < this.#limits.seatsPerUser
  }

  #sit(user: string): void {
    this.#seated++
    this.#taken.set(user, (this.#taken.get(user) ?? 0) + 1)
  }
}

/** First in, first out, without moving everyone up at each step. */
class Queue {
  #items: (Waiting | undefined)[]
  #head = 0

  constructor(first: Waiting) {
    this.#items = [first]
  }
  get length(): number {
    return this.#items.length - this.#head
  }
  get first(): Waiting {
    return this.#items[this.#head]!
  }
  push(item: Waiting): void {
    this.#items.push(item)
  }
  shift(): Waiting {
    const item = this.#items[this.#head]!
    // What has left is let go of at once: each would keep its whole request in memory.
    this.#items[this.#head++] = undefined
    if (this.#head > 256 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
