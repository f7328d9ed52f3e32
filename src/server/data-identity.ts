/** What a data directory was written for: a server that would read it otherwise must not open it. */
import type { Store } from '../storage/store.ts'
import { ConfigError } from './config.ts'

const KEY = '/keelson/identity'

/** Remembers the group domain with the data; throws ConfigError when the data belongs to another one. */
export async function claimData(store: Store, { groupDomain, dataDir }: { groupDomain: string; dataDir: string }): Promise<void> {
  const { entry } = await store.get(KEY)
  if (!entry) {
    await store.swap(KEY, { expect: 0, value: Buffer.from(JSON.stringify({ groupDomain })) })
    return
  }
  const written = JSON.parse(Buffer.from(entry.value).toString()) as { groupDomain: string }
  if (written.groupDomain !== groupDomain)
    throw new ConfigError(
      `the data in ${dataDir} was written with --group-domain ${written.groupDomain}; start with that, or with another --data-dir for ${groupDomain}`,
    )
}
