/** Merges tolerations: one that another covers is left out. */
import type { Toleration } from '../../kinds/rules/pod/scheduling/affinity.ts'
import { deepEqual } from '../../lib/json-value.ts'

/** Beyond this many, tolerations that others cover are kept: finding them would take longer than they are worth. */
const MAX_MERGED = 500

/** Leaves out tolerations that another covers; of two that are the same the first stays. */
export function mergeTolerations(all: readonly Toleration[]): Toleration[] {
  if (all.length > MAX_MERGED) return [...all]
  const merged: Toleration[] = []
  for (const [i, toleration] of all.entries()) {
    const covered =
      merged.some(other => covers(other, toleration)) ||
      all.slice(i + 1).some(other => !deepEqual(other, toleration) && covers(other, toleration))
    if (!covered) merged.push(toleration)
  }
  return merged
}

/** Whether whatever `narrow` tolerates, `wide` tolerates as well. */
export function covers(wide: Toleration, narrow: Toleration): boolean {
  if (deepEqual(wide, narrow)) return true
  const exists = wide.operator === 'Exists'
  if ((narrow.key ?? '') !== (wide.key ?? '') && (wide.key || !exists)) return false
  if (wide.effect && wide.effect !== narrow.effect) return false
  if (wide.effect === 'NoExecute' && wide.tolerationSeconds !== undefined) {
    if (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > wide.tolerationSeconds) return false
  }
  if (exists) return true
  if (wide.operator && wide.operator !== 'Equal') return false
  return narrow.operator === 'Equal' && (narrow.value ?? '') === (wide.value ?? '')
}
