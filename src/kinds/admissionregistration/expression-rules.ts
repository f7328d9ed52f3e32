/** Rules for CEL expressions in admission registrations. */
import { AdmissionCompiler, type AdmissionExpression, type AdmissionUse, type AdmissionVariables } from '../../cel/kubernetes/admission.ts'
import { isProblem } from '../../cel/kubernetes/expression.ts'
import { type FieldError, internal, invalid, type Ref, required } from '../../schema/refs.ts'

/** The use of an expression, and the variables it may use. */
export type ExpressionRole = {
  readonly use: AdmissionUse
  readonly variables: AdmissionVariables
  /** Declares the variables of a policy; absent if there are none. */
  readonly compiler?: AdmissionCompiler
  /** The stored object's expressions of this role: they may use functions that new expressions may not. */
  readonly stored?: ReadonlySet<string>
}

/** The expression must not be empty; `detail` is the error message. */
export function* validatePresence(expression: string | undefined, at: Ref<string>, detail = ''): Iterable<FieldError> {
  if (isBlank(expression)) yield required(at, detail)
}

/** Compiles an expression, if it is set. */
export function* validateExpression(text: string | undefined, at: Ref<string>, role: ExpressionRole): Iterable<FieldError> {
  if (text === undefined || isBlank(text)) return
  const { use, compiler = new AdmissionCompiler() } = role
  yield* reported(compiler.compile({ ...expressionOf(text, role), use }), at)
}

/** Compiles a variable; later expressions may use it even if it fails. */
export function* validateDeclaration(
  { name, expression }: { name: string; expression: string },
  at: Ref<string>,
  role: Omit<ExpressionRole, 'use'> & { compiler: AdmissionCompiler },
): Iterable<FieldError> {
  if (!isBlank(expression)) yield* reported(role.compiler.declare(name, expressionOf(expression, role)), at)
}

const expressionOf = (
  text: string,
  { variables, stored }: Pick<ExpressionRole, 'variables' | 'stored'>,
): Omit<AdmissionExpression, 'use'> => ({
  text,
  variables,
  age: stored?.has(text) ? 'stored' : 'new',
})

function* reported(result: object, at: Ref<string>): Iterable<FieldError> {
  if (isProblem(result)) yield result.reason === 'invalid' ? invalid(at, result.detail) : internal(at, result.detail)
}

/** Whether a string is only white space. */
export const isBlank = (text: string | undefined): boolean => !text || text.trim() === ''
