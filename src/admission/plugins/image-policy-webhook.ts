/** ImagePolicyWebhook: a webhook that the operator configures decides whether the images of a pod may run. */

import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import type { Cancellation } from '../../lib/cancellation.ts'
import { formatDuration } from '../../lib/duration.ts'
import { ExpiringMap } from '../../lib/expiring-map.ts'
import { type JsonObject, setOwn } from '../../lib/json-value.ts'
import { type Step, waitFor } from '../../lib/step.ts'
import { type FieldError, invalid, type Ref, refTo, required, withValue } from '../../schema/refs.ts'
import { bool, int64, message, type Static, string } from '../../schema/types.ts'
import type { AnswerFields } from '../../transport/answer-fields.ts'
import { type PostReview, ReviewError } from '../../transport/review-call.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import { pluginConfiguration } from '../plugin-configuration.ts'
import { forbidden } from '../refusal.ts'

export type ImagePolicySettings = {
  readonly kubeConfigFile: string
  /** How long answers are remembered; 0 remembers none. */
  readonly allowTtlMs: number
  readonly denyTtlMs: number
  /** The pause before a failed call is made again. */
  readonly retryMs: number
  /** Whether pods may run while the webhook cannot be asked. */
  readonly allowsByDefault: boolean
}

const ImagePolicy = message('imagePolicyWebhookConfig', {
  kubeConfigFile: [1, string],
  allowTTL: [2, int64],
  denyTTL: [3, int64],
  retryBackoff: [4, int64],
  defaultAllow: [5, bool],
})
type ImagePolicy = Static<typeof ImagePolicy>

const MILLISECOND = 1_000_000n
const SECOND = 1000n * MILLISECOND
const MINUTE = 60n * SECOND
/** The unit of each time, its bounds and its default; -1 turns it off. */
const TIMES = {
  retryBackoff: { unit: MILLISECOND, least: 1n, most: 5n * MINUTE, usual: 500n * MILLISECOND },
  allowTTL: { unit: SECOND, least: SECOND, most: 30n * MINUTE, usual: 5n * MINUTE },
  denyTTL: { unit: SECOND, least: SECOND, most: 30n * MINUTE, usual: 30n * SECOND },
}

export const IMAGE_POLICY_CONFIGURATION = pluginConfiguration({
  plugin: 'ImagePolicyWebhook',
  type: message('AdmissionConfig', { imagePolicy: [1, ImagePolicy] }),
  *validate({ imagePolicy = {} }) {
    const at = refTo({ imagePolicy }).imagePolicy
    for (const name of ['retryBackoff', 'allowTTL', 'denyTTL'] as const) yield* validateTime(name, imagePolicy, at)
    if (!imagePolicy.kubeConfigFile) yield required(at.kubeConfigFile)
  },
  settings: ({ imagePolicy = {} }): ImagePolicySettings => ({
    kubeConfigFile: imagePolicy.kubeConfigFile ?? '',
    allowTtlMs: Number(nanoseconds('allowTTL', imagePolicy) / MILLISECOND),
    denyTtlMs: Number(nanoseconds('denyTTL', imagePolicy) / MILLISECOND),
    retryMs: Number(nanoseconds('retryBackoff', imagePolicy) / MILLISECOND),
    allowsByDefault: imagePolicy.defaultAllow ?? false,
  }),
})

function nanoseconds(name: keyof typeof TIMES, policy: ImagePolicy): bigint {
  const { unit, usual } = TIMES[name]
  const given = BigInt(policy[name] ?? 0)
  return given === -1n ? 0n : given === 0n ? usual : given * unit
}

function* validateTime(name: keyof typeof TIMES, policy: ImagePolicy, at: Ref<ImagePolicy>): Iterable<FieldError> {
  const { least, most } = TIMES[name]
  const value = nanoseconds(name, policy)
  if (BigInt(policy[name] ?? 0) !== -1n && (value < least || value > most))
    yield invalid(
      withValue(at[name], policy[name]),
      `valid value is between ${formatDuration(least)} and ${formatDuration(most)}, got ${formatDuration(value)}`,
    )
}

export type ImagePolicyParts = {
  readonly settings: ImagePolicySettings
  readonly post: PostReview
  readonly groupDomain: string
  readonly now: () => number
}

type Status = { readonly allowed: boolean; readonly reason: string; readonly auditAnnotations: readonly (readonly [string, string])[] }

const REMEMBERED = 1024

export function imagePolicyWebhook({ settings, post, groupDomain, now }: ImagePolicyParts): Plugin {
  const known = new ExpiringMap<string, Status>(REMEMBERED, now)
  const domain = `.image-policy.${groupDomain}/`
  const auditPrefix = `imagepolicywebhook${domain}`

  function* ask(spec: JsonObject, signal: Cancellation): Step<Status> {
    const key = JSON.stringify(spec)
    const remembered = known.get(key)
    if (remembered) return remembered
    const apiVersion = `imagepolicy.${groupDomain}/v1alpha1`
    const body = { apiVersion, metadata: {}, spec, status: { allowed: false } }
    const status = yield* waitFor(post({ kind: 'ImageReview', body, read: statusOf }, signal))
    known.set(key, status, status.allowed ? settings.allowTtlMs : settings.denyTtlMs)
    return status
  }

  function* decide(attributes: Attributes, spec: JsonObject): Step<void> {
    let status: Status
    try {
      status = yield* ask(spec, attributes.signal)
    } catch (error) {
      if (!(error instanceof ReviewError)) throw error
      if (!settings.allowsByDefault) throw forbidden(attributes, error.message)
      attributes.annotate(`${auditPrefix}failed-open`, 'true')
      // Kubernetes marks the pod as well, though it only validates by now.
      const { metadata } = attributes.object!
      metadata.annotations = { ...metadata.annotations, [`alpha${domain}failed-open`]: 'true' }
      return
    }
    for (const [key, value] of status.auditAnnotations) attributes.annotate(auditPrefix + key, value)
    if (status.allowed) return
    const { reason } = status
    throw forbidden(
      attributes,
      reason === ''
        ? 'one or more images rejected by webhook backend'
        : `image policy webhook backend denied one or more images: ${reason}`,
    )
  }

  return {
    name: 'ImagePolicyWebhook',
    validate(attributes) {
      const spec = reviewedSpec(attributes, domain)
      if (spec) return decide(attributes, spec)
    },
  }
}

/** The review for the webhook: the images of the pod, and the annotations that are meant for it. */
function reviewedSpec({ operation, resource, subresource, object, namespace }: Attributes, domain: string): JsonObject | undefined {
  if ((operation !== 'CREATE' && operation !== 'UPDATE') || resource.group !== '' || resource.plural !== 'pods') return undefined
  const spec = object?.['spec'] as PodSpec | undefined
  if (!spec || (subresource !== '' && subresource !== 'ephemeralcontainers')) return undefined
  const containers: readonly Pick<Container, 'image'>[] =
    subresource === '' ? [...(spec.containers ?? []), ...(spec.initContainers ?? [])] : (spec.ephemeralContainers ?? [])
  const annotations: JsonObject = {}
  for (const [key, value] of Object.entries(object?.metadata.annotations ?? {})) if (key.includes(domain)) setOwn(annotations, key, value)
  return {
    ...(containers.length > 0 && { containers: containers.map(({ image }) => (image ? { image } : {})) }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
    namespace,
  }
}

const statusOf = (status: AnswerFields): Status => ({
  allowed: status.bool('allowed'),
  reason: status.text('reason'),
  auditAnnotations: Object.entries(status.textMap('auditAnnotations')),
})
