/** Mistakes in the types of a policy's expressions, for each kind that the policy is about. They are warnings: the policies are in force nevertheless. */

import { AdmissionCompiler } from '../../cel/kubernetes/admission.ts'
import type { ValidatingAdmissionPolicy } from '../../kinds/admissionregistration/validatingadmissionpolicy.ts'
import type { Step } from '../../lib/step.ts'
import type { Resource } from '../../schema/resource.ts'
import { ObjectTypes } from './object-types.ts'

type Policy = ValidatingAdmissionPolicy
export type ExpressionWarning = { readonly fieldRef: string; readonly warning: string }

/** How many kinds one rule may add. */
const MAX_KINDS = 10

/** The warnings about wrong expressions. Others may run after each expression. */
export function* typeWarnings(policy: Policy, resources: readonly Resource[]): Step<ExpressionWarning[]> {
  const check = expressionCheck(policy, resources)
  const warnings: ExpressionWarning[] = []
  for (const [i, { expression, messageExpression }] of (policy.spec.validations ?? []).entries())
    for (const [field, text] of Object.entries({ expression, messageExpression })) {
      if (!text) continue
      const warning = check(text)
      if (warning !== '') warnings.push({ fieldRef: `spec.validations[${i}].${field}`, warning })
      yield
    }
  return warnings
}

/** The faults of an expression, by kind; empty when there are none. */
function expressionCheck({ spec }: Policy, resources: readonly Resource[]): (text: string) => string {
  const { paramKind, variables: composed = [] } = spec
  const variables = { hasParams: paramKind !== undefined, hasAuthorizer: true }
  const params = resources.find(({ apiVersion, kind }) => apiVersion === paramKind?.apiVersion && kind === paramKind?.kind)
  const compilers = kindsToCheck(spec, resources).flatMap(resource => {
    const types = new ObjectTypes()
    const object = types.of(resource, 0)
    if (!object) return []
    const known = { object, params: params && types.of(params, 1), library: types.library }
    const compiler = new AdmissionCompiler({ composes: true, types: known })
    for (const { name = '', expression: text = '' } of composed) compiler.declare(name, { text, variables, age: 'stored' })
    return [{ shown: `${resource.group}/${resource.version}, Kind=${resource.kind}`, compiler }]
  })
  return text =>
    compilers
      .flatMap(({ shown, compiler }) => {
        const problem = compiler.problemOf({ text, variables, age: 'stored' })
        return problem ? [`${shown}: ${problem.detail.replace(/^compilation failed: /, '')}\n`] : []
      })
      .join('\n')
}

/** The kinds that rules without wildcards name, in the order of group, version and kind. */
function kindsToCheck({ matchConstraints }: Policy['spec'], resources: readonly Resource[]): Resource[] {
  const found = new Map<string, Resource>()
  for (const { apiGroups = [], apiVersions = [], resources: names = [] } of matchConstraints?.resourceRules ?? []) {
    if ([...apiGroups, ...apiVersions].some(name => name.includes('*'))) continue
    const plain = names.filter(name => !/[*/]/.test(name)).sort()
    let count = 0
    for (const group of [...apiGroups].sort())
      for (const version of [...apiVersions].sort())
        for (const name of plain)
          for (const resource of resources.filter(each => isMeant(each, { group, version, name }))) {
            found.set(`${resource.apiVersion} ${resource.kind}`, resource)
            if (++count === MAX_KINDS) return inOrder(found.values())
          }
  }
  return inOrder(found.values())
}

/** As clients look kinds up: without a group, that of any group is meant. */
const isMeant = (
  { group, version, plural, singular }: Resource,
  wanted: { readonly group: string; readonly version: string; readonly name: string },
): boolean =>
  (wanted.group === '' || wanted.group === group) && version === wanted.version && (plural === wanted.name || singular === wanted.name)

const inOrder = (resources: Iterable<Resource>): Resource[] => {
  const key = ({ group, version, kind }: Resource) => [group, version, kind]
  const compare = (a: readonly string[], b: readonly string[]) => {
    const i = a.findIndex((part, j) => part !== b[j])
    return i < 0 ? 0 : a[i]! < b[i]! ? -1 : 1
  }
  return [...resources].sort((a, b) => compare(key(a), key(b)))
}
