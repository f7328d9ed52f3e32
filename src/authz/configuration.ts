/** AuthorizationConfiguration: the authorizers, their order, and the settings of webhooks among them. */
import { compileAuthorizationCondition } from '../cel/kubernetes/authorization.ts'
import { isProblem } from '../cel/kubernetes/expression.ts'
import { parseDuration } from '../lib/duration.ts'
import { nameIsDNSSubdomain } from '../lib/names.ts'
import {
  duplicate,
  type FieldError,
  internal,
  invalid,
  type Ref,
  refTo,
  required,
  tooMany,
  unsupported,
  withValue,
} from '../schema/refs.ts'
import { atomic, bool, duration, message, type Static, string } from '../schema/types.ts'
import type { WebhookSettings } from './webhook-authorizer.ts'

const WebhookConfiguration = message('WebhookConfiguration', {
  authorizedTTL: [1, duration],
  cacheAuthorizedRequests: [2, bool.optional()],
  unauthorizedTTL: [3, duration],
  cacheUnauthorizedRequests: [4, bool.optional()],
  timeout: [5, duration],
  subjectAccessReviewVersion: [6, string],
  matchConditionSubjectAccessReviewVersion: [7, string],
  failurePolicy: [8, string],
  connectionInfo: [9, message('WebhookConnectionInfo', { type: [1, string], kubeConfigFile: [2, string.optional()] })],
  matchConditions: [10, atomic(message('WebhookMatchCondition', { expression: [1, string] }))],
})
const Configuration = message('AuthorizationConfiguration', {
  authorizers: [
    1,
    atomic(message('AuthorizerConfiguration', { type: [1, string], name: [2, string], webhook: [3, WebhookConfiguration.optional()] })),
  ],
})
type Configuration = Static<typeof Configuration>
type Webhook = Static<typeof WebhookConfiguration>

export const AUTHORIZATION_CONFIGURATION = {
  accepts: {
    'apiserver.config.k8s.io/v1': 'AuthorizationConfiguration',
    'apiserver.config.k8s.io/v1beta1': 'AuthorizationConfiguration',
    'apiserver.config.k8s.io/v1alpha1': 'AuthorizationConfiguration',
  },
  type: Configuration,
} as const

/** The types of authorizers that may occur once. */
const PLAIN_TYPES = ['AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC'] as const
export type PlainType = (typeof PLAIN_TYPES)[number]

export type ConfiguredAuthorizer =
  | { readonly type: PlainType }
  | {
      readonly type: 'Webhook'
      readonly settings: WebhookSettings
      readonly timeoutMs: number
      readonly kubeConfigFile: string | undefined
    }

/** Why a file cannot be used; undefined when it can. */
export type FileProblem = (file: string) => string | undefined

/** The authorizers of a configuration, or its errors. */
export function authorizersOf(
  configuration: Configuration,
  fileProblem: FileProblem,
): { readonly authorizers: readonly ConfiguredAuthorizer[] } | { readonly errors: readonly string[] } {
  const errors: string[] = [...validate(configuration, fileProblem)].map(({ field, message }) => `${field}: ${message}`)
  if (errors.length === 0) errors.push(...misnamed(configuration))
  if (errors.length > 0) return { errors }
  const authorizers = (configuration.authorizers ?? []).map(({ type = '', name = '', webhook }): ConfiguredAuthorizer => {
    if (!webhook) return { type: type as PlainType }
    const { cacheAuthorizedRequests = true, cacheUnauthorizedRequests = true } = webhook
    return {
      type: 'Webhook',
      timeoutMs: milliseconds(webhook.timeout),
      kubeConfigFile: webhook.connectionInfo?.kubeConfigFile,
      settings: {
        name,
        version: webhook.subjectAccessReviewVersion as 'v1' | 'v1beta1',
        authorizedTtlMs: cacheAuthorizedRequests ? milliseconds(webhook.authorizedTTL) || DEFAULT_AUTHORIZED_MS : 0,
        unauthorizedTtlMs: cacheUnauthorizedRequests ? milliseconds(webhook.unauthorizedTTL) || DEFAULT_UNAUTHORIZED_MS : 0,
        onFailure: webhook.failurePolicy === 'Deny' ? 'deny' : 'no-opinion',
        conditions: (webhook.matchConditions ?? []).flatMap(({ expression = '' }) => {
          const program = compileAuthorizationCondition(expression)
          return isProblem(program) ? [] : [{ expression, program }]
        }),
      },
    }
  })
  return { authorizers }
}

const DEFAULT_AUTHORIZED_MS = 5 * 60_000
const DEFAULT_UNAUTHORIZED_MS = 30_000
const MAX_TIMEOUT_MS = 30_000
const MAX_CONDITIONS = 64

const milliseconds = (text = '0s') => Number(parseDuration(text)) / 1e6

function* validate(configuration: Configuration, fileProblem: FileProblem): Iterable<FieldError> {
  const at = refTo(configuration)
  const { authorizers = [] } = configuration
  if (authorizers.length === 0) yield required(at.authorizers, 'at least one authorization mode must be defined')
  const types = new Set<string>()
  const names = new Set<string>()
  for (const [i, { type = '', name = '', webhook }] of authorizers.entries()) {
    const here = at.authorizers[i]!
    if (type === '') yield required(here.type)
    else if (type !== 'Webhook' && !(PLAIN_TYPES as readonly string[]).includes(type))
      yield unsupported(here.type, ...PLAIN_TYPES, 'Webhook')
    else if (types.has(type) && type !== 'Webhook') yield duplicate(here.type)
    else {
      types.add(type)
      const faults = nameIsDNSSubdomain(name)
      if (name === '') yield required(here.name)
      else if (names.has(name)) yield duplicate(here.name)
      else if (faults.length > 0) yield invalid(here.name, `authorizer name is invalid: ${faults.join(', ')}`)
      names.add(name)
      if (type === 'Webhook') {
        if (webhook) yield* validateWebhook(webhook, here as unknown as Ref<Webhook>, fileProblem)
        else yield required(here.webhook, 'required when type=Webhook')
      } else if (webhook) yield invalid(withValue(here.webhook, 'non-null'), 'may only be specified when type=Webhook')
    }
  }
}

/** Errors about a webhook name its fields as if they were fields of the authorizer, as in kube-apiserver. */
function* validateWebhook(webhook: Webhook, at: Ref<Webhook>, fileProblem: FileProblem): Iterable<FieldError> {
  const { timeout, authorizedTTL, unauthorizedTTL, subjectAccessReviewVersion: version, failurePolicy, matchConditions = [] } = webhook
  const timeoutMs = milliseconds(timeout)
  if (timeoutMs === 0) yield required(at.timeout)
  else if (timeoutMs < 0 || timeoutMs > MAX_TIMEOUT_MS) yield invalid(withValue(at.timeout, timeout), 'must be > 0s and <= 30s')
  if (milliseconds(authorizedTTL) < 0) yield invalid(withValue(at.authorizedTTL, authorizedTTL), 'must be > 0s')
  if (milliseconds(unauthorizedTTL) < 0) yield invalid(withValue(at.unauthorizedTTL, unauthorizedTTL), 'must be > 0s')
  yield* oneOf(version, at.subjectAccessReviewVersion, ['v1', 'v1beta1'])
  const conditionVersion = webhook.matchConditionSubjectAccessReviewVersion
  const versionAt = at.matchConditionSubjectAccessReviewVersion
  if (conditionVersion) yield* oneOf(conditionVersion, versionAt, ['v1'])
  else if (matchConditions.length > 0) yield required(versionAt, 'required if match conditions are specified')
  yield* oneOf(failurePolicy, at.failurePolicy, ['NoOpinion', 'Deny'])
  yield* validateConnection(webhook.connectionInfo ?? {}, at.connectionInfo, fileProblem)
  yield* validateConditions(matchConditions, at.matchConditions)
}

type Connection = NonNullable<Webhook['connectionInfo']>

function* validateConnection(
  { type, kubeConfigFile: file }: Connection,
  at: Ref<Connection>,
  fileProblem: FileProblem,
): Iterable<FieldError> {
  yield* oneOf(type, at.type, ['InClusterConfig', 'KubeConfigFile'])
  if (type === 'InClusterConfig' && file !== undefined)
    yield invalid(withValue(at.kubeConfigFile, file), 'can only be set when type=KubeConfigFile')
  if (type !== 'KubeConfigFile') return
  const problem = file ? fileProblem(file) : undefined
  if (!file) yield required(at.kubeConfigFile)
  else if (problem !== undefined) yield invalid(withValue(at.kubeConfigFile, file), problem)
}

type Conditions = NonNullable<Webhook['matchConditions']>

function* validateConditions(conditions: Conditions, at: Ref<Conditions>): Iterable<FieldError> {
  if (conditions.length > MAX_CONDITIONS) {
    yield tooMany(at, conditions.length, MAX_CONDITIONS)
    return
  }
  const seen = new Set<string>()
  for (const [i, { expression = '' }] of conditions.entries()) {
    const here = withValue(at[i]!.expression, expression)
    if (expression.trim() === '') yield required(here)
    else if (seen.has(expression)) yield duplicate(here)
    else {
      seen.add(expression)
      const compiled = compileAuthorizationCondition(expression)
      if (isProblem(compiled)) yield compiled.reason === 'invalid' ? invalid(here, compiled.detail) : internal(here, compiled.detail)
    }
  }
}

function* oneOf(value: string | undefined, at: Ref<any>, supported: readonly string[]): Iterable<FieldError> {
  if (!value) yield required(at)
  else if (!supported.includes(value)) yield unsupported(withValue(at, value), ...supported)
}

/** Authorizers other than webhooks have fixed names. */
function* misnamed({ authorizers = [] }: Configuration): Iterable<string> {
  for (const { type = '', name = '' } of authorizers)
    if (type !== 'Webhook' && name !== type.toLowerCase())
      yield `expected name ${type.toLowerCase()} for authorizer ${type} instead of ${name}`
}
