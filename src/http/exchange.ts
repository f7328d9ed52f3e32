/** One request and what is known about it so far. */
import { randomUUID } from 'node:crypto'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { Stopwatch } from '../lib/stopwatch.ts'
import type { Call } from '../registry/api.ts'
import type { Attributes } from '../schema/access.ts'
import type { Explanation } from '../schema/explanation.ts'
import type { User } from '../schema/user.ts'
import { header, type Request, type Response } from './message.ts'
import type { Route, Router } from './route.ts'

export interface Exchange {
  readonly request: Request
  /** Found again when what is served has changed meanwhile. */
  route: Route
  /** Names the request in logs, audit records and the `Audit-Id` header. */
  readonly id: string
  /** Known once the request is authenticated. */
  user: User | undefined
  /** The user who sent it, when they impersonate another one. */
  impersonator?: User
  /** Measures its phases. */
  readonly stopwatch: Stopwatch
  /** Flow schema and priority level, once they are known. */
  flow: { readonly schemaUid: string; readonly levelUid: string } | undefined
  /** What admission decides about it, if the client or the log requests it. */
  explanation: Explanation | undefined
  /** What the client is answered who asked for an explanation: at the end, when all is decided. */
  explain: (() => string) | undefined
  /** Brings the caches up to date, where they may be a little behind when the request is decided about. */
  confirm: (() => Promise<void> | undefined) | undefined
  /** When it has to be answered, in milliseconds of the stopwatch; undefined where it may take as long as it likes. */
  endsAt: number | undefined
  /** The server has ended it to protect itself: there was no room for it, or it took too long. */
  isTerminated: boolean
}

/** Throws when an answer cannot be made, at once or later. */
export type Handler = (exchange: Exchange) => MaybePromise<Response>

const LONGEST_ID = 64

/** Routes a request and gives it a name; a client may bring its own. */
export function openExchange(request: Request, router: Router): Exchange {
  const sent = header(request.headers, 'audit-id')
  const id = sent !== undefined && sent.length <= LONGEST_ID && /^[\w.:-]+$/.test(sent) ? sent : randomUUID()
  return {
    request,
    route: router.find(request.method, request.target),
    id,
    user: undefined,
    flow: undefined,
    explanation: undefined,
    explain: undefined,
    confirm: undefined,
    endsAt: undefined,
    isTerminated: false,
    stopwatch: new Stopwatch(),
  }
}

/** Whether a call is for the node of an object to answer. */
export const isConnect = ({ resource, subresource }: Call): boolean =>
  subresource !== '' && Object.hasOwn(resource.def.subresources?.connect ?? {}, subresource)

/** Whether the request stays open for as long as the client likes. Other servers are judged by what the path names alone, as kube-apiserver does. */
export const isLongRunning = ({ route }: Exchange) =>
  route.type === 'call' ? route.call.verb === 'watch' || isConnect(route.call) : isLongElsewhere(route.attributes)

const isLongElsewhere = ({ verb, resource }: Attributes) =>
  resource !== undefined && (verb === 'watch' || verb === 'proxy' || LONG_SUBRESOURCES.has(resource.subresource))
const LONG_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward'])
