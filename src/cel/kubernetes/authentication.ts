/** Expressions of authentication: about the claims of a token (`claims`), and about the user that they make (`user`). */
import { type Env, extendEnv } from '../checker/env.ts'
import { anyType, boolType, mapType, sameType, stringType } from '../checker/types.ts'
import type { Program } from '../runtime/program.ts'
import { baseEnv } from './base-env.ts'
import { checkExpression, type ExpressionProblem, invalidExpression, isProblem, programOf } from './expression.ts'
import { sized, sizedList, sizedMap, sizedObject, sizedTypesLibrary } from './sized-types.ts'

const text = sized(stringType)
const texts = sizedList(text)
const userType = sizedObject('kubernetes.UserInfo', { username: text, uid: text, groups: texts, extra: sizedMap(text, texts) })

const made = new Map<string, Env>()

/** A program for an expression about `variable`, or why there is none. A rule must be true or false. */
export function compileAuthentication(
  expression: string,
  { variable, isRule }: { readonly variable: 'claims' | 'user'; readonly isRule: boolean },
): Program | ExpressionProblem {
  const env = made.get(variable) ?? makeEnv(variable)
  made.set(variable, env)
  const ast = checkExpression(env, expression)
  if (isProblem(ast)) return ast
  if (isRule && !sameType(ast.type, boolType)) return invalidExpression('must evaluate to bool')
  return programOf(env, ast)
}

const makeEnv = (variable: 'claims' | 'user'): Env =>
  variable === 'claims'
    ? extendEnv(baseEnv('stored'), [{ variables: [{ name: 'claims', type: mapType(stringType, anyType) }] }])
    : extendEnv(baseEnv('stored'), [{ variables: [{ name: 'user', type: userType.type }] }, sizedTypesLibrary(userType)])
