/**
 * The pod groups, how they belong to composite pod groups, and which pods belong to them:
 *
 *     compositepodgroup/default/training
 *       ├─ podgroup/default/leaders   pods that name it in schedulingGroup
 *       └─ podgroup/default/workers   …
 *
 * Objects may come in any order. A pod is scheduled by the root of its hierarchy, once every object up to there is known.
 */
import type { CompositePodGroup } from '../../kinds/scheduling/compositepodgroup.ts'
import type { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import type { PodInfo } from '../pod-info.ts'

export type GroupType = 'podgroup' | 'compositepodgroup'
export type GroupKey = `${GroupType}/${string}/${string}`

/** A group with everything below it. A pod group has pods, a composite one has groups. */
export type GroupNode =
  | { readonly type: 'podgroup'; readonly key: GroupKey; readonly object: PodGroup; readonly children: readonly [] }
  | {
      readonly type: 'compositepodgroup'
      readonly key: GroupKey
      readonly object: CompositePodGroup
      readonly children: readonly GroupNode[]
    }
export type PodGroupNode = Extract<GroupNode, { type: 'podgroup' }>

export const groupKey = (type: GroupType, namespace: string, name: string): GroupKey => `${type}/${namespace}/${name}`

/** The priority of a group. A group that was created before any default existed has none. */
export const priorityOf = ({ object: { spec } }: GroupNode): number => spec.priority ?? 0

/** How many pods, or groups, have to be scheduled at once. */
export function minCountOf(node: GroupNode): number {
  if (node.type === 'podgroup') return node.object.spec.schedulingPolicy.gang?.minCount ?? 1
  return node.object.spec.schedulingPolicy.gang?.minGroupCount ?? 1
}

/** The pod groups of a hierarchy. */
export function* leavesOf(node: GroupNode): Iterable<PodGroupNode> {
  if (node.type === 'podgroup') yield node
  else for (const child of node.children) yield* leavesOf(child)
}

/** Whether enough pods are there, in enough groups. */
export function isComplete(node: GroupNode, countOf: (leaf: PodGroupNode) => number): boolean {
  const count = node.type === 'podgroup' ? countOf(node) : node.children.filter(child => isComplete(child, countOf)).length
  return count >= minCountOf(node)
}

export class PodGroups {
  readonly #hasComposites: boolean
  readonly #groups = new Map<GroupKey, PodGroup>()
  readonly #composites = new Map<GroupKey, CompositePodGroup>()
  /** The groups that name a composite one as their parent, whether it is there or not. */
  readonly #children = new Map<GroupKey, Set<GroupKey>>()
  readonly #members = new Map<GroupKey, Set<string>>()
  readonly #groupOfPod = new Map<string, GroupKey>()

  /** Without composite groups, a parent that a pod group names is ignored. */
  constructor({ hasComposites }: { readonly hasComposites: boolean }) {
    this.#hasComposites = hasComposites
  }

  setGroup(group: PodGroup): void {
    const key = groupKey('podgroup', group.metadata.namespace ?? '', group.metadata.name ?? '')
    this.#replace(key, () => this.#groups.set(key, group))
  }

  removeGroup(namespace: string, name: string): void {
    const key = groupKey('podgroup', namespace, name)
    this.#replace(key, () => this.#groups.delete(key))
  }

  setComposite(group: CompositePodGroup): void {
    const key = groupKey('compositepodgroup', group.metadata.namespace ?? '', group.metadata.name ?? '')
    this.#replace(key, () => this.#composites.set(key, group))
  }

  removeComposite(namespace: string, name: string): void {
    const key = groupKey('compositepodgroup', namespace, name)
    this.#replace(key, () => this.#composites.delete(key))
  }

  /** Counts a pod as a member of its group, whether it has a node or not. */
  join({ uid, namespace, group }: Pick<PodInfo, 'uid' | 'namespace' | 'group'>): void {
    const key = groupKey('podgroup', namespace, group)
    if (this.#groupOfPod.get(uid) === key) return
    this.leave(uid)
    this.#groupOfPod.set(uid, key)
    const members = this.#members.get(key)
    if (members) members.add(uid)
    else this.#members.set(key, new Set([uid]))
  }

  /** Forgets a pod that is gone; returns the group that it was in. */
  leave(uid: string): GroupKey | undefined {
    const key = this.#groupOfPod.get(uid)
    if (key === undefined) return undefined
    this.#groupOfPod.delete(uid)
    const members = this.#members.get(key)!
    members.delete(uid)
    if (members.size === 0) this.#members.delete(key)
    return key
  }

  /** The group of a pod that has joined one. */
  groupOf(uid: string): GroupKey | undefined {
    return this.#groupOfPod.get(uid)
  }

  membersOf(key: GroupKey): ReadonlySet<string> {
    return this.#members.get(key) ?? NOBODY
  }

  /** The group that a group is scheduled with; undefined while an object on the way there is missing. */
  rootOf(key: GroupKey): GroupKey | undefined {
    let root: GroupKey | undefined
    for (const { key: each, parent } of this.#upFrom(key)) root = parent === undefined ? each : undefined
    return root
  }

  /** The groups from one up to its root, as far as they are there. */
  *ancestors(key: GroupKey): Iterable<PodGroup | CompositePodGroup> {
    for (const { key: each } of this.#upFrom(key)) yield (this.#groups.get(each) ?? this.#composites.get(each))!
  }

  /** A group with everything below it. */
  tree(key: GroupKey, seen: ReadonlySet<GroupKey> = new Set()): GroupNode | undefined {
    if (seen.has(key)) return undefined
    const group = this.#groups.get(key)
    if (group) return { type: 'podgroup', key, object: group, children: [] }
    const composite = this.#composites.get(key)
    if (!composite) return undefined
    const below = new Set(seen).add(key)
    const children = [...(this.#children.get(key) ?? [])].flatMap(child => this.tree(child, below) ?? [])
    return { type: 'compositepodgroup', key, object: composite, children }
  }

  *#upFrom(start: GroupKey): Iterable<{ readonly key: GroupKey; readonly parent: GroupKey | undefined }> {
    const seen = new Set<GroupKey>()
    for (let key: GroupKey | undefined = start; key !== undefined && !seen.has(key); ) {
      if (!this.#groups.has(key) && !this.#composites.has(key)) return
      seen.add(key)
      const parent = this.#parentOf(key)
      yield { key, parent }
      key = parent
    }
  }

  #parentOf(key: GroupKey): GroupKey | undefined {
    const object = this.#groups.get(key) ?? this.#composites.get(key)
    const parent = this.#hasComposites ? object?.spec.parentCompositePodGroupName : undefined
    return parent === undefined ? undefined : groupKey('compositepodgroup', object!.metadata.namespace ?? '', parent)
  }

  /** Changes an object; the parent is immutable, but one of the same name may have another. */
  #replace(key: GroupKey, change: () => unknown): void {
    const before = this.#parentOf(key)
    change()
    const after = this.#parentOf(key)
    if (before === after) return
    if (before !== undefined) {
      const children = this.#children.get(before)!
      children.delete(key)
      if (children.size === 0) this.#children.delete(before)
    }
    if (after === undefined) return
    const children = this.#children.get(after)
    if (children) children.add(key)
    else this.#children.set(after, new Set([key]))
  }
}

const NOBODY: ReadonlySet<string> = new Set()
