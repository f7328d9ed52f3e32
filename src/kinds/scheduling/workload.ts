/** Workload holds the templates of pod groups, which may be nested, that a controller makes for one object of its own. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { duplicate, type FieldError, invalid, type Ref, withValue } from '../../schema/refs.ts'
import { int32, keyed, message, recursive, type Static, string, type Type } from '../../schema/types.ts'
import { longName, pathSegmentName, shortName } from '../rules/declared-formats.ts'
import { type Declared, type FieldRules, validateDeclared } from '../rules/declared-rules.ts'
import { internalRepresentation } from '../rules/internal-representation.ts'
import {
  CompositeDisruptionMode,
  CompositePodGroupSchedulingConstraints,
  CompositePodGroupSchedulingPolicy,
  DisruptionMode,
  dropDisabledFields,
  PodGroupResourceClaim,
  PodGroupSchedulingConstraints,
  PodGroupSchedulingPolicy,
  sharedRules,
} from './group-shapes.ts'

const MAX_TEMPLATES = 8
const MAX_TEMPLATE_DEPTH = 4

const TypedLocalObjectReference = message('TypedLocalObjectReference', {
  apiGroup: [1, string, 'The API group; empty for the core group.'],
  kind: [2, string.always(), 'The kind.'],
  name: [3, string.always(), 'The name.'],
})

const PodGroupTemplate = message('PodGroupTemplate', {
  name: [1, string.always(), 'Unique in the Workload.'],
  schedulingPolicy: [2, PodGroupSchedulingPolicy.orEmpty().expected(), 'Pod by pod, or all or nothing.'],
  // Written as null when absent.
  schedulingConstraints: [3, PodGroupSchedulingConstraints.always().omittable(), 'Where the pods may run. Cannot change.'],
  resourceClaims: [4, keyed(PodGroupResourceClaim, 'name').mergedBy('name').retainingKeys(), 'Devices that the pods share. Cannot change.'],
  disruptionMode: [5, DisruptionMode, 'How the pods may be disrupted. Cannot change.'],
  priorityClassName: [6, string, 'The class that the priority comes from. Cannot change.'],
  priority: [7, int32.optional(), 'The priority. Cannot change.'],
  preemptionPolicy: [
    8,
    string.listed('Never', 'PreemptLowerPriority').optional(),
    'Whether others may be preempted: PreemptLowerPriority or Never. Cannot change.',
  ],
})
type PodGroupTemplate = Static<typeof PodGroupTemplate>

type CompositePodGroupTemplate = {
  name: string
  schedulingPolicy: Static<typeof CompositePodGroupSchedulingPolicy>
  schedulingConstraints?: Static<typeof CompositePodGroupSchedulingConstraints>
  disruptionMode?: Static<typeof CompositeDisruptionMode>
  priorityClassName?: string
  priority?: number
  preemptionPolicy?: string
  podGroupTemplates?: PodGroupTemplate[]
  compositePodGroupTemplates?: CompositePodGroupTemplate[]
}
const CompositePodGroupTemplate: Type<CompositePodGroupTemplate> = recursive('CompositePodGroupTemplate', self => ({
  name: [1, string.always(), 'Unique in the Workload.'],
  schedulingPolicy: [2, CompositePodGroupSchedulingPolicy.orEmpty().expected(), 'Group by group, or all or nothing. Cannot change.'],
  schedulingConstraints: [3, CompositePodGroupSchedulingConstraints, 'Where the pods may run. Cannot change.'],
  disruptionMode: [4, CompositeDisruptionMode, 'How the groups may be disrupted. Cannot change.'],
  priorityClassName: [5, string, 'The class that the priority comes from. Cannot change.'],
  priority: [6, int32.optional(), 'The priority. Cannot change.'],
  preemptionPolicy: [
    7,
    string.listed('Never', 'PreemptLowerPriority').optional(),
    'Whether others may be preempted: PreemptLowerPriority or Never. Cannot change.',
  ],
  podGroupTemplates: [8, keyed(PodGroupTemplate, 'name'), 'Groups of pods in this group.'],
  compositePodGroupTemplates: [9, keyed(self, 'name'), 'Groups of groups in this group.'],
}))

const WorkloadSpec = message('WorkloadSpec', {
  controllerRef: [1, TypedLocalObjectReference, 'The object that the Workload was made for. Cannot change.'],
  podGroupTemplates: [2, keyed(PodGroupTemplate, 'name').always().omittable(), 'Groups of pods; none can be added or removed.'],
  compositePodGroupTemplates: [3, keyed(CompositePodGroupTemplate, 'name'), 'Groups of groups; none can be added or removed.'],
})
type WorkloadSpec = Static<typeof WorkloadSpec>

const podGroupTemplateRules: Declared<PodGroupTemplate> = {
  fields: {
    name: { required: true, check: shortName },
    schedulingPolicy: sharedRules.podGroupPolicy,
    schedulingConstraints: { ...sharedRules.constraints, gate: 'TopologyAwareWorkloadScheduling' },
    resourceClaims: sharedRules.claims,
    disruptionMode: sharedRules.disruptionMode,
    priorityClassName: sharedRules.priorityClassName,
    priority: sharedRules.priority,
    preemptionPolicy: sharedRules.preemptionPolicy,
  },
}

const podGroupTemplates: FieldRules<PodGroupTemplate[]> = {
  maxItems: MAX_TEMPLATES,
  update: ['NoAddItem', 'NoRemoveItem'],
  key: ({ name }) => name,
  each: () => podGroupTemplateRules,
}
const compositePodGroupTemplates: FieldRules<CompositePodGroupTemplate[]> = {
  maxItems: MAX_TEMPLATES,
  update: ['NoAddItem', 'NoRemoveItem'],
  key: ({ name }) => name,
  each: () => compositeTemplateRules,
}

const compositeTemplateRules: Declared<CompositePodGroupTemplate> = {
  fields: {
    name: { required: true, check: shortName },
    schedulingPolicy: sharedRules.compositePolicy,
    schedulingConstraints: sharedRules.constraints,
    disruptionMode: sharedRules.disruptionMode,
    priorityClassName: sharedRules.priorityClassName,
    priority: sharedRules.priority,
    preemptionPolicy: sharedRules.preemptionPolicy,
    podGroupTemplates,
    compositePodGroupTemplates,
  },
}

const specRules: Declared<WorkloadSpec> = {
  union: ['podGroupTemplates', 'compositePodGroupTemplates'],
  fields: {
    controllerRef: {
      immutable: true,
      inside: () => ({
        fields: {
          apiGroup: { check: longName },
          kind: { required: true, check: pathSegmentName },
          name: { required: true, check: pathSegmentName },
        },
      }),
    },
    podGroupTemplates,
    compositePodGroupTemplates: { ...compositePodGroupTemplates, gate: 'CompositePodGroup' },
  },
}

export const Workload = defineKind({
  group: 'scheduling.{group_domain}',
  version: 'v1beta1',
  kind: 'Workload',
  scope: 'Namespaced',
  names: { plural: 'workloads' },
  doc: 'Templates of groups of pods.',
  lifecycle: { introduced: '1.37', deprecated: '1.40', removed: '1.43' },
  gate: 'GenericWorkload',
  otherVersions: { v1alpha3: { introduced: '1.37' } },
  storedAs: { version: 'v1beta1' },
  spec: WorkloadSpec.expected(),
  resetFields: [],
  allowUnconditionalUpdate: false,

  prepareForCreate({ spec }, { gate }) {
    dropDisabled(spec, undefined, gate)
  },
  prepareForUpdate({ spec }, old, { gate }) {
    dropDisabled(spec, old.spec, gate)
  },
  *validate({ spec }, { spec: at }, { old, gate }) {
    yield* validateHierarchy(spec, at)
    yield* validateDeclared(specRules, { value: spec, at, old: old?.spec }, { isUpdate: old !== undefined, gate })
  },

  columns: { Age: age },
})

/** An object of the kind Workload. */
export type Workload = ObjectOf<typeof Workload>

type Gate = (name: string) => boolean
/** Templates inside the spec or inside another template. */
type Level = {
  readonly podGroupTemplates?: PodGroupTemplate[] | null
  compositePodGroupTemplates?: CompositePodGroupTemplate[] | null
}

function dropDisabled(level: Level, old: Level | undefined, gate: Gate): void {
  for (const [i, template] of (level.podGroupTemplates ?? []).entries()) {
    dropDisabledFields(template, old?.podGroupTemplates?.[i], gate)
    template.schedulingConstraints ??= null
  }
  const templates = level.compositePodGroupTemplates ?? []
  if (!gate('CompositePodGroup') && !old?.compositePodGroupTemplates?.length) delete level.compositePodGroupTemplates
  const before = new Map((old?.compositePodGroupTemplates ?? []).map(template => [template.name, template]))
  for (const template of templates) {
    const stored = before.get(template.name)
    if (!gate('PodGroupPreemptionPolicy') && stored?.preemptionPolicy === undefined) delete template.preemptionPolicy
    dropDisabled(template, stored, gate)
  }
}

/** Rules about all templates together: names are unique, the tree is shallow, there is one priority, and no group of groups is empty. */
function* validateHierarchy(spec: WorkloadSpec, at: Ref<WorkloadSpec>): Iterable<FieldError> {
  const names = new Set((spec.podGroupTemplates ?? []).map(({ name }) => name))
  yield* repeatedNames(spec, at, names)
  for (const [i, template] of (spec.compositePodGroupTemplates ?? []).entries()) {
    if (depthOf(template) < MAX_TEMPLATE_DEPTH) continue
    const children = internalRepresentation(keyed(CompositePodGroupTemplate, 'name'), template.compositePodGroupTemplates ?? [])
    yield invalid(withValue(at.compositePodGroupTemplates[i]!, children), `maximum template hierarchy depth is ${MAX_TEMPLATE_DEPTH}`)
  }
  yield* priorityErrors(spec, at)
  yield* childlessTemplates(spec, at)
}

/** Names that occur in another list; repetitions in one list are an error of the list. */
function* repeatedNames(level: Level, at: Ref<Level>, names: Set<string>): Iterable<FieldError> {
  const templates = level.compositePodGroupTemplates ?? []
  for (const [i, { name }] of templates.entries()) if (names.has(name)) yield duplicate(at.compositePodGroupTemplates[i]!.name)
  for (const { name } of templates) names.add(name)
  for (const [i, template] of templates.entries()) {
    const here = at.compositePodGroupTemplates[i]!
    for (const [j, { name }] of (template.podGroupTemplates ?? []).entries())
      if (names.has(name)) yield duplicate(here.podGroupTemplates[j]!.name)
    for (const { name } of template.podGroupTemplates ?? []) names.add(name)
    yield* repeatedNames(template, here, names)
  }
}

const depthOf = ({ compositePodGroupTemplates }: CompositePodGroupTemplate): number =>
  1 + Math.max(0, ...(compositePodGroupTemplates ?? []).map(depthOf))

function* priorityErrors(spec: WorkloadSpec, at: Ref<WorkloadSpec>): Iterable<FieldError> {
  const nothing = withValue(at, null)
  const groups = new Set((spec.podGroupTemplates ?? []).map(priorityOf))
  if (groups.size > 1) return yield invalid(nothing, 'detected multiple priority configurations')
  const all = new Set([...groups, ...prioritiesIn(spec.compositePodGroupTemplates ?? [])])
  if (all.size > 1) yield invalid(nothing, 'all priority and priorityClassName values must be identical, detected multiple values')
}
const priorityOf = ({ priorityClassName = '', priority }: { readonly priorityClassName?: string; readonly priority?: number }) =>
  `${priorityClassName}/${priority}`
function* prioritiesIn(templates: readonly CompositePodGroupTemplate[]): Iterable<string> {
  for (const template of templates) {
    yield priorityOf(template)
    yield* (template.podGroupTemplates ?? []).map(priorityOf)
    yield* prioritiesIn(template.compositePodGroupTemplates ?? [])
  }
}

function* childlessTemplates(level: Level, at: Ref<Level>): Iterable<FieldError> {
  for (const [i, template] of (level.compositePodGroupTemplates ?? []).entries()) {
    const here = at.compositePodGroupTemplates[i]!
    if (!template.podGroupTemplates?.length && !template.compositePodGroupTemplates?.length)
      yield invalid(withValue(here, template.name), 'must have at least one child PodGroupTemplate or CompositePodGroupTemplate')
    yield* childlessTemplates(template, here)
  }
}
