/** MutatingAdmissionPolicyBinding puts a mutating policy into force, with its parameters, for the resources it matches. */
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { message, string } from '../../schema/types.ts'
import { validateMatchResources, validateMutableOperations } from './match-rules.ts'
import { MatchResources } from './match-shapes.ts'
import { formatParamRef, ParamRef, validateParamRef } from './param-ref.ts'
import { validateNotStatic, warnAboutStatic } from './static-names.ts'

const MutatingAdmissionPolicyBindingSpec = message('MutatingAdmissionPolicyBindingSpec', {
  policyName: [
    1,
    string
      .required()
      .omittable()
      .openapiDefault()
      .format(name => nameIsDNSSubdomain(name)),
    'The policy that is put into force.',
  ],
  paramRef: [2, ParamRef, 'The objects that set its parameters.'],
  matchResources: [3, MatchResources, 'Narrows what the policy matches.'],
})

export const MutatingAdmissionPolicyBinding = defineKind({
  group: 'admissionregistration.{group_domain}',
  version: 'v1',
  kind: 'MutatingAdmissionPolicyBinding',
  scope: 'Cluster',
  names: { plural: 'mutatingadmissionpolicybindings', categories: ['api-extensions'] },
  doc: 'Puts a mutating policy into force.',
  lifecycle: { introduced: '1.36' },
  otherVersions: {
    v1beta1: { introduced: '1.34', deprecated: '1.37', removed: '1.40', replacement: 'v1' },
    v1alpha1: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
  },
  unqualifiedFinalizers: true,
  spec: MutatingAdmissionPolicyBindingSpec,
  generation: true,
  allowUnconditionalUpdate: false,

  *validate({ metadata, spec: { paramRef, matchResources } }, at, { old, ...ctx }) {
    if (paramRef) yield* validateParamRef(paramRef, at.spec.paramRef)
    if (matchResources) {
      yield* validateMatchResources(matchResources, at.spec.matchResources)
      yield* validateMutableOperations(matchResources, at.spec.matchResources)
    }
    if (old === undefined) yield* validateNotStatic(metadata.name, at.metadata.name, ctx)
  },
  warn: ({ metadata }, _old, ctx) => warnAboutStatic(metadata.name, ctx),

  columns: {
    PolicyName: ['string', o => o.spec.policyName, 'PolicyName indicates the policy definition which the policy binding binded to'],
    ParamRef: ['string', o => formatParamRef(o.spec.paramRef), 'ParamRef indicates the param resource which sets the configuration param'],
    Age: age,
  },
})

/** An object of the kind MutatingAdmissionPolicyBinding. */
export type MutatingAdmissionPolicyBinding = ObjectOf<typeof MutatingAdmissionPolicyBinding>
