/** Errors as responses: each is a Status object in a media type that the client accepts. */
import { CBOR } from '../codec/cbor.ts'
import { encodeCbor } from '../codec/cbor-encode.ts'
import { stringifyJson, stringifyPretty } from '../codec/json.ts'
import { toProtobuf } from '../codec/protobuf-encode.ts'
import { envelope, PROTOBUF } from '../codec/protobuf-envelope.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { LIMITS } from '../lib/limits.ts'
import { truncate } from '../lib/truncate.ts'
import { internalError, type StatusCause, type StatusDetails, StatusError } from '../schema/status-error.ts'
import { Status } from './common-messages.ts'
import type { Exchange } from './exchange.ts'
import type { Request, Response } from './message.ts'
import { type MediaType, negotiateError } from './negotiate.ts'
import { failureStack } from './observability/failure-text.ts'
import type { Log } from './observability/log.ts'
import { warningHeaders } from './warning.ts'

/** The `Status` object of an error, within the size limits of error responses. */
export function statusOf(error: StatusError): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: error.continue === undefined ? {} : { continue: error.continue },
    status: 'Failure',
    message: error.message,
    ...(error.reason === '' ? {} : { reason: error.reason }),
    ...(error.details === undefined ? {} : { details: limited(error.details) as JsonObject }),
    code: error.code,
  }
}

/** Details within the size limits of error responses. */
function limited(details: StatusDetails): StatusDetails {
  const name = details.name === undefined ? {} : { name: truncate(details.name, LIMITS.errorValueLength) }
  if (!details.causes) return { ...details, ...name }
  let length = 0
  const causes: StatusCause[] = []
  for (const cause of details.causes) {
    const message = truncate(cause.message ?? '', LIMITS.errorTextLength)
    length += message.length + (cause.field?.length ?? 0)
    if (causes.length === LIMITS.errorCauses || (causes.length > 0 && length > 2 * LIMITS.errorTextLength)) break
    causes.push(cause.message === undefined ? cause : { ...cause, message })
  }
  return { ...details, ...name, causes }
}

/** The response to a request that failed. Internal errors are logged, and sent without their details. */
export async function errorResponse(thrown: unknown, { request, id }: Exchange, { log, served }: ErrorParts): Promise<Response> {
  return statusResponse(thrown instanceof StatusError ? thrown : unexpected(thrown, id, log), request, served)
}

type ErrorParts = { readonly log: Log; readonly served: readonly MediaType[] }

/** The response with the `Status` of an error, in one of the media types of errors, or of those that a path has. */
export async function statusResponse(error: StatusError, request: Request, served?: readonly MediaType[]): Promise<Response> {
  const { mediaType, pretty } = negotiateError(request, served)
  const status = statusOf(error)
  const retry = error.details?.retryAfterSeconds
  return {
    status: error.code,
    headers: {
      'content-type': mediaType,
      'x-content-type-options': 'nosniff',
      ...(retry === undefined ? {} : { 'retry-after': String(retry) }),
      ...(error.warnings.length > 0 && { warning: warningHeaders(error.warnings) }),
    },
    body: await write(status, mediaType, pretty),
    // After a body that is too large, and for unauthenticated clients, the connection is closed.
    close: error.code === 413 || (error.code === 401 && request.protocol === 'HTTP/2.0'),
  }
}

/** The `Status` as protobuf, in its envelope. */
export const protobufStatusOf = (status: JsonObject) => envelope({ kind: 'Status', apiVersion: 'v1' }, toProtobuf(Status, status))

async function write(status: JsonObject, mediaType: MediaType, pretty: boolean): Promise<Uint8Array> {
  if (mediaType === PROTOBUF) return protobufStatusOf(status)
  if (mediaType === CBOR) return encodeCbor(status)
  if (mediaType === 'application/yaml') return Buffer.from((await import('../codec/yaml-writer.ts')).stringifyYaml(status))
  return Buffer.from(pretty ? stringifyPretty(status) : `${stringifyJson(status)}\n`)
}

function unexpected(thrown: unknown, id: string, log: Log): StatusError {
  log.error({ auditID: id, error: failureStack(thrown) }, 'request failed unexpectedly')
  return internalError(`the server met an unexpected condition; its log names the cause under ${id}`)
}
