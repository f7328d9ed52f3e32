/** Messages, rules and cells that evictions and requests for them share. */
import type { NameCheck } from '../../lib/names.ts'
import { int64, keyed, message, type Static, string } from '../../schema/types.ts'
import { longName, longNameFaults, minimum, monotonic, uuid } from '../rules/declared-formats.ts'
import type { Declared, FieldRules } from '../rules/declared-rules.ts'
import { Condition } from '../rules/meta.ts'

const MAX_CONDITIONS = 100

/** Names are checked in the words of declarative validation. */
const evictionName: NameCheck = name => longNameFaults(name)

/** The lines of a declaration that both kinds have. */
export const EVICTION_KIND = {
  group: 'lifecycle.{group_domain}',
  version: 'v1alpha1',
  scope: 'Namespaced',
  lifecycle: { introduced: '1.37', deprecated: '1.40', removed: '1.43' },
  gate: 'EvictionRequestAPI',
  storedAs: { version: 'v1alpha1' },
  name: evictionName,
  generation: true,
  allowUnconditionalUpdate: false,
} as const

const podReference = {
  name: [1, string.always(), 'The pod.'],
  uid: [2, string.always(), 'Its UID.'],
} as const

export const targetMessage = (name: string, reference: string) =>
  message(name, { pod: [1, message(reference, podReference), 'A pod.'] }, { union: {} })
export type Target = Static<ReturnType<typeof targetMessage>>

/** The target cannot change. */
export const targetRules: FieldRules<Target> = {
  immutable: true,
  inside: () => ({
    union: ['pod'],
    fields: {
      pod: {
        inside: () => ({ fields: { name: { required: true, check: longName }, uid: { required: true, check: uuid } } }),
      },
    },
  }),
}

/** Fields of both statuses. */
export const progressFields = {
  conditions: [1, keyed(Condition, 'type').mergedBy('type'), 'Latest observations, such as TargetEvicted and Failed.'],
  observedGeneration: [2, int64.optional(), 'The generation that was last looked at.'],
} as const

type Progress = { conditions?: Condition[]; observedGeneration?: number | bigint }

export const progressRules: NonNullable<Declared<Progress>['fields']> = {
  conditions: { maxItems: MAX_CONDITIONS },
  observedGeneration: {
    pointer: true,
    update: ['NoUnset'],
    *check(generation, at, old) {
      yield* minimum(1)(generation, at)
      yield* monotonic(generation, at, old)
    },
  },
}

export const EVICTION = 'Eviction'
export const WITHDRAWN = 'Withdrawn'

/** The target's name and type as table cells. */
export const targetCell = ({ pod }: Target): string => pod?.name ?? '<unset>'
export const targetTypeCell = ({ pod }: Target): string => (pod ? 'Pod' : '<unset>')

/** How far an eviction is, as a table cell. */
export function progressCell({ conditions = [], observedGeneration = 0 }: Progress): string {
  for (const wanted of ['TargetEvicted', 'Failed'])
    for (const { type, status, reason } of conditions) if (type === wanted && status === 'True') return `${type} (${reason})`
  return observedGeneration > 0 ? 'Progressing' : 'Pending'
}
