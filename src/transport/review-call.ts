/**
 * Reviews by webhooks: an object is posted, and the same object comes back with a status. Temporary failures are retried, as Kubernetes'
 * clients do.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { abortSignalOf, type Cancellation } from '../lib/cancellation.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { AnswerError, AnswerFields } from './answer-fields.ts'
import { repeat } from './repeat.ts'
import { failureOf, type WebhookAnswer, type WebhookCall, WebhookCallError, type WebhookTransport } from './webhook-transport.ts'

/** The URL of a webhook and the credentials to call it with. */
export type WebhookEndpoint = Omit<WebhookCall, 'body' | 'signal' | 'timeoutMs' | 'maxResponseBytes'>

/** The reason why there is no status. */
export class ReviewError extends Error {
  readonly result: 'canceled' | 'timeout' | 'error'
  constructor(message: string, result: ReviewError['result']) {
    super(message)
    this.result = result
  }
}

export type ReviewOptions = {
  readonly endpoint: WebhookEndpoint
  readonly transport: WebhookTransport
  /** The timeout of one attempt. */
  readonly timeoutMs: number
  /** The delay before the second attempt; each later one is longer. */
  readonly pauseMs?: number
  /** Cancels all attempts. */
  readonly signal: Cancellation
}

/** A review to send, and a function that reads the returned status; it may throw AnswerError. */
export type Review<T> = { readonly kind: string; readonly body: JsonObject; readonly read: (status: AnswerFields) => T }

/** Sends a review; resolves with its status, or rejects with ReviewError. */
export type PostReview = <T>(review: Review<T>, signal: Cancellation) => Promise<T>

const FIRST_PAUSE_MS = 500

/** The status of the returned review. Throws ReviewError. */
export async function postReview<T>(review: Review<T>, options: ReviewOptions): Promise<T> {
  const body = JSON.stringify({ kind: review.kind, ...review.body })
  const { signal, pauseMs: firstPauseMs = FIRST_PAUSE_MS } = options
  const tried = await repeat(() => attemptReview(body, review, options), {
    isFinal: outcome => 'status' in outcome || !outcome.mayPass || signal.aborted,
    firstPauseMs,
    pause: ms => sleep(ms, true, { signal: abortSignalOf(signal) }).catch(() => false),
  })
  if ('status' in tried) return tried.status
  throw tried.error
}

type Attempt<T> = { readonly status: T } | { readonly error: ReviewError; readonly mayPass: boolean }

async function attemptReview<T>(
  body: string,
  review: Review<T>,
  { endpoint, transport, timeoutMs, signal }: ReviewOptions,
): Promise<Attempt<T>> {
  let answer: WebhookAnswer
  try {
    answer = await transport.call({ ...endpoint, body, maxResponseBytes: LIMITS.reviewBytes, timeoutMs, signal })
  } catch (error) {
    if (!(error instanceof WebhookCallError)) throw error
    const result = signal.aborted ? 'canceled' : error.isTimeout ? 'timeout' : 'error'
    return { error: new ReviewError(error.message, result), mayPass: error.message.endsWith('connection reset by peer') }
  }
  const { status } = answer
  const failure = failureOf(answer)
  if (failure !== undefined)
    return {
      error: new ReviewError(failure, status === 504 ? 'timeout' : 'error'),
      mayPass: status === 500 || status === 504 || status === 429,
    }
  try {
    return { status: readStatus(answer.body, review) }
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error
    return { error: new ReviewError(error.message, 'error'), mayPass: false }
  }
}

/** The status in a response, which may be null like everything in it. Throws AnswerError. */
function readStatus<T>(text: string, { kind, read }: Review<T>): T {
  let document: Json
  try {
    document = JSON.parse(text)
  } catch {
    throw new AnswerError('the webhook answered with something that is no review')
  }
  return read(new AnswerFields(document, { struct: `v1.${kind}` }).struct('status', `${kind}Status`))
}
