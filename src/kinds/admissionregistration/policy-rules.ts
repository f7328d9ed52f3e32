/** The rules that validating and mutating policies share. */
import { AdmissionCompiler } from '../../cel/kubernetes/admission.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1035Label, isDNS1123Subdomain } from '../../lib/names.ts'
import { type FieldError, invalid, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import { expressionsWork } from '../../schema/rule-work.ts'
import { isBlank, validateDeclaration, validatePresence } from './expression-rules.ts'
import { expressionsOf, FAILURE_POLICIES, validateMatchConditions, validateMatchResources } from './match-rules.ts'
import type { MatchCondition, MatchResources } from './match-shapes.ts'
import type { ParamKind, Variable } from './policy-shapes.ts'

/** The common fields of both types of policies. */
export type PolicySpec = {
  paramKind?: ParamKind
  matchConstraints?: MatchResources
  matchConditions?: MatchCondition[]
  variables?: Variable[]
  failurePolicy: string
}

/** The approximate work of the expressions that both types of policies have (`schema/rule-work.ts`). */
export const policyWork = ({ matchConditions = [], variables = [] }: PolicySpec): number =>
  expressionsWork([...matchConditions, ...variables].map(({ expression }) => expression))

/** Checks a policy's failure policy, parameters and matching: at least one rule, against which expressions are checked. */
export function* validatePolicyMatching(
  { failurePolicy, paramKind, matchConstraints }: PolicySpec,
  at: Ref<PolicySpec>,
): Iterable<FieldError> {
  if (!FAILURE_POLICIES.includes(failurePolicy)) yield unsupported(at.failurePolicy, ...FAILURE_POLICIES)
  if (paramKind) yield* validateParamKind(paramKind, at.paramKind)
  if (!matchConstraints) return yield required(at.matchConstraints)
  yield* validateMatchResources(matchConstraints, at.matchConstraints)
  if (!matchConstraints.resourceRules?.length) yield required(at.matchConstraints.resourceRules)
}

/** The context of a policy's expressions: its declared variables, and whether it has parameters. */
export type PolicyExpressions = { readonly compiler: AdmissionCompiler; readonly hasParams: boolean }

export type PolicyExpressionOptions = {
  readonly old: PolicySpec | undefined
  readonly expressions: PolicyExpressions
  /** The stored object's expressions, to recognize stored variables. */
  readonly storedVariables?: ReadonlySet<string>
}

/** The context of a policy's expressions; `composes` declares `variables` even if there are none. */
export const expressionsFor = ({ paramKind, variables = [] }: PolicySpec, { composes = false } = {}): PolicyExpressions => ({
  compiler: new AdmissionCompiler({ composes: composes || variables.length > 0 }),
  hasParams: paramKind !== undefined,
})

/** Checks the expressions that precede a policy's own: its conditions, unless they are unchanged, and its variables. */
export function* validatePolicyExpressions(
  spec: PolicySpec,
  at: Ref<PolicySpec>,
  { old, expressions: { compiler, hasParams }, storedVariables = new Set() }: PolicyExpressionOptions,
): Iterable<FieldError> {
  const { matchConditions = [], variables = [] } = spec
  const same = old && deepEqual(spec.paramKind, old.paramKind) && deepEqual(spec.matchConditions, old.matchConditions)
  const stored = new Set(expressionsOf(old?.matchConditions))
  if (!same) yield* validateMatchConditions(matchConditions, at.matchConditions, { hasParams, stored })
  for (const [i, variable] of variables.entries()) {
    yield* validateVariable(variable, at.variables[i]!)
    const role = { compiler, variables: { hasParams, hasAuthorizer: true }, stored: storedVariables }
    yield* validateDeclaration(variable, at.variables[i]!.expression, role)
  }
}

function* validateParamKind({ apiVersion = '', kind = '' }: ParamKind, at: Ref<ParamKind>): Iterable<FieldError> {
  if (apiVersion === '') yield required(at.apiVersion)
  else yield* validateGroupVersion(apiVersion, at.apiVersion)
  if (kind === '') return yield required(at.kind)
  const faults = isDNS1035Label(kind.toLowerCase())
  if (faults.length > 0) yield invalid(at.kind, `may have mixed case, but should otherwise match: ${faults.join(',')}`)
}

function* validateGroupVersion(text: string, at: Ref<string>): Iterable<FieldError> {
  const parts = text.split('/')
  if (parts.length > 2) return yield invalid(at, `unexpected GroupVersion string: ${text}`)
  const [version = '', group = ''] = parts.reverse()
  if (group !== '') yield* joined(withValue(at, group), isDNS1123Subdomain(group))
  if (version === '') yield invalid(at, 'version must be specified')
  else yield* joined(withValue(at, version), isDNS1035Label(version))
}

function* validateVariable({ name, expression }: Variable, at: Ref<Variable>): Iterable<FieldError> {
  if (isBlank(name)) yield required(at.name, 'name is not specified')
  else if (!IDENTIFIER.test(name) || RESERVED.has(name)) yield invalid(at.name, 'must be a valid CEL identifier')
  yield* validatePresence(expression, at.expression, 'expression is not specified')
}

/** One error with all messages about a string. */
function* joined(at: Ref<string>, faults: readonly string[]): Iterable<FieldError> {
  if (faults.length > 0) yield invalid(at, faults.join(','))
}

const IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/
const RESERVED = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
)
