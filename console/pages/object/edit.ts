/** Edits of an object: the text of the editor, the object that is sent, and the conflicts between a draft and the present object. */

import type { Kind } from '../../core/discovery.ts'
import type { KubeObject } from '../../core/object.ts'
import { itemStep, type Path, valueAt } from '../../core/yaml-lines.ts'

/** Fields of metadata that only the server sets. */
const SERVER_SET = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'selfLink',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
]

/** The part that people edit. Status is not, where it is a subresource of its own. */
export function editable(kind: Kind, object: KubeObject): KubeObject {
  const { status, ...rest } = object
  const metadata = Object.fromEntries(
    Object.entries(object.metadata).filter(([name]) => !SERVER_SET.includes(name)),
  ) as KubeObject['metadata']
  return { ...rest, metadata, ...(kind.subresources.has('status') || status === undefined ? {} : { status }) }
}

/** The draft as it is sent: with the identity and revision of the object that it changes. */
export function asUpdate(draft: any, live: KubeObject): any {
  const { uid, resourceVersion } = live.metadata
  return { ...draft, metadata: { ...draft?.metadata, uid, resourceVersion } }
}

/** The draft for server-side apply. */
export function asApply(draft: any): any {
  const { status: _, ...rest } = draft ?? {}
  return rest
}

export type Change = { readonly path: Path; readonly before: unknown; readonly after: unknown }

/** Fields that differ, as deep as they can be told apart. Lists of items with keys are compared by key. */
export function changesOf(before: unknown, after: unknown, path: Path = []): Change[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  if (isObject(before) && isObject(after))
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap(key => changesOf(before[key], after[key], [...path, key]))
  if (Array.isArray(before) && Array.isArray(after)) {
    const steps = (list: unknown[]) => list.map((_, i) => itemStep(list, i))
    const [a, b] = [steps(before), steps(after)]
    if ([...a, ...b].every(step => step.includes('=')))
      return [...new Set([...a, ...b])].flatMap(step => changesOf(before[a.indexOf(step)], after[b.indexOf(step)], [...path, step]))
  }
  return [{ path, before, after }]
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Changes of the draft that somebody else has made otherwise since it was begun. */
export function collisions(base: KubeObject, draft: unknown, live: KubeObject): Change[] {
  return changesOf(base, draft).filter(({ path, before, after }) => {
    const now = JSON.stringify(valueAt(live, path))
    return now !== JSON.stringify(before) && now !== JSON.stringify(after)
  })
}

/** The present object with the changes of the draft. */
export function rebase(base: KubeObject, draft: unknown, live: KubeObject): KubeObject {
  const result = structuredClone(live)
  for (const { path, after } of changesOf(base, draft)) setAt(result, path, after)
  return result
}

function setAt(object: any, path: Path, value: unknown): void {
  let at = object
  for (const [i, step] of path.entries()) {
    const isLast = i === path.length - 1
    if (Array.isArray(at)) {
      const [key, wanted = ''] = step.slice(1, -1).split(/=(.*)/)
      const index = step.includes('=') ? at.findIndex(item => String(item?.[key!]) === wanted) : Number(key)
      if (!isLast) at = at[index]
      else if (value === undefined) at.splice(index, index < 0 ? 0 : 1)
      else if (index < 0) at.push(value)
      else at[index] = value
    } else if (isLast) {
      if (value === undefined) delete at[step]
      else at[step] = value
    } else at = at[step] ??= path[i + 1]!.startsWith('[') ? [] : {}
    if (at === undefined || at === null) return
  }
}
