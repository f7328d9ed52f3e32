/** MutatingAdmissionPolicy mutates objects at admission with CEL expressions; bindings put it into force. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { expressionsWork } from '../../schema/rule-work.ts'
import { atomic, message, type Static, string } from '../../schema/types.ts'
import { validateExpression, validatePresence } from './expression-rules.ts'
import { REINVOCATION_POLICIES, validateMutableOperations } from './match-rules.ts'
import { MatchResources, matchConditions } from './match-shapes.ts'
import { expressionsFor, type PolicyExpressions, policyWork, validatePolicyExpressions, validatePolicyMatching } from './policy-rules.ts'
import { formatParamKind, ParamKind, Variable } from './policy-shapes.ts'
import { validateNotStatic, warnAboutStatic } from './static-names.ts'

const ApplyConfiguration = message('ApplyConfiguration', {
  expression: [1, string, 'A CEL expression for the fields to apply.'],
})

const JSONPatch = message('JSONPatch', {
  expression: [1, string, 'A CEL expression for a list of JSON Patch operations.'],
})

const Mutation = message('Mutation', {
  patchType: [2, string.listed('ApplyConfiguration', 'JSONPatch').always(), 'How the object is changed: ApplyConfiguration or JSONPatch.'],
  applyConfiguration: [3, ApplyConfiguration, 'The fields to apply; with that patch type.'],
  jsonPatch: [4, JSONPatch, 'The patch; with that patch type.'],
})
type Mutation = Static<typeof Mutation>

const MutatingAdmissionPolicySpec = message('MutatingAdmissionPolicySpec', {
  paramKind: [1, ParamKind, 'The kind of the parameters, if there are any.'],
  matchConstraints: [2, MatchResources, 'The requests that are mutated; creations, updates and connections only.'],
  variables: [3, atomic(Variable), 'Values that expressions share; each may use those before it.'],
  mutations: [4, atomic(Mutation), 'The changes, one after the other.'],
  failurePolicy: [
    5,
    string.listed('Fail', 'Ignore').optional().default('Fail'),
    'The treatment of requests when the policy cannot be evaluated: Fail or Ignore.',
  ],
  matchConditions: [6, matchConditions, 'CEL expressions that must all be true, at most 64.'],
  reinvocationPolicy: [7, string.listed('IfNeeded', 'Never'), 'Never, or IfNeeded to be evaluated again after others changed the object.'],
})

export const MutatingAdmissionPolicy = defineKind({
  group: 'admissionregistration.{group_domain}',
  version: 'v1',
  kind: 'MutatingAdmissionPolicy',
  scope: 'Cluster',
  names: { plural: 'mutatingadmissionpolicies', categories: ['api-extensions'] },
  doc: 'Changes objects on their way in.',
  lifecycle: { introduced: '1.36' },
  otherVersions: {
    v1beta1: { introduced: '1.34', deprecated: '1.37', removed: '1.40', replacement: 'v1' },
    v1alpha1: { introduced: '1.32', deprecated: '1.35', removed: '1.38' },
  },
  unqualifiedFinalizers: true,
  spec: MutatingAdmissionPolicySpec,
  generation: true,
  allowUnconditionalUpdate: false,

  ruleWork: ({ spec }) =>
    policyWork(spec) +
    expressionsWork((spec.mutations ?? []).map(({ applyConfiguration, jsonPatch }) => (applyConfiguration ?? jsonPatch)?.expression)),
  *validate({ metadata, spec }, at, { old, ...ctx }) {
    const { matchConstraints, mutations = [], reinvocationPolicy } = spec
    yield* validatePolicyMatching(spec, at.spec)
    if (matchConstraints) yield* validateMutableOperations(matchConstraints, at.spec.matchConstraints)
    const expressions = expressionsFor(spec, { composes: true })
    yield* validatePolicyExpressions(spec, at.spec, { old: old?.spec, expressions })
    const stored = new Set((old?.spec.mutations ?? []).map(({ applyConfiguration }) => applyConfiguration?.expression ?? ''))
    if (mutations.length === 0) yield required(at.spec.mutations, 'mutations must contain at least one item')
    for (const [i, mutation] of mutations.entries()) yield* validateMutation(mutation, at.spec.mutations[i]!, { ...expressions, stored })
    if (!reinvocationPolicy) yield required(at.spec.reinvocationPolicy)
    else if (!REINVOCATION_POLICIES.includes(reinvocationPolicy)) yield unsupported(at.spec.reinvocationPolicy, ...REINVOCATION_POLICIES)
    if (old === undefined) yield* validateNotStatic(metadata.name, at.metadata.name, ctx)
  },
  warn: ({ metadata }, _old, ctx) => warnAboutStatic(metadata.name, ctx),

  columns: {
    Mutations: [
      'integer',
      o => o.spec.mutations?.length ?? 0,
      'Mutation indicates the number of mutations rules defined in this configuration',
    ],
    ParamKind: [
      'string',
      o => formatParamKind(o.spec.paramKind),
      'ParamKind specifies the kind of resources used to parameterize this policy',
    ],
    Age: age,
  },
})

/** An object of the kind MutatingAdmissionPolicy. */
export type MutatingAdmissionPolicy = ObjectOf<typeof MutatingAdmissionPolicy>

/** The field of each patch type. */
const PATCH_TYPES = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const

/** `stored` are the apply configuration expressions of the stored object. */
type MutationOptions = PolicyExpressions & { readonly stored: ReadonlySet<string> }

/** A mutation has exactly the field that its patch type names. */
function* validateMutation(mutation: Mutation, at: Ref<Mutation>, options: MutationOptions): Iterable<FieldError> {
  const { patchType } = mutation
  if (!patchType) return yield required(at.patchType)
  if (!Object.hasOwn(PATCH_TYPES, patchType)) return yield unsupported(at.patchType, ...Object.keys(PATCH_TYPES))
  const wanted = PATCH_TYPES[patchType as keyof typeof PATCH_TYPES]
  const other = wanted === 'jsonPatch' ? 'applyConfiguration' : 'jsonPatch'
  const patch = mutation[wanted]
  if (!patch) yield required(at[wanted], `must be specified when patchType is ${patchType}`)
  else yield* validatePatch(patch.expression ?? '', at[wanted].expression, { ...options, use: USES[wanted] })
  if (mutation[other]) yield invalid(withValue(at[other], `{${other}}`), `must not be specified when patchType is ${patchType}`)
}

const USES = { applyConfiguration: 'apply configuration', jsonPatch: 'JSON patch' } as const

/** Surrounding space does not count, but the whole string decides whether an expression is already stored. */
function* validatePatch(
  expression: string,
  at: Ref<string>,
  { use, compiler, hasParams, stored }: MutationOptions & { readonly use: (typeof USES)[keyof typeof USES] },
): Iterable<FieldError> {
  yield* validatePresence(expression, at)
  const text = expression.trim()
  const variables = { hasParams, hasAuthorizer: true, hasPatchTypes: true }
  yield* validateExpression(text, withValue(at, text), {
    use,
    variables,
    compiler,
    stored: stored.has(expression) ? new Set([text]) : new Set(),
  })
}
