/**
 * Whether the expressions of a validating policy fit the kinds that it is about. Requests are decided without it: it tells authors of
 * policies, in the status of the policy, what will fail.
 */
import { AdmissionCompiler } from '../../cel/kubernetes/admission.ts'
import { isProblem } from '../../cel/kubernetes/expression.ts'
import { authorizerType } from '../../cel/libraries/authorizer.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import type { Rule } from '../matching.ts'
import { DeclaredTypes } from './declared-types.ts'
import type { ParamKind } from './policy.ts'

export type ExpressionWarning = { readonly fieldRef: string; readonly warning: string }

export type KnownKinds = {
  readonly find: (name: { readonly group: string; readonly version: string; readonly plural: string }) => Resource | undefined
  readonly ofKind: (apiVersion: string, kind: string) => Resource | undefined
}

/** Rules that name more kinds are checked for the first of them. */
const MAX_KINDS = 10

/** A warning for each expression that does not fit one of the kinds; the kinds that rules name by wildcards are not looked at. */
export function expressionWarnings({ spec }: AnyObject, kinds: KnownKinds): ExpressionWarning[] {
  const checkers = kindsOf(spec.matchConstraints?.resourceRules ?? [], kinds).map(kind => checkerFor(kind, spec, kinds))
  const warnings: ExpressionWarning[] = []
  const check = (fieldRef: string, text: string) => {
    const found = checkers.map(warningOf => warningOf(text)).filter(warning => warning !== undefined)
    if (found.length > 0) warnings.push({ fieldRef, warning: found.join('\n') })
  }
  for (const [i, { expression = '', messageExpression = '' }] of (spec.validations ?? []).entries()) {
    check(`spec.validations[${i}].expression`, expression)
    if (messageExpression !== '') check(`spec.validations[${i}].messageExpression`, messageExpression)
  }
  return warnings
}

function kindsOf(rules: readonly Rule[], { find }: KnownKinds): Resource[] {
  const found = new Set<Resource>()
  for (const { apiGroups = [], apiVersions = [], resources = [] } of rules) {
    if ([...apiGroups, ...apiVersions].some(name => name.includes('*'))) continue
    const plurals = resources.filter(name => !/[*/]/.test(name))
    for (const group of [...apiGroups].sort())
      for (const version of [...apiVersions].sort())
        for (const plural of plurals.sort()) {
          const resource = find({ group, version, plural })
          if (resource && found.size < MAX_KINDS) found.add(resource)
        }
  }
  const key = ({ group, version, kind }: Resource) => `${group} ${version} ${kind}`
  return [...found].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** Tells what is wrong with an expression about one kind. */
function checkerFor(resource: Resource, spec: AnyObject['spec'], { ofKind }: KnownKinds): (text: string) => string | undefined {
  const types = new DeclaredTypes()
  const declared = (name: string, { type, def }: Resource) => types.add(name, type, { isCustom: def.custom !== undefined })
  const object = declared(resource.kind, resource)
  const { apiVersion = '', kind = '' }: ParamKind = spec.paramKind ?? {}
  const paramKind = spec.paramKind && ofKind(apiVersion, kind)
  const params = paramKind && declared(`params ${kind}`, paramKind)
  const compiler = new AdmissionCompiler({
    composes: true,
    types: {
      variables: [
        ...(object ? ['object', 'oldObject'].map(name => ({ name, type: object })) : []),
        ...(params ? [{ name: 'params', type: params }] : []),
        { name: 'authorizer', type: authorizerType },
      ],
      types: types.library!,
    },
  })
  const variables = { hasParams: spec.paramKind !== undefined }
  for (const { name = '', expression = '' } of spec.variables ?? []) compiler.declare(name, { text: expression, variables, age: 'stored' })
  return text => {
    const checked = compiler.compile({ text, use: 'variable', variables, age: 'stored' })
    if (!isProblem(checked) || checked.reason !== 'invalid') return undefined
    const { group, version, kind: about } = resource
    return `${group === '' ? '/' : `${group}/`}${version}, Kind=${about}: ${checked.detail.replace(/^compilation failed: /, '')}\n`
  }
}
