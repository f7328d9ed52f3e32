/** The types of webhook configurations. */
import { atomic, bytes, int32, message, type Static, string } from '../../schema/types.ts'
import { LabelSelector } from '../rules/meta.ts'
import { matchConditions, RuleWithOperations } from './match-shapes.ts'

const ServiceReference = message('ServiceReference', {
  namespace: [1, string.always(), 'Namespace of the service.'],
  name: [2, string.always(), 'Name of the service.'],
  path: [3, string.optional(), 'Path of requests.'],
  port: [4, int32.optional().default(443), 'Port of the service.'],
})

const WebhookClientConfig = message('WebhookClientConfig', {
  url: [3, string.optional(), 'Where the webhook is: https, a host and a path. Either this or a service.'],
  service: [1, ServiceReference, 'The service that is the webhook.'],
  caBundle: [2, bytes, 'Certificates in PEM that vouch for the webhook; those of the system when absent.'],
})

/** The fields that both types of webhooks have under the same number. */
const common = {
  name: [1, string.always(), 'A fully qualified name, for messages and merging.'],
  clientConfig: [2, WebhookClientConfig.orEmpty().expected(), 'How to reach the webhook.'],
  rules: [3, atomic(RuleWithOperations), 'Which operations on which resources it is called for.'],
  failurePolicy: [
    4,
    string.listed('Fail', 'Ignore').optional().default('Fail'),
    'The treatment of requests when it cannot be called: Fail or Ignore.',
  ],
  matchPolicy: [
    9,
    string.listed('Equivalent', 'Exact').optional().default('Equivalent'),
    'Exact, or Equivalent to match the same resource in other versions too.',
  ],
  namespaceSelector: [5, LabelSelector.default({}), 'Which namespaces, by their labels; all when empty.'],
  sideEffects: [
    6,
    string.listed('None', 'NoneOnDryRun', 'Some', 'Unknown').always().openapiDefault(),
    'Whether calling it has effects elsewhere: None or NoneOnDryRun.',
  ],
  timeoutSeconds: [7, int32.optional().default(10), 'Seconds to wait for its answer, 1 to 30.'],
  admissionReviewVersions: [8, atomic(string).always(), 'Versions of AdmissionReview it understands, the preferred one first.'],
} as const

export const ValidatingWebhook = message('ValidatingWebhook', {
  ...common,
  objectSelector: [10, LabelSelector.default({}), 'Which objects, by their labels before or after; all when empty.'],
  matchConditions: [11, matchConditions, 'CEL expressions that must all be true for a call, at most 64.'],
})
export type ValidatingWebhook = Static<typeof ValidatingWebhook>

export const MutatingWebhook = message('MutatingWebhook', {
  ...common,
  reinvocationPolicy: [
    10,
    string.listed('IfNeeded', 'Never').optional().default('Never'),
    'Never, or IfNeeded to be called again after others changed the object.',
  ],
  objectSelector: [11, LabelSelector.default({}), 'Which objects, by their labels before or after; all when empty.'],
  matchConditions: [12, matchConditions, 'CEL expressions that must all be true for a call, at most 64.'],
})
export type MutatingWebhook = Static<typeof MutatingWebhook>
