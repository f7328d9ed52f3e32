/** Device taints repel claims; tolerations accept them. */
import { isQualifiedName, isValidLabelValue } from '../../lib/names.ts'
import { timestampOf } from '../../lib/time.ts'
import { validateLabelKey } from '../../schema/meta-rules.ts'
import { invalid, invalidEach, type Ref, required, unsupported } from '../../schema/refs.ts'
import { int64, message, type Static, string, time } from '../../schema/types.ts'
import { type Finding, late } from './findings.ts'

export const DeviceTaint = message('DeviceTaint', {
  key: [1, string.always(), 'Name of the taint, a label key.'],
  value: [2, string, 'Its value, a label value.'],
  effect: [
    3,
    string.listed('NoExecute', 'NoSchedule', 'None').always(),
    'The effect on claims that do not tolerate it: None, NoSchedule or NoExecute.',
  ],
  timeAdded: [4, time.optional(), 'When it was added, or when its effect last changed; set by the server when absent.'],
})
export type DeviceTaint = Static<typeof DeviceTaint>

export const DeviceToleration = message('DeviceToleration', {
  key: [1, string, 'The taint tolerated; empty with operator Exists for all.'],
  operator: [2, string.listed('Equal', 'Exists').publishedDefault('Equal'), 'Exists for any value, Equal for exactly this one.'],
  value: [3, string, 'The value tolerated; empty with operator Exists.'],
  effect: [4, string.listed('NoExecute', 'NoSchedule', 'None'), 'The effect tolerated; empty for all.'],
  tolerationSeconds: [5, int64.optional(), 'How long NoExecute is tolerated; forever when absent.'],
})
export type DeviceToleration = Static<typeof DeviceToleration>

const EFFECTS = ['NoExecute', 'NoSchedule', 'None']
const OPERATORS = ['Equal', 'Exists']

/** Sets the time of a taint that has none. */
export function stampTaint(taint: DeviceTaint, now: Date): void {
  taint.timeAdded ??= timestampOf(now)
}

/** Rules for a taint; a stored effect passes. */
export function* validateTaint({ key, value, effect }: DeviceTaint, at: Ref<DeviceTaint>, old?: DeviceTaint): Iterable<Finding> {
  yield* validateLabelKey(at.key, key)
  if (value) yield* invalidEach(at.value, isValidLabelValue(value))
  if (old?.effect === effect) return
  if (!effect) yield* late([required(at.effect)])
  else yield* validateEffect(effect, at.effect)
}

/** Rules for a toleration. */
export function* validateToleration({ key, operator, value = '', effect }: DeviceToleration, at: Ref<DeviceToleration>): Iterable<Finding> {
  if (key) yield* late(invalidEach(at.key, isQualifiedName(key)))
  if (operator === 'Exists') {
    if (value !== '') yield invalid(at.value, 'must be empty for operator `Exists`')
  } else if (operator === 'Equal') yield* invalidEach(at.value, isValidLabelValue(value))
  else yield* late([unsupported(at.operator, ...OPERATORS)])
  if (effect) yield* validateEffect(effect, at.effect)
}

function* validateEffect(effect: string, at: Ref<string>): Iterable<Finding> {
  if (!EFFECTS.includes(effect)) yield* late([unsupported(at, ...EFFECTS)])
}
