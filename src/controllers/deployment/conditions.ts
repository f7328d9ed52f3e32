/** The conditions of a Deployment. */

import type { Deployment } from '../../kinds/apps/deployment.ts'
import { timestampOf } from '../../lib/time.ts'
import { conditionOf, transitionTime } from '../../schema/conditions.ts'

export type DeploymentStatus = Deployment['status']
export type DeploymentCondition = NonNullable<DeploymentStatus['conditions']>[number]

/** A condition without its times. */
export type Statement = { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }

export const progressing = (status: 'True' | 'False' | 'Unknown', reason: string, message: string): Statement => ({
  type: 'Progressing',
  status,
  reason,
  message,
})

export const stated = (statement: Statement, now: Date): DeploymentCondition => {
  const time = timestampOf(now)
  return { ...statement, lastUpdateTime: time, lastTransitionTime: time }
}

/** Replaces a condition unless it says the same already; the time of its transition stays while its status does. */
export function withCondition(status: DeploymentStatus, condition: DeploymentCondition): DeploymentStatus {
  const current = conditionOf(status.conditions, condition.type)
  if (current?.status === condition.status && current.reason === condition.reason) return status
  const lastTransitionTime = transitionTime(current, condition.status, condition.lastTransitionTime)
  const { conditions = [] } = withoutCondition(status, condition.type)
  return { ...status, conditions: [...conditions, { ...condition, lastTransitionTime }] }
}

export function withoutCondition(status: DeploymentStatus, type: string): DeploymentStatus {
  const { conditions = [], ...others } = status
  const kept = conditions.filter(condition => condition.type !== type)
  return kept.length > 0 ? { ...others, conditions: kept } : others
}
