/** The past of lists: which revisions the server keeps, the writes to a kind between them, and the list as it was. */
import { ApiError, get, lines, send, type WatchEvent } from './api.ts'
import { type Kind, listPath } from './discovery.ts'
import type { KubeObject } from './object.ts'
import { writerOf } from './owners.ts'

export type Write = {
  readonly kind: Kind
  readonly type: string
  readonly revision: string
  readonly object: KubeObject
  readonly manager: string
  readonly time: string
}

/** The oldest revision that lists can still be read at: older ones are compacted first, so a binary search finds it. */
export async function oldestRevision(path: string, abort: AbortSignal): Promise<{ oldest: string; newest: string }> {
  const { metadata } = await get<{ metadata: { resourceVersion: string } }>(`${path}?limit=1`, { signal: abort })
  const newest = metadata.resourceVersion
  let [low, high] = [1n, BigInt(newest)]
  while (low < high) {
    const middle = (low + high) / 2n
    const isGone = await send(`${path}?limit=1&resourceVersion=${middle}&resourceVersionMatch=Exact`, { signal: abort }).then(
      () => false,
      error => {
        if (error instanceof ApiError && error.code === 410) return true
        throw error
      },
    )
    if (isGone) low = middle + 1n
    else high = middle
  }
  return { oldest: String(low), newest }
}

const MAX_WRITES = 3000

/** Writes to objects of a kind since a revision, in order. */
export async function writesOf(kind: Kind, namespace: string, since: string, abort: AbortSignal): Promise<Write[]> {
  const query = new URLSearchParams({ watch: '1', resourceVersion: since, timeoutSeconds: '1' })
  const response = await send(`${listPath(kind, namespace)}?${query}`, { signal: abort })
  const writes: Write[] = []
  const last = new Map<string, KubeObject>()
  for await (const texts of lines(response))
    for (const text of texts) {
      if (text === '' || writes.length >= MAX_WRITES) continue
      const { type, object } = JSON.parse(text) as WatchEvent
      if (type === 'ERROR' || type === 'BOOKMARK') continue
      const key = `${object.metadata.namespace}/${object.metadata.name}`
      const owner = writerOf(object, type === 'ADDED' ? undefined : last.get(key))
      last.set(key, object)
      writes.push({
        kind,
        type,
        revision: object.metadata.resourceVersion!,
        object,
        manager: owner?.manager ?? '',
        time: owner?.time ?? object.metadata.creationTimestamp ?? '',
      })
    }
  return writes
}

export async function listAt(kind: Kind, namespace: string, revision: string, abort: AbortSignal): Promise<KubeObject[]> {
  const { items } = await get<{ items: KubeObject[] }>(
    `${listPath(kind, namespace)}?resourceVersion=${revision}&resourceVersionMatch=Exact`,
    { signal: abort },
  )
  return items
}
