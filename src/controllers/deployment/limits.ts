/** Resolves maxSurge and maxUnavailable of a Deployment. */
import type { Deployment } from '../../kinds/apps/deployment.ts'
import { scaledAmount } from '../../kinds/rules/workload.ts'

export const isRolling = ({ spec }: Deployment): boolean => spec.strategy.type === 'RollingUpdate'

export const maxSurge = (deployment: Deployment): number => (isRolling(deployment) ? resolved(deployment).surge : 0)

export function maxUnavailable(deployment: Deployment): number {
  const { replicas } = deployment.spec
  return isRolling(deployment) && replicas > 0 ? Math.min(resolved(deployment).unavailable, replicas) : 0
}

/** Where both come to none by rounding, one pod may be missing: without that there would be no progress. */
function resolved({ spec: { replicas, strategy } }: Deployment): { surge: number; unavailable: number } {
  const surge = scaledAmount(strategy.rollingUpdate?.maxSurge ?? 0, replicas, 'up')
  const unavailable = scaledAmount(strategy.rollingUpdate?.maxUnavailable ?? 0, replicas, 'down')
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}
