/** Writes for many objects of one job, some of them at the same time. */

/** How many writes for one job are under way at the same time. */
const MAX_CONCURRENT_WRITES = 16

export type Completed<T> = { readonly done: readonly T[]; readonly error?: unknown }

/** Runs a function for every item. The result lists the items for which it succeeded, and the first error of the others. */
export async function concurrently<T>(items: readonly T[], write: (item: T) => Promise<unknown>): Promise<Completed<T>> {
  const done: T[] = []
  let error: unknown
  const rest = items.values()
  const work = async () => {
    for (const item of rest)
      try {
        await write(item)
        done.push(item)
      } catch (failure) {
        error ??= failure
      }
  }
  await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT_WRITES, items.length) }, work))
  return error === undefined ? { done } : { done, error }
}
