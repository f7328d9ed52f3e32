/** The pods of a pod group. */
import { queueKey } from '../../client/change.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

/** The group of a pod, as a queue key. */
export function groupsOf({ metadata, spec }: AnyObject): string[] {
  const name = spec?.schedulingGroup?.podGroupName
  return name === undefined ? [] : [queueKey({ namespace: metadata.namespace ?? '', name })]
}

/** Pods by their group. */
export const GROUP_INDEX: IndexDefinition<any> = { name: 'groups', valuesOf: ({ object }) => (object ? groupsOf(object as AnyObject) : []) }
