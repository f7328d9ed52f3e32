/** Gang scheduling of a job's pods; behind the WorkloadWithJob gate. */
import { deepEqual } from '../../lib/json-value.ts'
import { type FieldError, invalid, type Ref, tooMany, withValue } from '../../schema/refs.ts'
import { atomic, int32, keyed, message, type Static, string } from '../../schema/types.ts'

const WorkloadPodGroupGangSchedulingPolicy = message('WorkloadPodGroupGangSchedulingPolicy', {
  minCount: [1, int32.optional(), 'How many pods must be schedulable at once.'],
})

const WorkloadPodGroupSchedulingPolicy = message(
  'WorkloadPodGroupSchedulingPolicy',
  {
    basic: [1, message('WorkloadPodGroupBasicSchedulingPolicy', {}), 'Pod by pod.'],
    gang: [2, WorkloadPodGroupGangSchedulingPolicy, 'All or nothing.'],
  },
  { union: {} },
)

const TopologyConstraint = message('TopologyConstraint', {
  key: [1, string.always(), 'The label of nodes that must be the same for all pods.'],
})

const WorkloadPodGroupSchedulingConstraints = message('WorkloadPodGroupSchedulingConstraints', {
  topology: [1, atomic(TopologyConstraint), 'Where the pods must be close to each other.'],
})

const WorkloadPodGroupDisruptionMode = message(
  'WorkloadPodGroupDisruptionMode',
  {
    single: [1, message('WorkloadPodGroupSingleDisruptionMode', {}), 'Pods may be disrupted one by one.'],
    all: [2, message('WorkloadPodGroupAllDisruptionMode', {}), 'Pods are disrupted together.'],
  },
  { union: {} },
)

const WorkloadPodGroupResourceClaim = message('WorkloadPodGroupResourceClaim', {
  name: [1, string.always(), 'The name by which pods refer to the claim.'],
  resourceClaimName: [2, string.optional(), 'A claim that exists.'],
  resourceClaimTemplateName: [3, string.optional(), 'A template that the claim is made from.'],
})

export const JobSchedulingConfiguration = message('JobSchedulingConfiguration', {
  schedulingPolicy: [1, WorkloadPodGroupSchedulingPolicy, 'Pod by pod, or all or nothing.'],
  schedulingConstraints: [2, WorkloadPodGroupSchedulingConstraints, 'Where the pods may run. Cannot change.'],
  disruptionMode: [3, WorkloadPodGroupDisruptionMode, 'How the pods may be disrupted. Cannot change.'],
  resourceClaims: [4, keyed(WorkloadPodGroupResourceClaim, 'name').mergedBy('name'), 'Devices that the pods share. Cannot change.'],
})
export type JobScheduling = Static<typeof JobSchedulingConfiguration>

const MAX_CLAIMS = 4

type Scheduled = { readonly scheduling?: JobScheduling; readonly parallelism?: number }

/** Rules for scheduling: no gang is larger than the parallelism, and most fields are immutable. */
export function* validateScheduling(spec: Scheduled, at: Ref<JobScheduling>, old: Scheduled | undefined): Iterable<FieldError> {
  const { scheduling, parallelism = 1 } = spec
  const { minCount } = scheduling?.schedulingPolicy?.gang ?? {}
  if (minCount !== undefined && minCount > parallelism)
    yield invalid(at.schedulingPolicy.gang.minCount, `must not be greater than parallelism (${parallelism})`)
  const claims = scheduling?.resourceClaims ?? []
  if (claims.length > MAX_CLAIMS) yield tooMany(at.resourceClaims, claims.length, MAX_CLAIMS)
  if (old) yield* validateChange(scheduling, old.scheduling, at)
}

function* validateChange(
  scheduling: JobScheduling | undefined,
  old: JobScheduling | undefined,
  at: Ref<JobScheduling>,
): Iterable<FieldError> {
  if (!scheduling !== !old) return yield invalid(withValue(at, scheduling ?? null), 'field is immutable')
  const [policy, oldPolicy] = [scheduling?.schedulingPolicy, old?.schedulingPolicy]
  if (!policy !== !oldPolicy) yield invalid(withValue(at.schedulingPolicy, policy ?? null), 'field is immutable')
  else if (!policy?.basic !== !oldPolicy?.basic) yield invalid(withValue(at.schedulingPolicy, null), FIXED_VARIANT)
  for (const field of ['schedulingConstraints', 'disruptionMode', 'resourceClaims'] as const)
    if (!deepEqual(scheduling?.[field], old?.[field]))
      yield invalid(withValue(at[field], scheduling?.[field] ?? null), 'field is immutable')
}

const FIXED_VARIANT = 'the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated'
