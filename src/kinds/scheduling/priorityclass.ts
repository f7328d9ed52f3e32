/** PriorityClass sets the scheduling priority of pods that name it. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { forbidden, invalid, required, unsupported, withValue } from '../../schema/refs.ts'
import { bool, int32, string } from '../../schema/types.ts'

/** Higher priorities are reserved for the system. */
const MAX_USER_PRIORITY = 1_000_000_000
const SYSTEM_PREFIX = 'system-'

/** The classes that every server has; other names must not have the prefix. */
export const SYSTEM_PRIORITY_CLASSES = [
  {
    name: 'system-node-critical',
    value: 2 * MAX_USER_PRIORITY + 1000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
  {
    name: 'system-cluster-critical',
    value: 2 * MAX_USER_PRIORITY,
    description: 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
] as const

export const PriorityClass = defineKind({
  group: 'scheduling.{group_domain}',
  version: 'v1',
  kind: 'PriorityClass',
  scope: 'Cluster',
  names: { plural: 'priorityclasses', short: ['pc'] },
  doc: 'How important pods are compared with others.',
  fields: {
    value: [2, int32.always().omittable(), 'The priority; higher is scheduled first. Cannot change.'],
    globalDefault: [3, bool, 'Pods that name no class get this one; at most one class should set this.'],
    description: [4, string, 'The purpose of the class, for people.'],
    preemptionPolicy: [
      5,
      string.listed('Never', 'PreemptLowerPriority').optional().default('PreemptLowerPriority'),
      'PreemptLowerPriority, or Never to wait. Cannot change.',
    ],
  },
  // The generation stays 1: no field that counts can change.
  generation: () => undefined,

  *validateUpdate(o, old, at) {
    if (o.value !== old.value) yield forbidden(at.value, 'may not be changed in an update.')
    if (o.preemptionPolicy !== old.preemptionPolicy) yield invalid(at.preemptionPolicy, 'field is immutable')
  },
  *validate({ metadata: { name = '' }, value, globalDefault = false, preemptionPolicy }, at, { old }) {
    if (old) return
    if (name.startsWith(SYSTEM_PREFIX)) {
      const fault = systemFault(name, value, globalDefault)
      if (fault)
        yield forbidden(
          at.metadata.name,
          `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only. error: ${fault}`,
        )
    } else if (value > MAX_USER_PRIORITY)
      yield forbidden(at.value, `maximum allowed value of a user defined priority is ${MAX_USER_PRIORITY}`)
    if (preemptionPolicy === '') yield required(at.preemptionPolicy)
    else if (preemptionPolicy !== 'PreemptLowerPriority' && preemptionPolicy !== 'Never')
      yield unsupported(withValue(at.preemptionPolicy, preemptionPolicy), 'PreemptLowerPriority', 'Never')
  },

  columns: {
    Value: [
      'integer',
      o => o.value,
      'value represents the integer value of this priority class. This is the actual priority that pods receive when they have the name of this class in their pod spec.',
    ],
    'Global-Default': [
      'boolean',
      o => o.globalDefault ?? false,
      'globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do not have any priority class. Only one PriorityClass can be marked as `globalDefault`. However, if more than one PriorityClasses exists with their `globalDefault` field set to true, the smallest value of such global default PriorityClasses will be used as the default priority.',
    ],
    Age: age,
    PreemptionPolicy: [
      'string',
      o => o.preemptionPolicy,
      'preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority. Defaults to PreemptLowerPriority if unset.',
    ],
  },
})

/** An object of the kind PriorityClass. */
export type PriorityClass = ObjectOf<typeof PriorityClass>

/** Why a class is not one of the system's. */
function systemFault(name: string, value: number, globalDefault: boolean): string | undefined {
  const known = SYSTEM_PRIORITY_CLASSES.find(c => c.name === name)
  if (!known) return `${name} is not a known system priority class`
  if (known.value !== value) return `value of ${name} PriorityClass must be ${known.value}`
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined
}
