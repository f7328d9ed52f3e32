/** The revisions of a StatefulSet: the one that its pods go to, and which are kept. */

import type { ResourceClient } from '../../client/client.ts'
import type { ControllerRevision } from '../../kinds/apps/controllerrevision.ts'
import type { StatefulSet } from '../../kinds/apps/statefulset.ts'
import { hashOf } from '../pods/template-hash.ts'
import { createRevision, holdsTemplate, holdsWholeTemplate, maxRevision, revisionFor } from '../revisions/revision.ts'

const HASH_LABEL = 'controller.kubernetes.io/hash'

export type Latest = { readonly revision: ControllerRevision; readonly collisionCount: number }

/**
 * The revision with the template of the set, the latest of its history. An earlier one with the same template becomes that.
 * `ignoresNewDefaults` has the latest one count although fields of the template that came later have no value in it.
 */
export async function latestRevision(
  revisions: ResourceClient<ControllerRevision>,
  set: StatefulSet,
  history: readonly ControllerRevision[],
  { ignoresNewDefaults }: { readonly ignoresNewDefaults: boolean },
): Promise<Latest> {
  let collisionCount = set.status.collisionCount ?? 0
  const { template } = set.spec
  const latest = history.at(-1)
  const same = history.filter(revision => holdsWholeTemplate(revision, template)).at(-1)
  if (same && same === latest) return { revision: same, collisionCount }
  const number = maxRevision(history) + 1
  const renewed = same && (await revisions.update({ ...same, revision: number }))
  if (renewed) return { revision: renewed.object, collisionCount }
  if (ignoresNewDefaults && latest && holdsTemplate(latest, template)) return { revision: latest, collisionCount }
  for (; ; collisionCount++) {
    const hash = hashOf(template, collisionCount)
    const revision = await createRevision(
      revisions,
      revisionFor(set, { template, revision: number, hash, hashLabel: HASH_LABEL }),
      template,
    )
    if (revision) return { revision, collisionCount }
  }
}

/** The revisions beyond the limit, of those that neither the set nor a pod is of; a limit below zero keeps all. */
export function unusedRevisions(set: StatefulSet, history: readonly ControllerRevision[], live: ReadonlySet<string>): ControllerRevision[] {
  const { revisionHistoryLimit: limit } = set.spec
  const unused = history.filter(({ metadata }) => !live.has(metadata.name!))
  return limit < 0 ? [] : unused.slice(0, Math.max(0, unused.length - limit))
}
