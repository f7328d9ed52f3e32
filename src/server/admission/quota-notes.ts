/** Reservations of quota that servers over one store share: writes that were admitted and are not stored yet. */
import { MAX_RESERVED_MS, type Note, type Notes } from '../../admission/plugins/resource-quota/reservations.ts'
import type { Caches } from '../../cache/caches.ts'
import { newUuid } from '../../lib/environment.ts'
import type { Store } from '../../storage/store.ts'
import { QUOTA_NOTES } from '../data/cluster-records.ts'

export function quotaNotes(store: Store, caches: Caches): Notes {
  const own = newUuid()
  let count = 0
  return {
    async write(namespace, notes) {
      const key = `${QUOTA_NOTES}${namespace}/${own}-${count++}`
      const value = Buffer.from(JSON.stringify(notes))
      const swap = await store.swap(key, { expect: 0, value, ttlSeconds: MAX_RESERVED_MS / 1000 })
      if (!swap.ok) throw new Error(`${key} is there already`)
      return async () => {
        await store.swap(key, { expect: swap.revision, value: null })
      }
    },
    async readOthers(namespace) {
      const { entries } = await store.list(`${QUOTA_NOTES}${namespace}/`)
      const others = entries.filter(({ key }) => !key.slice(QUOTA_NOTES.length + namespace.length + 1).startsWith(own))
      return others.flatMap(({ value }) => JSON.parse(Buffer.from(value).toString()) as Note[])
    },
    fresh: () => caches.fresh(),
  }
}
