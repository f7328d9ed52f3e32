/** Functions of callers as declarations of CEL. */
import type { FunctionDecl } from '../../../src/cel/checker/library.ts'
import { attempt } from '../../../src/cel/libraries/declare.ts'
import type { CelValue } from '../../../src/cel/runtime/values.ts'
import type { FunctionDeclaration } from './public.d.ts'
import { type DeclaredType, declaredType, readValue } from './types.ts'
import { valueFrom } from './values.ts'

export function declareFunction({ name, params, result, member = false, cost, call }: FunctionDeclaration): {
  readonly decl: FunctionDecl
  /** The types of its parameters and result, some of which may be objects. */
  readonly types: readonly DeclaredType[]
} {
  const paramTypes = params.map((type, index) => declaredType(type, `${name}.${index}`))
  const resultType = declaredType(result, `${name}.result`)
  const overload = {
    id: `${name}(${paramTypes.map(({ sized }) => sized.type.name).join(', ')})`,
    params: paramTypes.map(({ sized }) => sized.type),
    result: resultType.sized.type,
    member,
    evaluate: (args: readonly CelValue[]) => attempt(() => readValue(resultType, call(...args.map(valueFrom)) ?? null)),
    ...(cost !== undefined && { cost: () => cost }),
  }
  return { decl: { name, overloads: [overload] }, types: [...paramTypes, resultType] }
}
