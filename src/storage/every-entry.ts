/** Every entry below a prefix as of a revision, in key order, read in pages while others are served. */
import type { Entry, PageRequest, Revision, Store } from './store.ts'

const PAGE = 500

export async function* everyEntry(
  source: Pick<Store, 'list'>,
  prefix: string,
  page: Pick<PageRequest, 'asStored'> & { readonly at: Revision },
): AsyncGenerator<Entry, void> {
  for (let after: string | undefined; ; ) {
    const { entries, remaining } = await source.list(prefix, {
      ...page,
      limit: PAGE,
      uncounted: true,
      ...(after !== undefined && { after }),
    })
    yield* entries
    if (remaining === 0 || entries.length === 0) return
    after = entries.at(-1)!.key
  }
}
