/** The policies, bindings and parameters that a request concerns. */
import type { CelAuthorizer } from '../../cel/libraries/authorizer.ts'
import type { Bindings } from '../../cel/runtime/program.ts'
import type { CelValue } from '../../cel/runtime/values.ts'
import { labelTermsOf } from '../../kinds/rules/meta.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { matchesLabelTerms } from '../../schema/selectors.ts'
import type { Attributes } from '../attributes.ts'
import type { ExpressionAuthorizer } from '../cel-authorizer.ts'
import { celValueOf, requestVariables, type VersionedRequest } from '../expression-variables.ts'
import type { Candidate, MatchIndex } from '../match-index.ts'
import { exemptionFromPolicies, withoutExempt } from '../matching.ts'
import type { AdmissionObserver } from '../observer.ts'
import { requestNamespace } from '../request-namespace.ts'
import type { Binding, ParamKind, ParamRef, Policy } from './policy.ts'

export type PolicyParts = {
  readonly namespace: (name: string) => AnyObject | undefined
  readonly expressions: ExpressionAuthorizer
  readonly observer: AdmissionObserver
  /** The resource of a kind, as parameters name it. */
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined
  readonly get: (resource: Resource, namespace: string, name: string) => AnyObject | undefined
  readonly list: (resource: Resource, namespace: string) => Iterable<AnyObject>
}

/** A policy that is to be evaluated: through one binding, for each of its parameters; null stands for none. */
export type Invocation<P extends Policy> = {
  readonly policy: P
  readonly binding: Binding
  /** The resource in the version in which the policy names it. */
  readonly resource: Resource
  readonly params: readonly (AnyObject | null)[]
}

/** A policy, or a binding of it, that cannot be evaluated; its failure policy decides what that means. */
export type ConfigurationFault<P extends Policy> = { readonly policy: P; readonly binding: Binding | undefined; readonly message: string }

/** The policies whose rules and labels may match; those whose rules may, where all that happens is to be explained. */
export function concerned<P extends Policy>(
  policies: MatchIndex<P>,
  attributes: Attributes,
  { namespace }: Pick<PolicyParts, 'namespace'>,
): readonly Candidate<P>[] {
  const { explanation } = attributes.ctx
  const candidates = explanation ? policies.byRules(attributes) : policies.byLabels(attributes, namespace)
  if (candidates.length === 0 && !explanation) return candidates
  const { concerned, exempt } = withoutExempt(candidates, exemptionFromPolicies(attributes))
  if (explanation) {
    for (const { item } of exempt) explanation.add({ policy: item.name, outcome: 'skipped', because: 'the resource is exempt' })
    for (const { name } of policies.others(attributes)) explanation.addUnrelated({ policy: name, outcome: 'skipped', because: 'rules' })
  }
  return concerned
}

/** How an explanation names a policy and its binding. */
export const named = (policy: Policy, binding: Binding | undefined) => ({
  policy: policy.name,
  ...(binding && { binding: binding.name }),
})

/** Everything to be evaluated for a request, in the order of policies and bindings, and the parts that cannot be evaluated. */
export function* invocationsOf<P extends Policy>(
  policies: readonly Candidate<P>[],
  attributes: Attributes,
  parts: PolicyParts,
): Iterable<Invocation<P> | ConfigurationFault<P>> {
  const { explanation } = attributes.ctx
  for (const { item: policy, rules } of policies) {
    try {
      const match = policy.matcher.match(attributes, parts.namespace, rules)
      if (!match.matches) {
        explanation?.add({ policy: policy.name, outcome: 'skipped', because: match.because })
        continue
      }
      const kindFault = faultOfParamKind(policy.paramKind, parts)
      if (kindFault !== undefined) {
        yield { policy, binding: undefined, message: `failed to configure policy: ${kindFault}` }
        continue
      }
      for (const binding of policy.bindings) yield* invocationOf({ policy, binding, resource: match.resource }, attributes, parts)
    } catch (error) {
      yield { policy, binding: undefined, message: `failed to configure policy: ${(error as Error).message}` }
    }
  }
}

function* invocationOf<P extends Policy>(
  { policy, binding, resource }: Omit<Invocation<P>, 'params'>,
  attributes: Attributes,
  parts: PolicyParts,
): Iterable<Invocation<P> | ConfigurationFault<P>> {
  try {
    const match = binding.matcher?.match(attributes, parts.namespace)
    if (match && !match.matches) {
      attributes.ctx.explanation?.add({ ...named(policy, binding), outcome: 'skipped', because: match.because })
      return
    }
    const params = collectParams(policy.paramKind, binding.paramRef, { attributes, parts })
    if (params.length === 0) attributes.ctx.explanation?.add({ ...named(policy, binding), outcome: 'skipped', because: 'no params' })
    yield { policy, binding, resource, params }
  } catch (error) {
    yield { policy, binding, message: `failed to configure binding: ${(error as Error).message}` }
  }
}

function faultOfParamKind(paramKind: ParamKind | undefined, { resourceOf }: PolicyParts): string | undefined {
  if (!paramKind) return undefined
  const { apiVersion = '', kind = '' } = paramKind
  if (resourceOf(apiVersion, kind)) return undefined
  const version = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
  return `failed to find resource referenced by paramKind: '${version}, Kind=${kind}'`
}

/** The parameters of a binding; a single null where there are none to have. Throws when they are missing and must not be. */
function collectParams(
  paramKind: ParamKind | undefined,
  paramRef: ParamRef | undefined,
  { attributes, parts }: { readonly attributes: Attributes; readonly parts: PolicyParts },
): readonly (AnyObject | null)[] {
  if (!paramKind || !paramRef) return [null]
  const { apiVersion = '', kind = '' } = paramKind
  const resource = parts.resourceOf(apiVersion, kind)!
  const { name, selector, namespace: given = '', parameterNotFoundAction } = paramRef
  const namespace = resource.namespaced ? given || requestNamespace(attributes) : ''
  if (resource.namespaced && namespace === '')
    throw new Error('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources')
  if (!resource.namespaced && given !== '') throw new Error('paramRef.namespace must not be provided for a cluster-scoped `paramKind`')
  const params = name ? one(parts.get(resource, namespace, name)) : selected(parts.list(resource, namespace), selector)
  if (params.length === 0 && parameterNotFoundAction === 'Deny')
    throw new Error('no params found for policy binding with `Deny` parameterNotFoundAction')
  return params.map(param => ({ ...param, apiVersion, kind }))
}

const one = (param: AnyObject | undefined): AnyObject[] => (param ? [param] : [])

function selected(params: Iterable<AnyObject>, selector: ParamRef['selector']): AnyObject[] {
  const terms = selector && labelTermsOf(selector)
  if (!terms) throw new Error('one of name or selector must be provided')
  return [...params].filter(({ metadata }) => matchesLabelTerms(terms, metadata.labels))
}

/** The variables of a policy's expressions for one parameter; without `authorize` all but those that ask about access. */
export const policyVariables = (
  request: VersionedRequest,
  param: AnyObject | null,
  { authorize, namespace }: Pick<PolicyParts, 'namespace'> & { readonly authorize?: CelAuthorizer },
): Bindings => ({
  params: celValueOf(param),
  namespaceObject: namespaceVariable(request, namespace),
  ...requestVariables(request, authorize),
})

const namespaces = new WeakMap<VersionedRequest, CelValue>()

/** The namespace as expressions see it, the same for all about one request. */
function namespaceVariable(request: VersionedRequest, find: PolicyParts['namespace']): CelValue {
  const known = namespaces.get(request)
  if (known !== undefined) return known
  const { kind, namespace } = request.attributes
  const isNamespace = kind.group === '' && kind.kind === 'Namespace'
  const found = isNamespace || namespace === '' ? undefined : find(namespace)
  const value = celValueOf(found && visibleNamespace(found))
  namespaces.set(request, value)
  return value
}

/** A namespace without metadata that only its managers need. */
function visibleNamespace({ metadata, spec, status }: AnyObject): object {
  const { managedFields: _, ownerReferences: __, selfLink: ___, ...rest } = metadata
  return { metadata: rest, spec: spec ?? {}, status: status ?? {} }
}
