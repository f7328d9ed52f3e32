/** Authorization by webhook: it receives a SubjectAccessReview, and its response is cached for a while. */

import { MAX_CALL_COST } from '../cel/kubernetes/base-env.ts'
import type { Program } from '../cel/runtime/program.ts'
import { dynShape } from '../cel/runtime/shapes.ts'
import { CelFault } from '../cel/runtime/values.ts'
import type { Cancellation } from '../lib/cancellation.ts'
import { ExpiringMap } from '../lib/expiring-map.ts'
import { aggregate } from '../lib/go-text.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import type { Attributes, Decision, RulesFound } from '../schema/access.ts'
import { type FieldTerms, type LabelOperator, type LabelTerms, parseFieldSelector, parseLabelSelector } from '../schema/selectors.ts'
import type { User } from '../schema/user.ts'
import type { AnswerFields } from '../transport/answer-fields.ts'
import { type PostReview, ReviewError } from '../transport/review-call.ts'
import type { NamedAuthorizer } from './modes.ts'

export type WebhookSettings = {
  readonly name: string
  /** The API version of reviews. */
  readonly version: 'v1' | 'v1beta1'
  /** How long responses are cached; 0 disables the cache. */
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  /** The decision after a failure: no opinion, or deny. */
  readonly onFailure: 'no-opinion' | 'deny'
  /** The webhook is only called if all conditions are true. */
  readonly conditions: readonly { readonly expression: string; readonly program: Program }[]
}

/** Counters of the webhook. */
export interface WebhookObserver {
  evaluated(name: string, result: 'success' | ReviewError['result'], seconds: number): void
  failedOpen(name: string, result: string): void
  excludedByCondition(name: string): void
  conditionFailed(name: string): void
}

export type WebhookAuthorizerParts = {
  readonly settings: WebhookSettings
  readonly post: PostReview
  readonly observer: WebhookObserver
  readonly now: () => number
  readonly warn: (message: string) => void
}

type Status = { readonly allowed: boolean; readonly denied: boolean; readonly reason: string }

const NO_RULES: RulesFound = {
  resourceRules: [],
  nonResourceRules: [],
  incomplete: true,
  problem: 'webhook authorizer does not support user rule resolution',
}

export function webhookAuthorizer(parts: WebhookAuthorizerParts): NamedAuthorizer {
  const { settings, observer, now } = parts
  const { name, conditions, onFailure } = settings
  const known = new ExpiringMap<string, Status>(LIMITS.cachedReviews, now)
  const failed = (error: string): Decision =>
    onFailure === 'deny' ? { verdict: 'deny', reason: '', error } : { verdict: onFailure, error }
  return {
    name,
    rulesFor: () => NO_RULES,
    authorize(user, attributes, request) {
      const spec = reviewSpec(user, attributes)
      if (conditions.length > 0) {
        const matched = matches(settings, spec)
        if (matched !== true) {
          if (matched === false) observer.excludedByCondition(name)
          else observer.conditionFailed(name)
          return matched === false ? { verdict: 'no-opinion' } : failed(matched)
        }
      }
      const key = JSON.stringify(spec)
      const remembered = known.get(key)
      if (remembered) return decisionOf(remembered)
      return ask(parts, { spec, signal: request.signal }).then(
        status => {
          if (isShort(attributes)) known.set(key, status, status.allowed ? settings.authorizedTtlMs : settings.unauthorizedTtlMs)
          return decisionOf(status)
        },
        (error: unknown) => {
          if (!(error instanceof ReviewError)) throw error
          return failed(error.message)
        },
      )
    },
  }
}

async function ask(
  { settings, post, observer, now, warn }: WebhookAuthorizerParts,
  { spec, signal }: { readonly spec: ReviewSpec; readonly signal: Cancellation },
): Promise<Status> {
  const { name, version, onFailure } = settings
  const began = now()
  try {
    const status = await post(
      {
        kind: 'SubjectAccessReview',
        body: {
          apiVersion: `authorization.k8s.io/${version}`,
          metadata: {},
          spec: written(spec, version),
          status: { allowed: false },
        },
        read: statusOf,
      },
      signal,
    )
    observer.evaluated(name, 'success', (now() - began) / 1000)
    return status
  } catch (error) {
    if (!(error instanceof ReviewError)) throw error
    observer.evaluated(name, error.result, (now() - began) / 1000)
    if (onFailure === 'no-opinion' && error.result !== 'canceled') observer.failedOpen(name, error.result)
    warn(`the webhook authorizer ${name} could not be asked: ${error.message}`)
    throw error
  }
}

const statusOf = (status: AnswerFields): Status => ({
  allowed: status.bool('allowed'),
  denied: status.bool('denied'),
  reason: status.text('reason'),
})

function decisionOf({ allowed, denied, reason }: Status): Decision {
  if (denied && allowed) return { verdict: 'deny', reason, error: 'webhook subject access review returned both allow and deny response' }
  if (denied) return { verdict: 'deny', reason }
  return { verdict: allowed ? 'allow' : 'no-opinion', reason }
}

function isShort({ verb, path, resource }: Attributes): boolean {
  const { namespace = '', group = '', version = '', plural = '', subresource = '', name = '' } = resource ?? {}
  return [verb, path, namespace, group, version, plural, subresource, name].join('').length < LIMITS.cachedReviewLength
}

/** Whether all conditions are true, or an error. A false condition decides, even after an error of an earlier one. */
function matches({ conditions }: WebhookSettings, spec: ReviewSpec): boolean | string {
  const errors: string[] = []
  const bindings = { request: dynShape.read(conditionRequest(spec)) }
  for (const { expression, program } of conditions) {
    const { value } = program.evaluate(bindings, { maxCost: MAX_CALL_COST })
    if (value === false) return false
    if (value instanceof CelFault) errors.push(`cel evaluation error: expression '${expression}' resulted in error: ${value.message}`)
  }
  return errors.length === 0 ? true : aggregate(errors)
}

/** The variables of conditions: every string is present, also an empty one. */
function conditionRequest({ resourceAttributes: resource, nonResourceAttributes, ...spec }: ReviewSpec): JsonObject {
  return {
    user: spec.user ?? '',
    groups: spec.groups ?? [],
    uid: spec.uid ?? '',
    extra: spec.extra ?? {},
    ...(resource && { resourceAttributes: { ...NO_RESOURCE, ...resource } }),
    ...(nonResourceAttributes && { nonResourceAttributes: { path: '', verb: '', ...nonResourceAttributes } }),
  }
}
const NO_RESOURCE = { namespace: '', verb: '', group: '', version: '', resource: '', subresource: '', name: '' }

type Requirement = { key: string; operator: string; values?: string[] }
type ReviewSpec = {
  resourceAttributes?: { [field: string]: string | { requirements: Requirement[] } }
  nonResourceAttributes?: { path?: string; verb?: string }
  user?: string
  groups?: string[]
  extra?: { [key: string]: string[] }
  uid?: string
}

/** v1beta1 has another name for groups. */
function written({ groups, ...spec }: ReviewSpec, version: WebhookSettings['version']): JsonObject {
  return groups ? { ...spec, [version === 'v1' ? 'groups' : 'group']: groups } : spec
}

function reviewSpec({ name, uid, groups, extra }: User, { verb, path, resource }: Attributes): ReviewSpec {
  const present = (fields: Readonly<Record<string, string>>) => Object.fromEntries(Object.entries(fields).filter(([, text]) => text !== ''))
  const copied = extra && Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]))
  const about = {
    ...(name && { user: name }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(copied && Object.keys(copied).length > 0 && { extra: copied }),
    ...(uid && { uid }),
  }
  if (!resource) return { nonResourceAttributes: present({ path, verb }), ...about }
  const { namespace, group, version, plural, subresource, name: object } = resource
  const fields = fieldRequirements(resource.fieldSelector)
  const labels = labelRequirements(resource.labelSelector)
  return {
    resourceAttributes: {
      ...present({ namespace, verb, group, version, resource: plural, subresource, name: object }),
      ...(fields.length > 0 && { fieldSelector: { requirements: fields } }),
      ...(labels.length > 0 && { labelSelector: { requirements: labels } }),
    },
    ...about,
  }
}

function fieldRequirements(selector: string | FieldTerms | undefined): Requirement[] {
  const terms = typeof selector === 'string' ? readable(parseFieldSelector, selector) : (selector ?? [])
  return terms.map(({ field, operator, value }) => ({ key: field, operator: operator === '=' ? 'In' : 'NotIn', values: [value] }))
}

function labelRequirements(selector: string | LabelTerms | undefined): Requirement[] {
  const terms = typeof selector === 'string' ? readable(parseLabelSelector, selector) : (selector ?? [])
  return terms.flatMap(({ key, operator, values }) => {
    const known = OPERATORS[operator]
    return known ? [{ key, operator: known, ...(values.length > 0 && { values: [...values] }) }] : []
  })
}
/** The comparisons of sizes have no counterpart in reviews: the review then covers more than the request, never less. */
const OPERATORS: Readonly<Partial<Record<LabelOperator, string>>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
}

/** Selectors only narrow a request: without one that cannot be parsed, the review covers everything. */
function readable<T>(parse: (text: string) => readonly T[], text: string): readonly T[] {
  try {
    return parse(text)
  } catch {
    return []
  }
}
