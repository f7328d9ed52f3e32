/** The parts of access reviews: the attributes of the request, the user, and the decision. */
import type { Attributes, Decision } from '../../schema/access.ts'
import type { Envelope, ObjectMeta } from '../../schema/object-meta.ts'
import { type FieldError, forbidden, invalid, type Ref, required, withValue } from '../../schema/refs.ts'
import type { ReviewContext } from '../../schema/request-context.ts'
import { type FieldTerms, type LabelOperator, type LabelTerms, parseFieldSelector, parseLabelSelector } from '../../schema/selectors.ts'
import { atomic, bool, mapOf, message, type Static, string } from '../../schema/types.ts'
import type { User } from '../../schema/user.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import { LabelSelectorRequirement, labelTermsOf, validateRequirement } from '../rules/meta.ts'

const FieldSelectorRequirement = message('FieldSelectorRequirement', {
  key: [1, string.always(), 'The field that the requirement applies to.'],
  operator: [2, string.always(), 'How the field is compared: In, NotIn, Exists or DoesNotExist.'],
  values: [3, atomic(string), 'The values that the field is compared with; empty for Exists and DoesNotExist.'],
})
type FieldSelectorRequirement = Static<typeof FieldSelectorRequirement>

const FieldSelectorAttributes = message('FieldSelectorAttributes', {
  rawSelector: [1, string, 'The selector as requests write it.'],
  requirements: [2, atomic(FieldSelectorRequirement), 'The parsed requirements of the selector; all must hold.'],
})

const LabelSelectorAttributes = message('LabelSelectorAttributes', {
  rawSelector: [1, string, 'The selector as requests write it.'],
  requirements: [2, atomic(LabelSelectorRequirement), 'The parsed requirements of the selector; all must hold.'],
})

const ResourceAttributes = message('ResourceAttributes', {
  namespace: [1, string, 'The namespace; empty for all of them, and for resources of the cluster.'],
  verb: [2, string, 'The requested verb, such as get, list or create; * for all.'],
  group: [3, string, 'The API group of the resource; * for all.'],
  version: [4, string, 'The API version of the resource; * for all.'],
  resource: [5, string, 'The resource; * for all.'],
  subresource: [6, string, 'The subresource, if any.'],
  name: [7, string, 'The name of the object; empty for all.'],
  fieldSelector: [8, FieldSelectorAttributes, 'The field selector of the request; can only make more requests allowed.'],
  labelSelector: [9, LabelSelectorAttributes, 'The label selector of the request; can only make more requests allowed.'],
})
type ResourceAttributes = Static<typeof ResourceAttributes>

const NonResourceAttributes = message('NonResourceAttributes', {
  path: [1, string, 'The path of the request.'],
  verb: [2, string, 'The method of the request.'],
})

/** The requested access: to a resource, or to a non-resource path. */
const accessFields = {
  resourceAttributes: [1, ResourceAttributes, 'The attributes of a request for a resource.'],
  nonResourceAttributes: [2, NonResourceAttributes, 'The attributes of a request for a path that is no resource.'],
} as const

export const SelfSubjectAccessReviewSpec = message('SelfSubjectAccessReviewSpec', accessFields)
export const SubjectAccessReviewSpec = message('SubjectAccessReviewSpec', {
  ...accessFields,
  user: [3, string, 'The user to check; without groups, one that is a member of none.'],
  groups: [4, atomic(string), 'The groups of the user.'],
  extra: [5, mapOf(atomic(string)), 'Further properties of the user from authentication.'],
  uid: [6, string, 'The uid of the user.'],
})
export const SubjectAccessReviewStatus = message('SubjectAccessReviewStatus', {
  allowed: [1, bool.always(), 'Whether it is allowed.'],
  denied: [4, bool, 'Whether it is denied, even if another authorizer would allow it.'],
  reason: [2, string, 'Why.'],
  evaluationError: [3, string, 'Errors during the check; the decision may still be correct.'],
})

type AccessSpec = Static<typeof SelfSubjectAccessReviewSpec>
type Spec = Static<typeof SubjectAccessReviewSpec>
type Status = Static<typeof SubjectAccessReviewStatus>

/** Rules for the requested access. */
export function* validateAccess(spec: AccessSpec, at: Ref<AccessSpec>): Iterable<FieldError> {
  yield* validateOneOf(spec, at)
  if (spec.resourceAttributes) yield* validateResource(spec.resourceAttributes, at.resourceAttributes)
}

/** Rules for the requested access and its user. */
export function* validateSpec(spec: Spec, at: Ref<Spec>): Iterable<FieldError> {
  yield* validateOneOf(spec, at)
  if (!spec.user && !spec.groups?.length) yield invalid(at.user, 'at least one of user or group must be specified')
  if (spec.resourceAttributes) yield* validateResource(spec.resourceAttributes, at.resourceAttributes)
}

/** Reviews have no name, and no other metadata; `but` lists allowed fields. */
export function* validateNoMetadata(metadata: ObjectMeta, at: Ref<Envelope>, but?: 'namespace'): Iterable<FieldError> {
  const { managedFields: _, namespace, ...others } = metadata
  const isEmpty = Object.keys(others).length === 0 && (but !== undefined || !namespace)
  if (!isEmpty) yield invalid(at.metadata, but === undefined ? 'must be empty' : `must be empty except for ${but}`)
}

/** A non-resource path in errors. */
export const shownPath = ({ nonResourceAttributes }: AccessSpec) => internalRepresentation(NonResourceAttributes, nonResourceAttributes)

/** The user of a review. */
export const subjectOf = ({ user: name = '', uid, groups = [], extra }: Spec): User => ({
  name,
  ...(uid && { uid }),
  groups,
  // A client may send null for a list.
  ...(extra && { extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, values ?? []])) }),
})

/** Runs the authorizer and returns its decision as a status. */
export async function review(spec: AccessSpec, user: User, { access, signal }: ReviewContext): Promise<Status> {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec
  const decision = await access.authorize(user, attributesOf(spec), { signal })
  return statusOf(decision, resource && path === undefined ? selectorProblems(resource) : '')
}

function statusOf({ verdict, reason, error }: Decision, problem: string): Status {
  const evaluationError = [error, problem].filter(Boolean).join('; ')
  return {
    allowed: verdict === 'allow',
    ...(verdict === 'deny' && { denied: true }),
    ...(reason && { reason }),
    ...(evaluationError && { evaluationError }),
  }
}

function attributesOf({ resourceAttributes, nonResourceAttributes }: AccessSpec): Attributes {
  if (!resourceAttributes) return { verb: nonResourceAttributes?.verb ?? '', path: nonResourceAttributes?.path ?? '' }
  const { verb = '', group = '', version, resource: plural = '', subresource = '', namespace = '', name = '' } = resourceAttributes
  const fieldSelector = fieldTermsOf(resourceAttributes)
  const labelSelector = labelSelectorOf(resourceAttributes)
  return {
    verb,
    path: '',
    resource: {
      group,
      version: version || '*',
      plural,
      subresource,
      namespace,
      name,
      ...(fieldSelector && { fieldSelector }),
      ...(labelSelector && { labelSelector }),
    },
  }
}

/** The valid terms of the field selector. */
function fieldTermsOf({ fieldSelector }: ResourceAttributes): FieldTerms | string | undefined {
  const { rawSelector, requirements = [] } = fieldSelector ?? {}
  if (requirements.length === 0) return rawSelector
  return requirements.filter(isFieldTerm).map(({ key, operator, values }) => ({
    field: key,
    operator: operator === 'In' ? '=' : '!=',
    value: values![0]!,
  }))
}

/** The valid terms of the label selector. */
function labelSelectorOf({ labelSelector }: ResourceAttributes): LabelTerms | string | undefined {
  const { rawSelector, requirements = [] } = labelSelector ?? {}
  if (requirements.length === 0) return rawSelector
  return requirements.flatMap(({ key, operator, values = [] }) => {
    const known = LABEL_OPERATORS[operator]
    return known ? [{ key, operator: known, values }] : []
  })
}
const LABEL_OPERATORS: Readonly<Record<string, LabelOperator>> = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: '!' }

function* validateOneOf(spec: AccessSpec, at: Ref<AccessSpec>): Iterable<FieldError> {
  if ((spec.resourceAttributes === undefined) === (spec.nonResourceAttributes === undefined))
    yield invalid(withValue(at, shownPath(spec)), 'exactly one of nonResourceAttributes or resourceAttributes must be specified')
}

function* validateResource(resource: ResourceAttributes, at: Ref<ResourceAttributes>): Iterable<FieldError> {
  const { fieldSelector, labelSelector } = resource
  if (fieldSelector) {
    yield* validateEither(fieldSelector, at.fieldSelector, 'fieldSelector')
    for (const [i, requirement] of (fieldSelector.requirements ?? []).entries())
      yield* validateFieldRequirement(requirement, at.fieldSelector.requirements[i]!)
  }
  if (labelSelector) {
    yield* validateEither(labelSelector, at.labelSelector, 'labelSelector')
    for (const [i, requirement] of (labelSelector.requirements ?? []).entries())
      yield* validateRequirement(requirement, at.labelSelector.requirements[i]!, { allowUnknownOperators: true })
  }
}

type SelectorAttributes = { rawSelector?: string; requirements?: object[] }

function* validateEither(
  { rawSelector, requirements = [] }: SelectorAttributes,
  at: Ref<SelectorAttributes>,
  name: string,
): Iterable<FieldError> {
  if (rawSelector && requirements.length > 0) yield invalid(at.rawSelector, 'may not specified at the same time as requirements')
  if (!rawSelector && requirements.length === 0)
    yield required(at.requirements, `when spec.resourceAttributes.${name} is specified, requirements or rawSelector is required`)
}

/** Unknown operators are accepted: clients may be newer. */
function* validateFieldRequirement(requirement: FieldSelectorRequirement, at: Ref<FieldSelectorRequirement>): Iterable<FieldError> {
  const { key, operator, values = [] } = requirement
  if (!key) yield required(at.key, 'must be specified')
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
    yield required(at.values, "must be specified when `operator` is 'In' or 'NotIn'")
  if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
    yield forbidden(at.values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
}

/** Selectors only narrow a request: invalid requirements are reported and ignored. */
function selectorProblems({ fieldSelector, labelSelector }: ResourceAttributes): string {
  const problems: string[] = []
  const tell = (name: string, [good, all]: readonly [number, number]) => {
    if (good < all) problems.push(`spec.resourceAttributes.${name} ${good > 0 ? 'partially ignored' : 'ignored'} due to parse error`)
  }
  if (fieldSelector) tell('fieldSelector', readable(fieldSelector, { parse: parseFieldSelector, isRead: isFieldTerm }))
  if (labelSelector) tell('labelSelector', readable(labelSelector, { parse: parseLabelSelector, isRead: isLabelTerm }))
  return problems.join('; ')
}

type Reading<R> = { readonly parse: (text: string) => unknown; readonly isRead: (requirement: R) => boolean }

/** The number of valid parts of a selector, and of all parts. */
function readable<R>(
  { rawSelector, requirements = [] }: { rawSelector?: string; requirements?: R[] },
  { parse, isRead }: Reading<R>,
): [number, number] {
  if (requirements.length > 0) return [requirements.filter(isRead).length, requirements.length]
  try {
    parse(rawSelector ?? '')
    return [1, 1]
  } catch {
    return [0, 1]
  }
}

const isFieldTerm = ({ operator, values = [] }: FieldSelectorRequirement) =>
  (operator === 'In' || operator === 'NotIn') && values.length === 1
const isLabelTerm = (requirement: LabelSelectorRequirement) => labelTermsOf({ matchExpressions: [requirement] }) !== undefined
