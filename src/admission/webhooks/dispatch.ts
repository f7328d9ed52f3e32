/** Calls the webhooks that match a request: mutating ones one after the other, validating ones all at once. */
import { JsonError, parseJson } from '../../codec/json.ts'
import { monotonicMs } from '../../lib/environment.ts'
import { deepEqual, type Json } from '../../lib/json-value.ts'
import { type Step, waitFor } from '../../lib/step.ts'
import { applyJsonPatch, decodeJsonPatch, PatchError, type PatchOperation } from '../../patch/json-patch.ts'
import type { Explanation } from '../../schema/explanation.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { internalError, StatusError, timedOut } from '../../schema/status-error.ts'
import { type Attributes, UnsuitableKind } from '../attributes.ts'
import type { ExpressionAuthorizer } from '../cel-authorizer.ts'
import { requestVariables, type VersionedRequest } from '../expression-variables.ts'
import { type Conditions, type ConditionsOutcome, evaluateConditions } from '../match-conditions.ts'
import type { Candidate, MatchIndex } from '../match-index.ts'
import { exemptionFromWebhooks, withoutExempt } from '../matching.ts'
import type { AdmissionObserver } from '../observer.ts'
import type { Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'
import type { Rounds } from '../reinvocation.ts'
import { RequestVersions } from '../versions.ts'
import { type CallOutcome, type CallParts, callWebhook } from './call.ts'
import type { ReviewResponse } from './review.ts'
import type { Webhook } from './webhook.ts'

export type WebhookParts = CallParts & {
  readonly namespace: (name: string) => AnyObject | undefined
  readonly expressions: ExpressionAuthorizer
  readonly observer: AdmissionObserver
  /** The webhooks in force now, in the order in which they are called. */
  readonly mutating: () => MatchIndex<Webhook>
  readonly validating: () => MatchIndex<Webhook>
}

type Matched = { readonly webhook: Webhook; readonly request: VersionedRequest }

/** MutatingAdmissionWebhook: each webhook sees what those before it changed. */
export const mutatingWebhooks = (parts: WebhookParts): Plugin => ({
  name: 'MutatingAdmissionWebhook',
  explains: true,
  isIdle: () => parts.mutating().isEmpty,
  *mutate(attributes, reinvocation) {
    const webhooks = parts.mutating()
    if (concerned(webhooks, attributes, parts).length === 0) return
    if (yield* callMutating(webhooks, attributes, { rounds: reinvocation.webhooks, parts })) reinvocation.request()
  },
})

/** ValidatingAdmissionWebhook: all are asked at once. */
export const validatingWebhooks = (parts: WebhookParts): Plugin => ({
  name: 'ValidatingAdmissionWebhook',
  explains: true,
  isIdle: () => parts.validating().isEmpty,
  *validate(attributes) {
    const webhooks = concerned(parts.validating(), attributes, parts)
    if (webhooks.length === 0) return
    const begun = monotonicMs()
    try {
      yield* callValidating(webhooks, attributes, parts)
    } finally {
      attributes.ctx.stopwatch?.waitedFor(monotonicMs() - begun)
    }
  },
})

/** The webhooks that match, but for their conditions; those whose rules may match, where all that happens is to be explained. */
function concerned(
  webhooks: MatchIndex<Webhook>,
  attributes: Attributes,
  { namespace }: Pick<WebhookParts, 'namespace'>,
): readonly Candidate<Webhook>[] {
  const { explanation } = attributes.ctx
  if (explanation) return explainedCandidates(webhooks, attributes, explanation)
  return candidatesOf(webhooks, attributes, namespace).filter(({ item, rules }) => item.matcher.match(attributes, namespace, rules).matches)
}

/** The webhooks whose rules and labels may match, and from which the request is not exempt. */
function candidatesOf(
  webhooks: MatchIndex<Webhook>,
  attributes: Attributes,
  namespace: WebhookParts['namespace'],
): readonly Candidate<Webhook>[] {
  const candidates = attributes.ctx.explanation ? webhooks.byRules(attributes) : webhooks.byLabels(attributes, namespace)
  return candidates.length === 0 ? candidates : withoutExempt(candidates, exemptionFromWebhooks(attributes)).concerned
}

function explainedCandidates(
  webhooks: MatchIndex<Webhook>,
  attributes: Attributes,
  explanation: Explanation,
): readonly Candidate<Webhook>[] {
  const { concerned, exempt } = withoutExempt(webhooks.byRules(attributes), exemptionFromWebhooks(attributes))
  for (const { item } of exempt) explanation.add({ ...named(item), outcome: 'skipped', because: 'the resource is exempt' })
  for (const webhook of webhooks.others(attributes)) explanation.addUnrelated({ ...named(webhook), outcome: 'skipped', because: 'rules' })
  return concerned
}

/** How an explanation names a webhook. */
const named = ({ name, configuration }: Webhook) => ({ webhook: name, configuration })

/** Whether the object was changed. Throws the StatusError of the first webhook that rejects. */
function* callMutating(
  index: MatchIndex<Webhook>,
  attributes: Attributes,
  { rounds, parts }: { readonly rounds: Rounds; readonly parts: WebhookParts },
): Step<boolean> {
  rounds.begin(attributes.object)
  const requests = new MatchedRequests(attributes, 'admit', parts)
  // A change of labels may make a later webhook select the object.
  const candidatesNow = () => candidatesOf(index, attributes, parts.namespace)
  let candidates = candidatesNow()
  let changed = false
  for (let i = 0; i < candidates.length; i++) {
    const { item: webhook, position } = candidates[i]!
    if (rounds.skips(webhook.id)) continue
    const request = yield* requests.match(candidates[i]!)
    if (!request) continue
    const isChanged = yield* mutate({ webhook, request }, { round: rounds.round, index: position, parts })
    if (isChanged) {
      changed = true
      rounds.changed()
      candidates = candidatesNow()
      i = candidates.findLastIndex(candidate => candidate.position <= position)
    }
    if (webhook.isReinvoked) rounds.invoked(webhook.id)
  }
  rounds.end(attributes.object)
  return changed
}

function* mutate(
  { webhook, request }: Matched,
  { round, index, parts }: { round: 0 | 1; index: number; parts: WebhookParts },
): Step<boolean> {
  const { attributes } = request
  const { observer } = parts
  const note = (changed: boolean) => {
    const { configuration, name } = webhook
    attributes.annotate(
      `mutation.webhook.admission.k8s.io/round_${round}_index_${index}`,
      JSON.stringify({ configuration, webhook: name, mutated: changed }),
    )
  }
  const since = monotonicMs()
  const outcome = yield* waitFor(timedCall({ webhook, request }, { type: 'admit', parts }))
  if (outcome.outcome !== 'allowed') {
    if (outcome.outcome === 'failed' && webhook.failsOpen)
      attributes.annotate(`failed-open.mutation.webhook.admission.k8s.io/round_${round}_index_${index}`, webhook.name)
    note(false)
    settleFailure(webhook, outcome, { attributes, type: 'admit', observer, since })
    return false
  }
  const before = attributes.object
  const { patch, patchType } = outcome.response
  const patched = patch !== '' && (yield* applyPatch(patch, { patchType, webhook, request, observer, since }))
  if (patched) notePatch(attributes, { patch, webhook, round, index })
  note(patched)
  const details = { since, before, after: attributes.object }
  attributes.ctx.explanation?.add({ ...named(webhook), outcome: patched ? 'mutated' : 'allowed' }, details)
  return patched
}

/** Records the patch of a webhook in the audit, where bodies are recorded. */
function notePatch(
  attributes: Attributes,
  { patch, webhook: { configuration, name }, round, index }: { patch: string; webhook: Webhook; round: 0 | 1; index: number },
): void {
  const value = JSON.stringify({ configuration, webhook: name, patch: JSON.parse(patch), patchType: 'JSONPatch' })
  attributes.annotate(`patch.webhook.admission.k8s.io/round_${round}_index_${index}`, value, 'Request')
}

/** The object with the patch of a webhook made to it, decoded and with defaults. Throws when it cannot be applied. */
function* applyPatch(
  patch: string,
  {
    patchType,
    webhook,
    request,
    observer,
    since,
  }: { patchType: string; webhook: Webhook; request: VersionedRequest; observer: AdmissionObserver; since: number },
): Step<boolean> {
  const { attributes, object } = request
  const failed = (why: string) => ({
    outcome: 'failed' as const,
    message: `failed calling webhook "${webhook.name}": ${why}`,
    code: 503,
  })
  let operations: readonly PatchOperation[]
  try {
    operations = decodeJsonPatch(parseJson(patch).value)
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof PatchError)) throw error
    settleFailure(webhook, failed(`received undecodable patch in webhook response: ${error.message}`), {
      attributes,
      type: 'admit',
      observer,
      since,
    })
    return false
  }
  if (operations.length === 0) return false
  if (!object)
    throw internalError(
      `admission webhook ${JSON.stringify(webhook.name)} attempted to modify the object, which is not supported for this operation`,
    )
  if (patchType !== 'JSONPatch') {
    settleFailure(webhook, failed(`unsupported patch type ${JSON.stringify(patchType)}`), { attributes, type: 'admit', observer, since })
    return false
  }
  let document: Json
  try {
    document = yield* applyJsonPatch(object as unknown as Json, operations)
  } catch (error) {
    if (error instanceof PatchError) throw internalError(error.message)
    throw error
  }
  const next = yield* decodePatched(document, request)
  const changed = !deepEqual(next, attributes.object)
  attributes.object = next
  return changed
}

function* decodePatched(document: Json, { attributes, resource }: VersionedRequest): Step<AnyObject> {
  try {
    return yield* attributes.decode(document, resource)
  } catch (error) {
    if (error instanceof UnsuitableKind) throw new StatusError(500, '', error.message)
    throw error
  }
}

/** Throws the error of the first webhook that rejects. */
function* callValidating(webhooks: readonly Candidate<Webhook>[], attributes: Attributes, parts: WebhookParts): Step<void> {
  const requests = new MatchedRequests(attributes, 'validating', parts)
  const matched: Matched[] = []
  for (const candidate of webhooks) {
    const request = yield* requests.match(candidate)
    if (request) matched.push({ webhook: candidate.item, request })
  }
  const failures = yield* waitFor(Promise.all(matched.map((each, index) => validate(each, { index, parts }))))
  const first = failures.find(failure => failure !== undefined)
  if (first) throw first
}

async function validate(
  { webhook, request }: Matched,
  { index, parts }: { index: number; parts: WebhookParts },
): Promise<Error | undefined> {
  const { attributes } = request
  const since = monotonicMs()
  const outcome = await timedCall({ webhook, request }, { type: 'validating', parts })
  if (outcome.outcome === 'allowed') {
    attributes.ctx.explanation?.add({ ...named(webhook), outcome: 'allowed' }, { since })
    return undefined
  }
  if (outcome.outcome === 'failed' && webhook.failsOpen)
    attributes.annotate(`failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`, webhook.name)
  try {
    settleFailure(webhook, outcome, { attributes, type: 'validating', observer: parts.observer, since })
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** Throws unless the failure policy lets the request through. */
function settleFailure(
  webhook: Webhook,
  outcome: Exclude<CallOutcome, { outcome: 'allowed' }>,
  {
    attributes,
    type,
    observer,
    since,
  }: { attributes: Attributes; type: 'admit' | 'validating'; observer: AdmissionObserver; since: number },
): void {
  const { name, failsOpen } = webhook
  const { operation, ctx } = attributes
  if (outcome.outcome === 'rejected') {
    ctx.explanation?.add({ ...named(webhook), outcome: 'rejected', because: outcome.error.message }, { since })
    // A request that is rejected without an answer, as a dry run for a webhook with side effects, is rejected by the server itself.
    const errorType = outcome.response ? 'no_error' : 'apiserver_internal_error'
    observer.webhookRejected({ name, type, operation, errorType, code: codeOf(outcome) })
    throw outcome.error
  }
  ctx.explanation?.add({ ...named(webhook), outcome: failsOpen ? 'failed and ignored' : 'failed', because: outcome.message }, { since })
  if (failsOpen) {
    observer.webhookFailedOpen({ name, type, message: outcome.message })
    if (attributes.signal.aborted) throw timedOut('Timeout: request did not complete within requested timeout')
    return
  }
  observer.webhookRejected({ name, type, operation, errorType: 'calling_webhook_error', code: outcome.code })
  throw internalError(outcome.message)
}

/** The code that metrics show: that of the answer, and 0 where the server itself rejected the request. */
function codeOf(outcome: CallOutcome): number {
  if (outcome.outcome === 'allowed') return 200
  if (outcome.outcome === 'failed') return outcome.code
  return outcome.response ? outcome.error.code : 0
}

async function timedCall(
  { webhook, request }: Matched,
  { type, parts }: { type: 'admit' | 'validating'; parts: WebhookParts },
): Promise<CallOutcome> {
  const { attributes } = request
  const begun = monotonicMs()
  const traced = attributes.ctx.stopwatch?.trace?.call(`Call ${type === 'admit' ? 'mutating' : 'validating'} webhook`, {
    configuration: webhook.configuration,
    webhook: webhook.name,
    resource: attributes.resource.plural,
    subresource: attributes.subresource,
    operation: attributes.operation,
  })
  const outcome = await callWebhook(webhook, request, {
    isMutating: type === 'admit',
    signal: attributes.signal,
    headers: traced?.headers,
    parts,
  })
  traced?.end(outcome.outcome === 'failed' ? outcome.message : undefined)
  const rejected = outcome.outcome === 'rejected' || (outcome.outcome === 'failed' && !webhook.failsOpen)
  const seconds = (monotonicMs() - begun) / 1000
  if (type === 'admit') attributes.ctx.stopwatch?.waitedFor(1000 * seconds)
  parts.observer.webhookCalled({ name: webhook.name, type, operation: attributes.operation, rejected, code: codeOf(outcome), seconds })
  if (outcome.outcome !== 'failed' && outcome.response) report(webhook, outcome.response, attributes)
  return outcome
}

/** Warnings reach the client also when the request is rejected. */
function report({ name }: Webhook, { warnings, auditAnnotations }: ReviewResponse, attributes: Attributes): void {
  for (const warning of warnings) attributes.warn(warning)
  for (const [key, value] of Object.entries(auditAnnotations)) attributes.annotate(`${name}/${key}`, value)
}

/** One request as the webhooks that match it see it; conversions and conditions that several of them share are worked out once. */
class MatchedRequests {
  readonly #attributes: Attributes
  readonly #type: 'admit' | 'validating'
  readonly #parts: WebhookParts
  readonly #versions: RequestVersions
  readonly #decided = new WeakMap<VersionedRequest, Map<Conditions, ConditionsOutcome>>()

  constructor(attributes: Attributes, type: 'admit' | 'validating', parts: WebhookParts) {
    this.#attributes = attributes
    this.#type = type
    this.#parts = parts
    this.#versions = new RequestVersions(attributes)
  }

  /** The request in the version for which a webhook is registered; undefined when the webhook is not about it. */
  *match({ item: webhook, rules }: Candidate<Webhook>): Step<VersionedRequest | undefined> {
    const match = webhook.matcher.match(this.#attributes, this.#parts.namespace, rules)
    if (!match.matches) {
      this.#attributes.ctx.explanation?.add({ ...named(webhook), outcome: 'skipped', because: match.because })
      return undefined
    }
    const request = yield* this.#versions.in(match.resource)
    if (webhook.conditions.all.length === 0) return request
    return this.#settle(webhook, request, yield* this.#decide(webhook, request))
  }

  *#decide({ conditions }: Webhook, request: VersionedRequest): Step<ConditionsOutcome> {
    let decided = this.#decided.get(request)
    if (!decided) this.#decided.set(request, (decided = new Map()))
    const known = decided.get(conditions)
    if (known) return known
    yield* conditions.programs.prepare()
    const { budget } = this.#attributes.ctx
    const outcome = conditions.mayAuthorize
      ? yield* this.#parts.expressions.evaluate(this.#attributes, authorize =>
          evaluateConditions(conditions, requestVariables(request, authorize), budget),
        )
      : yield* evaluateConditions(conditions, requestVariables(request), budget)
    decided.set(conditions, outcome)
    return outcome
  }

  /** Throws where conditions failed and the webhook does not fail open. */
  #settle(webhook: Webhook, request: VersionedRequest, decided: ConditionsOutcome): VersionedRequest | undefined {
    if (decided.outcome === 'match') return request
    const attributes = this.#attributes
    const { observer } = this.#parts
    const about = { name: webhook.name, kind: 'webhook', type: this.#type, operation: attributes.operation } as const
    if (decided.outcome === 'no-match') {
      observer.excludedByCondition(about)
      attributes.ctx.explanation?.add({ ...named(webhook), outcome: 'skipped', because: `matchCondition ${decided.condition}` })
      return undefined
    }
    observer.conditionFailed(about)
    const outcome = webhook.failsOpen ? 'failed and ignored' : 'failed'
    attributes.ctx.explanation?.add({ ...named(webhook), outcome, because: `matchConditions: ${decided.message}` })
    if (webhook.failsOpen) return undefined
    throw forbidden(attributes, decided.message)
  }
}
