/** Deletes bootstrap tokens that are over. */
import { namedBy, queueKey } from '../../client/change.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { TOKEN_NAMESPACE, TOKEN_TYPE, tokenExpiry } from '../../lib/bootstrap-token.ts'
import { defineController, watch } from '../controller.ts'

export const tokenCleaner = defineController({
  name: 'token-cleaner-controller',
  identity: 'token-cleaner',
  create({ client }) {
    const secrets = client.of(Secret)
    return {
      watches: [
        watch(Secret, ({ current, type }) =>
          type !== 'deleted' && current.namespace === TOKEN_NAMESPACE && current.fields['type'] === TOKEN_TYPE
            ? queueKey(current)
            : undefined,
        ),
      ],
      async reconcile(key) {
        const secret = secrets.get(namedBy(key))
        const expiry = secret?.type === TOKEN_TYPE ? tokenExpiry(secret.data) : undefined
        if (!secret || expiry === undefined) return undefined
        const ms = expiry - client.now.getTime()
        if (ms > 0) return ms
        await secrets.delete(secret)
        return undefined
      },
    }
  },
})
