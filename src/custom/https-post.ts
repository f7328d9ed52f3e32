/** One call of a webhook: JSON sent to an https address and JSON read back, within limits of time and size. */
import { request } from 'node:https'
import { isIP } from 'node:net'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { LIMITS } from '../lib/limits.ts'
import { isTrusted } from './trust.ts'

export type Post = {
  readonly host: string
  readonly port: number
  readonly path: string
  /** The name that the certificate has to be for, where it is not the host. */
  readonly servername?: string
  /** Trusted certificates in PEM, authorities or the webhook's own; the authorities of the system unless said. */
  readonly ca?: string
  readonly body: string
}

export const WEBHOOK_TIMEOUT_SECONDS = 30

/** Converted objects may be larger than those that were sent, but only so much. */
const mostBytes = (sent: number) => LIMITS.webhookAnswerBytes + LIMITS.webhookAnswerFactor * sent

/** The body of a successful answer. Rejects with a message for people. */
export async function post({ host, port, path, servername, ca, body }: Post): Promise<string> {
  const limit = mostBytes(Buffer.byteLength(body))
  const signal = AbortSignal.timeout(WEBHOOK_TIMEOUT_SECONDS * 1000)
  const socket = await open({ host, port, servername: servername ?? (isIP(host) ? '' : host), ...(ca && { ca }) }, signal).catch(error => {
    throw new Error(`Post "https://${host}:${port}${path}": ${messageOf(error)}`)
  })
  return new Promise((resolve, reject) => {
    const refuse = (why: string) => reject(new Error(`Post "https://${host}:${port}${path}": ${why}`))
    const sent = request(
      {
        host,
        port,
        path,
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', 'content-length': Buffer.byteLength(body) },
        // For the whole of it: an answer that trickles in is no answer.
        signal,
        // A connection for each call, and no agent: conversions are rare, and nothing is left open when the server stops.
        createConnection: () => socket,
      },
      answer => {
        const parts: Buffer[] = []
        let size = 0
        answer.on('data', (part: Buffer) => {
          size += part.length
          if (size > limit) sent.destroy(new Error(`the answer is larger than ${limit} bytes`))
          else parts.push(part)
        })
        answer.on('error', error => refuse(messageOf(error)))
        answer.on('end', () => {
          const text = Buffer.concat(parts).toString('utf8')
          const { statusCode = 0 } = answer
          if (statusCode >= 200 && statusCode < 300) resolve(text)
          else refuse(`the webhook answered with status ${statusCode}`)
        })
      },
    )
    sent.on('error', error => refuse(messageOf(error)))
    sent.end(body)
  })
}

/** A connection to a server that has been found to be trusted. */
function open(options: ConnectionOptions & { readonly ca?: string }, signal: AbortSignal): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    // Node before 20.18 does not know this option: there the chain is checked here.
    const socket = connect({ ...options, allowPartialTrustChain: true, rejectUnauthorized: hasPartialTrust || options.ca === undefined })
    const abort = () => socket.destroy(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    socket.once('error', reject)
    socket.once('secureConnect', () => {
      signal.removeEventListener('abort', abort)
      socket.off('error', reject)
      if (socket.authorized || isTrusted(socket, options)) return resolve(socket)
      socket.destroy()
      reject(socket.authorizationError)
    })
  })
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const hasPartialTrust = major > 22 || (major === 22 && minor >= 9) || (major === 20 && minor >= 18)

const messageOf = (error: Error) =>
  error.name === 'AbortError' || error.name === 'TimeoutError' ? 'context deadline exceeded' : error.message
