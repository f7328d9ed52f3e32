/** Which taints of nodes the tolerations of a pod accept. */
import type { Taint } from '../../taints.ts'
import type { Toleration } from './affinity.ts'

/** Whether any of the tolerations accepts a taint. */
export const isTolerated = (taint: Taint, tolerations: readonly Toleration[] = []): boolean =>
  tolerations.some(toleration => accepts(toleration, taint))

/** The first taint that keeps a pod from being placed: one that no toleration accepts. */
export const untoleratedTaint = (taints: readonly Taint[] = [], tolerations: readonly Toleration[] = []): Taint | undefined =>
  taints.find(taint => (taint.effect === 'NoSchedule' || taint.effect === 'NoExecute') && !isTolerated(taint, tolerations))

function accepts({ key, operator, value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  switch (operator || 'Equal') {
    case 'Equal':
      return value === (taint.value ?? '')
    case 'Exists':
      return true
    case 'Lt':
      return isLess(taint.value, value)
    case 'Gt':
      return isLess(value, taint.value)
    default:
      return false
  }
}

/** Both as decimal integers without leading zeros; what is none is not comparable. */
function isLess(a: string | undefined, b: string | undefined): boolean {
  const [left, right] = [integerOf(a), integerOf(b)]
  return left !== undefined && right !== undefined && left < right
}

const integerOf = (text = ''): bigint | undefined => (/^(0|-?[1-9]\d*)$/.test(text) ? BigInt(text) : undefined)
