/** Requests by path, for controllers that use APIs which this server may not serve itself. */
import type { Json } from '../lib/json-value.ts'
import type { Identity } from './identity.ts'

export type ApiRequest = {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  /** Without the query; its segments are percent-encoded. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Json
}

/** A resource, as discovery describes it. */
export type DiscoveredResource = {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
}

export interface ApiAccess {
  /** The answer of whichever server serves the path, once the identity was found to be allowed. Throws a StatusError, in the words of Kubernetes' clients. */
  send(identity: Identity, request: ApiRequest, signal: AbortSignal): Promise<Json>
  /** The resources of a kind of a group, in the preferred version first. */
  resourcesOfKind(group: string, kind: string): readonly DiscoveredResource[]
  /** The versions of a group, preferred first; none when it is not served. */
  versionsOf(group: string): readonly string[]
  /** Resources that other servers serve, and the group versions whose discovery could not be read. */
  elsewhere(): { readonly resources: readonly DiscoveredResource[]; readonly unknown: readonly string[] }
  /** Calls the listener when other servers may answer otherwise than before: they came, went or became available. */
  onElsewhereChange(listener: () => void, signal: AbortSignal): void
}
