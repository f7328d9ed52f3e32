/**
 * Estimates the seats of a request, as kube-apiserver does: lists and the beginning of a watch take more, the more there is to send, and
 * writes, the more watches there are to tell.
 */
import type { Resource } from '../../schema/resource.ts'
import type { Route } from '../route.ts'
import type { LevelConfiguration, SeatLimits } from './seats.ts'

const OBJECTS_PER_SEAT = 100
const BYTES_PER_SEAT = 100_000
/** Lists from the cache are sent in pieces: more than this is never in memory at once. */
const MAX_BYTES_AT_ONCE = 1_000_000
const MAX_LIST_SEATS = 100
/** If seats follow from the number of objects. */
const MAX_COUNTED_LIST_SEATS = 10
const WATCHES_PER_SEAT = 10
const MAX_WRITE_SEATS = 10
/** The part of a level that one request may take. */
const LEVEL_SHARE = 0.15

/** The stored objects of a resource. */
export type ResourceSize = { readonly count: number; readonly bytes: number }

export type Estimating = {
  readonly sizeOf: (resource: Resource) => ResourceSize | undefined
  /** Whether a feature gate is on. */
  readonly gate: (name: string) => boolean
}

/** The most seats that a request of a level takes; a level without queues has no limit of its own. */
export const maxSeatsOf = ({ queuing }: LevelConfiguration, { nominal }: SeatLimits): number =>
  queuing ? Math.max(1, Math.min(Math.ceil(nominal * LEVEL_SHARE), Math.floor(nominal / queuing.handSize))) : Number.POSITIVE_INFINITY

/** The seats of a request: one, unless it is a list or a watch that begins with one. */
export function seatsOf(route: Route, maxSeats: number, { sizeOf, gate }: Estimating): number {
  const { attributes, query } = route
  if (route.type !== 'call' || attributes.resource?.name) return 1
  if (attributes.verb !== 'list' && !(attributes.verb === 'watch' && gate('WatchList') && hasInitialEvents(query))) return 1
  const size = sizeOf(route.call.resource)
  if (!size) return 1
  const isSized = gate('SizeBasedListCostEstimate')
  const most = Math.min(maxSeats, isSized ? MAX_LIST_SEATS : MAX_COUNTED_LIST_SEATS)
  return Math.max(1, Math.min(isSized ? bySize(size, query) : Math.ceil(size.count / OBJECTS_PER_SEAT), most))
}

/** The seats of a write that concerns so many watches. */
export const seatsOfWrite = (watches: number, maxSeats: number): number =>
  watches < WATCHES_PER_SEAT ? 1 : Math.min(Math.ceil(watches / WATCHES_PER_SEAT), MAX_WRITE_SEATS, maxSeats)

function hasInitialEvents(query: URLSearchParams): boolean {
  const revision = query.get('resourceVersion') ?? ''
  return query.get('sendInitialEvents') === 'true' || revision === '' || revision === '0'
}

/** Every list comes from the cache here. */
function bySize({ count, bytes }: ResourceSize, query: URLSearchParams): number {
  const limit = Number(query.get('limit') ?? 0)
  const read = limit > 0 && limit < count ? limit : count
  return Math.ceil(Math.min(count === 0 ? 0 : (read * bytes) / count, MAX_BYTES_AT_ONCE) / BYTES_PER_SEAT)
}
