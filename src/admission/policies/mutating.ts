/** Mutating policies: their expressions give patches, which are made to the object one after the other. */

import { JsonPatchOperation, PartialObject, typeNameProblems } from '../../cel/kubernetes/patch-types.ts'
import type { Bindings } from '../../cel/runtime/program.ts'
import { CelList, elementsOf } from '../../cel/runtime/values.ts'
import { monotonicMs } from '../../lib/environment.ts'
import { deepEqual, type Json, type JsonObject } from '../../lib/json-value.ts'
import type { Step } from '../../lib/step.ts'
import { applyJsonPatch, PatchError, type PatchOperation, PatchTestError } from '../../patch/json-patch.ts'
import { typedErrors, typedErrorText } from '../../patch/typed-errors.ts'
import { atomicParts, mergeApplied } from '../../patch/typed-merge.ts'
import type { Budget } from '../../schema/budget.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import { internalError, StatusError } from '../../schema/status-error.ts'
import { type Attributes, UnreadableDocument, UnsuitableKind } from '../attributes.ts'
import { type ConditionsOutcome, evaluateConditions } from '../match-conditions.ts'
import type { Candidate, MatchIndex } from '../match-index.ts'
import type { ExpressionError } from '../observer.ts'
import type { Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'
import type { Rounds } from '../reinvocation.ts'
import { RequestVersions } from '../versions.ts'
import { toJson, toTypedJson } from './cel-json.ts'
import { EvaluationPass, MAX_POLICY_COST, OutOfBudget } from './evaluation.ts'
import {
  type ConfigurationFault,
  concerned,
  type Invocation,
  invocationsOf,
  named,
  type PolicyParts,
  policyVariables,
} from './invocation.ts'
import type { MutatingPolicy, Mutation } from './policy.ts'

export type MutatingParts = PolicyParts & { readonly policies: () => MatchIndex<MutatingPolicy> }

/** A mutation cannot be made; the failure policy decides about the request. */
class MutationError extends Error {
  readonly type: ExpressionError

  constructor(message: string, type: ExpressionError = 'invalid_error') {
    super(message)
    this.type = type
  }
}

type Fault = ConfigurationFault<MutatingPolicy> & { readonly reason: 'Invalid' | 'Forbidden' }

/** MutatingAdmissionPolicy. */
export const mutatingPolicyPlugin = (parts: MutatingParts): Plugin => ({
  name: 'MutatingAdmissionPolicy',
  explains: true,
  isIdle: () => parts.policies().isEmpty,
  *mutate(attributes, reinvocation) {
    if (attributes.operation === 'DELETE') return
    const policies = concerned(parts.policies(), attributes, parts)
    if (policies.length === 0) return
    if (yield* mutateBy(policies, attributes, { rounds: reinvocation.policies, parts })) reinvocation.request()
  },
})

/** Whether the object was changed. Throws the error of a policy that failed and does not fail open. */
function* mutateBy(
  policies: readonly Candidate<MutatingPolicy>[],
  attributes: Attributes,
  { rounds, parts }: { readonly rounds: Rounds; readonly parts: MutatingParts },
): Step<boolean> {
  rounds.begin(attributes.object)
  const faults: Fault[] = []
  const versions = new RequestVersions(attributes)
  let changed = false
  for (const found of [...invocationsOf(policies, attributes, parts)]) {
    if ('message' in found) {
      explainFault(attributes, found)
      faults.push({ ...found, reason: 'Forbidden' })
    } else
      for (const param of found.params) {
        const id = `${found.policy.name}/${found.binding.name}/${param?.metadata.namespace ?? ''}/${param?.metadata.name ?? ''}`
        if (rounds.skips(id)) continue
        if (yield* mutate(found, param, { attributes, versions, parts, faults })) {
          changed = true
          rounds.changed()
        }
        if (found.policy.isReinvoked) rounds.invoked(id)
      }
  }
  // A policy is asked again also about its own changes.
  if (changed) rounds.changed()
  rounds.end(attributes.object)
  const counted = faults.filter(({ policy }) => !policy.failsOpen)
  if (counted.length > 0) throw denied(attributes, counted)
  return changed
}

const MATCHED: ConditionsOutcome = { outcome: 'match' }

/** Makes the mutations of one policy for one parameter; each sees the changes of the one before it. */
function* mutate(
  invocation: Invocation<MutatingPolicy>,
  param: AnyObject | null,
  { attributes, versions, parts, faults }: { attributes: Attributes; versions: RequestVersions; parts: MutatingParts; faults: Fault[] },
): Step<boolean> {
  const { policy, binding, resource } = invocation
  const { budget } = attributes.ctx
  const { observer } = parts
  const begun = monotonicMs()
  const count = (errorType: ExpressionError) =>
    observer.policyMutated({ policy: policy.name, binding: binding.name, errorType, seconds: (monotonicMs() - begun) / 1000 })
  const fail = (message: string, type: ExpressionError) => {
    const fault = { policy, binding, message, reason: 'Invalid' } as const
    explainFault(attributes, fault)
    count(type)
    faults.push(fault)
  }
  const evaluate = function* <T>(evaluation: (bindings: Bindings) => Step<T>): Step<T> {
    const request = yield* versions.in(resource)
    return yield* parts.expressions.evaluate(attributes, authorize =>
      evaluation(policyVariables(request, param, { authorize, namespace: parts.namespace })),
    )
  }
  yield* policy.programs.prepare()
  const matched =
    policy.conditions.all.length === 0 ? MATCHED : yield* evaluate(bindings => evaluateConditions(policy.conditions, bindings, budget))
  const about = { name: policy.name, kind: 'policy', type: 'validate', operation: attributes.operation } as const
  if (matched.outcome === 'no-match') {
    observer.excludedByCondition(about)
    attributes.ctx.explanation?.add({ ...named(policy, binding), outcome: 'skipped', because: `matchCondition ${matched.condition}` })
  }
  if (matched.outcome === 'error') {
    observer.conditionFailed(about)
    fail(matched.message, 'invalid_error')
  }
  if (matched.outcome !== 'match') return false
  const before = attributes.object
  for (const mutation of policy.mutations) {
    if (!attributes.object) break
    try {
      const { object } = yield* versions.in(resource)
      const target = { object: object!, resource: targetOf(attributes, resource), isDeclared: isDeclared(attributes), budget }
      const document = yield* evaluate(bindings => patched(mutation, policy, { ...target, bindings }))
      const reading = mutation.patchType === 'JSONPatch' ? 'strict' : 'merged'
      if (document !== undefined) attributes.object = yield* attributes.decode(document, resource, reading)
    } catch (error) {
      if (error instanceof MutationError) fail(error.message, error.type)
      else if (error instanceof UnreadableDocument) fail(error.message, 'invalid_error')
      else if (error instanceof UnsuitableKind) fail(unsuitable(error, attributes), 'invalid_error')
      else if (error instanceof OutOfBudget) fail(error.message, 'out_of_budget')
      else throw error
    }
  }
  const changed = !deepEqual(before, attributes.object)
  if (!faults.some(fault => fault.binding === binding)) count('no_error')
  const details = { since: begun, before, after: attributes.object }
  attributes.ctx.explanation?.add({ ...named(policy, binding), outcome: changed ? 'mutated' : 'unchanged' }, details)
  return changed
}

function explainFault({ ctx }: Attributes, { policy, binding, message }: ConfigurationFault<MutatingPolicy>): void {
  ctx.explanation?.add({ ...named(policy, binding), outcome: policy.failsOpen ? 'failed and ignored' : 'rejected', because: message })
}

/** The kind of the object: that of the resource in the version of the policy, or that of the subresource. */
const targetOf = (attributes: Attributes, resource: Resource): Resource =>
  attributes.kind === attributes.resource ? resource : attributes.kind

/** Whether the kind is among those that the documents of its own version describe: the bodies of most subresources are not. */
const isDeclared = ({ operation, kind, resource }: Attributes): boolean =>
  kind === resource || (operation !== 'CONNECT' && kind.apiVersion === resource.apiVersion)

/** Why a document of another kind is refused: as the fault of the policy, or, where only the request finds out, as an error of the server. */
function unsuitable({ message, isOfOtherVersion, type }: UnsuitableKind, { kind }: Attributes): string {
  if (isOfOtherVersion && !kind.def.custom)
    return `${type} is not suitable for converting to ${JSON.stringify(kind.apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`
  throw internalError(`failed to convert object: ${message}`)
}

type Target = {
  readonly object: AnyObject
  readonly resource: Resource
  readonly isDeclared: boolean
  readonly bindings: Bindings
  readonly budget: Budget
}

/** The changed document; undefined when a test in a JSON patch says that it is not to be changed. */
function* patched(mutation: Mutation, policy: MutatingPolicy, target: Target): Step<Json | undefined> {
  const { object, resource, bindings, budget } = target
  const result = new EvaluationPass(bindings, policy.variables, { maxCost: MAX_POLICY_COST, work: budget }).evaluate(mutation)
  yield
  if ('error' in result) throw new MutationError(result.error, result.type)
  const { value } = result
  if (mutation.patchType === 'JSONPatch') return yield* patchedByOperations(object, operationsOf(value))
  if (!(value instanceof PartialObject)) throw new MutationError('unsupported return type from ApplyConfiguration expression')
  checkTypeNames(value)
  const typed = { apiVersion: object.apiVersion, kind: object.kind }
  const faults = target.isDeclared
    ? typedErrors(resource.type, { ...(toTypedJson(value) as JsonObject), ...typed })
    : [{ path: '', message: `no corresponding type for ${resource.group}/${resource.version}, Kind=${resource.kind}` }]
  if (faults.length > 0)
    throw new MutationError(`error applying patch: failed to convert patch object to typed object: ${typedErrorText(faults)}`)
  const applied = { ...(toJson(value) as JsonObject), ...typed }
  const atomics = atomicParts(resource.type, applied)
  if (atomics.length > 0)
    throw new MutationError(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`,
    )
  return mergeApplied(resource.type, object as unknown as Json, applied)
}

function checkTypeNames(object: PartialObject): void {
  const problems = typeNameProblems(object)
  if (problems.length > 0) throw new MutationError(`type mismatch: ${problems.join('\n')}`)
}

function operationsOf(value: unknown): PatchOperation[] {
  if (!(value instanceof CelList)) throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array')
  return [...elementsOf(value)].map(element => {
    if (!(element instanceof JsonPatchOperation))
      throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch')
    const { fields } = element
    const given = fields.get('value')
    if (given instanceof PartialObject) checkTypeNames(given)
    const from = fields.get('from')
    return {
      op: String(fields.get('op') ?? ''),
      path: String(fields.get('path') ?? ''),
      ...(typeof from === 'string' && from !== '' && { from }),
      ...(given !== undefined && { value: toJson(given) }),
    } as PatchOperation
  })
}

function* patchedByOperations(object: AnyObject, operations: readonly PatchOperation[]): Step<Json | undefined> {
  try {
    return yield* applyJsonPatch(object as unknown as Json, operations)
  } catch (error) {
    if (error instanceof PatchTestError) return undefined
    if (error instanceof PatchError) throw new MutationError(`JSON Patch: ${error.message}`)
    throw error
  }
}

function denied(attributes: Attributes, faults: readonly Fault[]): StatusError {
  const textOf = ({ policy, binding, message }: Fault) =>
    binding
      ? `policy '${policy.name}' with binding '${binding.name}' denied request: ${message}`
      : `policy ${JSON.stringify(policy.name)} denied request: ${message}`
  const { details } = forbidden(attributes, '')
  return new StatusError(403, faults[0]!.reason, textOf(faults[0]!), {
    ...details,
    causes: faults.map(fault => ({ message: textOf(fault) })),
  })
}
