/**
 * The keys that all servers over one store share: certificate authorities and the key of service account tokens. The first
 * server creates them by compare-and-swap, so that one of several concurrent starts wins; all others read them. They are as secret as
 * Secrets, under keys that kube-apiserver does not read.
 */
import type { Entry, Store } from '../../storage/store.ts'
import { SHARED_KEYS } from './pki.ts'

export const SHARED_KEYS_PREFIX = '/keelson/keys/'

/** Every shared key in PEM, by name. Called again later, it replaces authorities that expire soon. */
export async function openSharedKeys(store: Store, now: Date): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>()
  for (const [name, { isGood, make }] of SHARED_KEYS) {
    let { entry } = await store.get(SHARED_KEYS_PREFIX + name)
    while (!entry || !isGood(textOf(entry), now)) {
      const made = make(now)
      const swap = await store.swap(SHARED_KEYS_PREFIX + name, { expect: entry?.modified ?? 0, value: Buffer.from(made) })
      if (swap.ok) keys.set(name, made)
      if (swap.ok) break
      entry = swap.current
    }
    if (!keys.has(name)) keys.set(name, textOf(entry!))
  }
  return keys
}

const textOf = ({ value }: Entry): string => Buffer.from(value).toString()
