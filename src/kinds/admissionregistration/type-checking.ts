/** What was found when the types in a policy's expressions were checked. */
import { type FieldError, invalid, type Ref, required, withValue } from '../../schema/refs.ts'
import { atomic, message, type Static, string } from '../../schema/types.ts'
import { isBlank } from './expression-rules.ts'

const ExpressionWarning = message('ExpressionWarning', {
  fieldRef: [2, string.always(), 'The path of the expression, such as spec.validations[0].expression.'],
  warning: [3, string.always(), 'What was found, for people.'],
})

export const TypeChecking = message('TypeChecking', {
  expressionWarnings: [1, atomic(ExpressionWarning), 'A warning for each expression in which something was found.'],
})
type TypeChecking = Static<typeof TypeChecking>

/** Every warning says something about some place. */
export function* validateTypeChecking({ expressionWarnings = [] }: TypeChecking, at: Ref<TypeChecking>): Iterable<FieldError> {
  for (const [i, { fieldRef, warning }] of expressionWarnings.entries()) {
    const here = at.expressionWarnings[i]!
    if (!warning) yield required(here.warning)
    if (isBlank(fieldRef)) {
      yield required(here.fieldRef)
      continue
    }
    const path = fieldRef.trim()
    const problem = pathProblem(path)
    if (problem !== undefined) yield invalid(withValue(here.fieldRef, path), `invalid JSONPath: ${problem}`)
  }
}

/** Fields after dots, and brackets around indexes, ranges, names in quotes, or filters. */
function pathProblem(path: string): string | undefined {
  const rest = path.replace(/[\w.$@*\s+-]+|\[(?:[^[\]'"]|'[^']*'|"[^"]*")*\]|'[^']*'|"[^"]*"/g, '')
  if (rest === '') return undefined
  if (rest.startsWith('[')) return 'unterminated array'
  if (rest.startsWith("'") || rest.startsWith('"')) return 'unterminated quoted string'
  const [character = ''] = rest
  const code = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
  return `unrecognized character in action: U+${code} '${character}'`
}
