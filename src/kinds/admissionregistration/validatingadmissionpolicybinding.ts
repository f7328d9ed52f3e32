/** ValidatingAdmissionPolicyBinding puts a validating policy into force, with its parameters, for the resources it matches. */
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { duplicate, type FieldError, invalid, invalidEach, type Ref, required, unsupported } from '../../schema/refs.ts'
import { message, set, string } from '../../schema/types.ts'
import { validateMatchResources } from './match-rules.ts'
import { MatchResources } from './match-shapes.ts'
import { formatParamRef, ParamRef, validateParamRef } from './param-ref.ts'
import { validateNotStatic, warnAboutStatic } from './static-names.ts'

const ValidatingAdmissionPolicyBindingSpec = message('ValidatingAdmissionPolicyBindingSpec', {
  policyName: [1, string.always().openapiDefault(), 'The policy that is put into force.'],
  paramRef: [2, ParamRef, 'The objects that set its parameters.'],
  matchResources: [3, MatchResources, 'Narrows what the policy matches.'],
  validationActions: [
    4,
    set(string.listed('Audit', 'Deny', 'Warn')).expected(),
    'The actions on a request that fails: Deny or Warn, and Audit.',
  ],
})

export const ValidatingAdmissionPolicyBinding = defineKind({
  group: 'admissionregistration.{group_domain}',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  scope: 'Cluster',
  names: { plural: 'validatingadmissionpolicybindings', categories: ['api-extensions'] },
  doc: 'Puts a validating policy into force.',
  unqualifiedFinalizers: true,
  spec: ValidatingAdmissionPolicyBindingSpec.expected(),
  generation: true,
  allowUnconditionalUpdate: false,

  *validate({ metadata, spec: { policyName, paramRef, matchResources, validationActions } }, at, { old, ...ctx }) {
    const actions = validationActions ?? []
    if (policyName) yield* invalidEach(at.spec.policyName, nameIsDNSSubdomain(policyName))
    if (paramRef) yield* validateParamRef(paramRef, at.spec.paramRef)
    if (matchResources) yield* validateMatchResources(matchResources, at.spec.matchResources)
    yield* validateActions(actions, at.spec.validationActions)
    if (old === undefined) yield* validateNotStatic(metadata.name, at.metadata.name, ctx)
    if (!policyName) yield required(at.spec.policyName)
    if (actions.length === 0) yield required(at.spec.validationActions)
  },
  warn: ({ metadata }, _old, ctx) => warnAboutStatic(metadata.name, ctx),

  columns: {
    PolicyName: ['string', o => o.spec.policyName, 'PolicyName indicates the policy definition which the policy binding binded to'],
    ParamRef: ['string', o => formatParamRef(o.spec.paramRef), 'ParamRef indicates the param resource which sets the configuration param'],
    Age: age,
  },
})

/** An object of the kind ValidatingAdmissionPolicyBinding. */
export type ValidatingAdmissionPolicyBinding = ObjectOf<typeof ValidatingAdmissionPolicyBinding>

const ACTIONS: readonly string[] = ['Audit', 'Deny', 'Warn']

function* validateActions(actions: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  const seen = new Set<string>()
  for (const [i, action] of actions.entries()) {
    if (!ACTIONS.includes(action)) yield unsupported(at[i]!, ...ACTIONS)
    if (seen.has(action)) yield duplicate(at[i]!)
    seen.add(action)
  }
  if (actions.includes('Deny') && actions.includes('Warn'))
    yield invalid(
      at,
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    )
}
