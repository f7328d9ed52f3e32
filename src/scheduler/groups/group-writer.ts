/** Writes to the status of pod groups whether they were scheduled. */
import type { Client } from '../../client/client.ts'
import { INITIALLY_SCHEDULED, PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { timestampOf } from '../../lib/time.ts'
import { conditionOf, isSameCondition, transitionTime } from '../../schema/conditions.ts'

export type GroupCondition = { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string }

export interface GroupWriter {
  /** Writes the condition of a group. Once it has said that the group was scheduled, it stays so. */
  report(group: PodGroup, condition: GroupCondition): Promise<void>
}

export function groupWriter(client: Client): GroupWriter {
  const groups = client.of(PodGroup)
  return {
    async report({ metadata: { namespace = '', name = '', uid } }, condition) {
      const group = groups.get({ namespace, name })
      const patch = group?.metadata.uid === uid && group ? conditionPatch(group, condition, client.now) : undefined
      if (patch) await groups.patch({ namespace, name }, patch, { type: 'strategic', subresource: 'status' })
    },
  }
}

/** The change of the condition; undefined when nothing changes. */
export function conditionPatch({ metadata, status }: PodGroup, condition: GroupCondition, now: Date): object | undefined {
  const before = conditionOf(status?.conditions, INITIALLY_SCHEDULED)
  if (before?.status === 'True' && condition.status !== 'True') return undefined
  const { generation } = metadata
  if (before && isSameCondition(before, condition) && before.observedGeneration === generation) return undefined
  const lastTransitionTime = transitionTime(before, condition.status, timestampOf(now))
  return { status: { conditions: [{ type: INITIALLY_SCHEDULED, ...condition, lastTransitionTime, observedGeneration: generation }] } }
}
