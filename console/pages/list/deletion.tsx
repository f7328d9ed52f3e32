/** Deletes several objects of a kind, after asking. */
import { ApiError, send } from '../../core/api.ts'
import { type Kind, objectPath } from '../../core/discovery.ts'
import type { Row } from '../../core/live.ts'
import { toast, toastError } from '../../core/toasts.ts'
import { confirm } from '../../parts/dialog.tsx'
import { pluralTitle } from '../../parts/frame.tsx'

const MAX_AT_ONCE = 8
const MAX_NAMED = 20
/** To delete more than these, their number has to be typed. */
const MAX_AT_A_CLICK = 10

export async function confirmDeletion(kind: Kind, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  await confirm({
    title: rows.length === 1 ? `Delete ${kind.kind} ${rows[0]!.metadata.name}?` : `Delete ${rows.length} ${pluralTitle(kind)}?`,
    body: (
      <ul class="name-list">
        {rows.slice(0, MAX_NAMED).map(({ key, metadata }) => (
          <li key={key} class="mono">
            {metadata.namespace ? `${metadata.namespace}/` : ''}
            {metadata.name}
          </li>
        ))}
        {rows.length > MAX_NAMED && <li class="muted">and {rows.length - MAX_NAMED} more</li>}
      </ul>
    ),
    action: 'Delete',
    isDangerous: true,
    ...(rows.length > MAX_AT_A_CLICK ? { typed: String(rows.length) } : {}),
    run: () => deleteAll(kind, rows),
  })
}

async function deleteAll(kind: Kind, rows: readonly Row[]): Promise<void> {
  const queue = [...rows]
  let done = 0
  const failures: unknown[] = []
  const work = async () => {
    for (let row = queue.shift(); row; row = queue.shift())
      try {
        await deleteOne(kind, row)
        done++
      } catch (error) {
        if (error instanceof ApiError && error.code === 404) done++
        else failures.push(error)
      }
  }
  await Promise.all(Array.from({ length: MAX_AT_ONCE }, work))
  if (done > 0) toast(done === 1 ? `Deleted ${rows[0]!.metadata.name}` : `Deleted ${done} ${pluralTitle(kind)}`)
  if (failures.length > 0) toastError(`${failures.length} not deleted`, failures[0])
}

/** Deletes the object that was selected, and none that took its name since. */
async function deleteOne(kind: Kind, { metadata: { uid, name, namespace } }: Row): Promise<void> {
  await send(objectPath(kind, namespace, name), {
    method: 'DELETE',
    body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background', ...(uid ? { preconditions: { uid } } : {}) },
  })
}
