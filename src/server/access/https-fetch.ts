/** Fetches documents of other servers over HTTPS, within limits of time and size. */
import { get } from 'node:https'
import type { Fetch } from '../../authn/remote-keys.ts'
import { timeoutSignal } from '../../lib/environment.ts'
import type { Dial } from '../../transport/egress.ts'
import { trustingAgent } from '../../transport/trusting-agent.ts'

const MAX_MS = 30_000
const MAX_BYTES = 1024 * 1024

/** Trusts the given authorities, or those that Node trusts. Redirects are not followed. Connections are direct unless there is a `dial`. */
export function httpsFetch(ca: string | undefined, dial?: Dial): Fetch {
  return url =>
    new Promise((resolve, reject) => {
      const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
      const trust = { host, ca: ca ?? '', servername: '', skipsVerification: false }
      const options = {
        timeout: MAX_MS,
        signal: timeoutSignal(MAX_MS),
        ...(dial && { dial }),
        agent: trustingAgent(trust, { keepAlive: false }),
      }
      const request = get(url, options, answer => {
        const pieces: Buffer[] = []
        let size = 0
        answer.on('data', (piece: Buffer) => {
          size += piece.length
          if (size > MAX_BYTES) answer.destroy(new Error('the answer is too large'))
          else pieces.push(piece)
        })
        answer.on('error', reject)
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            cacheControl: answer.headers['cache-control'] ?? '',
            text: Buffer.concat(pieces).toString('utf8'),
          }),
        )
      })
      request.on('error', reject)
    })
}
