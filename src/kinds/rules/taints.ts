/** Taints: nodes repel pods that do not tolerate them. */
import { isValidLabelValue } from '../../lib/names.ts'
import { validateLabelKey } from '../../schema/meta-rules.ts'
import { duplicate, type FieldError, invalid, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { message, type Static, string, time } from '../../schema/types.ts'

export const Taint = message('Taint', {
  key: [1, string.always(), 'Name of the taint, a label key.'],
  value: [2, string, 'Its value, a label value.'],
  effect: [
    3,
    string.listed('NoExecute', 'NoSchedule', 'PreferNoSchedule').always(),
    'The effect on pods that do not tolerate it: NoSchedule, PreferNoSchedule or NoExecute.',
  ],
  timeAdded: [4, time.optional(), 'When it was added.'],
})
export type Taint = Static<typeof Taint>

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

/** Rules for the taints of a node, each unique by key and effect. */
export function* validateTaints(taints: readonly Taint[], at: Ref<Taint[]>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, { key, value = '', effect, timeAdded }] of taints.entries()) {
    const here = at[i]!
    yield* validateLabelKey(here.key, key)
    const faults = isValidLabelValue(value)
    if (faults.length > 0) yield invalid(here.value, faults.join(';'))
    if (!effect) yield required(here.effect)
    else if (!EFFECTS.includes(effect)) yield unsupported(here.effect, ...EFFECTS)
    const pair = `${effect} ${key}`
    if (seen.has(pair)) {
      const error = duplicate(withValue(here, { Key: key, Value: value, Effect: effect, TimeAdded: timeAdded ?? null }))
      yield { ...error, message: `${error.message}: taints must be unique by key and effect pair` }
    }
    seen.add(pair)
  }
}
