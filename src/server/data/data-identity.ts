/** The identity of stored data: a server with another group domain must not open it. */
import type { Entry, Store } from '../../storage/store.ts'
import { ConfigError } from '../config.ts'

export const DATA_IDENTITY = '/keelson/identity'
/** Exists while a migration to a store is under way: the store then holds a part of a cluster. */
export const MIGRATION = '/keelson/migration'

/**
 * Refuses data of another group domain with a ConfigError; unclaimed data is claimed. The claim is a write
 * like any other and the result resolves when it is durable, so that it can share a commit with other writes of a fresh server.
 */
export async function claimData(
  store: Store,
  { groupDomain, dataDir }: { groupDomain: string; dataDir: string },
): Promise<{ claimed: Promise<unknown> }> {
  const [{ entry }, migration] = await Promise.all([store.get(DATA_IDENTITY), store.get(MIGRATION)])
  if (migration.entry) throw new ConfigError(UNFINISHED)
  if (!entry) {
    const claim = store.swap(DATA_IDENTITY, { expect: 0, value: Buffer.from(JSON.stringify({ groupDomain })) })
    // Another server over the same store may have claimed it first.
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

const UNFINISHED =
  'the data is a part of a cluster whose migration was not finished; run the same keelson migrate again, which goes on where it was'
