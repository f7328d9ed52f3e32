/** The catalogue of errors. Each becomes a `Status` object with the reason, code and details that clients act on. */
import { LIMITS } from '../lib/limits.ts'
import { truncate } from '../lib/truncate.ts'
import type { FieldError } from './refs.ts'

export type StatusCause = { readonly reason?: string; readonly message?: string; readonly field?: string }
export type StatusDetails = {
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly StatusCause[]
  readonly retryAfterSeconds?: number
}

/** Thrown across layers; only `http/` turns it into a response. */
export class StatusError extends Error {
  readonly code: number
  readonly reason: string
  readonly details: StatusDetails | undefined
  /** A token to continue an expired list from the latest state. */
  readonly continue: string | undefined
  /** Warnings that are sent with the error. */
  warnings: readonly string[] = []
  /** Whether the write may have happened nevertheless. */
  isUnknown = false
  /** Whether the error is a webhook's decision, which must not be repeated. */
  isFinal = false

  constructor(code: number, reason: string, message: string, details?: StatusDetails, more: { continue?: string } = {}) {
    // Longer messages are not read, and some of them are kept.
    super(truncate(message, LIMITS.errorMessageLength))
    this.code = code
    this.reason = reason
    this.details = details
    this.continue = more.continue
  }
}

/** A resource in messages: `secrets`, `daemonsets.apps`. */
export type Named = { readonly group: string; readonly plural: string; readonly kind: string }
const qualified = (r: Named) => (r.group === '' ? r.plural : `${r.plural}.${r.group}`)
const detailsOf = (r: Named, name?: string): StatusDetails => ({
  ...(name === undefined || name === '' ? {} : { name }),
  ...(r.group === '' ? {} : { group: r.group }),
  kind: r.plural,
})

export const badRequest = (message: string) => new StatusError(400, 'BadRequest', message)
export const unauthorized = (message = 'Unauthorized') => new StatusError(401, 'Unauthorized', message)
export const forbiddenRequest = (r: Named, name: string, why: string) =>
  new StatusError(403, 'Forbidden', `${qualified(r)}${name === '' ? '' : ` "${name}"`} is forbidden: ${why}`, detailsOf(r, name))
export const forbiddenPath = (message: string) => new StatusError(403, 'Forbidden', message, {})
export const notFound = (r: Named, name: string) =>
  new StatusError(404, 'NotFound', `${qualified(r)} "${name}" not found`, detailsOf(r, name))
/** No such path, or a resource that is not served. */
export const noSuchResource = () => new StatusError(404, 'NotFound', 'the server could not find the requested resource', {})
export const methodNotAllowed = (
  message = 'the server does not allow this method on the requested resource',
  details: StatusDetails = {},
) => new StatusError(405, 'MethodNotAllowed', message, details)
export const notAcceptable = (accepted: readonly string[]) =>
  new StatusError(406, 'NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`)
export const alreadyExists = (r: Named, name: string) =>
  new StatusError(409, 'AlreadyExists', `${qualified(r)} "${name}" already exists`, detailsOf(r, name))
/** All generated names were taken. */
export const generatedNameTaken = (r: Named, name: string) =>
  new StatusError(
    409,
    'AlreadyExists',
    `${qualified(r)} "${name}" already exists, the server was not able to generate a unique name for the object`,
    { ...detailsOf(r, name), retryAfterSeconds: 1 },
  )
/** An optimistic write that lost, or a state of the object that prevents the write. */
export const conflict = (r: Named, name: string, why: string) =>
  new StatusError(409, 'Conflict', `Operation cannot be fulfilled on ${qualified(r)} "${name}": ${why}`, detailsOf(r, name))
export const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again'
export const expired = (message: string, more: { continue?: string } = {}) => new StatusError(410, 'Expired', message, undefined, more)
export const tooLarge = (message: string) => new StatusError(413, 'RequestEntityTooLarge', message)
export const unsupportedMediaType = (accepted: readonly string[]) =>
  new StatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  )
/** A patch that was parsed but cannot be applied. */
export const unprocessable = () => new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {})
export const tooManyRequests = (message: string, retryAfterSeconds: number) =>
  new StatusError(429, 'TooManyRequests', message, { retryAfterSeconds })
export const internalError = (message: string) =>
  new StatusError(500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
/** Objects that cannot be read from the store are in the way of a response. */
export const storeReadError = (message: string, details?: StatusDetails) => new StatusError(500, 'StorageReadError', message, details)
export const notImplemented = (message: string) => new StatusError(501, 'NotImplemented', message)
export const unavailable = (message: string) => new StatusError(503, 'ServiceUnavailable', message)
/** The error that kube-apiserver returns when etcd has no space left. */
export const spaceExceeded = (message: string) => new StatusError(500, '', message)
export const tooLargeRevision = (asked: number, current: number) =>
  new StatusError(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
export const timedOut = (message: string, details: StatusDetails = {}) => new StatusError(504, 'Timeout', message, details)

/** All errors of an object, in one response. */
export function invalidObject(
  subject: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const texts = [...new Set(errors.map(e => `${e.field}: ${e.message}`))]
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`
  const kind = subject.group === '' ? subject.kind : `${subject.kind}.${subject.group}`
  return new StatusError(422, 'Invalid', `${kind} "${name}" is invalid${texts.length === 0 ? '' : `: ${list}`}`, {
    ...(name === '' ? {} : { name }),
    ...(subject.group === '' ? {} : { group: subject.group }),
    ...(subject.kind === '' ? {} : { kind: subject.kind }),
    causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
  })
}

/** Whether a create failed because its namespace is being deleted. */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof StatusError && (error.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')

/** Whether a create failed because its namespace is being deleted or has been deleted. */
export const isNamespaceGoing = (error: unknown): boolean =>
  isNamespaceTerminating(error) || (error instanceof StatusError && error.code === 404 && error.details?.kind === 'namespaces')

/** The write was sent to the store, but no response came. */
export function outcomeUnknown(message: string): StatusError {
  const error = internalError(message)
  error.isUnknown = true
  return error
}

/** Whether a write that failed with this error may have happened nevertheless. */
export const mayHaveHappened = (error: unknown): boolean => !(error instanceof StatusError) || error.isUnknown
