/** Conditions of the flow control kinds. */
import { duplicate, type FieldError, type Ref, required } from '../../schema/refs.ts'
import { keyed, message, type Static, string, time } from '../../schema/types.ts'

/** A list of conditions whose fields are all optional. */
export const looseConditions = (name: string) => keyed(looseCondition(name), 'type').mergedBy('type')

const looseCondition = (name: string) =>
  message(name, {
    type: [1, string.expected(), 'The type of the condition.'],
    status: [2, string, 'Whether it holds: True, False or Unknown.'],
    lastTransitionTime: [3, time.always(), 'When the status last changed.'],
    reason: [4, string, 'A CamelCase reason for the last transition.'],
    message: [5, string, 'The same for people.'],
  })
type Condition = Static<ReturnType<typeof looseCondition>>

/** Each condition has a type, without duplicates. */
export function* validateLooseConditions(conditions: readonly Condition[] | undefined, at: Ref<Condition[]>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, { type = '' }] of (conditions ?? []).entries()) {
    if (seen.has(type)) yield duplicate(at[i]!.type)
    seen.add(type)
    if (type === '') yield required(at[i]!.type)
  }
}
