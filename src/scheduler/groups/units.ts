/** Pods that are disrupted together: those of a group that says so are one unit, any other pod is a unit of its own. */
import type { Cluster } from '../cluster.ts'
import type { NodeInfo } from '../node-info.ts'
import type { PodInfo } from '../pod-info.ts'
import type { Unit } from '../preemption.ts'
import { type GroupKey, groupKey, leavesOf, type PodGroups } from './pod-groups.ts'

export class Units {
  readonly #cluster: Cluster
  readonly #groups: PodGroups

  constructor({ cluster, groups }: { readonly cluster: Cluster; readonly groups: PodGroups }) {
    this.#cluster = cluster
    this.#groups = groups
  }

  /** The priority by which a pod is preempted. */
  priorityOf({ namespace, group, priority }: PodInfo): number {
    if (group === '') return priority
    let found: number | undefined
    for (const { spec } of this.#groups.ancestors(groupKey('podgroup', namespace, group))) found = spec.priority ?? 0
    return found ?? priority
  }

  /** The units that have a pod on one of the nodes. */
  *in(nodes: Iterable<NodeInfo>): Iterable<Unit> {
    const seen = new Set<GroupKey>()
    for (const node of nodes)
      for (const pod of node.pods.values()) {
        const whole = this.#wholeOf(pod)
        if (whole === undefined) yield { pods: [pod], priority: this.priorityOf(pod), rank: pod.group === '' ? 1 : 2 }
        else if (!seen.has(whole)) {
          seen.add(whole)
          yield { pods: this.#podsOf(whole), priority: this.priorityOf(pod), rank: whole.startsWith('podgroup/') ? 2 : 3 }
        }
      }
  }

  /** The highest group above a pod whose pods are disrupted together. */
  #wholeOf({ namespace, group }: PodInfo): GroupKey | undefined {
    if (group === '') return undefined
    let whole: GroupKey | undefined
    let type: 'podgroup' | 'compositepodgroup' = 'podgroup'
    for (const { metadata, spec } of this.#groups.ancestors(groupKey('podgroup', namespace, group))) {
      if (spec.disruptionMode?.all) whole = groupKey(type, namespace, metadata.name ?? '')
      type = 'compositepodgroup'
    }
    return whole
  }

  #podsOf(whole: GroupKey): PodInfo[] {
    const tree = this.#groups.tree(whole)
    return tree
      ? [...leavesOf(tree)].flatMap(({ key }) => [...this.#groups.membersOf(key)].flatMap(uid => this.#cluster.pod(uid) ?? []))
      : []
  }
}
