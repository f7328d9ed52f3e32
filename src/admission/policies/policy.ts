/** Policies and their bindings as they are stored, compiled and brought together. */
import type { LabelSelector } from '../../kinds/rules/meta.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { LazyPrograms } from '../lazy-programs.ts'
import { byOriginAndName, isFromManifest } from '../manifest-origin.ts'
import { type Conditions, conditionsOf } from '../match-conditions.ts'
import { RequestMatcher, type Rule } from '../matching.ts'
import { type CompiledExpression, type CompiledVariable, PolicyCompiler } from './evaluation.ts'

export type ParamKind = { readonly apiVersion?: string; readonly kind?: string }
export type ParamRef = {
  readonly name?: string
  readonly namespace?: string
  readonly selector?: LabelSelector
  readonly parameterNotFoundAction?: string
}

type MatchResources = {
  readonly resourceRules?: readonly Rule[]
  readonly excludeResourceRules?: readonly Rule[]
  readonly matchPolicy?: string
  readonly namespaceSelector?: LabelSelector
  readonly objectSelector?: LabelSelector
}

/** The parts that both kinds of policies have. */
export type Policy = {
  readonly name: string
  /** Whether it comes from a manifest file. */
  readonly isStatic: boolean
  readonly failsOpen: boolean
  readonly paramKind: ParamKind | undefined
  readonly matcher: RequestMatcher
  readonly variables: readonly CompiledVariable[]
  readonly conditions: Conditions
  /** Those of all its expressions. */
  readonly programs: LazyPrograms
  readonly bindings: readonly Binding[]
}

export type Binding = {
  readonly name: string
  readonly paramRef: ParamRef | undefined
  /** Undefined when the binding matches all that the policy matches. */
  readonly matcher: RequestMatcher | undefined
  readonly actions: readonly string[]
}

export type ValidatingPolicy = Policy & {
  readonly validations: readonly Validation[]
  readonly auditAnnotations: readonly AuditAnnotation[]
}
export type Validation = CompiledExpression & {
  readonly message: string
  readonly messageExpression: CompiledExpression | undefined
  readonly reason: string
}
export type AuditAnnotation = CompiledExpression & { readonly key: string }

export type MutatingPolicy = Policy & { readonly mutations: readonly Mutation[]; readonly isReinvoked: boolean }
export type Mutation = CompiledExpression & { readonly patchType: 'ApplyConfiguration' | 'JSONPatch' }

/** A policy without bindings does nothing, and a binding without its policy is ignored. */
export const validatingPolicies = (
  policies: Iterable<AnyObject>,
  bindings: Iterable<AnyObject>,
  compile: (stored: AnyObject) => Unbound<ValidatingPolicy> = compileValidating,
): ValidatingPolicy[] =>
  boundPolicies(policies, bindings).map(([stored, bound]) => ({ ...compile(stored), bindings: bound.map(bindingOf) }))

/** A policy by itself, which changes only when it is written. */
export type Unbound<P extends Policy> = Omit<P, 'bindings'>

export function compileValidating(stored: AnyObject): Unbound<ValidatingPolicy> {
  const { spec } = stored
  const compiler = new PolicyCompiler({ hasParams: spec.paramKind !== undefined })
  const common = policyOf(stored, compiler)
  return {
    ...common,
    validations: list(spec.validations).map(({ expression = '', message = '', messageExpression = '', reason = 'Invalid' }) => ({
      ...compiler.expression(expression, 'condition'),
      message,
      messageExpression: messageExpression === '' ? undefined : compiler.expression(messageExpression, 'message', { hasAuthorizer: false }),
      reason,
    })),
    auditAnnotations: list(spec.auditAnnotations).map(({ key = '', valueExpression = '' }) => ({
      ...compiler.expression(valueExpression, 'audit annotation'),
      key,
    })),
  }
}

export const mutatingPolicies = (
  policies: Iterable<AnyObject>,
  bindings: Iterable<AnyObject>,
  compile: (stored: AnyObject) => Unbound<MutatingPolicy> = compileMutating,
): MutatingPolicy[] => boundPolicies(policies, bindings).map(([stored, bound]) => ({ ...compile(stored), bindings: bound.map(bindingOf) }))

export function compileMutating(stored: AnyObject): Unbound<MutatingPolicy> {
  const { spec } = stored
  const compiler = new PolicyCompiler({ hasParams: spec.paramKind !== undefined })
  const common = policyOf(stored, compiler)
  return {
    ...common,
    isReinvoked: spec.reinvocationPolicy === 'IfNeeded',
    mutations: list(spec.mutations).map(({ patchType, applyConfiguration, jsonPatch }) => ({
      patchType,
      ...(patchType === 'JSONPatch'
        ? compiler.expression((jsonPatch?.expression ?? '').trim(), 'JSON patch', { hasPatchTypes: true })
        : compiler.expression((applyConfiguration?.expression ?? '').trim(), 'apply configuration', { hasPatchTypes: true })),
    })),
  }
}

const list = (items: unknown): readonly any[] => (Array.isArray(items) ? items : [])

/** Policies that have bindings, with them, by origin and name. */
function boundPolicies(policies: Iterable<AnyObject>, bindings: Iterable<AnyObject>): (readonly [AnyObject, readonly AnyObject[]])[] {
  const bound = new Map<string, AnyObject[]>()
  for (const binding of [...bindings].sort(byOriginAndName)) {
    const name = binding['spec'].policyName ?? ''
    bound.set(name, [...(bound.get(name) ?? []), binding])
  }
  return [...policies]
    .sort(byOriginAndName)
    .filter(({ metadata }) => bound.has(metadata.name!))
    .map(policy => [policy, bound.get(policy.metadata.name!)!] as const)
}

function policyOf(stored: AnyObject, compiler: PolicyCompiler): Unbound<Policy> {
  const { metadata, spec } = stored
  return {
    name: metadata.name!,
    isStatic: isFromManifest(stored),
    failsOpen: spec.failurePolicy === 'Ignore',
    paramKind: spec.paramKind,
    matcher: matcherOf(spec.matchConstraints ?? {}, false),
    // Variables first: later expressions may use them.
    variables: list(spec.variables).map(variable => compiler.variable(variable)),
    conditions: conditionsOf(
      list(spec.matchConditions).map(({ name, expression }) => {
        const { text, program } = compiler.expression(expression, 'condition')
        return { name, expression: text, program }
      }),
      compiler.programs,
    ),
    programs: compiler.programs,
  }
}

const bindingOf = ({ metadata, spec }: AnyObject): Binding => ({
  name: metadata.name!,
  paramRef: spec.paramRef,
  matcher: spec.matchResources && matcherOf(spec.matchResources, true),
  actions: spec.validationActions ?? [],
})

const matcherOf = (resources: MatchResources, matchesWithoutRules: boolean): RequestMatcher =>
  new RequestMatcher({
    rules: resources.resourceRules ?? [],
    excludeRules: resources.excludeResourceRules ?? [],
    matchPolicy: resources.matchPolicy,
    namespaceSelector: resources.namespaceSelector,
    objectSelector: resources.objectSelector,
    matchesWithoutRules,
  })
