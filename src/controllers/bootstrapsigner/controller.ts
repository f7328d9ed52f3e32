/** Keeps the ConfigMap that tells new nodes about the cluster signed with every bootstrap token. */
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { TOKEN_NAMESPACE, TOKEN_TYPE } from '../../lib/bootstrap-token.ts'
import { defineController, watch } from '../controller.ts'
import { firstExpiry, signedData } from './reconcile.ts'

const INFO = { namespace: 'kube-public', name: 'cluster-info' }
const KEY = 'cluster-info'

export const bootstrapSigner = defineController({
  name: 'bootstrap-signer-controller',
  identity: 'bootstrap-signer',
  create({ client }) {
    const [maps, secrets] = [client.of(ConfigMap), client.of(Secret)]
    return {
      watches: [
        watch(ConfigMap, ({ current }) => (current.namespace === INFO.namespace && current.name === INFO.name ? KEY : undefined)),
        watch(Secret, ({ current, previous }) =>
          current.namespace === TOKEN_NAMESPACE && [current, previous].some(each => each?.fields['type'] === TOKEN_TYPE) ? KEY : undefined,
        ),
      ],
      async reconcile() {
        const info = maps.get(INFO)
        if (!info) return undefined
        const now = client.now.getTime()
        const tokens = [...secrets.list({ namespace: TOKEN_NAMESPACE, field: { key: 'type', value: TOKEN_TYPE } })]
        const data = signedData(info.data ?? {}, tokens, now)
        if (data) await maps.update({ ...info, data })
        const expiry = firstExpiry(tokens, now)
        return expiry === undefined ? undefined : Math.max(expiry - now, 1)
      },
    }
  },
})
