/** Work in growing batches: where the first one fails, most of the others would have failed as well. */

export type SlowStart = { readonly done: number; readonly error?: unknown }

/**
 * Does something a number of times, in batches of 1, 2, 4 … at once. After a batch with a failure no more are begun; the first
 * failure is returned with the number of those that were done.
 */
export async function slowStart(count: number, step: (index: number) => Promise<unknown>): Promise<SlowStart> {
  let done = 0
  let size = 1
  for (let begun = 0; begun < count; size *= 2) {
    const batch = Array.from({ length: Math.min(size, count - begun) }, (_, i) => step(begun + i))
    begun += batch.length
    const results = await Promise.allSettled(batch)
    const failed = results.filter(result => result.status === 'rejected')
    done += results.length - failed.length
    if (failed.length > 0) return { done, error: failed[0]!.reason }
  }
  return { done }
}
