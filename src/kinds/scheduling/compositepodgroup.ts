/** CompositePodGroup is a group of pod groups that are scheduled together, made from a template of a Workload. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { int32, keyed, message, type Static, string } from '../../schema/types.ts'
import { longName } from '../rules/declared-formats.ts'
import { type Declared, validateDeclared } from '../rules/declared-rules.ts'
import { Condition, validateConditions } from '../rules/meta.ts'
import {
  CompositeDisruptionMode,
  CompositePodGroupSchedulingConstraints,
  CompositePodGroupSchedulingPolicy,
  sharedRules,
  WorkloadReference,
  workloadReferenceRules,
} from './group-shapes.ts'

const CompositePodGroupSpec = message('CompositePodGroupSpec', {
  parentCompositePodGroupName: [1, string.optional(), 'The composite pod group that this one belongs to. Cannot change.'],
  workloadRef: [2, WorkloadReference.always(), 'The template that this group was made from. Cannot change.'],
  schedulingPolicy: [3, CompositePodGroupSchedulingPolicy.orEmpty().expected(), 'Group by group, or all or nothing. Cannot change.'],
  schedulingConstraints: [4, CompositePodGroupSchedulingConstraints, 'Where the pods may run. Cannot change.'],
  disruptionMode: [5, CompositeDisruptionMode.openapiDefault({ single: {} }), 'How the groups may be disrupted. Cannot change.'],
  priorityClassName: [6, string, 'The class that the priority comes from. Cannot change.'],
  priority: [7, int32.optional(), 'The priority, set by admission. Cannot change.'],
  preemptionPolicy: [
    8,
    string.listed('Never', 'PreemptLowerPriority').optional(),
    'Whether others may be preempted: PreemptLowerPriority or Never. Cannot change.',
  ],
})
type CompositePodGroupSpec = Static<typeof CompositePodGroupSpec>

const CompositePodGroupStatus = message('CompositePodGroupStatus', {
  conditions: [1, keyed(Condition, 'type').mergedBy('type'), 'Latest observations, such as CompositePodGroupInitiallyScheduled.'],
})

const specRules: Declared<CompositePodGroupSpec> = {
  fields: {
    parentCompositePodGroupName: { immutable: true, pointer: true, check: longName },
    workloadRef: { immutable: true, required: true, inside: () => workloadReferenceRules },
    schedulingPolicy: { ...sharedRules.compositePolicy, immutable: true },
    schedulingConstraints: sharedRules.constraints,
    disruptionMode: { ...sharedRules.disruptionMode, required: true },
    priorityClassName: sharedRules.priorityClassName,
    priority: sharedRules.priority,
    preemptionPolicy: sharedRules.preemptionPolicy,
  },
}

export const CompositePodGroup = defineKind({
  group: 'scheduling.{group_domain}',
  version: 'v1alpha3',
  kind: 'CompositePodGroup',
  scope: 'Namespaced',
  names: { plural: 'compositepodgroups' },
  doc: 'Pod groups that are scheduled together.',
  lifecycle: { introduced: '1.37' },
  gate: 'CompositePodGroup',
  storedAs: { version: 'v1alpha3' },
  spec: CompositePodGroupSpec.expected(),
  status: CompositePodGroupStatus,
  allowUnconditionalUpdate: false,

  defaults({ spec }, { gate }) {
    spec.disruptionMode ??= { single: {} }
    if (gate('PodGroupPreemptionPolicy')) spec.preemptionPolicy ??= 'PreemptLowerPriority'
  },
  prepareForCreate({ spec }, { gate }) {
    if (!gate('PodGroupPreemptionPolicy')) delete spec.preemptionPolicy
  },
  prepareForUpdate({ spec }, old, { gate }) {
    if (!gate('PodGroupPreemptionPolicy') && old.spec.preemptionPolicy === undefined) delete spec.preemptionPolicy
  },
  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* validateDeclared(specRules, { value: spec, at, old: old?.spec }, { isUpdate: old !== undefined, gate })
  },

  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ status }, { status: at }) {
        yield* validateConditions(status.conditions, at.conditions)
      },
    },
  },

  columns: {
    Policy: ['string', o => (o.spec.schedulingPolicy.gang ? 'Gang' : 'Basic'), 'How the group is scheduled'],
    Workload: ['string', o => o.spec.workloadRef?.workloadName ?? '<none>', 'The Workload that it was made from'],
    Age: age,
  },
})

/** An object of the kind CompositePodGroup. */
export type CompositePodGroup = ObjectOf<typeof CompositePodGroup>
