/** The revisions of a DaemonSet's template: which is the current one, and which may go. */

import type { ControllerRevision } from '../../kinds/apps/controllerrevision.ts'
import type { DaemonSet } from '../../kinds/apps/daemonset.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { holdsTemplate, maxRevision, POD_REVISION_LABEL } from '../revisions/revision.ts'

export type History = {
  /** The revision that holds the current template; undefined when none does. */
  readonly current: ControllerRevision | undefined
  /** Others that hold it as well. */
  readonly duplicates: readonly ControllerRevision[]
  readonly old: readonly ControllerRevision[]
  /** The number that the current revision has to have at least. */
  readonly number: number
}

export function historyOf({ spec: { template } }: DaemonSet, revisions: readonly ControllerRevision[]): History {
  const matching = revisions.filter(revision => holdsTemplate(revision, template))
  const old = revisions.filter(revision => !matching.includes(revision))
  const highest = maxRevision(matching)
  const current = matching.findLast(({ revision }) => Number(revision) === highest)
  return { current, duplicates: matching.filter(revision => revision !== current), old, number: maxRevision(old) + 1 }
}

/** The oldest revisions that are more than the set keeps and that no pod is of. */
export function surplusRevisions({ spec }: DaemonSet, old: readonly ControllerRevision[], pods: readonly Pod[]): ControllerRevision[] {
  const used = new Set(pods.map(({ metadata }) => metadata.labels?.[POD_REVISION_LABEL]))
  const unused = old.filter(({ metadata }) => !used.has(metadata.labels?.[POD_REVISION_LABEL]))
  const surplus = Math.max(old.length - (spec.revisionHistoryLimit ?? 0), 0)
  return unused.sort((a, b) => Number(a.revision) - Number(b.revision)).slice(0, surplus)
}
