/** The revisions of a DaemonSet's template: which is the current one, and which may go. */

import type { PodObject } from '../pods/pod-state.ts'
import { holdsTemplate, maxRevision, POD_REVISION_LABEL, type RevisionObject } from '../revisions/revision.ts'
import type { DaemonSetObject } from './placement.ts'

export type History = {
  /** The revision that holds the current template; undefined when none does. */
  readonly current: RevisionObject | undefined
  /** Others that hold it as well. */
  readonly duplicates: readonly RevisionObject[]
  readonly old: readonly RevisionObject[]
  /** The number that the current revision has to have at least. */
  readonly number: number
}

export function historyOf({ spec: { template } }: DaemonSetObject, revisions: readonly RevisionObject[]): History {
  const matching = revisions.filter(revision => holdsTemplate(revision, template))
  const old = revisions.filter(revision => !matching.includes(revision))
  const highest = maxRevision(matching)
  const current = matching.findLast(({ revision }) => Number(revision) === highest)
  return { current, duplicates: matching.filter(revision => revision !== current), old, number: maxRevision(old) + 1 }
}

/** The oldest revisions that are more than the set keeps and that no pod is of. */
export function surplusRevisions({ spec }: DaemonSetObject, old: readonly RevisionObject[], pods: readonly PodObject[]): RevisionObject[] {
  const used = new Set(pods.map(({ metadata }) => metadata.labels?.[POD_REVISION_LABEL]))
  const unused = old.filter(({ metadata }) => !used.has(metadata.labels?.[POD_REVISION_LABEL]))
  const surplus = Math.max(old.length - (spec.revisionHistoryLimit ?? 0), 0)
  return unused.sort((a, b) => Number(a.revision) - Number(b.revision)).slice(0, surplus)
}
