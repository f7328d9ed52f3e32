/** Match conditions of webhook authorizers: expressions about a SubjectAccessReview, which is the variable `request`. */
import { type Env, extendEnv } from '../checker/env.ts'
import { boolType, sameType, stringType, typeString } from '../checker/types.ts'
import type { Program } from '../runtime/program.ts'
import { baseEnv } from './base-env.ts'
import { checkExpression, type ExpressionProblem, invalidExpression, isProblem, programOf } from './expression.ts'
import { sized, sizedList, sizedMap, sizedObject, sizedTypesLibrary } from './sized-types.ts'

const text = sized(stringType)
const texts = sizedList(text)

const selectorType = (name: string) =>
  sizedObject(name, {
    rawSelector: text,
    requirements: sizedList(sizedObject('kubernetes.SelectorRequirement', { key: text, operator: text, values: texts })),
  })

const requestType = sizedObject('kubernetes.SubjectAccessReviewSpec', {
  resourceAttributes: sizedObject('kubernetes.ResourceAttributes', {
    namespace: text,
    verb: text,
    group: text,
    version: text,
    resource: text,
    subresource: text,
    name: text,
    fieldSelector: selectorType('kubernetes.FieldSelectorAttributes'),
    labelSelector: selectorType('kubernetes.LabelSelectorAttributes'),
  }),
  nonResourceAttributes: sizedObject('kubernetes.NonResourceAttributes', { path: text, verb: text }),
  user: text,
  groups: texts,
  extra: sizedMap(text, texts),
  uid: text,
})

let made: Env | undefined

/** A program for a condition, or the error. */
export function compileAuthorizationCondition(expression: string): Program | ExpressionProblem {
  made ??= extendEnv(baseEnv('stored'), [{ variables: [{ name: 'request', type: requestType.type }] }, sizedTypesLibrary(requestType)])
  const ast = checkExpression(made, expression)
  if (isProblem(ast)) return ast
  if (!sameType(ast.type, boolType)) return invalidExpression(`must evaluate to bool but got ${typeString(ast.type)}`)
  return programOf(made, ast)
}
