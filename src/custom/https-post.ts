/** Calls of conversion webhooks. */
import { LIMITS } from '../lib/limits.ts'
import { type WebhookCall, type WebhookTransport, webhookUrl } from '../transport/webhook-transport.ts'

export type Post = Pick<WebhookCall, 'host' | 'port' | 'lookup' | 'path' | 'servername' | 'ca' | 'body'>

export const WEBHOOK_TIMEOUT_SECONDS = 30

/** Converted objects may be larger than those that were sent, but only so much. */
const mostBytes = (sent: number) => LIMITS.webhookAnswerBytes + LIMITS.webhookAnswerFactor * sent

/** Posts and gives the body of a successful answer; rejects with a message for people. */
export const poster =
  (transport: WebhookTransport) =>
  async (post: Post): Promise<string> => {
    const maxResponseBytes = mostBytes(Buffer.byteLength(post.body))
    const { status, body } = await transport.call({ ...post, maxResponseBytes, timeoutMs: WEBHOOK_TIMEOUT_SECONDS * 1000 })
    if (status >= 200 && status < 300) return body
    throw new Error(`Post ${JSON.stringify(webhookUrl(post))}: the webhook answered with status ${status}`)
  }
