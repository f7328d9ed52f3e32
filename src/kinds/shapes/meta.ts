/** Shapes that many kinds share: selectors over labels, and conditions. */
import { atomic, int64, mapOf, message, type Static, string, time } from '../../schema/types.ts'

export const LabelSelectorRequirement = message('LabelSelectorRequirement', {
  key: [1, string.always(), 'The label asked about.'],
  operator: [2, string.always(), 'How the label is compared: In, NotIn, Exists or DoesNotExist.'],
  values: [3, atomic(string), 'What the label is compared with; empty for Exists and DoesNotExist.'],
})
export type LabelSelectorRequirement = Static<typeof LabelSelectorRequirement>

export const LabelSelector = message('LabelSelector', {
  matchLabels: [1, mapOf(string), 'Labels that must be there with exactly these values.'],
  matchExpressions: [2, atomic(LabelSelectorRequirement), 'Further conditions on labels; all must hold.'],
}).atomic()
export type LabelSelector = Static<typeof LabelSelector>

export const Condition = message('Condition', {
  type: [1, string.always(), 'What the condition is about.'],
  status: [2, string.always(), 'Whether it holds: True, False or Unknown.'],
  observedGeneration: [3, int64, 'The generation of the object that was looked at.'],
  lastTransitionTime: [4, time.always(), 'When the status last changed.'],
  reason: [5, string.always(), 'A short CamelCase word for why.'],
  message: [6, string.always(), 'The same for people.'],
})
export type Condition = Static<typeof Condition>
