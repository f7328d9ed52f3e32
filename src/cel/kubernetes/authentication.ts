/** CEL expressions of authentication: about the claims of a token (`claims`), and about the resulting user (`user`). */
import { type Env, extendEnv } from '../checker/env.ts'
import { anyType, boolType, mapType, sameType, stringType } from '../checker/types.ts'
import type { Program } from '../runtime/program.ts'
import type { Expr } from '../syntax/ast.ts'
import { operators } from '../syntax/operators.ts'
import { parse } from '../syntax/parser.ts'
import { descendants } from '../syntax/walk.ts'
import { baseEnv } from './base-env.ts'
import { checkExpression, type ExpressionProblem, invalidExpression, isProblem, programOf } from './expression.ts'
import { sized, sizedList, sizedMap, sizedObject, sizedTypesLibrary } from './sized-types.ts'

const text = sized(stringType)
const texts = sizedList(text)
const userType = sizedObject('kubernetes.UserInfo', { username: text, uid: text, groups: texts, extra: sizedMap(text, texts) })

const made = new Map<string, Env>()

/** A program for an expression about `variable`, or the error. A rule must be of type bool. */
export function compileAuthentication(
  expression: string,
  { variable, isRule }: { readonly variable: 'claims' | 'user'; readonly isRule: boolean },
): Program | ExpressionProblem {
  const env = envFor(variable)
  const ast = checkExpression(env, expression)
  if (isProblem(ast)) return ast
  if (isRule && !sameType(ast.type, boolType)) return invalidExpression('must evaluate to bool')
  return programOf(env, ast)
}

/** Whether an expression about claims reads a claim by its name: `claims.email` or `claims.?email`. */
export function readsClaim(expression: string, claim: string): boolean {
  const isClaims = (expr: Expr | undefined) => expr?.kind === 'ident' && expr.name === 'claims'
  for (const node of descendants(parse(envFor('claims'), expression).expr)) {
    if (node.kind === 'select' && isClaims(node.operand) && node.field === claim) return true
    if (node.kind !== 'call' || node.function !== operators.optSelect || !isClaims(node.args[0])) continue
    const [, name] = node.args
    if (name?.kind === 'literal' && name.value.type === 'string' && name.value.value === claim) return true
  }
  return false
}

function envFor(variable: 'claims' | 'user'): Env {
  const env = made.get(variable) ?? makeEnv(variable)
  made.set(variable, env)
  return env
}

const makeEnv = (variable: 'claims' | 'user'): Env =>
  variable === 'claims'
    ? extendEnv(baseEnv('stored'), [{ variables: [{ name: 'claims', type: mapType(stringType, anyType) }] }])
    : extendEnv(baseEnv('stored'), [{ variables: [{ name: 'user', type: userType.type }] }, sizedTypesLibrary(userType)])
