/** Gang scheduling: the parts that schedule pods together with their group, as the rest of the scheduler sees them. */
import type { Change } from '../../client/change.ts'
import type { Client } from '../../client/client.ts'
import { type Watch, watch } from '../../controllers/controller.ts'
import { CompositePodGroup } from '../../kinds/scheduling/compositepodgroup.ts'
import { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { Cluster } from '../cluster.ts'
import type { NodeInfo } from '../node-info.ts'
import type { PodInfo } from '../pod-info.ts'
import type { Unit } from '../preemption.ts'
import type { Preemptor } from '../preemptor.ts'
import { EVICTIONS } from '../requeuer.ts'
import type { QueuedPod, SchedulingQueue } from '../scheduling-queue.ts'
import { GroupQueue } from './group-queue.ts'
import { GroupScheduler, type GroupSchedulerParts } from './group-scheduler.ts'
import { groupWriter } from './group-writer.ts'
import { type GroupKey, groupKey, isComplete, PodGroups } from './pod-groups.ts'

/** Stands for the plugin that holds a group back until it is complete: it is not in the profile, as it looks at no nodes. */
const GANG_SCHEDULING = 'GangScheduling'

export interface GroupScheduling {
  /** Watches on groups. */
  readonly watches: readonly Watch[]
  /** How many pods wait because a group is not there. */
  readonly incomplete: number
  /** A pod of a group that has no node has come or changed. */
  pending(pod: PodInfo): void
  /** A pod of a group has a node. */
  bound(pod: PodInfo): void
  /** A pod has ended, whether it had a group or not. */
  ended(uid: string): void
  /** Takes back a pod whose binding has failed. False for a pod without a group. */
  putBack(queued: QueuedPod): boolean
  /** Schedules a group that is due. */
  schedule(queued: QueuedPod): Promise<void>
  /** The plugin that holds a group back for the sake of the group; undefined when none does. */
  gateOf(queued: QueuedPod): string | undefined
  /** The pods on a node, in sets that are preempted together. */
  unitsOn(node: NodeInfo): Iterable<Unit>
}

export type GroupSchedulingParts = Omit<GroupSchedulerParts, 'groups' | 'groupQueue' | 'groupWriter' | 'preemptor'> & {
  readonly client: Client
  readonly cluster: Cluster
  readonly queue: SchedulingQueue
  readonly preemptor: Preemptor
  /** The plugin that holds back a waiting pod, empty for no plugin; undefined when none does. */
  readonly gateOf: (queued: QueuedPod) => string | undefined
  /** Asks for the next scheduling attempt. */
  readonly wake: () => void
}

/** Undefined when the server does not have groups. */
export function groupScheduling(parts: GroupSchedulingParts): GroupScheduling | undefined {
  const { client, queue, preemptor, now, wake, gate, metrics } = parts
  if (!client.find(PodGroup)) return undefined
  metrics.groups.begun({ hasTopology: gate('TopologyAwareWorkloadScheduling') })
  const hasComposites = gate('CompositePodGroup') && client.find(CompositePodGroup) !== undefined
  const groups = new PodGroups({ hasComposites })
  const gateOfGroup = (key: GroupKey): string | undefined => {
    const root = groups.tree(key)
    if (!root) return GANG_SCHEDULING
    if (preemptor.isEvicting(root.object.metadata.uid ?? '')) return EVICTIONS
    return isComplete(root, leaf => groups.membersOf(leaf.key).size) ? undefined : GANG_SCHEDULING
  }
  const groupQueue = new GroupQueue({ queue, groups, gateOfPod: parts.gateOf, gateOfGroup, now })
  const scheduler = new GroupScheduler({ ...parts, groups, groupQueue, groupWriter: groupWriter(client) })
  const { units } = scheduler
  const wakeIfDue = () => {
    if (queue.nextAfterMs !== undefined) wake()
  }

  /** A group has come, changed or gone, and is known as it is now. Its status makes no difference. */
  function apply({ type, current, previous }: Change<PodGroup | CompositePodGroup>, key: GroupKey): void {
    const isSame = type === 'updated' && current.uid === previous?.uid
    if (isSame && deepEqual(current.object?.spec, previous?.object?.spec)) return
    if (!isSame) groupQueue.regroup(current.namespace)
    groupQueue.reconsider(key)
    wakeIfDue()
  }

  function applyGroup(change: Change<PodGroup>): void {
    const { namespace, name, object } = change.current
    if (change.type === 'deleted') groups.removeGroup(namespace, name)
    else if (object) groups.setGroup(object)
    apply(change, groupKey('podgroup', namespace, name))
  }

  function applyComposite(change: Change<CompositePodGroup>): void {
    const { namespace, name, object } = change.current
    if (change.type === 'deleted') groups.removeComposite(namespace, name)
    else if (object) groups.setComposite(object)
    apply(change, groupKey('compositepodgroup', namespace, name))
  }

  const keyOf = ({ namespace, group }: PodInfo): GroupKey => groupKey('podgroup', namespace, group)

  return {
    watches: [
      watch(PodGroup, change => void applyGroup(change)),
      ...(hasComposites ? [watch(CompositePodGroup, change => void applyComposite(change))] : []),
    ],
    get incomplete() {
      return groupQueue.incomplete
    },
    pending(pod) {
      groups.join(pod)
      if (groupQueue.has(pod.uid)) groupQueue.changed(pod.uid)
      else groupQueue.add(pod)
    },
    bound(pod) {
      groupQueue.remove(pod.uid)
      groups.join(pod)
      groupQueue.reconsider(keyOf(pod))
      wakeIfDue()
    },
    ended(uid) {
      groups.leave(uid)
      groupQueue.remove(uid)
    },
    putBack(queued) {
      const key = groups.groupOf(queued.uid)
      if (key) groupQueue.putBack(queued, key)
      return key !== undefined
    },
    schedule: queued => scheduler.schedule(queued),
    gateOf: ({ uid }) => gateOfGroup(uid as GroupKey),
    unitsOn: node => units.in([node]),
  }
}
