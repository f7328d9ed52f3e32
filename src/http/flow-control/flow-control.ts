/**
 * API Priority and Fairness: FlowSchemas assign a flow and a priority level to each request, PriorityLevelConfigurations limit how many of
 * each level run at once and how many wait.
 *
 *     request → flow schema (flow-schema.ts) → priority level (priority-level.ts) → a seat (seats.ts), or a queue of its flow
 *                                                                   ▲
 *     dispatcher.ts starts waiting requests, a few in each iteration of the event loop
 *
 * Large lists take several seats, and so do writes that concern many watches (work-estimate.ts). Differences from kube-apiserver: writes do
 * not hold the seats for their watchers after the answer, since those have been told by then; a level has its nominal seats immediately,
 * instead of getting lent ones back within ten seconds, and borrows seats that are currently idle.
 */

import type { Family } from '../../lib/exposition.ts'
import type { Attributes } from '../../schema/access.ts'
import type { User } from '../../schema/user.ts'
import type { Route } from '../route.ts'
import { Dispatcher } from './dispatcher.ts'
import { FlowCounts, flowControlMetrics } from './flow-metrics.ts'
import { distinguisherOf, type FlowSchema, inOrder, matchesSchema } from './flow-schema.ts'
import { PriorityLevel } from './priority-level.ts'
import { divideSeats, type LevelConfiguration, type ProcessShare, WHOLE } from './seats.ts'
import { WatchTracker } from './watch-tracker.ts'
import { type Estimating, maxSeatsOf, seatsOf, seatsOfWrite } from './work-estimate.ts'

/** The flow schema and the priority level of a request. */
export type Classified = {
  readonly schema: FlowSchema
  readonly level: PriorityLevel
  readonly counts: FlowCounts
}

export type FlowControlOptions = {
  /** Seats of the whole server; infinite for no limit. */
  readonly seats: number
  /** The maximum time a request waits. */
  readonly waitMs: number
  /** The objects that lists are about; without it, every request takes one seat. */
  readonly estimating?: Estimating
}

export class FlowControl implements Disposable {
  readonly dispatcher: Dispatcher
  /** Open watches, whichever level they belong to. */
  readonly #watches = new WatchTracker()
  /** Requests that have not been started. */
  readonly waiting = { mutating: 0, readOnly: 0 }
  readonly #seats: number
  readonly #estimating: Estimating | undefined
  #share = WHOLE
  #configured: { readonly levels: readonly LevelConfiguration[]; readonly schemas: readonly FlowSchema[] } = { levels: [], schemas: [] }
  #levels = new Map<string, PriorityLevel>()
  /** Levels that are no longer configured, but still have requests. */
  #former: PriorityLevel[] = []
  /** In the order in which they are tried; the last matches every request. */
  #classes: readonly Classified[] = []
  readonly #counts = new Map<string, FlowCounts>()

  constructor({ seats, waitMs, estimating }: FlowControlOptions) {
    this.#seats = seats
    this.#estimating = estimating
    this.dispatcher = new Dispatcher({ waitMs })
    this.configure([], [])
  }

  [Symbol.dispose](): void {
    this.dispatcher[Symbol.dispose]()
  }

  /** Uses a part of the seats from now on: the number of processes that share them has changed. */
  useShare(share: ProcessShare): void {
    this.#share = share
    const { levels, schemas } = this.#configured
    this.configure(levels, schemas)
  }

  /** Applies the current configuration as a whole. Mandatory objects are added; schemas without a level are left out. */
  configure(levels: readonly LevelConfiguration[], schemas: readonly FlowSchema[]): void {
    this.#configured = { levels, schemas }
    const wanted = new Map([EXEMPT_LEVEL, CATCH_ALL_LEVEL, ...levels].map(level => [level.name, level]))
    const limits = divideSeats(this.#seats, wanted.values(), this.#share)
    const parts = { dispatcher: this.dispatcher, borrowable: () => this.#borrowable() }
    const next = new Map<string, PriorityLevel>()
    for (const [name, level] of wanted) {
      const kept = this.#levels.get(name)
      kept?.configure(level, limits.get(name)!)
      next.set(name, kept ?? new PriorityLevel(level, limits.get(name)!, parts))
    }
    const dropped = [...this.#levels].filter(([name]) => !next.has(name)).map(([, level]) => level)
    this.#former = [...this.#former, ...dropped].filter(({ isIdle }) => !isIdle)
    this.#levels = next
    const named = new Map([EXEMPT_SCHEMA, CATCH_ALL_SCHEMA, ...schemas].map(schema => [schema.name, schema]))
    this.#classes = inOrder(named.values()).flatMap(schema => {
      const level = next.get(schema.level)
      return level ? [{ schema, level, counts: this.#countsOf(schema) }] : []
    })
    this.dispatcher.serve([...next.values(), ...this.#former])
  }

  classify(user: User, attributes: Attributes): Classified {
    for (const each of this.#classes) if (matchesSchema(each.schema, user, attributes)) return each
    // A user that is neither authenticated nor anonymous.
    return this.#classes.find(({ schema }) => schema.name === CATCH_ALL)!
  }

  /** Counts a watch, until the function that is returned is called. */
  watchOpened(route: Route): () => void {
    const dividing = route.type === 'call' ? route.call.resource.def.fieldSelectors?.dividing : undefined
    return this.#watches.register(route.attributes, dividing)
  }

  /** How many seats of its level a request takes; counts the estimate. */
  seatsOf({ level, counts }: Classified, route: Route): number {
    const seats = this.#estimate(level, counts, route)
    counts.estimated.observe(seats)
    return seats
  }

  #estimate({ configuration, limits }: PriorityLevel, counts: FlowCounts, route: Route): number {
    const { attributes } = route
    switch (attributes.verb) {
      case 'list':
      case 'watch':
        return this.#estimating ? seatsOf(route, maxSeatsOf(configuration, limits), this.#estimating) : 1
      case 'create':
      case 'update':
      case 'patch':
      case 'delete': {
        if (isReview(route)) return 1
        const watches = this.#watches.concernedBy(attributes)
        counts.watched.observe(watches)
        return seatsOfWrite(watches, maxSeatsOf(configuration, limits))
      }
    }
    return 1
  }

  /** The metrics of flow control. */
  families(): Family[] {
    return flowControlMetrics([...this.#counts.values()], [...this.#levels.values()])
  }

  #borrowable(): number {
    let seats = 0
    for (const level of this.#levels.values()) if (!level.configuration.isExempt) seats += level.lendable - level.borrowed
    return seats
  }

  #countsOf({ name, level }: FlowSchema): FlowCounts {
    const key = `${name}/${level}`
    let counts = this.#counts.get(key)
    if (!counts) this.#counts.set(key, (counts = new FlowCounts(name, level)))
    return counts
  }
}

/** Whether a request creates a message that changes no object, such as a request for a token. */
const isReview = (route: Route) =>
  route.type === 'call' && route.call.resource.def.subresources?.creates?.[route.call.subresource]?.review !== undefined

/** The flow of a request within its level. */
export const flowOf = ({ schema, level }: Classified, user: User, attributes: Attributes) =>
  level.flowOf(schema.name, distinguisherOf(schema, user, attributes))

const EXEMPT = 'exempt'
const CATCH_ALL = 'catch-all'
const EVERYTHING = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
}
const inGroup = (name: string) => ({ kind: 'Group', group: { name } })
const EXEMPT_LEVEL: LevelConfiguration = {
  name: EXEMPT,
  uid: '',
  isExempt: true,
  shares: 0,
  lendablePercent: 0,
  borrowingLimitPercent: undefined,
  queuing: undefined,
}
const CATCH_ALL_LEVEL: LevelConfiguration = { ...EXEMPT_LEVEL, name: CATCH_ALL, isExempt: false, shares: 5 }
const EXEMPT_SCHEMA: FlowSchema = {
  name: EXEMPT,
  uid: '',
  level: EXEMPT,
  matchingPrecedence: 1,
  distinguisher: undefined,
  rules: [{ subjects: [inGroup('system:masters')], ...EVERYTHING }],
}
const CATCH_ALL_SCHEMA: FlowSchema = {
  name: CATCH_ALL,
  uid: '',
  level: CATCH_ALL,
  matchingPrecedence: 10_000,
  distinguisher: 'ByUser',
  rules: [{ subjects: [inGroup('system:unauthenticated'), inGroup('system:authenticated')], ...EVERYTHING }],
}
