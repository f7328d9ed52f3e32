/** Watchers: clients that follow a selection during a whole run, through cuts, restarts, slow reading and compacted history. */
import { sleep, startTimer, stopTimer } from '../../src/lib/environment.ts'
import type { Stream } from './connection.ts'
import type { Revision, Session, WatchEvent } from './history.ts'
import { seen } from './objects.ts'
import { list } from './reader.ts'
import { type Client, isUnavailable, now, type Run, record, WINDOW_MS } from './run.ts'
import { collectionPath, type Selection, selectorQuery, showSelection } from './selection.ts'

const RETRY_MS = 30
/** How long a watch lasts, on average: some are short, so that others are opened at moments that matter. */
const MEAN_MS = 8_000
const SHORT_MS = 500
const FEW_REVISIONS = 30
const MANY_REVISIONS = 500
/** The ways to request the current objects first. */
const BEGINNINGS: readonly Readonly<Record<string, string>>[] = [
  { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' },
  { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', resourceVersion: '1' },
  { resourceVersion: '0' },
  {},
]
const INITIAL_END = 'k8s.io/initial-events-end'

export type Habits = {
  /** Stops reading now and then, for longer than the server's buffers last. */
  readonly isSlow: boolean
  /** Watches everything, and never ends on its own: others are compared with its events. */
  readonly isObserver: boolean
}

export class Watcher {
  readonly selection: Selection
  readonly #run: Run
  readonly #client: Client
  readonly #habits: Habits
  readonly #stop = new AbortController()
  readonly #running: Promise<void>
  /** The revision to resume from; undefined when that must be determined first. */
  #position: Revision | undefined
  /** Its oldest position. */
  #first: Revision = Number.POSITIVE_INFINITY
  #stream: Stream | undefined
  #settling = false
  /** Whether the open watch begins later than its position. */
  #isAhead = false
  #wake: () => void = () => {}

  constructor(run: Run, client: Client, { selection, ...habits }: Habits & { selection: Selection; from?: Revision }) {
    this.selection = selection
    this.#run = run
    this.#client = client
    this.#habits = habits
    this.#running = this.#follow()
  }

  get name(): string {
    return `${this.#client.name} watching ${showSelection(this.selection)}`
  }

  /** Its current position. */
  get position(): Revision {
    return this.#position ?? 0
  }

  /** Reads without pauses until it opens the next watch. */
  wake(): void {
    this.#wake()
  }

  /** Keeps up as well as it can from now on. */
  settle(): void {
    this.#settling = true
    this.#wake()
    this.#stream?.read(true)
    // It may begin later than anything that is written any more.
    if (this.#isAhead) this.#stream?.close()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#stream?.close()
    await this.#running
    this.#client.connection.close()
  }

  async #follow(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const wasUseful = await this.#watchOnce().catch(() => false)
      // As client libraries do: a server that ends may end every watch at once.
      if (!wasUseful) await sleep(RETRY_MS, { signal: this.#stop.signal }).catch(() => {})
    }
  }

  /** One watch from its beginning to its end; false when it could not be opened, or ended before anything came. */
  async #watchOnce(): Promise<boolean> {
    const { random, connection, name } = this.#client
    const { isObserver } = this.#habits
    if (this.#position === undefined && (isObserver || this.#settling || random.oneIn(2))) await this.#list()
    // The last object may have left the selection again: without a list, nothing would tell that this watch is beyond it.
    if (this.#position === undefined && this.#settling) return false
    const from = this.#resumption()
    const bookmarks = isObserver || random.oneIn(2)
    const { path, mayBeOld } = this.#path(from, bookmarks)
    this.#isAhead = from !== undefined && from > this.position
    const session: Opening = { from, isMarked: bookmarks, start: now(), events: [], isBeginning: from === undefined && bookmarks }
    const { status, stream } = await connection.stream(path, line => this.#take(session, line))
    this.#stream = stream
    if (status === 410) this.#position = undefined
    if (status !== 200) {
      if (![410, 429, 503].includes(status) && !isUnavailable(this.#run, status))
        this.#run.failures.push(`${this.name} was answered with ${status}`)
      return false
    }
    if (this.#stop.signal.aborted || (this.#isAhead && this.#settling)) stream.close()
    const dawdling = this.#habits.isSlow && !this.#settling ? this.#dawdle(stream) : undefined
    const leaving = isObserver
      ? undefined
      : startTimer(() => this.#leave(session, stream), random.below(2 * (random.oneIn(2) ? SHORT_MS : MEAN_MS)))
    const how = await stream.ended
    stopTimer(leaving)
    await dawdling
    const { isMarked, start, events, how: noted = how, end = now() } = session
    const asked = { selection: this.selection, isMarked, ...(from !== undefined && { from }), ...(mayBeOld && { mayBeOld }) }
    record(this.#run, { type: 'watch', client: name, ...asked, start, end, events, how: noted })
    if (noted === 'expired') this.#position = undefined
    return events.length > 0
  }

  /** Its position, or an older one, as a client has that did not keep all of them: within the history of the server, before it, or later. */
  #resumption(): Revision | undefined {
    const { random } = this.#client
    if (this.#position === undefined) return undefined
    this.#first = Math.min(this.#first, this.#position)
    if (this.#habits.isObserver || this.#settling || !random.oneIn(3)) return this.#position
    // One that does not exist yet, as for a client that has learned it from elsewhere.
    if (random.oneIn(4)) return this.#position + 1 + random.below(FEW_REVISIONS)
    return Math.max(this.#first, this.#position - random.below(random.oneIn(2) ? FEW_REVISIONS : MANY_REVISIONS))
  }

  async #list(): Promise<void> {
    const answer = await list(this.#run, this.#client, { selection: this.selection })
    if (answer?.status === 200) this.#position = Number(answer.json.metadata.resourceVersion)
  }

  #path(from: Revision | undefined, bookmarks: boolean): { readonly path: string; readonly mayBeOld: boolean } {
    const { random } = this.#client
    const query = new URLSearchParams({ watch: 'true', ...selectorQuery(this.selection) })
    if (bookmarks) query.set('allowWatchBookmarks', 'true')
    if (random.oneIn(5)) query.set('timeoutSeconds', String(1 + random.below(5)))
    if (from !== undefined) query.set('resourceVersion', String(from))
    else for (const [name, value] of Object.entries(random.pick(BEGINNINGS))) query.set(name, value)
    return { path: `${collectionPath(this.selection)}?${query}`, mayBeOld: this.#run.isShared && query.has('resourceVersion') }
  }

  #take(session: Opening, line: string): void {
    // The body of a refusal is no event, and may be plain text.
    if (session.how !== undefined || !line.startsWith('{')) return
    const { type, object } = JSON.parse(line)
    const time = now()
    if (object === undefined) return
    if (type === 'ERROR') {
      // It has a timeout, and its initial objects could not all be sent before. Without bookmarks nothing tells where they end.
      const mayBegin = session.isBeginning || (session.from === undefined && !session.isMarked)
      const isLate = mayBegin && object.code === 504 && object.reason === 'Timeout'
      session.how = isLate ? 'cut' : 'expired'
      session.end = time
      if (!isLate && (object.code !== 410 || object.reason !== 'Expired')) this.#run.failures.push(`${this.name} received ${line}`)
      return
    }
    const revision = Number(object.metadata.resourceVersion)
    if (type === 'BOOKMARK') {
      const endsInitial = object.metadata.annotations?.[INITIAL_END] === 'true'
      session.events.push({ type, time, revision, endsInitial })
      if (endsInitial) session.isBeginning = false
    } else session.events.push({ type, time, object: seen(this.selection.resource, object) })
    if (!session.isBeginning) this.#position = Math.max(this.#position ?? 0, revision)
  }

  #leave(session: Opening, stream: Stream): void {
    if (this.#settling || session.how !== undefined) return
    session.how = 'closed'
    session.end = now()
    stream.close()
  }

  async #dawdle(stream: Stream): Promise<void> {
    const { random } = this.#client
    let isOver = false
    const over = stream.ended.then(() => (isOver = true))
    const woken = new Promise<void>(resolve => (this.#wake = resolve)).then(() => (isOver = true))
    while (!isOver && !this.#settling) {
      stream.read(false)
      await Promise.race([over, woken, sleep(random.below(random.oneIn(2) ? 2 * WINDOW_MS : 1_000))])
      stream.read(true)
      await Promise.race([over, sleep(random.below(1_000))])
    }
  }
}

/** A session while it is open. */
type Opening = {
  readonly from: Revision | undefined
  readonly isMarked: boolean
  readonly start: number
  readonly events: WatchEvent[]
  /** While initial objects arrive, in the order of their keys, there is no revision to resume from. */
  isBeginning: boolean
  how?: Session['how']
  end?: number
}
