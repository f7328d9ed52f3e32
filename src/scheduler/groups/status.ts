/** The result of an attempt to schedule a group, as kube-scheduler words it. */

export type Status = {
  readonly code: 'success' | 'wait' | 'unschedulable' | 'unresolvable' | 'error'
  /** Precedes the reasons, and stands for all of them where one text is wanted. */
  readonly error?: string
  readonly reasons: readonly string[]
}

export const SUCCESS: Status = { code: 'success', reasons: [] }
const UNSCHEDULABLE = 'pod group is unschedulable'

export const errorStatus = (error: string): Status => ({ code: 'error', error, reasons: [] })
/** The group does not fit. */
export const unschedulableGroup = (...reasons: readonly string[]): Status => ({ code: 'unschedulable', error: UNSCHEDULABLE, reasons })

/** All texts of a status. */
export const messageOfStatus = ({ error, reasons }: Status): string => (error === undefined ? reasons : [error, ...reasons]).join(', ')
/** The text that stands for a status which is no success. */
export const errorOfStatus = (status: Status): string => status.error ?? messageOfStatus(status)

export const isRejected = ({ code }: Status): boolean => code === 'unschedulable' || code === 'unresolvable'

/** Whether enough pods of a group, or enough groups, are placed or can still be. */
export function feasibility(
  minCount: number,
  { scheduled, remaining }: { readonly scheduled: number; readonly remaining: number },
): Status {
  const rest = `${scheduled} scheduled, ${remaining} remaining`
  if (remaining + scheduled < minCount) return { code: 'unschedulable', reasons: [`minCount (${minCount}) cannot be satisfied: ${rest}`] }
  if (scheduled < minCount) return { code: 'wait', reasons: [`minCount (${minCount}) is not yet satisfied: ${rest}`] }
  return SUCCESS
}
