/** Fetches documents of other servers over HTTPS, within limits of time and size. */
import { type RequestOptions, request } from 'node:https'
import type { Fetch } from '../../authn/remote-keys.ts'
import { timeoutSignal } from '../../lib/environment.ts'
import type { Dial } from '../../transport/egress.ts'
import { endsBy, Http2Only } from '../../transport/http2-only.ts'
import { trustingAgent } from '../../transport/trusting-agent.ts'

const MAX_MS = 30_000
const MAX_BYTES = 1024 * 1024

/** Trusts the given authorities, or those that Node trusts. Redirects are not followed. Connections are direct unless there is a `dial`. */
export function httpsFetch(ca: string | undefined, dial?: Dial): Fetch {
  const http2 = new Http2Only({ keeps: false })
  return url => {
    const { hostname, host: authority, port: given, pathname, search } = new URL(url)
    const host = hostname.replace(/^\[|\]$/g, '')
    const port = given === '' ? 443 : Number(given)
    const path = pathname + search
    const trust = { host, ca: ca ?? '', servername: '', skipsVerification: false }
    const signal = timeoutSignal(MAX_MS)
    const overHttp2 = async () => {
      const headers = { ':method': 'GET', ':path': path, ':authority': authority }
      const to = { key: authority, host, port, lookup: undefined, dial, trust }
      const { bytes, ...head } = await http2.request(to, { headers, body: '', maxResponseBytes: MAX_BYTES, ends: endsBy(signal) })
      return document(head, bytes)
    }
    const options = { host, port, path, timeout: MAX_MS, signal, ...(dial && { dial }), agent: trustingAgent(trust, { keepAlive: false }) }
    return http2.either(authority, () => overHttp1(options), overHttp2)
  }
}

const overHttp1 = (options: RequestOptions): ReturnType<Fetch> =>
  new Promise((resolve, reject) => {
    const sent = request(options, answer => {
      const pieces: Buffer[] = []
      let size = 0
      answer.on('data', (piece: Buffer) => {
        size += piece.length
        if (size > MAX_BYTES) answer.destroy(new Error('the answer is too large'))
        else pieces.push(piece)
      })
      answer.on('error', reject)
      answer.on('end', () => resolve(document({ status: answer.statusCode ?? 0, headers: answer.headers }, Buffer.concat(pieces))))
    })
    sent.on('error', reject)
    sent.end()
  })

const document = (
  { status, headers }: { readonly status: number; readonly headers: Readonly<Record<string, string | string[] | undefined>> },
  bytes: Buffer,
) => ({ status, cacheControl: String(headers['cache-control'] ?? ''), text: bytes.toString('utf8') })
