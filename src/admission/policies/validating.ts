/** Validating policies: their expressions must hold for a request, or it is denied, warned about or audited. */
import type { Bindings } from '../../cel/runtime/program.ts'
import { monotonicMs } from '../../lib/environment.ts'
import type { Step } from '../../lib/step.ts'
import type { Budget } from '../../schema/budget.ts'
import { StatusError } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import { type ConditionsOutcome, evaluateConditions } from '../match-conditions.ts'
import type { Candidate, MatchIndex } from '../match-index.ts'
import type { AdmissionObserver, ExpressionError } from '../observer.ts'
import type { Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'
import { RequestVersions } from '../versions.ts'
import { type Evaluated, EvaluationPass, MAX_POLICY_COST, OutOfBudget } from './evaluation.ts'
import { concerned, type Invocation, invocationsOf, named, type PolicyParts, policyVariables } from './invocation.ts'
import type { AuditAnnotation, ValidatingPolicy, Validation } from './policy.ts'

export type ValidatingParts = PolicyParts & { readonly policies: () => MatchIndex<ValidatingPolicy> }

/** One failed validation, or the failure of an expression. */
type Denial = { readonly policy: string; readonly binding: string | undefined; readonly message: string; readonly reason: string }
type Decision = {
  readonly index: number
  readonly message: string
  readonly reason: string
  readonly errorType: ExpressionError
  /** Failures that the failure policy ignores are counted, and nothing else. */
  readonly isIgnored?: boolean
}

const MAX_AUDIT_VALUE = 10 * 1024
const MAX_AUDITED_FAILURES = 50

/** ValidatingAdmissionPolicy. */
export const validatingPolicyPlugin = (parts: ValidatingParts): Plugin => ({
  name: 'ValidatingAdmissionPolicy',
  explains: true,
  isIdle: () => parts.policies().isEmpty,
  validate(attributes) {
    const policies = concerned(parts.policies(), attributes, parts)
    if (policies.length > 0) return validateBy(policies, attributes, parts)
  },
})

/** Throws the error of the first denial, after all policies have been evaluated. */
function* validateBy(policies: readonly Candidate<ValidatingPolicy>[], attributes: Attributes, parts: ValidatingParts): Step<void> {
  const { namespace } = parts
  const { budget } = attributes.ctx
  const versions = new RequestVersions(attributes)
  const denials: Denial[] = []
  const audited: object[] = []
  const annotations = new Map<string, Set<string>>()
  for (const found of invocationsOf(policies, attributes, parts)) {
    const { policy, binding } = found
    if ('message' in found) {
      attributes.ctx.explanation?.add({
        ...named(policy, binding),
        outcome: policy.failsOpen ? 'failed and ignored' : 'failed',
        because: found.message,
      })
      if (!policy.failsOpen) denials.push({ policy: policy.name, binding: binding?.name, message: found.message, reason: 'Invalid' })
      continue
    }
    yield* policy.programs.prepare()
    const request = yield* versions.in(found.resource)
    for (const param of found.params) {
      const begun = monotonicMs()
      const early = policy.conditions.mayAuthorize
        ? undefined
        : yield* evaluateConditions(policy.conditions, policyVariables(request, param, { namespace }), budget)
      const { skippedBy, decisions, published, failedAnnotations } =
        early && early.outcome !== 'match'
          ? undecided(found, early)
          : yield* parts.expressions.evaluate(attributes, authorize =>
              evaluate(found, { bindings: policyVariables(request, param, { authorize, namespace }), budget, early }),
            )
      const seconds = (monotonicMs() - begun) / 1000
      countConditions(found, { skippedBy, decisions, attributes, observer: parts.observer })
      for (const decision of decisions) act(decision, found, { attributes, denials, audited, seconds, observer: parts.observer })
      for (const message of failedAnnotations) denials.push({ policy: policy.name, binding: binding!.name, message, reason: 'Invalid' })
      for (const [key, value] of published) {
        const name = `${policy.name}/${key}`
        annotations.set(name, (annotations.get(name) ?? new Set()).add(value))
      }
      attributes.ctx.explanation?.add(
        {
          ...named(policy, binding),
          ...(param && { param: [param.metadata.namespace, param.metadata.name].filter(Boolean).join('/') }),
          ...outcomeOf({ skippedBy, decisions, failedAnnotations, actions: binding!.actions }),
        },
        { since: begun },
      )
    }
  }
  for (const [key, values] of annotations) attributes.annotate(key, [...values].join(', '))
  if (audited.length > 0)
    attributes.annotate('validation.policy.admission.k8s.io/validation_failure', JSON.stringify(audited.slice(0, MAX_AUDITED_FAILURES)))
  if (denials.length > 0) throw denied(attributes, denials[0]!)
}

/** The evaluation for one parameter, as it is explained on request. */
function outcomeOf({
  skippedBy,
  decisions,
  failedAnnotations,
  actions,
}: Pick<Outcome, 'skippedBy' | 'decisions' | 'failedAnnotations'> & { readonly actions: readonly string[] }): Record<string, string> {
  if (skippedBy !== undefined) return { outcome: 'skipped', because: `matchCondition ${skippedBy}` }
  const because = [...decisions.map(({ message }) => message), ...failedAnnotations].join('; ')
  if (failedAnnotations.length > 0) return { outcome: 'rejected', because }
  if (decisions.length === 0) return { outcome: 'admitted' }
  if (decisions.every(({ isIgnored }) => isIgnored)) return { outcome: 'failed and ignored', because }
  return { outcome: actions.includes('Deny') ? 'rejected' : actions.map(action => ACTED[action] ?? action).join(' and '), because }
}
const ACTED: Readonly<Record<string, string>> = { Warn: 'warned', Audit: 'audited' }

/** Counts what match conditions decided. */
function countConditions(
  { policy }: Invocation<ValidatingPolicy>,
  {
    skippedBy,
    decisions,
    attributes,
    observer,
  }: { skippedBy: string | undefined; decisions: readonly Decision[]; attributes: Attributes; observer: AdmissionObserver },
): void {
  const about = { name: policy.name, kind: 'policy', type: 'validate', operation: attributes.operation } as const
  if (skippedBy !== undefined) observer.excludedByCondition(about)
  if (decisions.some(({ index }) => index === CONDITIONS)) observer.conditionFailed(about)
}

/** Takes the actions of a binding about a failed validation. */
function act(
  { index, message, reason, errorType, isIgnored }: Decision,
  { policy, binding }: Invocation<ValidatingPolicy>,
  {
    attributes,
    denials,
    audited,
    seconds,
    observer,
  }: { attributes: Attributes; denials: Denial[]; audited: object[]; seconds: number; observer: AdmissionObserver },
): void {
  const check = { policy: policy.name, binding: binding.name, errorType, seconds }
  if (isIgnored) observer.policyChecked({ ...check, action: 'allow' })
  for (const action of isIgnored ? [] : binding.actions) {
    if (action === 'Deny') {
      denials.push({ policy: policy.name, binding: binding.name, message, reason })
      observer.policyChecked({ ...check, action: 'deny' })
    }
    if (action === 'Warn') {
      attributes.warn(`Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`)
      observer.policyChecked({ ...check, action: 'warn' })
    }
    if (action === 'Audit') {
      const expressionIndex = Math.max(index, 0)
      audited.push({ message, policy: policy.name, binding: binding.name, expressionIndex, validationActions: binding.actions })
      observer.policyChecked({ ...check, action: 'audit' })
    }
  }
}

type Outcome = {
  /** The match condition that says that the policy is not about the request. */
  readonly skippedBy: string | undefined
  readonly decisions: readonly Decision[]
  readonly published: readonly (readonly [key: string, value: string])[]
  readonly failedAnnotations: readonly string[]
}
const NOTHING: Outcome = { skippedBy: undefined, decisions: [], published: [], failedAnnotations: [] }
/** Stands for the match conditions where validations have their index. */
const CONDITIONS = -1

const failed = (
  { policy }: Invocation<ValidatingPolicy>,
  { index, message, errorType }: Pick<Decision, 'index' | 'message' | 'errorType'>,
): Decision => ({ index, message, reason: 'Invalid', errorType, isIgnored: policy.failsOpen })

/** The outcome of conditions that do not let a policy be evaluated. */
const undecided = (invocation: Invocation<ValidatingPolicy>, matched: Exclude<ConditionsOutcome, { outcome: 'match' }>): Outcome =>
  matched.outcome === 'no-match'
    ? { ...NOTHING, skippedBy: matched.condition }
    : { ...NOTHING, decisions: [failed(invocation, { index: CONDITIONS, message: matched.message, errorType: 'invalid_error' })] }

/** The bindings of expressions, the work of the request, and the outcome of the conditions where they were evaluated before. */
type Evaluation = { readonly bindings: Bindings; readonly budget: Budget; readonly early: ConditionsOutcome | undefined }

/** Evaluates a policy for one parameter. Failures count as denials unless the policy fails open. Others may run after each expression. */
function* evaluate(invocation: Invocation<ValidatingPolicy>, { bindings, budget, early }: Evaluation): Step<Outcome> {
  const { policy } = invocation
  const matched = early ?? (yield* evaluateConditions(policy.conditions, bindings, budget))
  const newPass = (maxCost: number) => new EvaluationPass(bindings, policy.variables, { maxCost, work: budget })
  if (matched.outcome !== 'match') return undecided(invocation, matched)
  try {
    const validations = newPass(MAX_POLICY_COST)
    const results: Evaluated[] = []
    for (const validation of policy.validations) {
      results.push(validations.evaluate(validation))
      yield
    }
    const messages = newPass(validations.remaining)
    const decisions: Decision[] = []
    for (const [index, result] of results.entries()) {
      if ('error' in result) decisions.push(failed(invocation, { index, message: result.error, errorType: result.type }))
      else if (result.value !== true) {
        const validation = policy.validations[index]!
        decisions.push({ index, message: messageOf(validation, messages), reason: validation.reason, errorType: 'no_error' })
        yield
      }
    }
    const { published, failedAnnotations } = yield* annotate(policy, newPass(MAX_POLICY_COST))
    return { skippedBy: undefined, decisions, published, failedAnnotations }
  } catch (error) {
    if (error instanceof OutOfBudget)
      return { ...NOTHING, decisions: [failed(invocation, { index: 0, message: error.message, errorType: 'out_of_budget' })] }
    throw error
  }
}

/** The longest message that an expression may give, in bytes. */
const MAX_MESSAGE = 5 * 1024

function messageOf({ text, message, messageExpression }: Validation, pass: EvaluationPass): string {
  const evaluated = messageExpression && pass.evaluate(messageExpression)
  const own = evaluated && 'value' in evaluated && typeof evaluated.value === 'string' ? evaluated.value.trim() : ''
  if (own !== '' && !own.includes('\n') && Buffer.byteLength(own) <= MAX_MESSAGE) return own
  return message.trim() || `failed expression: ${text.trim()}`
}

function* annotate(
  { auditAnnotations, failsOpen }: ValidatingPolicy,
  pass: EvaluationPass,
): Step<Pick<Outcome, 'published' | 'failedAnnotations'>> {
  const published: (readonly [string, string])[] = []
  const failedAnnotations: string[] = []
  for (const annotation of auditAnnotations) {
    const result = pass.evaluate(annotation)
    yield
    if ('error' in result) {
      if (!failsOpen) failedAnnotations.push(result.error)
    } else if (typeof result.value === 'string') {
      const value = result.value.trim()
      if (value !== '') published.push([annotation.key, truncated(value)])
    } else if (result.value !== null) failedAnnotations.push(unsupportedValue(annotation))
  }
  return { published, failedAnnotations }
}

const truncated = (value: string): string => (value.length > MAX_AUDIT_VALUE ? value.slice(0, MAX_AUDIT_VALUE) : value)
const unsupportedValue = ({ text }: AuditAnnotation): string =>
  `valueExpression '${text}' resulted in unsupported return type. Return type must be either string or null.`

const CODES: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 }

function denied(attributes: Attributes, { policy, binding, message, reason }: Denial): StatusError {
  const text =
    binding === undefined
      ? `ValidatingAdmissionPolicy '${policy}' denied request: ${message}`
      : `ValidatingAdmissionPolicy '${policy}' with binding '${binding}' denied request: ${message}`
  const { message: whole, details } = forbidden(attributes, text)
  return new StatusError(CODES[reason] ?? 422, reason, whole, { ...details, causes: [{ message: text }] })
}
