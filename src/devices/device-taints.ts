/** The taints of devices, from slices and from rules, and their toleration. */
import type { DeviceTaint, DeviceToleration } from '../kinds/resource/device-taint.ts'
import type { DeviceTaintRule } from '../kinds/resource/devicetaintrule.ts'

export type TaintRule = DeviceTaintRule

export type DeviceName = { readonly driver: string; readonly pool: string; readonly device: string }

/** Whether a rule puts its taint on a device. Without a selector it does so on none. */
export function isSelected({ spec: { deviceSelector: by } }: TaintRule, { driver, pool, device }: DeviceName): boolean {
  if (!by) return false
  return (by.driver ?? driver) === driver && (by.pool ?? pool) === pool && (by.device ?? device) === device
}

export const isTolerated = (taint: DeviceTaint, tolerations: readonly DeviceToleration[] | undefined): boolean =>
  (tolerations ?? []).some(toleration => tolerates(toleration, taint))

/** Whether a toleration matches a taint. Unknown effects have to be filtered out before. */
export function tolerates({ key, operator = 'Equal', value = '', effect }: DeviceToleration, taint: DeviceTaint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  return operator === 'Exists' || (operator === 'Equal' && value === (taint.value ?? ''))
}

/** Whether a taint keeps claims away that do not tolerate it. Effects that are not known do nothing. */
export const keepsAway = ({ effect }: DeviceTaint): boolean => effect === 'NoSchedule' || effect === 'NoExecute'
