/** Conditions in the status of objects: a list that has at most one entry of each type. */

/** The fields that every condition has, whatever its kind adds. */
export type ConditionFields = {
  readonly type: string
  readonly status: string
  readonly lastTransitionTime?: string | null
}

/** Finds the condition of a type. */
export const conditionOf = <C extends { readonly type?: string }>(
  conditions: readonly C[] | null | undefined,
  type: string,
): C | undefined => conditions?.find(condition => condition.type === type)

/** Whether the condition of a type is there with status True. */
export const isConditionTrue = (
  conditions: readonly Pick<ConditionFields, 'type' | 'status'>[] | null | undefined,
  type: string,
): boolean => conditionOf(conditions, type)?.status === 'True'

/** The time of the last transition of a condition: it moves only when the status does. */
export const transitionTime = (
  before: Pick<ConditionFields, 'status' | 'lastTransitionTime'> | undefined,
  status: string,
  now: string,
): string => (before?.status === status && before.lastTransitionTime ? before.lastTransitionTime : now)

/** Sets a condition, in the place of the one of its type or at the end. */
export function withCondition<C extends Pick<ConditionFields, 'type'>>(conditions: readonly C[] | null | undefined, condition: C): C[] {
  const all = [...(conditions ?? [])]
  const index = all.findIndex(({ type }) => type === condition.type)
  all[index < 0 ? all.length : index] = condition
  return all
}

/** Whether two conditions agree in status, reason and message, so that a write would change nothing. */
export const isSameCondition = (before: Partial<Statement> | undefined, after: Statement): boolean =>
  before?.status === after.status && before.reason === after.reason && before.message === after.message

type Statement = { readonly status: string; readonly reason?: string; readonly message?: string }
