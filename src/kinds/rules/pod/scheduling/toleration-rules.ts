/** Rules for tolerations. */
import { goQuote } from '../../../../lib/go-text.ts'
import { isDecimalInteger, isValidLabelValue } from '../../../../lib/names.ts'
import { validateLabelKey } from '../../../../schema/meta-rules.ts'
import { type FieldError, invalid, invalidEach, type Ref, unsupported, withValue } from '../../../../schema/refs.ts'
import type { Toleration } from './affinity.ts'

/** In the order of error messages. */
const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const

export type TolerationOptions = {
  /** Numeric comparison of taints is enabled. */
  readonly numericTolerations: boolean
}

/** Each toleration is valid and unambiguous. */
export function* validateTolerations(
  tolerations: readonly Toleration[] | null | undefined,
  at: Ref<Toleration[]>,
  options: TolerationOptions,
): Iterable<FieldError> {
  for (const [i, toleration] of (tolerations ?? []).entries()) {
    const { key, operator, effect, tolerationSeconds } = toleration
    const itemAt = at[i]!
    if (key) yield* validateLabelKey(itemAt.key, key)
    else if (operator !== 'Exists')
      yield invalid(itemAt.operator, 'operator must be Exists when `key` is empty, which means "match all values and all keys"')
    if (tolerationSeconds !== undefined && tolerationSeconds !== null && effect !== 'NoExecute')
      yield invalid(itemAt.effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
    yield* validateComparison(toleration, itemAt, options)
    if (effect && !(TAINT_EFFECTS as readonly string[]).includes(effect)) yield unsupported(itemAt.effect, ...TAINT_EFFECTS)
  }
}

function* validateComparison(
  { operator = '', value = '' }: Toleration,
  at: Ref<Toleration>,
  { numericTolerations }: TolerationOptions,
): Iterable<FieldError> {
  switch (operator) {
    case '':
    case 'Equal': {
      const faults = isValidLabelValue(value)
      if (faults.length > 0) yield invalid(withValue(at.operator, value), faults.join(';'))
      return
    }
    case 'Exists':
      if (value) yield invalid(withValue(at.operator, value), "value must be empty when `operator` is 'Exists'")
      return
    case 'Lt':
    case 'Gt': {
      if (!numericTolerations) return yield unsupported(at.operator, 'Equal', 'Exists', 'Lt', 'Gt')
      yield* invalidEach(withValue(at.value, value), isDecimalInteger(value))
      const fault = int64Fault(value)
      if (fault) yield invalid(withValue(at.value, value), `strconv.ParseInt: parsing ${goQuote(value)}: ${fault}`)
      return
    }
    default:
      yield unsupported(at.operator, 'Equal', 'Exists')
  }
}

/** Why a string is no 64-bit integer; one with too many digits is not converted. */
function int64Fault(text: string): string | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return 'invalid syntax'
  const digits = text.replace(/^[+-]?0*/, '') || '0'
  const value = digits.length > 19 ? undefined : BigInt(`${text.startsWith('-') ? '-' : ''}${digits}`)
  return value !== undefined && BigInt.asIntN(64, value) === value ? undefined : 'value out of range'
}
