/** The rules of StatefulSets. */
import { deepEqual } from '../../lib/json-value.ts'
import { isDNS1123Label } from '../../lib/names.ts'
import { type FieldError, invalid, invalidEach, type Ref, unsupported, withValue } from '../../schema/refs.ts'
import type { RequestContext } from '../../schema/request-context.ts'
import { labelTermsOf, validateLabelSelector } from '../shapes/meta.ts'
import { validatePersistentVolumeClaimSpec } from '../shapes/persistent-volume/claim-rules.ts'
import type { PodTemplateSpec } from '../shapes/pod/spec.ts'
import { amountOf, validateAmount, validateAtMostWhole, validateNotEmpty, validateTemplate } from '../shapes/workload.ts'
import type { StatefulSetSpec, StatefulSetStatus, UpdateStrategy } from './statefulset-shapes.ts'

type Write = { readonly old: StatefulSetSpec | undefined; readonly gate: RequestContext['gate'] }

/** Rules on what is asked for. What cannot change is checked only when it is new. */
export function* validateStatefulSetSpec(spec: StatefulSetSpec, at: Ref<StatefulSetSpec>, { old, gate }: Write): Iterable<FieldError> {
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
  if (labelTermsOf(selector) === undefined) yield invalid(at.selector, '')
  else yield* validateTemplate({ selector, template: templateOfPods(spec) }, at, { owner: 'StatefulSet', old: old?.template, gate })
}

/** Names and storage of pods come from what cannot change. */
export function* validateStatefulSetChange(spec: StatefulSetSpec, old: StatefulSetSpec, at: Ref<StatefulSetSpec>): Iterable<FieldError> {
  const [claims, oldClaims] = [spec.volumeClaimTemplates ?? null, old.volumeClaimTemplates ?? null]
  if (!deepEqual(claims, oldClaims)) yield invalid(withValue(at.volumeClaimTemplates, claims), IMMUTABLE)
  if (spec.serviceName !== old.serviceName) yield invalid(at.serviceName, IMMUTABLE)
  if (spec.podManagementPolicy !== old.podManagementPolicy) yield invalid(at.podManagementPolicy, IMMUTABLE)
}

/** No part of the pods outnumbers the whole. */
export function* validateStatefulSetStatus(status: StatefulSetStatus, at: Ref<StatefulSetStatus>): Iterable<FieldError> {
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
  // Clients are shown the strategy under the names it has inside a Kubernetes server.
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

/** The template as pods are really made from it: the controller gives them host names, and volumes for their claims. */
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
