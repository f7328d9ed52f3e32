/** Other servers over the same store, whose version or configuration may have them serve resources that this one does not. */
import type { JsonObject } from '../lib/json-value.ts'
import type { Attributes } from '../schema/access.ts'
import type { Sender } from './aggregated.ts'
import type { Request, Response } from './message.ts'

export interface Peers {
  /** The identity of this server, by which its place among its peers is found. */
  readonly own: string
  /** Changes whenever documents derived from this are outdated. */
  readonly version: number
  /** Passes on a request for a resource that this server does not serve; undefined when no peer serves it, or one has sent it. */
  answer(request: Request, attributes: Attributes, sender: Sender): Promise<Response> | undefined
  /** The groups of each peer in the words of aggregated discovery, by its identity, without those that are in the store. */
  groups(): ReadonlyMap<string, readonly DiscoveredGroup[]>
  /** Called with every answer to a request for discovery. */
  discovered(document: 'of this server' | 'merged anew' | 'merged before'): void
}

/** A group in aggregated discovery. */
export type DiscoveredGroup = {
  readonly metadata: { readonly name?: string }
  readonly versions: readonly DiscoveredVersion[]
}
export type DiscoveredVersion = {
  readonly version: string
  readonly resources?: readonly DiscoveredResource[]
  readonly freshness?: string
}
export type DiscoveredResource = {
  readonly resource: string
  readonly verbs?: readonly string[]
  readonly subresources?: readonly JsonObject[]
  readonly [field: string]: unknown
}
