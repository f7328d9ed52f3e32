/** The response to a struck request: none, an error in the words of Kubernetes, or a slow one. */
import type { Exchange } from '../http/exchange.ts'
import type { Response } from '../http/message.ts'
import type { FaultEffect } from '../public.d.ts'
import { MODIFIED, StatusError } from '../schema/status-error.ts'
import type { Pauses } from './pauses.ts'

/** Closes the connection without a response. */
export const CUT: Response = { status: 500, headers: {}, body: new Uint8Array(), cut: true }

const REASONS: Readonly<Record<number, readonly [reason: string, message: string]>> = {
  409: ['Conflict', MODIFIED],
  410: ['Expired', 'The resourceVersion for the provided watch is too old.'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  500: ['InternalError', 'Internal error occurred: a fault that was asked for'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'Timeout: request did not complete within the allotted timeout'],
}

export function failure({ status = 500, message, retryAfterSeconds }: FaultEffect, { route: { attributes } }: Exchange): StatusError {
  const [reason, text] = REASONS[status] ?? ['', 'a fault that was asked for']
  const { plural = '', group = '', name = '' } = attributes.resource ?? {}
  const qualified = group === '' ? plural : `${plural}.${group}`
  const fullText = message ?? (status === 409 ? `Operation cannot be fulfilled on ${qualified} "${name}": ${text}` : text)
  return new StatusError(status, reason, fullText, {
    ...(name && { name }),
    ...(group && { group }),
    ...(plural && { kind: plural }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })
}

/** Interval at which a slow body gets its next bytes. */
const SLICES_PER_SECOND = 20

/** The same response with a limited rate. Watches have no body to slow down: their events are delayed. */
export function slowed(response: Response, bytesPerSecond: number, pauses: Pauses): Response {
  const { body } = response
  if (!(body instanceof Uint8Array) && body.type === 'stream') return response
  const size = Math.max(1, Math.round(bytesPerSecond / SLICES_PER_SECOND))
  const whole = body instanceof Uint8Array ? { length: body.byteLength, pieces: [body] } : body
  const pieces = async function* () {
    let isFirst = true
    for await (const piece of whole.pieces)
      for (let i = 0; i < piece.byteLength; i += size) {
        if (!isFirst) await pauses.wait(1000 / SLICES_PER_SECOND)
        isFirst = false
        yield piece.subarray(i, i + size)
      }
  }
  return { ...response, body: { type: 'pieces', length: whole.length, pieces: pieces() } }
}
