/** Messages that templates of pod groups, pod groups and composite pod groups share, with the rules declared on their fields. */
import { atomic, int32, message, type Static, string } from '../../schema/types.ts'
import { choice, labelKey, longName, maximum, minimum, shortName } from '../rules/declared-formats.ts'
import type { Declared } from '../rules/declared-rules.ts'

const MAX_PRIORITY = 1_000_000_000
export const MAX_GROUP_CLAIMS = 4

export const GangSchedulingPolicy = message('GangSchedulingPolicy', {
  minCount: [1, int32.always(), 'How many pods must be schedulable at once.'],
})

export const PodGroupSchedulingPolicy = message(
  'PodGroupSchedulingPolicy',
  {
    basic: [1, message('BasicSchedulingPolicy', {}), 'Pod by pod.'],
    gang: [2, GangSchedulingPolicy, 'All or nothing.'],
  },
  { union: {} },
)
const podGroupPolicyRules: Declared<Static<typeof PodGroupSchedulingPolicy>> = {
  union: ['basic', 'gang'],
  fields: {
    basic: { immutable: true },
    gang: { update: ['NoSet', 'NoUnset'], inside: () => ({ fields: { minCount: { required: true, check: minimum(1) } } }) },
  },
}

export const CompositePodGroupSchedulingPolicy = message(
  'CompositePodGroupSchedulingPolicy',
  {
    basic: [1, message('CompositeBasicSchedulingPolicy', {}), 'Group by group.'],
    gang: [
      2,
      message('CompositeGangSchedulingPolicy', { minGroupCount: [1, int32.always(), 'How many groups must be schedulable at once.'] }),
      'All or nothing.',
    ],
  },
  { union: {} },
)
const compositePolicyRules: Declared<Static<typeof CompositePodGroupSchedulingPolicy>> = {
  union: ['basic', 'gang'],
  fields: {
    basic: { immutable: true },
    gang: { update: ['NoSet', 'NoUnset'], inside: () => ({ fields: { minGroupCount: { required: true, check: minimum(1) } } }) },
  },
}

const TopologyConstraint = message('TopologyConstraint', {
  key: [1, string.always(), 'The label of nodes that must be the same for all pods.'],
})
type Constraints = { topology?: Static<typeof TopologyConstraint>[] }

export const PodGroupSchedulingConstraints = message('PodGroupSchedulingConstraints', {
  topology: [1, atomic(TopologyConstraint), 'Where the pods must be close to each other.'],
})
export const CompositePodGroupSchedulingConstraints = message('CompositePodGroupSchedulingConstraints', {
  topology: [1, atomic(TopologyConstraint), 'Where all pods of the groups must be close to each other.'],
})
const constraintRules: Declared<Constraints> = {
  fields: { topology: { maxItems: 1, each: () => ({ fields: { key: { required: true, check: labelKey } } }) } },
}

export const DisruptionMode = message(
  'DisruptionMode',
  {
    single: [1, message('SingleDisruptionMode', {}), 'Pods may be disrupted one by one.'],
    all: [2, message('AllDisruptionMode', {}), 'Pods are disrupted together.'],
  },
  { union: {} },
)
export const CompositeDisruptionMode = message(
  'CompositeDisruptionMode',
  {
    single: [1, message('SingleCompositeDisruptionMode', {}), 'Groups may be disrupted one by one.'],
    all: [2, message('AllCompositeDisruptionMode', {}), 'Groups are disrupted together.'],
  },
  { union: {} },
)
const disruptionRules: Declared<{ single?: object; all?: object }> = { union: ['single', 'all'] }

export const PodGroupResourceClaim = message('PodGroupResourceClaim', {
  name: [1, string.always(), 'The name by which pods refer to the claim.'],
  resourceClaimName: [2, string.optional(), 'A claim that exists.'],
  resourceClaimTemplateName: [3, string.optional(), 'A template that the claim is made from.'],
})
export type PodGroupResourceClaim = Static<typeof PodGroupResourceClaim>
const claimRules: Declared<PodGroupResourceClaim> = {
  union: ['resourceClaimName', 'resourceClaimTemplateName'],
  fields: {
    name: { required: true, check: shortName },
    resourceClaimName: { pointer: true, check: longName },
    resourceClaimTemplateName: { pointer: true, check: longName },
  },
}

export const WorkloadReference = message('WorkloadReference', {
  workloadName: [1, string.always(), 'The Workload.'],
  templateName: [2, string.always(), 'The template in it.'],
})
export const workloadReferenceRules: Declared<Static<typeof WorkloadReference>> = {
  fields: { workloadName: { required: true, check: longName }, templateName: { required: true, check: shortName } },
}

/** The rules of fields that templates and groups have in common. All but a gang's count are immutable. */
export const sharedRules = {
  podGroupPolicy: { inside: () => podGroupPolicyRules },
  compositePolicy: { inside: () => compositePolicyRules },
  constraints: { immutable: true, inside: () => constraintRules },
  claims: { immutable: true, maxItems: MAX_GROUP_CLAIMS, key: ({ name }: PodGroupResourceClaim) => name, each: () => claimRules },
  disruptionMode: { immutable: true, inside: () => disruptionRules },
  priorityClassName: { immutable: true, check: longName },
  priority: { immutable: true, pointer: true, check: maximum(MAX_PRIORITY) },
  preemptionPolicy: {
    gate: 'PodGroupPreemptionPolicy',
    immutable: true,
    pointer: true,
    check: choice('Never', 'PreemptLowerPriority'),
  },
} as const

/** The fields of a pod group or of a template that a disabled feature takes away, unless the stored object has them. */
export type GatedFields = { schedulingConstraints?: unknown; resourceClaims?: readonly unknown[] | null; preemptionPolicy?: unknown }

/** Drops fields of disabled features that the stored group or template does not have. */
export function dropDisabledFields(group: GatedFields, old: GatedFields | undefined, gate: (name: string) => boolean): void {
  for (const [field, feature] of GATES) if (isUsed(group[field]) && !gate(feature) && !isUsed(old?.[field])) delete group[field]
}
const GATES: readonly (readonly [keyof GatedFields, string])[] = [
  ['schedulingConstraints', 'TopologyAwareWorkloadScheduling'],
  ['resourceClaims', 'DRAWorkloadResourceClaims'],
  ['preemptionPolicy', 'PodGroupPreemptionPolicy'],
]
const isUsed = (value: unknown): boolean => value !== undefined && value !== null && (!Array.isArray(value) || value.length > 0)
