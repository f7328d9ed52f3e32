/** Once a day, makes generated tokens of service accounts invalid that nobody has used for a year, and deletes them a year later. */
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { secretNames } from '../../kinds/rules/pod/secret-names.ts'
import { dateOf } from '../../lib/time.ts'
import { defineController } from '../controller.ts'
import { decide, INVALID_SINCE, isTrackedLongEnough, TOKEN_TYPE } from './reconcile.ts'

const ALL = 'all'
const EVERY_MS = 24 * 3600_000
/** Since when uses of tokens are recorded. */
const TRACKING = { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' }

export const legacyTokenCleaner = defineController({
  name: 'legacy-serviceaccount-token-cleaner-controller',
  identity: 'legacy-service-account-token-cleaner',
  isRoutine: true,
  create({ client, enqueue, signal }) {
    const [secrets, accounts, pods, maps] = [client.of(Secret), client.of(ServiceAccount), client.of(Pod), client.of(ConfigMap)]
    enqueue(ALL)
    const isMounted = (namespace: string, name: string): boolean => {
      for (const { metadata, spec } of pods.list())
        if (metadata.namespace === namespace) for (const used of secretNames(spec)) if (used === name) return true
      return false
    }
    return {
      watches: [],
      async reconcile() {
        const now = client.now.getTime()
        if (!isTrackedLongEnough(maps.get(TRACKING)?.data?.['since'], now)) return EVERY_MS
        const tokens = [...secrets.list()].filter(({ type }) => type === TOKEN_TYPE)
        for (const secret of tokens) {
          if (signal.aborted) break
          const { namespace = '', name = '', uid } = secret.metadata
          const account = (of: string) => accounts.get({ namespace, name: of })
          const decision = decide(secret, { now, account, isMounted: () => isMounted(namespace, name) })
          if (decision === 'delete') await secrets.delete(secret, { unchanged: true })
          else if (decision === 'invalidate')
            await secrets.patch({ namespace, name }, { metadata: { uid, labels: { [INVALID_SINCE]: dateOf(now) } } })
        }
        return EVERY_MS
      },
    }
  },
})
