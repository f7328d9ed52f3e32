/** One request and its state while it is handled. */

import type { RequestAudit } from '../audit/request-audit.ts'
import { newUuid } from '../lib/environment.ts'
import { LIMITS } from '../lib/limits.ts'
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
  /** Resolved again when the catalog has changed in the meantime. */
  route: Route
  /** The id of the request in logs, audit records and the `Audit-Id` header. */
  readonly id: string
  /** Known once the request is authenticated. */
  user: User | undefined
  /** The authenticated user, when the request impersonates another one. */
  impersonator?: User
  /** Authorization has refused it. */
  isForbidden?: true
  /** Its record in the audit, where the policy wants one. */
  audit: RequestAudit | undefined
  /** Annotations of its authentication, for its record in the audit. */
  notes?: [key: string, value: string][]
  /** Measures its phases. */
  readonly stopwatch: Stopwatch
  /** Flow schema and priority level, once they are known. */
  flow: { readonly schemaUid: string; readonly levelUid: string } | undefined
  /** Records decisions of admission, if the client or the log requests it. */
  explanation: Explanation | undefined
  /** The explanation for the client, computed at the end, when everything is decided. */
  explain: (() => string) | undefined
  /** Brings the caches up to date, where they may be slightly behind when the request is decided. */
  confirm: (() => Promise<void> | undefined) | undefined
  /** The deadline, in milliseconds of the stopwatch; undefined for requests without one. */
  endsAt: number | undefined
  /** The server has ended it to protect itself: it was overloaded, or the request took too long. */
  isTerminated: boolean
}

/** Throws, synchronously or later, when the request fails. */
export type Handler = (exchange: Exchange) => MaybePromise<Response>

/** Routes a request and assigns an id; a client may send its own. */
export function openExchange(request: Request, router: Router): Exchange {
  const sent = header(request.headers, 'audit-id')
  const id = sent !== undefined && sent.length <= LIMITS.auditIdLength && /^[\w.:-]+$/.test(sent) ? sent : newUuid()
  return {
    request,
    route: router.find(request.method, request.target),
    id,
    user: undefined,
    audit: undefined,
    flow: undefined,
    explanation: undefined,
    explain: undefined,
    confirm: undefined,
    endsAt: undefined,
    isTerminated: false,
    stopwatch: new Stopwatch(),
  }
}

/** Whether a call is served by the node of an object. */
export const isConnect = ({ resource, subresource }: Call): boolean =>
  subresource !== '' && Object.hasOwn(resource.def.subresources?.connect ?? {}, subresource)

/** Whether the request is long-running. Requests to other servers are classified by path alone, as in kube-apiserver. */
export const isLongRunning = ({ route }: Exchange) =>
  route.type === 'call' ? route.call.verb === 'watch' || isConnect(route.call) : isLongElsewhere(route.attributes)

const isLongElsewhere = ({ verb, resource }: Attributes) =>
  resource !== undefined && (verb === 'watch' || verb === 'proxy' || LONG_SUBRESOURCES.has(resource.subresource))
const LONG_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward'])
