/** StatefulSet keeps pods with stable names and storage. */

import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Label, nameIsDNSLabel } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, invalidEach, type Ref, refTo, unsupported, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { atomic, int32, int64, intOrString, keyed, message, type Static, string } from '../../schema/types.ts'
import { formerCondition } from '../rules/former-condition.ts'
import { LabelSelector, labelTermsOf, selectorText, validateLabelSelector } from '../rules/meta.ts'
import { validatePersistentVolumeClaimSpec } from '../rules/persistent-volume/claim-rules.ts'
import { EmbeddedPersistentVolumeClaim } from '../rules/persistent-volume/claim-status.ts'
import { dropDisabledTemplateFields } from '../rules/pod/features.ts'
import { PodTemplateSpec } from '../rules/pod/spec.ts'
import { warnAboutClaim } from '../rules/pod/volumes/volume-warnings.ts'
import {
  amountOf,
  containersColumn,
  count,
  imagesColumn,
  REPLICAS_SCALE,
  validateAmount,
  validateAtMostWhole,
  validateCollisions,
  validateLasting,
  validateNotEmpty,
  validateTemplate,
  warnAboutTemplate,
} from '../rules/workload.ts'

const RollingUpdateStatefulSetStrategy = message('RollingUpdateStatefulSetStrategy', {
  partition: [1, count.optional(), 'Pods with a lower ordinal keep the old template.'],
  maxUnavailable: [2, intOrString.optional(), 'How many pods may be missing during the update, or which part of them.'],
})

const StatefulSetUpdateStrategy = message(
  'StatefulSetUpdateStrategy',
  {
    type: [
      1,
      string.listed('OnDelete', 'Recreate', 'RollingUpdate'),
      'RollingUpdate, or OnDelete to replace pods only when they are deleted.',
    ],
    rollingUpdate: [2, RollingUpdateStatefulSetStrategy, 'How fast pods are replaced; only with RollingUpdate.'],
  },
  {
    defaults(strategy) {
      if (!strategy.type) {
        strategy.type = 'RollingUpdate'
        strategy.rollingUpdate ??= {}
      }
      if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate)
        strategy.rollingUpdate = { partition: 0, maxUnavailable: 1, ...strategy.rollingUpdate }
    },
  },
)
type UpdateStrategy = Static<typeof StatefulSetUpdateStrategy>

const StatefulSetPersistentVolumeClaimRetentionPolicy = message('StatefulSetPersistentVolumeClaimRetentionPolicy', {
  whenDeleted: [1, string.default('Retain'), 'The treatment of claims when the set is deleted: Retain or Delete.'],
  whenScaled: [2, string.default('Retain'), 'The treatment of claims when the set shrinks: Retain or Delete.'],
})

const StatefulSetOrdinals = message('StatefulSetOrdinals', {
  start: [1, count.always().omittable(), 'The ordinal of the first pod.'],
})

const StatefulSetSpec = message('StatefulSetSpec', {
  replicas: [1, count.optional().default(1), 'How many pods should exist.'],
  selector: [2, LabelSelector.required().immutable(), 'Selects its pods; must match the labels of the template.'],
  template: [3, PodTemplateSpec.orEmpty().expected(), 'The template of pods.'],
  volumeClaimTemplates: [4, atomic(EmbeddedPersistentVolumeClaim), 'Claims that every pod gets. Cannot change.'],
  serviceName: [5, string.always().omittable(), 'The service that gives pods their host names. Cannot change.'],
  podManagementPolicy: [
    6,
    string.listed('OrderedReady', 'Parallel').default('OrderedReady'),
    'OrderedReady, or Parallel to start and end all pods at once. Cannot change.',
  ],
  updateStrategy: [7, StatefulSetUpdateStrategy.orEmpty(), 'How pods are replaced when the template changes.'],
  revisionHistoryLimit: [8, int32.optional().default(10), 'How many old revisions are kept.'],
  minReadySeconds: [9, count, 'Seconds a new pod must be ready to count as available.'],
  persistentVolumeClaimRetentionPolicy: [
    10,
    StatefulSetPersistentVolumeClaimRetentionPolicy.default({ whenDeleted: 'Retain', whenScaled: 'Retain' }),
    'The treatment of claims that are no longer used.',
  ],
  ordinals: [11, StatefulSetOrdinals, 'How pods are numbered.'],
})
type StatefulSetSpec = Static<typeof StatefulSetSpec>

const StatefulSetStatus = message('StatefulSetStatus', {
  observedGeneration: [1, int64.min(0), 'The generation this status describes.'],
  replicas: [2, count.always(), 'Pods that exist.'],
  readyReplicas: [3, count, 'Those of them that are ready.'],
  currentReplicas: [4, count, 'Those of them of the current revision.'],
  updatedReplicas: [5, count, 'Those of them of the update revision.'],
  currentRevision: [6, string, 'The revision that pods are created from.'],
  updateRevision: [7, string, 'The revision that pods go to.'],
  collisionCount: [9, count.optional(), 'How often names of revisions collided; keeps new names unique.'],
  conditions: [
    10,
    keyed(formerCondition('StatefulSetCondition', string.always().omittable()), 'type').mergedBy('type'),
    'Latest observations.',
  ],
  availableReplicas: [11, count.always().omittable(), 'Those that have been ready for minReadySeconds.'],
})
type StatefulSetStatus = Static<typeof StatefulSetStatus>

const MAX_UNAVAILABLE = 'MaxUnavailableStatefulSet'

export const StatefulSet = defineKind({
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  scope: 'Namespaced',
  names: { plural: 'statefulsets', short: ['sts'], categories: ['all'] },
  blank: { spec: { replicas: 0 } },
  doc: 'Keeps pods that each have a name and storage of their own.',
  spec: StatefulSetSpec.expected(),
  status: StatefulSetStatus,
  name: nameIsDNSLabel,
  generation: true,

  prepareForCreate({ spec }, ctx) {
    if (!ctx.gate(MAX_UNAVAILABLE)) delete spec.updateStrategy.rollingUpdate?.maxUnavailable
    dropDisabledTemplateFields(spec.template, undefined, ctx.gate)
  },
  prepareForUpdate({ spec }, old, ctx) {
    if (!ctx.gate(MAX_UNAVAILABLE) && old.spec.updateStrategy.rollingUpdate?.maxUnavailable === undefined)
      delete spec.updateStrategy.rollingUpdate?.maxUnavailable
    dropDisabledTemplateFields(spec.template, old.spec.template, ctx.gate)
  },
  validateUpdate: ({ spec }, old, { spec: at }) => validateStatefulSetChange(spec, old.spec, at),
  validate: ({ spec }, { spec: at }, { old, gate }) => validateStatefulSetSpec(spec, at, { old: old?.spec, gate }),
  *warn({ metadata, spec }, old) {
    if (old === undefined || metadata.generation !== old.metadata.generation)
      yield* warnAboutTemplate(spec.template, refTo(spec.template, 'spec.template'))
    // The path differs between creates and updates; as in kube-apiserver.
    const part = old === undefined ? '' : '.Spec'
    for (const [i, claim] of (spec.volumeClaimTemplates ?? []).entries())
      yield* warnAboutClaim(claim.spec, refTo(claim.spec, `spec.volumeClaimTemplates[${i}]${part}`))
    if (spec.revisionHistoryLimit < 0)
      yield 'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended'
  },

  subresources: {
    status: {
      validate: ({ status }, { status: at }) => validateStatefulSetStatus(status, at),
      validateUpdate: ({ status }, old, { status: at }) => validateCollisions(status, old.status, at),
    },
    scale: { ...REPLICAS_SCALE, selector: o => selectorText(o.spec.selector) },
  },

  columns: {
    Ready: ['string', o => `${o.status.readyReplicas ?? 0}/${o.spec.replicas}`, 'Number of the pod with ready state'],
    Age: age,
    Containers: containersColumn,
    Images: imagesColumn,
  },
})

/** An object of the kind StatefulSet. */
export type StatefulSet = ObjectOf<typeof StatefulSet>

type Write = { readonly old: StatefulSetSpec | undefined; readonly gate: RequestContext['gate'] }

/** Rules for the spec. Immutable fields are validated only on create. */
function* validateStatefulSetSpec(spec: StatefulSetSpec, at: Ref<StatefulSetSpec>, { old, gate }: Write): Iterable<FieldError> {
  const { podManagementPolicy, selector, serviceName, volumeClaimTemplates: claims = [] } = spec
  if (!['OrderedReady', 'Parallel'].includes(podManagementPolicy))
    yield invalid(at.podManagementPolicy, "must be 'OrderedReady' or 'Parallel'")
  const mayRecreate = gate('StatefulSetRecreateStrategy') || old?.updateStrategy.type === 'Recreate'
  yield* validateUpdateStrategy(spec.updateStrategy, at.updateStrategy, mayRecreate)
  for (const when of ['whenDeleted', 'whenScaled'] as const)
    if (!['Retain', 'Delete'].includes(spec.persistentVolumeClaimRetentionPolicy[when]))
      yield unsupported(at.persistentVolumeClaimRetentionPolicy[when], 'Retain', 'Delete')
  if (old === undefined) {
    for (const [i, claim] of claims.entries()) yield* validatePersistentVolumeClaimSpec(claim.spec, at.volumeClaimTemplates[i]!.spec)
    if (serviceName) yield* invalidEach(at.serviceName, isDNS1123Label(serviceName))
  }
  if (selector) {
    yield* validateLabelSelector(selector, at.selector)
    yield* validateNotEmpty(selector, at.selector, 'statefulset')
  }
  if (labelTermsOf(selector) === undefined) {
    yield invalid(at.selector, '')
    yield* validateLasting(spec.template, at.template, 'StatefulSet')
  } else yield* validateTemplate({ selector, template: templateOfPods(spec) }, at, { owner: 'StatefulSet', old: old?.template, gate })
}

/** Names and storage of pods derive from immutable fields. */
function* validateStatefulSetChange(spec: StatefulSetSpec, old: StatefulSetSpec, at: Ref<StatefulSetSpec>): Iterable<FieldError> {
  const [claims, oldClaims] = [spec.volumeClaimTemplates ?? null, old.volumeClaimTemplates ?? null]
  if (!deepEqual(claims, oldClaims)) yield invalid(withValue(at.volumeClaimTemplates, claims), IMMUTABLE)
  if (spec.serviceName !== old.serviceName) yield invalid(at.serviceName, IMMUTABLE)
  if (spec.podManagementPolicy !== old.podManagementPolicy) yield invalid(at.podManagementPolicy, IMMUTABLE)
}

/** No count of some pods exceeds the number of all. */
function* validateStatefulSetStatus(status: StatefulSetStatus, at: Ref<StatefulSetStatus>): Iterable<FieldError> {
  for (const part of ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'] as const)
    if ((status[part] ?? 0) > status.replicas) yield invalid(at[part], 'cannot be greater than status.replicas')
  if (status.availableReplicas > (status.readyReplicas ?? 0))
    yield invalid(at.availableReplicas, 'cannot be greater than status.readyReplicas')
}

const IMMUTABLE = 'field is immutable'

function* validateUpdateStrategy(
  { type, rollingUpdate }: UpdateStrategy,
  at: Ref<UpdateStrategy>,
  mayRecreate: boolean,
): Iterable<FieldError> {
  // kube-apiserver shows the strategy with the field names of its internal type.
  const shown = rollingUpdate ? { Partition: rollingUpdate.partition ?? 0, MaxUnavailable: rollingUpdate.maxUnavailable ?? null } : null
  if (type === 'RollingUpdate') {
    const amount = rollingUpdate?.maxUnavailable
    if (amount === undefined) return
    const here = at.rollingUpdate.maxUnavailable
    yield* validateAmount(amount, here)
    if (amountOf(amount) === 0) yield invalid(here, 'cannot be 0')
    yield* validateAtMostWhole(amount, here)
  } else if (type === 'OnDelete' || (type === 'Recreate' && mayRecreate)) {
    if (shown) yield invalid(withValue(at.rollingUpdate, shown), "only allowed for updateStrategy 'RollingUpdate'")
  } else {
    const allowed = mayRecreate ? "must be 'RollingUpdate', 'OnDelete', or 'Recreate'" : "must be 'RollingUpdate' or 'OnDelete'"
    yield invalid(withValue(at, { Type: type, RollingUpdate: shown }), allowed)
  }
}

/** The template that pods are actually created from: the controller adds host names, and volumes for their claims. */
function templateOfPods({ template, volumeClaimTemplates: claims = [] }: StatefulSetSpec): PodTemplateSpec {
  const { subdomain: _subdomain, hostname: _hostname, ...spec } = template.spec
  if (claims.length === 0) return { ...template, spec }
  const names = new Set(claims.map(({ metadata }) => metadata.name ?? ''))
  const volumes = [
    ...[...names].map(name => ({ name, persistentVolumeClaim: { claimName: name } })),
    ...(spec.volumes ?? []).filter(({ name }) => !names.has(name)),
  ]
  return { ...template, spec: { ...spec, volumes } }
}
