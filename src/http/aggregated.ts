/** Group versions that other servers answer for, which are registered as APIServices. */
import type { JsonObject } from '../lib/json-value.ts'
import type { Attributes } from '../schema/access.ts'
import type { User } from '../schema/user.ts'
import type { Request, Response } from './message.ts'

export interface Aggregated {
  /** Changes whenever documents that are made of this are outdated. */
  readonly version: number
  /** Who answers a request, by what its path names; undefined when this server does itself. */
  at(attributes: Attributes): AggregatedVersion | undefined
  /** Every one of them, reachable or not. */
  all(): Iterable<AggregatedVersion>
}

export interface AggregatedVersion {
  readonly group: string
  readonly version: string
  readonly groupPriority: number
  readonly versionPriority: number
  /** The description its server gave; undefined before the first request for it. */
  readonly described: Described | undefined
  /** Passes a request on. Throws a StatusError only for what this server decides itself; other failures are answers. */
  answer(request: Request, user: User): Promise<Response>
}

export type Described = {
  /** The version in aggregated discovery: `version`, `resources` and `freshness`. */
  readonly discovery: JsonObject
  /** Its part of the OpenAPI 2 document. */
  readonly openApiV2?: JsonObject
  /** Addresses of its OpenAPI 3 documents by their keys, such as `apis/example.com/v1`; the server itself answers them. */
  readonly openApiV3?: ReadonlyMap<string, string>
  /** OpenAPI 3 documents that were made of OpenAPI 2, for servers that have no others. */
  readonly convertedV3?: ReadonlyMap<string, JsonObject>
}
