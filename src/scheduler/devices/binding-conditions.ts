/** Whether the devices of a claim are ready for the pods that use them to be bound. */
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { millisecondsAt } from '../../lib/time.ts'

export type Readiness =
  | { readonly type: 'ready' }
  | { readonly type: 'waiting' }
  /** A device cannot be used. */
  | { readonly type: 'failed'; readonly message: string }

export function readinessOf({ metadata, status }: ResourceClaim): Readiness {
  let isReady = true
  for (const { driver, pool, device, bindingConditions = [], bindingFailureConditions = [] } of status.allocation?.devices.results ?? []) {
    if (bindingConditions.length === 0) continue
    const reported = (status.devices ?? []).find(each => each.driver === driver && each.pool === pool && each.device === device)
    const conditions = (reported?.conditions ?? []).filter(condition => condition.status === 'True')
    const failed = conditions.find(({ type }) => bindingFailureConditions.includes(type))
    if (failed)
      return {
        type: 'failed',
        message: `device binding failed: claim=${metadata.name}, reason=${failed.reason}, message=${JSON.stringify(failed.message)}`,
      }
    if (!bindingConditions.every(name => conditions.some(({ type }) => type === name))) isReady = false
  }
  return { type: isReady ? 'ready' : 'waiting' }
}

/** Whether any device of a claim has to be made ready. */
export const hasBindingConditions = ({ status }: ResourceClaim): boolean =>
  (status.allocation?.devices.results ?? []).some(({ bindingConditions }) => bindingConditions?.length)

/** How long devices may take to get ready; the default of kube-scheduler. */
export const BINDING_TIMEOUT_MS = 600_000

/** Until when a claim may be waited for; undefined when that is not known, or nothing has to be waited for. */
export function bindingDeadline(claim: ResourceClaim, timeoutMs: number): number | undefined {
  const since = claim.status.allocation?.allocationTimestamp
  return since === undefined || !hasBindingConditions(claim) ? undefined : millisecondsAt(since) + timeoutMs
}
