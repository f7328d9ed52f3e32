/** Validating policies: their expressions must hold for a request, or it is denied, warned about or audited. */
import type { Bindings } from '../../cel/runtime/program.ts'
import { StatusError } from '../../schema/status-error.ts'
import { evaluateConditions } from '../match-conditions.ts'
import { isExemptFromPolicies, type MatchIndex } from '../matching.ts'
import type { Attributes, Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'
import { inVersion } from '../versions.ts'
import { EvaluationPass, OutOfBudget, POLICY_BUDGET } from './evaluation.ts'
import { type Invocation, invocationsOf, type PolicyParts, policyVariables } from './invocation.ts'
import type { AuditAnnotation, ValidatingPolicy, Validation } from './policy.ts'

export type ValidatingParts = PolicyParts & { readonly policies: () => MatchIndex<ValidatingPolicy> }

/** One failed validation, or the failure of an expression. */
type Denial = { readonly policy: string; readonly binding: string | undefined; readonly message: string; readonly reason: string }
type Decision = { readonly index: number; readonly message: string; readonly reason: string }

const MAX_AUDIT_VALUE = 10 * 1024
const MAX_AUDITED_FAILURES = 50

/** ValidatingAdmissionPolicy. */
export const validatingPolicyPlugin = (parts: ValidatingParts): Plugin => ({
  name: 'ValidatingAdmissionPolicy',
  validate(attributes) {
    const policies = parts.policies().candidates(attributes)
    if (policies.length > 0 && !isExemptFromPolicies(attributes)) return validateBy(policies, attributes, parts)
  },
})

/** Throws what the first denial rejects the request with, after all policies have been evaluated. */
async function validateBy(policies: readonly ValidatingPolicy[], attributes: Attributes, parts: ValidatingParts): Promise<void> {
  const denials: Denial[] = []
  const audited: object[] = []
  const annotations = new Map<string, Set<string>>()
  for (const found of invocationsOf(policies, attributes, parts)) {
    const { policy, binding } = found
    if ('message' in found) {
      if (!policy.failsOpen) denials.push({ policy: policy.name, binding: binding?.name, message: found.message, reason: 'Invalid' })
      continue
    }
    const request = await inVersion(attributes, found.resource)
    for (const param of found.params) {
      const { decisions, published, failedAnnotations } = await parts.expressions.evaluate(attributes, authorize =>
        evaluate(found, policyVariables(request, param, { authorize, namespace: parts.namespace })),
      )
      for (const decision of decisions) act(decision, found, { attributes, denials, audited })
      for (const message of failedAnnotations) denials.push({ policy: policy.name, binding: binding!.name, message, reason: 'Invalid' })
      for (const [key, value] of published) {
        const name = `${policy.name}/${key}`
        annotations.set(name, (annotations.get(name) ?? new Set()).add(value))
      }
      parts.observer.explain(attributes, {
        policy: policy.name,
        binding: binding!.name,
        outcome: decisions.length === 0 ? 'admitted' : `failed: ${decisions[0]!.message}`,
      })
    }
  }
  for (const [key, values] of annotations) attributes.annotate(key, [...values].join(', '))
  if (audited.length > 0)
    attributes.annotate('validation.policy.admission.k8s.io/validation_failure', JSON.stringify(audited.slice(0, MAX_AUDITED_FAILURES)))
  if (denials.length > 0) throw denied(attributes, denials[0]!)
}

/** What a binding does about a failed validation. */
function act(
  { index, message, reason }: Decision,
  { policy, binding }: Invocation<ValidatingPolicy>,
  { attributes, denials, audited }: { attributes: Attributes; denials: Denial[]; audited: object[] },
): void {
  for (const action of binding.actions) {
    if (action === 'Deny') denials.push({ policy: policy.name, binding: binding.name, message, reason })
    if (action === 'Warn')
      attributes.warn(`Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`)
    if (action === 'Audit')
      audited.push({ message, policy: policy.name, binding: binding.name, expressionIndex: index, validationActions: binding.actions })
  }
}

type Outcome = {
  readonly decisions: readonly Decision[]
  readonly published: readonly (readonly [key: string, value: string])[]
  readonly failedAnnotations: readonly string[]
}
const NOTHING: Outcome = { decisions: [], published: [], failedAnnotations: [] }

/** Evaluates a policy for one parameter. Failures count as denials unless the policy fails open. */
function evaluate({ policy }: Invocation<ValidatingPolicy>, bindings: Bindings): Outcome {
  const failed = (message: string): Outcome =>
    policy.failsOpen ? NOTHING : { ...NOTHING, decisions: [{ index: 0, message, reason: 'Invalid' }] }
  const matched = evaluateConditions(policy.conditions, bindings)
  if (matched.outcome === 'no-match') return NOTHING
  if (matched.outcome === 'error') return failed(matched.message)
  try {
    const validations = new EvaluationPass(bindings, policy.variables, POLICY_BUDGET)
    const results = policy.validations.map(validation => ({ validation, result: validations.evaluate(validation) }))
    const messages = new EvaluationPass(bindings, policy.variables, validations.remaining)
    const decisions = results.flatMap(({ validation, result }, index): Decision[] => {
      if ('error' in result) return policy.failsOpen ? [] : [{ index, message: result.error, reason: 'Invalid' }]
      if (result.value === true) return []
      return [{ index, message: messageOf(validation, messages), reason: validation.reason }]
    })
    const { published, failedAnnotations } = annotate(policy, new EvaluationPass(bindings, policy.variables, POLICY_BUDGET))
    return { decisions, published, failedAnnotations }
  } catch (error) {
    if (error instanceof OutOfBudget) return failed(error.message)
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

function annotate({ auditAnnotations, failsOpen }: ValidatingPolicy, pass: EvaluationPass): Omit<Outcome, 'decisions'> {
  const published: (readonly [string, string])[] = []
  const failedAnnotations: string[] = []
  for (const annotation of auditAnnotations) {
    const result = pass.evaluate(annotation)
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
