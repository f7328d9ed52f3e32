/** The rules on CEL expressions in admission registrations. */
import { AdmissionCompiler, type AdmissionExpression, type AdmissionUse, type AdmissionVariables } from '../../cel/kubernetes/admission.ts'
import { isProblem } from '../../cel/kubernetes/expression.ts'
import { type FieldError, internal, invalid, type Ref, required } from '../../schema/refs.ts'

/** What an expression is for and what it may use. */
export type ExpressionRole = {
  readonly use: AdmissionUse
  readonly variables: AdmissionVariables
  /** Declares the variables of a policy; absent if there are none. */
  readonly compiler?: AdmissionCompiler
  /** The expressions that the stored object has in this role: they may use all that ever could be used. */
  readonly stored?: ReadonlySet<string>
}

/** The expression must not be empty; `detail` is the error text. */
export function* validatePresence(expression: string | undefined, at: Ref<string>, detail = ''): Iterable<FieldError> {
  if (isBlank(expression)) yield required(at, detail)
}

/** An expression that is there compiles. */
export function* validateExpression(text: string | undefined, at: Ref<string>, role: ExpressionRole): Iterable<FieldError> {
  if (text === undefined || isBlank(text)) return
  const { use, compiler = new AdmissionCompiler() } = role
  yield* reported(compiler.compile({ ...expressionOf(text, role), use }), at)
}

/** A variable compiles; later expressions may use it even if it does not. */
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

/** Whether there is nothing but space. */
export const isBlank = (text: string | undefined): boolean => !text || text.trim() === ''
