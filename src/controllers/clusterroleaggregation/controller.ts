/** Keeps the rules of cluster roles that are gathered from others up to date. */
import { inSlices } from '../../lib/turns.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { Loop } from '../loop.ts'
import { gatheredRules, type Role } from './reconcile.ts'

/** What the controller asks of the API. Lists are of one moment, and hold all that this controller has written. */
export interface Api {
  list(resource: Resource): Iterable<AnyObject>
  /** Calls back after every change, and when changes may have been missed. */
  follow(resource: Resource, onChange: () => void, signal: AbortSignal): void
  patch(
    resource: Resource,
    name: { readonly name: string },
    patch: object,
    how: { readonly type: string; readonly query?: string },
  ): Promise<boolean>
}

export type ClusterRoleAggregationController = {
  readonly api: Api
  readonly roles: Resource
  readonly onError: (error: unknown) => void
  readonly signal: AbortSignal
}

const NAME = 'clusterrole-aggregation-controller'
const OWNED = new URLSearchParams({ fieldManager: NAME, force: 'true' }).toString()

/** Starts the controller; the result settles when all that was known at the call has been dealt with. */
export async function startClusterRoleAggregationController(parts: ClusterRoleAggregationController): Promise<void> {
  const { api, roles, onError, signal } = parts
  const loop = new Loop<'all'>({ settle: () => reconcileAll(parts), onError, signal })
  api.follow(roles, () => void loop.wake('all'), signal)
  await loop.wake('all')
}

/** Each write is an event that asks for another look: roles that gather from gathering ones settle in a few rounds. */
async function reconcileAll({ api, roles, signal }: ClusterRoleAggregationController): Promise<void> {
  const all = [...api.list(roles)] as unknown as Role[]
  for (const role of all) {
    const rules = signal.aborted ? undefined : await inSlices(gatheredRules(role, all))
    if (!rules) continue
    const { apiVersion, kind } = roles
    const name = { name: role.metadata.name! }
    await api.patch(roles, name, { apiVersion, kind, metadata: name, rules }, { type: 'application/apply-patch+yaml', query: OWNED })
  }
}
