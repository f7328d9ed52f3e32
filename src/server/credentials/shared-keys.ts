/**
 * The keys that all servers over one store have in common: whom they vouch for and by what they know each other's tokens. The first
 * server makes them, by compare-and-swap, so that of several that start at once one does; all others read them. They are as secret as
 * what is in Secrets, and where kube-apiserver does not look.
 */
import type { Entry, Store } from '../../storage/store.ts'
import { SHARED_KEYS } from './pki.ts'

export const SHARED_KEYS_PREFIX = '/keelson/keys/'

/** Every shared key in PEM, by name. Called again later, it replaces authorities whose end is near. */
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
