/** Matches tolerations of a pod with taints of nodes. */
import type { Taint } from '../../taints.ts'
import type { Toleration } from './affinity.ts'

/** The tolerations that have an effect. */
export type InEffect = (tolerations: readonly Toleration[] | undefined) => readonly Toleration[]

/** Comparisons of numbers have one with their gate alone; they may be stored without it. */
export const tolerationsInEffect = (gate: (name: string) => boolean): InEffect =>
  gate('TaintTolerationComparisonOperators')
    ? (tolerations = []) => tolerations
    : (tolerations = []) => (tolerations.some(isComparison) ? tolerations.filter(each => !isComparison(each)) : tolerations)

export const isComparison = ({ operator }: Toleration): boolean => operator === 'Lt' || operator === 'Gt'

/** Whether any of the tolerations accepts a taint. */
export const isTolerated = (taint: Taint, tolerations: readonly Toleration[] = []): boolean =>
  tolerations.some(toleration => accepts(toleration, taint))

/** The first taint that no toleration accepts, which keeps a pod from being scheduled. */
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

/** Compares canonical decimal integers; other strings are not comparable. */
function isLess(a: string | undefined, b: string | undefined): boolean {
  const [left, right] = [integerOf(a), integerOf(b)]
  return left !== undefined && right !== undefined && left < right
}

const integerOf = (text = ''): bigint | undefined => (/^(0|-?[1-9]\d*)$/.test(text) ? BigInt(text) : undefined)
