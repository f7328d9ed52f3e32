/** The conditions of kinds that are older than the common Condition type. */
import { message, string, time } from '../../schema/types.ts'

/** A condition of kinds from before the common Condition type; `word` is the type of its type and status. */
export const formerCondition = (name: string, word = string.always()) =>
  message(name, {
    type: [1, word, 'The type of the condition.'],
    status: [2, word, 'Whether it holds: True, False or Unknown.'],
    lastTransitionTime: [3, time.always(), 'When the status last changed.'],
    reason: [4, string, 'A CamelCase reason for the last transition.'],
    message: [5, string, 'The same for people.'],
  })
