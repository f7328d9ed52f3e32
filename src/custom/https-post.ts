/** One call of a webhook: JSON sent to an https address and JSON read back, within limits of time and size. */
import { request } from 'node:https'
import { LIMITS } from '../lib/limits.ts'

export type Post = {
  readonly host: string
  readonly port: number
  readonly path: string
  /** The name that the certificate has to be for, where it is not the host. */
  readonly servername?: string
  /** Authorities in PEM; those of the system unless said. */
  readonly ca?: string
  readonly body: string
}

const PATIENCE_MS = 30_000

/** What is sent comes back converted, and may have grown, but not to anything. */
const mostBytes = (sent: number) => LIMITS.webhookAnswerBytes + LIMITS.webhookAnswerFactor * sent

/** The body of a successful answer. Rejects with a message for people. */
export function post({ host, port, path, servername, ca, body }: Post): Promise<string> {
  const limit = mostBytes(Buffer.byteLength(body))
  return new Promise((resolve, reject) => {
    const refuse = (why: string) => reject(new Error(`Post "https://${host}:${port}${path}": ${why}`))
    const sent = request(
      {
        host,
        port,
        path,
        method: 'POST',
        ...(servername !== undefined && { servername }),
        ...(ca && { ca }),
        headers: { 'content-type': 'application/json', accept: 'application/json', 'content-length': Buffer.byteLength(body) },
        // For the whole of it: an answer that trickles in is no answer.
        signal: AbortSignal.timeout(PATIENCE_MS),
        // A connection for each call: conversions are rare, and nothing is left open when the server goes.
        agent: false,
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

const messageOf = (error: Error) =>
  error.name === 'AbortError' || error.name === 'TimeoutError' ? 'context deadline exceeded' : error.message
