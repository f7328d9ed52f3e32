/** Calls of the registry and their results: the contract between HTTP above and cache and store below. */

import type { WatchStream } from '../cache/watch-stream.ts'
import type { ListItem } from '../codec/list-item.ts'
import type { Transcoded } from '../codec/transcode.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import type { Fence } from '../lib/fence.ts'
import type { HandedOver } from '../lib/handed-over.ts'
import type { Json } from '../lib/json-value.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Verb } from '../schema/kind.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Annotate, RequestContext } from '../schema/request-context.ts'
import type { Resource } from '../schema/resource.ts'
import type { StatusDetails } from '../schema/status-error.ts'
import type { Destination } from '../transport/destination.ts'
import type { Session } from './session.ts'

/** One request for a resource, as its path and method say. `name` is empty for collections, `namespace` for all namespaces. */
export type Call = {
  readonly verb: Verb
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly query: URLSearchParams
}

/** A body as it was sent, its media type without parameters. The registry decodes it: the expected kind depends on the call. */
export type Body = {
  readonly mediaType: string
  readonly bytes: Uint8Array
  /** The object or patch itself, where a component of this process wrote it: there are no bytes then. */
  readonly object?: HandedOver
  /** The JSON that YAML and large protobuf bodies were converted to (`prepare-body.ts`). */
  readonly transcoded?: Exclude<Transcoded, { outcome: 'too-large' }> | PlainJson
}

/** A YAML body that is JSON, and was parsed to find that out; each `take` returns a value of its own. */
export type PlainJson = { readonly outcome: 'parsed'; readonly take: () => Json }

/** The body of a call that must have one, when it was sent without. */
export const EMPTY_BODY: Body = { mediaType: 'application/json', bytes: new Uint8Array() }

/** The context of a call. */
export type CallContext = RequestContext & {
  readonly userAgent: string
  readonly signal: Cancellation
  /** How long the request may still take; undefined where nothing bounds it. */
  readonly remainingMs?: number | undefined
  /** Adds an annotation to the audit event of the request, if there is one. */
  readonly annotate?: Annotate | undefined
  /** Takes the decoded body of the request for its audit event, if there is one. */
  readonly sent?: SentBody | undefined
  /** Asked before a replace or an apply creates an object; rejects with a StatusError when the user may not. Components of the server have none. */
  readonly authorizeCreate?: () => Promise<void>
  /** Why the user may not make this request with another verb; undefined where they may. Components of the server have none. */
  readonly reasonAgainst?: (verb: string) => Promise<string | undefined>
  /** Called right before an object is stored; throws when that is no longer allowed. */
  readonly beforeStore?: () => void
  /** Set where the caches may be a little behind: resolves once they are up to date. */
  readonly confirm?: (() => Promise<void> | undefined) | undefined
  /** A condition that must still hold when the object is stored. */
  readonly fence?: Fence
}

/** Takes what a client has sent. The texts are made only where they are recorded. */
export interface SentBody {
  /** An object, and the JSON of it with its defaults. */
  object(object: AnyObject, json: () => string): void
  /** Any other body as JSON, such as a patch. */
  other(json: () => string): void
}

export type ListMeta = {
  /** Absent for lists that do not come from the store. */
  readonly resourceVersion?: string
  readonly continue?: string
  readonly remainingItemCount?: number
  readonly shardInfo?: { readonly selector: string }
}

/** One answer. `json` is a whole object ready to send, resourceVersion and all. */
export type Result =
  | {
      readonly type: 'object'
      readonly code: 200 | 201 | 202
      readonly resource: Resource
      readonly json: Uint8Array
      readonly warnings: readonly string[]
    }
  | {
      readonly type: 'list'
      readonly resource: Resource
      readonly items: readonly ListItem[]
      readonly meta: ListMeta
      readonly warnings?: readonly string[]
    }
  | { readonly type: 'status'; readonly code: 200 | 201 | 202; readonly status: SuccessStatus; readonly warnings: readonly string[] }
  /** `isList` where the watch stands for a list: it begins with all objects, and a bookmark tells their end. */
  | { readonly type: 'watch'; readonly resource: Resource; readonly stream: WatchStream; readonly isList?: boolean }
  /** The request is passed on, and the answer with it. */
  | { readonly type: 'forward'; readonly upstream: Upstream }
  /** The connection is upgraded, and the client talks to a container. */
  | { readonly type: 'session'; readonly session: Session }
  /** The answer of a node; pieces are sent as they come, until they end or the client goes. */
  | { readonly type: 'bytes'; readonly code: 200 | 204; readonly mediaType: string; readonly body: Uint8Array | AsyncIterable<Uint8Array> }

/** Where a request is passed on to. */
export type Upstream = Destination & {
  /** Path and query there; by default the part of the request's own behind its subresource. */
  readonly path?: string
  /** Plain HTTP without. */
  readonly tls?: UpstreamTls | undefined
  /** The connection has to be upgraded: without that there is no answer. */
  readonly isUpgrade?: true
  /** Failures are answered as this server's own, redirects among them. */
  readonly isChecked?: true
}
export type UpstreamTls = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly rejectUnauthorized: boolean
}

/** A request that only the node of an object can answer, such as for the log of a pod. It has been admitted. */
export type Connection = {
  readonly call: Call
  /** The object of the path, as it is stored. */
  readonly object: AnyObject
  readonly ctx: CallContext
}

/** Connects requests with nodes. Rejects with a StatusError. */
export type Connect = (connection: Connection) => Promise<Result>

export type SuccessStatus = {
  readonly kind: 'Status'
  readonly apiVersion: 'v1'
  readonly metadata: object
  readonly status: 'Success'
  readonly details?: StatusDetails
  readonly code?: number
}

/** All verbs in one call: http routes to it, tests and controllers call it without a socket. */
export interface Registry {
  /** Not a promise where nothing has to be waited for; throws a StatusError, at once or later. */
  handle(call: Call, ctx: CallContext, body?: Body): MaybePromise<Result>
}
