/** The rules on CEL expressions in admission registrations. Whether they compile is not asked here: declarations know no CEL. */
import { type FieldError, type Ref, required } from '../../schema/refs.ts'

/** An expression is there; `detail` is what clients are told when it is not. */
export function* validateExpression(expression: string | undefined, at: Ref<string>, detail = ''): Iterable<FieldError> {
  if (isBlank(expression)) yield required(at, detail)
}

/** Whether there is nothing but space. */
export const isBlank = (text: string | undefined): boolean => !text || text.trim() === ''
