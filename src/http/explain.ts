/** Explains admission to users who send `Keelson-Explain: admission` and may, and to the log when it wants all details. */
import type { Authorizer } from '../authz/authorizer.ts'
import { whenDone } from '../lib/maybe-promise.ts'
import { Explanation } from '../schema/explanation.ts'
import { forbidden } from '../schema/forbidden.ts'
import type { Exchange, Handler } from './exchange.ts'
import { header } from './message.ts'
import type { Log } from './observability/log.ts'
import { isRead } from './read-body.ts'

/** Users that may `get` this path can see why requests were admitted or rejected. */
const PERMISSION = { verb: 'get', path: '/explain/admission' }
/** Asks for times and changes as well. */
const DETAILED = 'admission;details'

export const explain =
  (next: Handler, { authorizer, log }: { readonly authorizer: Authorizer; readonly log: Log }): Handler =>
  exchange => {
    const { request, route } = exchange
    if (route.type !== 'call') return next(exchange)
    if (log.enabled('debug') && !isRead(route.call)) exchange.explanation = new Explanation()
    const requested = header(request.headers, 'keelson-explain')
    if (requested === undefined) return next(exchange)
    if (requested !== 'admission' && requested !== DETAILED) {
      answerWith(exchange, 'only admission can be explained')
      return next(exchange)
    }
    // With impersonation, the permission of the original user counts.
    const user = exchange.impersonator ?? exchange.user!
    return whenDone(authorizer.authorize(user, PERMISSION, request), decision => {
      if (decision.verdict === 'allow') {
        const explanation = (exchange.explanation = new Explanation({ isDetailed: requested === DETAILED }))
        exchange.explain = () => explanation.toHeader()
      } else answerWith(exchange, forbidden(user, PERMISSION).message)
      return next(exchange)
    })
  }

/** The request continues without an explanation, and a header contains the reason. */
function answerWith(exchange: Exchange, error: string): void {
  const explanation = new Explanation()
  explanation.add({ error })
  exchange.explain = () => explanation.toHeader()
}
