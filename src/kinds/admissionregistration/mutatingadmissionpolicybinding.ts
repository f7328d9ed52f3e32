/** MutatingAdmissionPolicyBinding puts a mutating policy into force, with its parameters, for what it matches. */
import { isValidPathSegmentName, nameIsDNSSubdomain } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind } from '../../schema/kind.ts'
import { type FieldError, forbidden, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { message, type Static, string } from '../../schema/types.ts'
import { formatLabelSelector, LabelSelector, validateLabelSelector } from '../shapes/meta.ts'
import { validateMatchResources } from './match-rules.ts'
import { MatchResources } from './match-shapes.ts'
import { validateNotStatic, warnAboutStatic } from './webhook-rules.ts'

const ParamRef = message('ParamRef', {
  name: [1, string, 'Name of the parameter object; either this or a selector.'],
  namespace: [2, string, 'Its namespace; that of the request when absent and parameters are namespaced.'],
  selector: [3, LabelSelector, 'Which objects are parameters, by their labels.'],
  parameterNotFoundAction: [4, string.optional(), 'What happens when there is none: Allow or Deny.'],
}).atomic()
type ParamRef = Static<typeof ParamRef>

const MutatingAdmissionPolicyBindingSpec = message('MutatingAdmissionPolicyBindingSpec', {
  policyName: [1, string.required().format(name => nameIsDNSSubdomain(name)), 'The policy that is put into force.'],
  paramRef: [2, ParamRef, 'The objects that set its parameters.'],
  matchResources: [3, MatchResources, 'Narrows what the policy matches.'],
})

/** A deletion has nothing to mutate. */
const MUTABLE: readonly string[] = ['*', 'CONNECT', 'CREATE', 'UPDATE']

export const MutatingAdmissionPolicyBinding = defineKind({
  group: 'admissionregistration.{group_domain}',
  version: 'v1',
  kind: 'MutatingAdmissionPolicyBinding',
  scope: 'Cluster',
  names: { plural: 'mutatingadmissionpolicybindings', categories: ['api-extensions'] },
  doc: 'Puts a mutating policy into force.',
  spec: MutatingAdmissionPolicyBindingSpec,
  generation: true,

  *validate({ metadata, spec: { paramRef, matchResources } }, at, { old, ...ctx }) {
    if (paramRef) yield* validateParamRef(paramRef, at.spec.paramRef)
    if (matchResources) yield* validateMatchResources(matchResources, at.spec.matchResources)
    const operations = (matchResources?.resourceRules ?? []).flatMap(rule => rule.operations ?? [])
    // The path leaves out which rule it was: that is what clients are told.
    const where = (at.spec.matchResources.resourceRules as unknown as Record<string, Ref<string>>)['operations']!
    for (const operation of operations) if (!MUTABLE.includes(operation)) yield unsupported(withValue(where, operation), ...MUTABLE)
    if (old === undefined) yield* validateNotStatic(metadata.name, at.metadata.name, ctx)
  },
  warn: ({ metadata }, _old, ctx) => warnAboutStatic(metadata.name, ctx),

  columns: {
    PolicyName: ['string', o => o.spec.policyName, 'PolicyName indicates the policy definition which the policy binding binded to'],
    ParamRef: ['string', o => formatParamRef(o.spec.paramRef), 'ParamRef indicates the param resource which sets the configuration param'],
    Age: age,
  },
})

const EXCLUSIVE = 'name and selector are mutually exclusive'

function* validateParamRef({ name, selector, parameterNotFoundAction: action }: ParamRef, at: Ref<ParamRef>): Iterable<FieldError> {
  if (name) yield* invalidEach(at.name, isValidPathSegmentName(name))
  if (name && selector) yield forbidden(at.name, EXCLUSIVE)
  yield* validateLabelSelector(selector, at.selector)
  if (name && selector) yield forbidden(at.selector, EXCLUSIVE)
  if (!name && !selector) yield required(at, 'one of name or selector must be specified')
  if (!action) yield required(at.parameterNotFoundAction)
  else if (action !== 'Deny' && action !== 'Allow') yield unsupported(at.parameterNotFoundAction, 'Deny', 'Allow')
}

function formatParamRef(ref: ParamRef | undefined): string {
  if (!ref) return '<unset>'
  if (ref.name) return `${ref.namespace || '*'}/${ref.name}`
  return ref.selector ? formatLabelSelector(ref.selector) : '<unset>'
}
