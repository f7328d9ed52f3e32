/** What a data directory was written for: a server that would read it otherwise must not open it. */
import type { Entry, Store } from '../storage/store.ts'
import { ConfigError } from './config.ts'

const KEY = '/keelson/identity'

/**
 * Refuses data that belongs to another group domain with a ConfigError; data of nobody yet is claimed. The claim is a write
 * like any other and the result resolves when it is durable, so that it can share a commit with what else a fresh server writes.
 */
export async function claimData(
  store: Store,
  { groupDomain, dataDir }: { groupDomain: string; dataDir: string },
): Promise<{ claimed: Promise<unknown> }> {
  const { entry } = await store.get(KEY)
  if (!entry) {
    const claim = store.swap(KEY, { expect: 0, value: Buffer.from(JSON.stringify({ groupDomain })) })
    // Another server over the same store may have been first.
    return { claimed: claim.then(swap => (swap.ok ? undefined : check(swap.current, { groupDomain, dataDir }))) }
  }
  check(entry, { groupDomain, dataDir })
  return { claimed: Promise.resolve() }
}

function check(entry: Entry | undefined, { groupDomain, dataDir }: { groupDomain: string; dataDir: string }): void {
  const written = entry && (JSON.parse(Buffer.from(entry.value).toString()) as { groupDomain: string })
  if (written && written.groupDomain !== groupDomain)
    throw new ConfigError(
      `the data in ${dataDir} was written with --group-domain ${written.groupDomain}; start with that, or with another --data-dir for ${groupDomain}`,
    )
}
