/** API group versions that other servers serve, registered as APIServices. */
import type { JsonObject } from '../lib/json-value.ts'
import type { RequestTrace } from '../lib/request-trace.ts'
import type { Attributes } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import type { Request, Response } from './message.ts'

export interface Aggregated {
  /** Changes whenever documents derived from this are outdated. */
  readonly version: number
  /** The version that serves a request with these attributes; undefined when this server does. */
  at(attributes: Attributes): AggregatedVersion | undefined
  /** All of them, reachable or not. */
  all(): Iterable<AggregatedVersion>
}

export interface AggregatedVersion {
  readonly group: string
  readonly version: string
  readonly groupPriority: number
  readonly versionPriority: number
  /** The documents of its server; undefined before they were first requested. */
  readonly described: Described | undefined
  /** Forwards a request. Throws a StatusError only for this server's own decisions; other failures are responses. */
  answer(request: Request, sender: Sender): Promise<Response>
}

/** For whom a request is passed on to another server. */
export type Sender = {
  readonly user: User
  /** The id of the request, under which the other server audits it, too. */
  readonly auditId: string
  readonly trace?: RequestTrace | undefined
}

export type Described = {
  /** The version in aggregated discovery: `version`, `resources` and `freshness`. */
  readonly discovery: JsonObject
  /** Its part of the OpenAPI 2 document. */
  readonly openApiV2?: JsonObject
  /** URLs of its OpenAPI 3 documents by their keys, such as `apis/example.com/v1`; that server itself serves them. */
  readonly openApiV3?: ReadonlyMap<string, string>
  /** OpenAPI 3 documents converted from OpenAPI 2, for servers that have no others. */
  readonly convertedV3?: ReadonlyMap<string, JsonObject>
}
