/** Fills secrets that are to hold the token of a service account, and deletes them with the account. */

import { namedBy, queueKey } from '../../client/change.ts'
import { CONTROLLER_MANAGER } from '../../client/identity.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { ServiceAccount } from '../../kinds/core/serviceaccount.ts'
import { defineController, watch } from '../controller.ts'
import { type Account, accountOf, nextStep, TOKEN_TYPE, type TokenSecret } from './reconcile.ts'

export type TokenControllerParts = {
  /** The certificate authority of the server, as PEM. */
  readonly authority: string
  /** Signs the token that a secret is to hold. */
  readonly sign: (account: Account, secret: TokenSecret) => Promise<string>
}

/** Token secrets by the account that they name. */
const BY_ACCOUNT: IndexDefinition<TokenSecret> = {
  name: 'service-account',
  valuesOf: ({ fields, object }) =>
    fields['type'] === TOKEN_TYPE && object ? [queueKey({ namespace: object.metadata.namespace ?? '', name: accountOf(object).name })] : [],
}

export const tokenController = ({ authority, sign }: TokenControllerParts) =>
  defineController({
    name: 'serviceaccount-token-controller',
    identity: CONTROLLER_MANAGER,
    workers: 5,
    create({ client }) {
      const secrets = client.of(Secret)
      const accounts = client.of(ServiceAccount)
      const secretsOf = (account: string) => Array.from(secrets.informer.byIndex(BY_ACCOUNT, account), queueKey)
      return {
        watches: [
          watch(Secret, ({ current }) => (current.fields['type'] === TOKEN_TYPE ? queueKey(current) : undefined)),
          watch(ServiceAccount, ({ current }) => secretsOf(queueKey(current))),
        ],
        async reconcile(key) {
          const { namespace, name } = namedBy(key)
          const secret = secrets.get({ namespace, name })
          if (secret?.type !== TOKEN_TYPE) return
          const account = accounts.get({ namespace, name: accountOf(secret).name })
          const step = nextStep(secret, account, authority)
          if (step?.step === 'delete') await secrets.delete(secret)
          if (step?.step !== 'fill') return
          const token = step.needsToken ? { token: Buffer.from(await sign(account!, secret)).toString('base64') } : {}
          await secrets.update({ ...step.secret, data: { ...step.secret.data, ...token } })
        },
      }
    },
  })
