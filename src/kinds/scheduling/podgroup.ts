/** PodGroup is a group of pods that are scheduled together, made from a template of a Workload. */
import { nameIsDNSSubdomain } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { conditionOf } from '../../schema/conditions.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { type FieldError, invalid, type Ref, required } from '../../schema/refs.ts'
import { int32, keyed, message, type Static, string } from '../../schema/types.ts'
import { longName } from '../rules/declared-formats.ts'
import { type Declared, validateDeclared } from '../rules/declared-rules.ts'
import { Condition, validateConditions } from '../rules/meta.ts'
import {
  DisruptionMode,
  dropDisabledFields,
  MAX_GROUP_CLAIMS,
  PodGroupResourceClaim,
  PodGroupSchedulingConstraints,
  PodGroupSchedulingPolicy,
  sharedRules,
  WorkloadReference,
  workloadReferenceRules,
} from './group-shapes.ts'

const PodGroupSpec = message('PodGroupSpec', {
  parentCompositePodGroupName: [1, string.optional(), 'The composite pod group that this one belongs to. Cannot change.'],
  workloadRef: [2, WorkloadReference, 'The template that this group was made from. Cannot change.'],
  schedulingPolicy: [3, PodGroupSchedulingPolicy.orEmpty().expected(), 'Pod by pod, or all or nothing.'],
  schedulingConstraints: [4, PodGroupSchedulingConstraints, 'Where the pods may run. Cannot change.'],
  resourceClaims: [5, keyed(PodGroupResourceClaim, 'name').mergedBy('name').retainingKeys(), 'Devices that the pods share. Cannot change.'],
  disruptionMode: [6, DisruptionMode.openapiDefault({ single: {} }), 'How the pods may be disrupted. Cannot change.'],
  priorityClassName: [7, string, 'The class that the priority comes from. Cannot change.'],
  priority: [8, int32.optional(), 'The priority, set by admission. Cannot change.'],
  preemptionPolicy: [
    9,
    string.listed('Never', 'PreemptLowerPriority').optional(),
    'Whether others may be preempted: PreemptLowerPriority or Never. Cannot change.',
  ],
})
type PodGroupSpec = Static<typeof PodGroupSpec>

const PodGroupResourceClaimStatus = message('PodGroupResourceClaimStatus', {
  name: [1, string.always(), 'The entry of the spec.'],
  resourceClaimName: [2, string.optional(), 'The claim that was made from its template.'],
})

const PodGroupStatus = message('PodGroupStatus', {
  conditions: [1, keyed(Condition, 'type').mergedBy('type'), 'Latest observations, such as PodGroupInitiallyScheduled.'],
  resourceClaimStatuses: [
    2,
    keyed(PodGroupResourceClaimStatus, 'name').mergedBy('name').retainingKeys(),
    'The claims that were made for the group.',
  ],
})
type PodGroupStatus = Static<typeof PodGroupStatus>

const specRules: Declared<PodGroupSpec> = {
  fields: {
    parentCompositePodGroupName: { gate: 'CompositePodGroup', immutable: true, pointer: true, check: longName },
    workloadRef: { immutable: true, inside: () => workloadReferenceRules },
    schedulingPolicy: sharedRules.podGroupPolicy,
    schedulingConstraints: { ...sharedRules.constraints, gate: 'TopologyAwareWorkloadScheduling' },
    resourceClaims: sharedRules.claims,
    disruptionMode: { ...sharedRules.disruptionMode, required: true },
    priorityClassName: sharedRules.priorityClassName,
    priority: sharedRules.priority,
    preemptionPolicy: sharedRules.preemptionPolicy,
  },
}

const statusRules: Declared<PodGroupStatus> = {
  fields: {
    resourceClaimStatuses: {
      maxItems: MAX_GROUP_CLAIMS,
      key: ({ name }) => name,
      each: () => ({ fields: { resourceClaimName: { pointer: true, check: longName } } }),
    },
  },
}

export const PodGroup = defineKind({
  group: 'scheduling.{group_domain}',
  version: 'v1beta1',
  kind: 'PodGroup',
  scope: 'Namespaced',
  names: { plural: 'podgroups' },
  doc: 'Pods that are scheduled together.',
  lifecycle: { introduced: '1.37', deprecated: '1.40', removed: '1.43' },
  gate: 'GenericWorkload',
  otherVersions: { v1alpha3: { introduced: '1.37' } },
  storedAs: { version: 'v1beta1' },
  name: nameIsDNSSubdomain,
  spec: PodGroupSpec.expected(),
  status: PodGroupStatus,
  allowUnconditionalUpdate: false,

  defaults({ spec }, { gate }) {
    spec.disruptionMode ??= { single: {} }
    if (gate('PodGroupPreemptionPolicy')) spec.preemptionPolicy ??= 'PreemptLowerPriority'
  },
  prepareForCreate({ spec }, { gate }) {
    dropDisabled(spec, undefined, gate)
  },
  prepareForUpdate({ spec }, old, { gate }) {
    dropDisabled(spec, old.spec, gate)
  },
  *validate({ spec }, { spec: at }, { old, gate }) {
    if (!old && spec.parentCompositePodGroupName !== undefined && !spec.workloadRef)
      yield required(at.workloadRef, 'must be set when parentCompositePodGroupName is set')
    yield* validateDeclared(specRules, { value: spec, at, old: old?.spec }, { isUpdate: old !== undefined, gate })
  },

  subresources: {
    status: {
      keepsMetadata: true,
      prepareForUpdate({ status }, old, { gate }) {
        if (!gate('DRAWorkloadResourceClaims') && !old.spec.resourceClaims?.length) delete status.resourceClaimStatuses
      },
      *validate({ spec, status }, { status: at }, { old, gate }) {
        yield* validateConditions(status.conditions, at.conditions)
        yield* validateClaimStatuses(status, at, spec)
        yield* validateDeclared(statusRules, { value: status, at, old: old?.status }, { isUpdate: true, gate })
      },
    },
  },

  columns: {
    Policy: ['string', o => (o.spec.schedulingPolicy.gang ? 'Gang' : 'Basic'), 'How the group is scheduled'],
    Workload: ['string', o => o.spec.workloadRef?.workloadName ?? '<none>', 'The Workload that it was made from'],
    Status: ['string', o => stateOf(o.status), 'Whether it was scheduled'],
    Age: age,
  },
})

/** An object of the kind PodGroup. */
export type PodGroup = ObjectOf<typeof PodGroup>

/** Whether all its requirements were met once. */
export const INITIALLY_SCHEDULED = 'PodGroupInitiallyScheduled'

function stateOf({ conditions = [] }: PodGroupStatus): string {
  const disrupted = conditionOf(conditions, 'DisruptionTarget')
  if (disrupted) return disrupted.reason
  const scheduled = conditionOf(conditions, INITIALLY_SCHEDULED)
  if (!scheduled) return 'Pending'
  return scheduled.status === 'True' ? 'Scheduled' : 'Unschedulable'
}

function dropDisabled(spec: PodGroupSpec, old: PodGroupSpec | undefined, gate: (name: string) => boolean): void {
  dropDisabledFields(spec, old, gate)
  if (!gate('CompositePodGroup') && old?.parentCompositePodGroupName === undefined) delete spec.parentCompositePodGroupName
}

function* validateClaimStatuses(
  { resourceClaimStatuses = [] }: PodGroupStatus,
  at: Ref<PodGroupStatus>,
  { resourceClaims = [] }: PodGroupSpec,
): Iterable<FieldError> {
  const names = new Set(resourceClaims.map(({ name }) => name))
  for (const [i, { name }] of resourceClaimStatuses.entries())
    if (!names.has(name)) yield invalid(at.resourceClaimStatuses[i]!.name, 'must match the name of an entry in `spec.resourceClaims`')
}
