/** The ReplicaSets of a Deployment: the new one, whose template is the Deployment's, the old ones, and their annotations. */
import type { Deployment } from '../../kinds/apps/deployment.ts'
import type { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { meansTheSame } from '../../kinds/rules/compare.ts'
import { PodTemplateSpec } from '../../kinds/rules/pod/spec.ts'
import { DNS1123_SUBDOMAIN_MAX_LENGTH } from '../../lib/names.ts'
import { controllerReference } from '../pods/pod-template.ts'
import { hashOf, TEMPLATE_HASH_LABEL } from '../pods/template-hash.ts'
import { maxSurge } from './limits.ts'

type Annotations = { [key: string]: string }

export const REVISION = 'deployment.kubernetes.io/revision'
const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history'
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas'
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas'
export const ROLLBACK_TO = 'deprecated.deployment.rollback.to'
/** Annotations that are not passed on between a Deployment and its ReplicaSets. */
const OWN_ANNOTATIONS = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  ROLLBACK_TO,
])
const HISTORY_LENGTH = 2000

/** The number in an annotation; undefined when there is none, or it is no integer of 64 bits. */
export function integerIn(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?[0-9]{1,20}$/.test(text)) return undefined
  const number = BigInt(text.replace('+', ''))
  return BigInt.asIntN(64, number) === number ? number : undefined
}

/** The revision of a ReplicaSet: 0 without one, undefined when it cannot be read. It may be any number of 64 bits. */
export const revisionOf = ({ metadata }: ReplicaSet): bigint | undefined => {
  const text = metadata.annotations?.[REVISION]
  return text === undefined ? 0n : integerIn(text)
}

const descending = (a: bigint, b: bigint): number => (a < b ? 1 : a > b ? -1 : 0)
const revisionsOf = (sets: readonly ReplicaSet[]) => sets.flatMap(set => revisionOf(set) ?? []).sort(descending)
const orNone = (revision = 0n): bigint => (revision > 0n ? revision : 0n)

export const maxRevision = (sets: readonly ReplicaSet[]): bigint => orNone(revisionsOf(sets)[0])

/** The revision before the latest; 0 when there is none. */
export const lastRevision = (sets: readonly ReplicaSet[]): bigint => orNone(revisionsOf(sets)[1])

/** How many of its pods are available and stay: it may be about to lose some. */
export const lastingAvailable = ({ spec, status }: ReplicaSet): number => Math.min(status.availableReplicas ?? 0, spec.replicas)

/** How many pods it has or will have: it may not have lost those yet that it should not have. */
export const mostPods = ({ spec, status }: ReplicaSet): number => Math.max(status.replicas, spec.replicas)

export const isActiveSet = ({ spec }: ReplicaSet): boolean => spec.replicas > 0

export const byCreation = (a: ReplicaSet, b: ReplicaSet): number =>
  compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) || compare(a.metadata.name, b.metadata.name)

export function byRevision(a: ReplicaSet, b: ReplicaSet): number {
  const [one, other] = [revisionOf(a), revisionOf(b)]
  return one === undefined || other === undefined || one === other ? byCreation(a, b) : descending(other, one)
}

const compare = (a = '', b = ''): number => (a < b ? -1 : a > b ? 1 : 0)

/** Whether two templates are the same but for the label that tells them apart. */
export const sameTemplate = (a: PodTemplateSpec, b: PodTemplateSpec): boolean =>
  meansTheSame(PodTemplateSpec, withoutHash(a), withoutHash(b))

export function withoutHash(template: PodTemplateSpec): PodTemplateSpec {
  const { labels } = template.metadata
  if (!labels || !Object.hasOwn(labels, TEMPLATE_HASH_LABEL)) return template
  const { [TEMPLATE_HASH_LABEL]: _, ...others } = labels
  return { ...template, metadata: { ...template.metadata, labels: others } }
}

/** The oldest of those with the template of the Deployment. */
export const findNewSet = ({ spec }: Deployment, sets: readonly ReplicaSet[]): ReplicaSet | undefined =>
  [...sets].sort(byCreation).find(set => sameTemplate(set.spec.template, spec.template))

/** The ReplicaSet for the template of a Deployment, as yet without pods and revision. Its name is always the same, so that it is made once. */
export function newSetFor(deployment: Deployment): ReplicaSet {
  const { metadata, spec, status } = deployment
  const hash = hashOf(spec.template, status.collisionCount)
  const name = `${metadata.name!.slice(0, DNS1123_SUBDOMAIN_MAX_LENGTH - 1 - hash.length)}-${hash}`
  const labels = { ...spec.template.metadata.labels, [TEMPLATE_HASH_LABEL]: hash }
  const { matchLabels, ...selector } = spec.selector
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: { name, namespace: metadata.namespace!, labels, ownerReferences: [controllerReference(deployment)] },
    spec: {
      replicas: 0,
      ...(spec.minReadySeconds && { minReadySeconds: spec.minReadySeconds }),
      selector: { ...selector, matchLabels: { ...matchLabels, [TEMPLATE_HASH_LABEL]: hash } },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
    status: { replicas: 0 },
  }
}

/**
 * The annotations of the new ReplicaSet: those of the Deployment, and the revision if it is greater than its own, which then becomes
 * history. Undefined when it has them already.
 */
export function annotatedFor(deployment: Deployment, set: ReplicaSet, revision: bigint): Annotations | undefined {
  const before = set.metadata.annotations ?? {}
  const text = before[REVISION]
  const own = text === undefined || text === '' ? 0n : integerIn(text)
  if (own === undefined) return undefined
  const after: Annotations = { ...before, ...passedOn(deployment.metadata.annotations) }
  if (own < revision) {
    after[REVISION] = String(revision)
    if (text !== undefined) after[REVISION_HISTORY] = historyWith(before[REVISION_HISTORY] ?? '', text)
  }
  const keys = Object.keys(after)
  return keys.length === Object.keys(before).length && keys.every(key => after[key] === before[key]) ? undefined : after
}

/** Adds a revision to those that a ReplicaSet has had; the oldest are left out when there are too many. */
function historyWith(history: string, revision: string): string {
  const revisions = history === '' ? [] : history.split(',')
  revisions.push(revision)
  while (revisions.length > 1 && revisions.join(',').length > HISTORY_LENGTH) revisions.shift()
  return revisions.join(',')
}

const passedOn = (annotations: Readonly<Annotations> = {}): Annotations =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => !OWN_ANNOTATIONS.has(key)))

/** The annotations of a Deployment that is rolled back to a ReplicaSet: those that the set got from it, and its own. */
export function annotatedFrom({ metadata }: Deployment, set: ReplicaSet): Annotations {
  const own = Object.entries(metadata.annotations ?? {}).filter(([key]) => OWN_ANNOTATIONS.has(key) && key !== ROLLBACK_TO)
  return { ...Object.fromEntries(own), ...passedOn(set.metadata.annotations) }
}

/** The sizes of the Deployment that a ReplicaSet was scaled for. */
export const sizeAnnotations = (deployment: Deployment): Annotations => ({
  [DESIRED_REPLICAS]: String(deployment.spec.replicas),
  [MAX_REPLICAS]: String(deployment.spec.replicas + maxSurge(deployment)),
})
