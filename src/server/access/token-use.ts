/** Records when tokens in secrets were last used. */
import type { ClientFor } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { failureText } from '../../http/observability/failure-text.ts'
import type { Log } from '../../http/observability/log.ts'
import { Secret } from '../../kinds/core/secret.ts'
import { dateOf } from '../../lib/time.ts'
import type { AnyObject } from '../../schema/object-meta.ts'

const LAST_USED = 'kubernetes.io/legacy-token-last-used'
const DAY_MS = 24 * 3600_000

/** Labels a secret with the day on which its token was last used, once a day. */
export function noteTokenUse({ clientFor, log }: { readonly clientFor: ClientFor; readonly log: Log }): (secret: AnyObject) => void {
  const client = clientFor(serverIdentity())
  let underWay: string | undefined
  return ({ metadata: { namespace = '', name = '', uid, labels = {} } }) => {
    const now = client.now.getTime()
    const today = dateOf(now)
    const key = `${uid} ${today}`
    // Another server with a faster clock may have written the date of tomorrow.
    if (underWay === key || [today, dateOf(now + DAY_MS)].includes(labels[LAST_USED] ?? '')) return
    underWay = key
    client
      .of(Secret)
      .patch({ namespace, name }, { metadata: { uid, labels: { [LAST_USED]: today } } })
      .catch(error => log.warn({ error: failureText(error) }, 'the last use of a token could not be noted'))
      .finally(() => (underWay = undefined))
  }
}
