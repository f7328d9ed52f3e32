/** Calls the webhooks that match a request: mutating ones one after the other, validating ones all at once. */
import { JsonError, parseJson } from '../../codec/json.ts'
import { deepEqual, type Json, jsonTypeName } from '../../lib/json-value.ts'
import { applyJsonPatch, PatchError, parseJsonPatch } from '../../patch/json-patch.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { internalError, timedOut } from '../../schema/status-error.ts'
import type { ExpressionAuthorizer } from '../cel-authorizer.ts'
import { requestVariables, type VersionedRequest } from '../expression-variables.ts'
import { evaluateConditions } from '../match-conditions.ts'
import { isExemptFromWebhooks, type MatchIndex } from '../matching.ts'
import type { AdmissionObserver } from '../observer.ts'
import type { Attributes, Plugin } from '../plugin.ts'
import { forbidden } from '../refusal.ts'
import type { Rounds } from '../reinvocation.ts'
import { inVersion } from '../versions.ts'
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
  mutate(attributes, reinvocation) {
    const webhooks = concerned(parts.mutating(), attributes)
    if (webhooks.length === 0) return
    return callMutating(webhooks, attributes, { rounds: reinvocation.webhooks, parts }).then(changed => {
      if (changed) reinvocation.request()
    })
  },
})

/** ValidatingAdmissionWebhook: all are asked at once. */
export const validatingWebhooks = (parts: WebhookParts): Plugin => ({
  name: 'ValidatingAdmissionWebhook',
  explains: true,
  validate(attributes) {
    const webhooks = concerned(parts.validating(), attributes)
    if (webhooks.length > 0) return callValidating(webhooks, attributes, parts)
  },
})

/** The webhooks whose rules may match. */
function concerned(webhooks: MatchIndex<Webhook>, attributes: Attributes): readonly Webhook[] {
  const candidates = webhooks.candidates(attributes)
  const isExempt = candidates.length > 0 && isExemptFromWebhooks(attributes)
  const { explanation } = attributes.ctx
  if (explanation) {
    if (isExempt)
      for (const webhook of candidates) explanation.add({ ...named(webhook), outcome: 'skipped', because: 'the resource is exempt' })
    for (const webhook of webhooks.others(attributes)) explanation.addUnrelated({ ...named(webhook), outcome: 'skipped', because: 'rules' })
  }
  return isExempt ? [] : candidates
}

/** How an explanation names a webhook. */
const named = ({ name, configuration }: Webhook) => ({ webhook: name, configuration })

/** Whether the object was changed. Throws the StatusError of the first webhook that rejects. */
async function callMutating(
  webhooks: readonly Webhook[],
  attributes: Attributes,
  { rounds, parts }: { readonly rounds: Rounds; readonly parts: WebhookParts },
): Promise<boolean> {
  rounds.begin(attributes.object)
  let changed = false
  for (const [index, webhook] of webhooks.entries()) {
    if (rounds.skips(webhook.id)) continue
    const matched = await matchWebhook(webhook, attributes, { type: 'admit', parts })
    if (!matched) continue
    const isChanged = await mutate(matched, { round: rounds.round, index, parts })
    if (isChanged) {
      changed = true
      rounds.changed()
    }
    if (webhook.isReinvoked) rounds.invoked(webhook.id)
  }
  rounds.end(attributes.object)
  return changed
}

async function mutate(
  { webhook, request }: Matched,
  { round, index, parts }: { round: 0 | 1; index: number; parts: WebhookParts },
): Promise<boolean> {
  const { attributes } = request
  const { observer } = parts
  const note = (changed: boolean) => {
    const { configuration, name } = webhook
    attributes.annotate(
      `mutation.webhook.admission.k8s.io/round_${round}_index_${index}`,
      JSON.stringify({ configuration, webhook: name, mutated: changed }),
    )
  }
  const outcome = await timedCall({ webhook, request }, { type: 'admit', parts })
  if (outcome.outcome !== 'allowed') {
    if (outcome.outcome === 'failed' && webhook.failsOpen)
      attributes.annotate(`failed-open.mutation.webhook.admission.k8s.io/round_${round}_index_${index}`, webhook.name)
    note(false)
    settleFailure(webhook, outcome, { attributes, type: 'admit', observer })
    return false
  }
  const { patch, patchType } = outcome.response
  const patched = patch !== '' && (await applyPatch(patch, { patchType, webhook, request, observer }))
  note(patched)
  attributes.ctx.explanation?.add({ ...named(webhook), outcome: patched ? 'mutated' : 'allowed' })
  return patched
}

/** The object with the patch of a webhook made to it, decoded and with defaults. Throws when it cannot be applied. */
async function applyPatch(
  patch: string,
  {
    patchType,
    webhook,
    request,
    observer,
  }: { patchType: string; webhook: Webhook; request: VersionedRequest; observer: AdmissionObserver },
): Promise<boolean> {
  const { attributes, object, resource } = request
  const failed = (why: string) => ({
    outcome: 'failed' as const,
    message: `failed calling webhook "${webhook.name}": ${why}`,
    code: 503,
  })
  let operations: ReturnType<typeof parseJsonPatch>['operations']
  try {
    const { value } = parseJson(patch)
    if (!Array.isArray(value)) throw new PatchError(`json: cannot unmarshal ${jsonTypeName(value)} into Go value of type jsonpatch.Patch`)
    operations = parseJsonPatch(value).operations
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof PatchError)) throw error
    settleFailure(webhook, failed(`received undecodable patch in webhook response: ${error.message}`), {
      attributes,
      type: 'admit',
      observer,
    })
    return false
  }
  if (operations.length === 0) return false
  if (!object)
    throw internalError(
      `admission webhook ${JSON.stringify(webhook.name)} attempted to modify the object, which is not supported for this operation`,
    )
  if (patchType !== 'JSONPatch') {
    settleFailure(webhook, failed(`unsupported patch type ${JSON.stringify(patchType)}`), { attributes, type: 'admit', observer })
    return false
  }
  let document: Json
  try {
    document = applyJsonPatch(object as unknown as Json, operations)
  } catch (error) {
    if (error instanceof PatchError) throw internalError(error.message)
    throw error
  }
  const next = await attributes.decode(document, resource)
  const changed = !deepEqual(next, attributes.object)
  attributes.object = next
  return changed
}

/** Throws what the first of them rejects the request with. */
async function callValidating(webhooks: readonly Webhook[], attributes: Attributes, parts: WebhookParts): Promise<void> {
  const matched: Matched[] = []
  for (const webhook of webhooks) {
    const found = await matchWebhook(webhook, attributes, { type: 'validating', parts })
    if (found) matched.push(found)
  }
  const failures = await Promise.all(matched.map((each, index) => validate(each, { index, parts })))
  const first = failures.find(failure => failure !== undefined)
  if (first) throw first
}

async function validate(
  { webhook, request }: Matched,
  { index, parts }: { index: number; parts: WebhookParts },
): Promise<Error | undefined> {
  const { attributes } = request
  const outcome = await timedCall({ webhook, request }, { type: 'validating', parts })
  if (outcome.outcome === 'allowed') {
    attributes.ctx.explanation?.add({ ...named(webhook), outcome: 'allowed' })
    return undefined
  }
  if (outcome.outcome === 'failed' && webhook.failsOpen)
    attributes.annotate(`failed-open.validating.webhook.admission.k8s.io/round_0_index_${index}`, webhook.name)
  try {
    settleFailure(webhook, outcome, { attributes, type: 'validating', observer: parts.observer })
    return undefined
  } catch (error) {
    return error as Error
  }
}

/** Throws unless the failure policy lets the request through. */
function settleFailure(
  webhook: Webhook,
  outcome: Exclude<CallOutcome, { outcome: 'allowed' }>,
  { attributes, type, observer }: { attributes: Attributes; type: 'admit' | 'validating'; observer: AdmissionObserver },
): void {
  const { name, failsOpen } = webhook
  const { operation, ctx } = attributes
  if (outcome.outcome === 'rejected') {
    ctx.explanation?.add({ ...named(webhook), outcome: 'rejected', because: outcome.error.message })
    observer.webhookRejected({ name, type, operation, errorType: 'no_error', code: outcome.error.code })
    throw outcome.error
  }
  ctx.explanation?.add({ ...named(webhook), outcome: failsOpen ? 'failed and ignored' : 'failed', because: outcome.message })
  if (failsOpen) {
    observer.webhookFailedOpen({ name, type, message: outcome.message })
    if (attributes.signal.aborted) throw timedOut('Timeout: request did not complete within requested timeout')
    return
  }
  observer.webhookRejected({ name, type, operation, errorType: 'calling_webhook_error', code: outcome.code })
  throw internalError(outcome.message)
}

async function timedCall(
  { webhook, request }: Matched,
  { type, parts }: { type: 'admit' | 'validating'; parts: WebhookParts },
): Promise<CallOutcome> {
  const { attributes } = request
  const begun = performance.now()
  const outcome = await callWebhook(webhook, request, { isMutating: type === 'admit', signal: attributes.signal, parts })
  const rejected = outcome.outcome === 'rejected' || (outcome.outcome === 'failed' && !webhook.failsOpen)
  const code = outcome.outcome === 'allowed' ? 200 : outcome.outcome === 'rejected' ? outcome.error.code : outcome.code
  const seconds = (performance.now() - begun) / 1000
  parts.observer.webhookCalled({ name: webhook.name, type, operation: attributes.operation, rejected, code, seconds })
  if (outcome.outcome !== 'failed' && outcome.response) tell(webhook, outcome.response, attributes)
  return outcome
}

/** Warnings reach the client also when the request is rejected. */
function tell({ name }: Webhook, { warnings, auditAnnotations }: ReviewResponse, attributes: Attributes): void {
  for (const warning of warnings) attributes.warn(warning)
  for (const [key, value] of Object.entries(auditAnnotations)) attributes.annotate(`${name}/${key}`, value)
}

/** The request in the version for which a webhook is registered; undefined when the webhook is not about it. */
async function matchWebhook(
  webhook: Webhook,
  attributes: Attributes,
  { type, parts }: { type: 'admit' | 'validating'; parts: WebhookParts },
): Promise<Matched | undefined> {
  const { observer } = parts
  const match = webhook.matcher.match(attributes, parts.namespace)
  if (!match.matches) {
    attributes.ctx.explanation?.add({ ...named(webhook), outcome: 'skipped', because: match.because })
    return undefined
  }
  const request = await inVersion(attributes, match.resource)
  if (webhook.conditions.length === 0) return { webhook, request }
  const decided = await parts.expressions.evaluate(attributes, authorize =>
    evaluateConditions(webhook.conditions, requestVariables(request, authorize)),
  )
  const about = { name: webhook.name, kind: 'webhook', type, operation: attributes.operation } as const
  if (decided.outcome === 'match') return { webhook, request }
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
