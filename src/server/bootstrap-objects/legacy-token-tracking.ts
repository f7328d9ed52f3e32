/** The ConfigMap with the date since which uses of tokens in secrets are recorded, for the cleaner of unused tokens. */

import { queueKey } from '../../client/change.ts'
import { serverIdentity } from '../../client/identity.ts'
import { defineController, watch } from '../../controllers/controller.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { dateOf, isDate } from '../../lib/time.ts'

const NAMED = { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' }
const KEY = queueKey(NAMED)
/** Shortest interval between two creations: another server with tracking off would delete it each time. */
const CREATE_EVERY_MS = 30 * 60_000

export const legacyTokenTracking = defineController({
  name: 'legacy_token_tracking_controller',
  identity: serverIdentity(),
  create({ client, enqueue }) {
    const maps = client.of(ConfigMap)
    let created: number | undefined
    enqueue(KEY)
    return {
      watches: [watch(ConfigMap, ({ current }) => (queueKey(current) === KEY ? KEY : undefined))],
      async reconcile() {
        const now = client.now.getTime()
        const data = { since: dateOf(now) }
        const stored = maps.get(NAMED)
        if (stored) {
          if (!isDate(stored.data?.['since'])) await maps.update({ ...stored, data: { ...stored.data, ...data } })
          return undefined
        }
        const wait = created === undefined ? 0 : created + CREATE_EVERY_MS - now
        if (wait > 0) return wait
        await maps.create({ metadata: NAMED, data })
        created = now
        return undefined
      },
    }
  },
})
