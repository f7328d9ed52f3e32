/** The rules and warnings of webhook configurations. */
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1035Label, isFullyQualifiedName } from '../../lib/names.ts'
import { duplicate, type FieldError, invalid, invalidEach, type Ref, required, unsupported, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { expressionsWork } from '../../schema/rule-work.ts'
import { validateLabelSelector } from '../rules/meta.ts'
import { validateWebhookService, validateWebhookUrl } from '../rules/webhook-client.ts'
import {
  expressionsOf,
  FAILURE_POLICIES,
  MATCH_POLICIES,
  REINVOCATION_POLICIES,
  validateMatchConditions,
  validateRule,
} from './match-rules.ts'
import type { RuleWithOperations } from './match-shapes.ts'
import type { MutatingWebhook, ValidatingWebhook } from './webhook-shapes.ts'

/** The common fields of both types of webhooks. */
type Webhook = ValidatingWebhook

const SIDE_EFFECTS: readonly string[] = ['None', 'NoneOnDryRun']
const REVIEW_VERSIONS: readonly string[] = ['v1', 'v1beta1']

/** The approximate work of the conditions of webhooks (`schema/rule-work.ts`). */
export const webhooksWork = (webhooks: readonly Webhook[]): number =>
  expressionsWork(webhooks.flatMap(({ matchConditions }) => expressionsOf(matchConditions)))

/** Rules for webhooks, each with a unique name; `old` are those of the stored object. */
export function* validateWebhooks(webhooks: readonly Webhook[], at: Ref<Webhook[]>, old?: readonly Webhook[]): Iterable<FieldError> {
  const areConditionsSame = old?.length === webhooks.length && webhooks.every((hook, i) => sameConditions(hook, old[i]!))
  const stored = new Set((old ?? []).flatMap(({ matchConditions }) => expressionsOf(matchConditions)))
  const seen = new Set<string>()
  for (const [i, webhook] of webhooks.entries()) {
    yield* validateWebhook(webhook, at[i]!)
    if (!areConditionsSame) yield* validateMatchConditions(webhook.matchConditions ?? [], at[i]!.matchConditions, { stored })
    yield* validateReviewVersions(webhook.admissionReviewVersions ?? [], at[i]!.admissionReviewVersions)
    if (seen.has(webhook.name)) yield duplicate(at[i]!.name)
    if (webhook.name) seen.add(webhook.name)
  }
}

/** Warns about rules that name resources for which webhooks are never called. */
export function* warnAboutRules(webhooks: readonly { rules?: RuleWithOperations[] }[], ctx: RequestContext): Iterable<string> {
  if (!ctx.gate('ExcludeAdmissionWebhookVirtualResources')) return
  for (const [i, { rules = [] }] of webhooks.entries())
    for (const [j, rule] of rules.entries())
      for (const resource of excludedBy(rule, ctx.groupDomain))
        yield `webhooks[${i}].rules[${j}]: ${resource} is excluded from admission webhooks; this rule will have no effect`
}

/** Authentication and authorization reviews must work even if webhooks fail. */
const EXCLUDED: Readonly<Record<string, readonly string[]>> = {
  authentication: ['selfsubjectreviews', 'tokenreviews'],
  authorization: ['localsubjectaccessreviews', 'selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'subjectaccessreviews'],
}

function excludedBy({ apiGroups = [], resources = [] }: RuleWithOperations, groupDomain: string): Set<string> {
  // A wildcard may well mean other resources.
  if (apiGroups.includes('*') || resources.includes('*')) return new Set()
  // Looked up one by one: a rule can name very many pairs.
  const [groups, plurals] = [new Set(apiGroups), new Set(resources)]
  return new Set(
    Object.entries(EXCLUDED).flatMap(([short, names]) => {
      const group = `${short}.${groupDomain}`
      return groups.has(group) ? names.filter(name => plurals.has(name)).map(name => `${name}.${group}`) : []
    }),
  )
}

function* validateWebhook(webhook: Webhook, at: Ref<Webhook>): Iterable<FieldError> {
  const { name, rules = [], failurePolicy, matchPolicy, sideEffects, timeoutSeconds, clientConfig } = webhook
  for (const fault of isFullyQualifiedName(name))
    yield fault.type === 'required' ? required(at.name) : invalid(withValue(at.name, fault.value), fault.message)
  for (const [i, rule] of rules.entries()) yield* validateRule(rule, at.rules[i]!)
  if (!FAILURE_POLICIES.includes(failurePolicy)) yield unsupported(at.failurePolicy, ...FAILURE_POLICIES)
  if (!MATCH_POLICIES.includes(matchPolicy)) yield unsupported(at.matchPolicy, ...MATCH_POLICIES)
  if (!sideEffects) yield required(at.sideEffects, `must specify one of ${SIDE_EFFECTS.join(', ')}`)
  else if (!SIDE_EFFECTS.includes(sideEffects)) yield unsupported(at.sideEffects, ...SIDE_EFFECTS)
  if (timeoutSeconds < 1 || timeoutSeconds > 30) yield invalid(at.timeoutSeconds, 'the timeout value must be between 1 and 30 seconds')
  yield* validateLabelSelector(webhook.namespaceSelector, at.namespaceSelector)
  yield* validateLabelSelector(webhook.objectSelector, at.objectSelector)
  if (isMutating(webhook)) yield* validateReinvocation(webhook, at as Ref<MutatingWebhook>)
  const { url, service } = clientConfig
  if ((url === undefined) === (service === undefined)) yield required(at.clientConfig, 'exactly one of url or service is required')
  else if (url !== undefined) yield* validateWebhookUrl(url, at.clientConfig.url)
  else yield* validateWebhookService(service!, at.clientConfig.service)
}

const sameConditions = (a: Webhook, b: Webhook): boolean => deepEqual(a.matchConditions, b.matchConditions)

const isMutating = (webhook: Webhook | MutatingWebhook): webhook is MutatingWebhook => Object.hasOwn(webhook, 'reinvocationPolicy')

function* validateReinvocation({ reinvocationPolicy }: MutatingWebhook, at: Ref<MutatingWebhook>): Iterable<FieldError> {
  if (!REINVOCATION_POLICIES.includes(reinvocationPolicy)) yield unsupported(at.reinvocationPolicy, ...REINVOCATION_POLICIES)
}

function* validateReviewVersions(versions: readonly string[], at: Ref<string[]>): Iterable<FieldError> {
  if (versions.length === 0) return yield required(at, `must specify one of ${REVIEW_VERSIONS.join(', ')}`)
  const seen = new Set<string>()
  for (const [i, version] of versions.entries()) {
    if (seen.has(version)) yield invalid(at[i]!, 'duplicate version')
    else yield* invalidEach(at[i]!, isDNS1035Label(version))
    seen.add(version)
  }
  if (!versions.some(version => REVIEW_VERSIONS.includes(version)))
    yield invalid(at, `must include at least one of ${REVIEW_VERSIONS.join(', ')}`)
}
