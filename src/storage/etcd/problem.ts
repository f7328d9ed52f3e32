/** Describes a problem with etcd in one line that says what to do. */
import { messageOf } from '../../lib/error-message.ts'
import { ConnectionLost } from '../../transport/grpc/connection.ts'
import { DeadlineExceeded } from '../../transport/grpc/http2-session.ts'
import { RpcError } from '../../transport/grpc/status.ts'
import { SpaceExceeded, StoreUnavailable } from '../store.ts'

/** The statuses of gRPC that matter here. */
export const CODES = {
  canceled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unavailable: 14,
  unauthenticated: 16,
} as const

export const isCompacted = (error: unknown): boolean =>
  error instanceof RpcError && error.code === CODES.outOfRange && error.message.includes('has been compacted')

export const isFuture = (error: unknown): boolean =>
  error instanceof RpcError && error.code === CODES.outOfRange && error.message.includes('future revision')

export const isPermissionDenied = (error: unknown): boolean =>
  error instanceof RpcError &&
  (error.code === CODES.permissionDenied || error.code === CODES.unauthenticated || error.message.includes('user name is empty'))

/** The request is larger than etcd takes (--max-request-bytes), by its own limit or by that of gRPC. */
export const isTooLarge = (error: unknown): boolean =>
  error instanceof RpcError &&
  ((error.code === CODES.invalidArgument && error.message.includes('request is too large')) ||
    (error.code === CODES.resourceExhausted && error.message.includes('larger than max')))

/** etcd has raised the alarm NOSPACE. */
const isSpaceExceeded = (error: unknown): error is RpcError => error instanceof RpcError && error.message.includes('space exceeded')

/** A lease has ended, or been revoked, before a key was written with it. */
export const isLeaseLost = (error: unknown): boolean => error instanceof RpcError && error.code === CODES.notFound

/** Whether another member, or the same one a little later, may well answer. */
export const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionLost ||
  error instanceof DeadlineExceeded ||
  (error instanceof RpcError &&
    (error.code === CODES.unavailable ||
      error.code === CODES.deadlineExceeded ||
      error.code === CODES.canceled ||
      isContextEnd(error) ||
      error.message.includes('too many requests')))

/** etcd passes on some errors of Go without a status of their own. */
const isContextEnd = ({ message }: RpcError) => message.includes('context deadline exceeded') || message.includes('context canceled')

/** Whether a call that failed so has certainly changed nothing, and will not. */
export const isNotDone = (error: unknown): boolean => {
  if (error instanceof ConnectionLost) return error.neverSent
  if (!(error instanceof RpcError)) return false
  // A member answers so before it proposes anything; what times out, or is stopped, may have been proposed.
  if (error.message.includes('no leader') || error.message.includes('too many requests')) return true
  return NOT_DONE.has(error.code)
}

const NOT_DONE: ReadonlySet<number> = new Set([
  CODES.invalidArgument,
  CODES.notFound,
  CODES.permissionDenied,
  CODES.resourceExhausted,
  CODES.failedPrecondition,
  CODES.outOfRange,
  CODES.unauthenticated,
])

/** The error that says what a failure is about, and for whom. `where` names the members. */
export function explain(error: unknown, where: string): StoreUnavailable {
  if (error instanceof StoreUnavailable) return error
  const [message, problem] = reasonOf(error, where)
  const Kind = isSpaceExceeded(error) ? SpaceExceeded : StoreUnavailable
  return new Kind(message, { cause: error, problem })
}

function reasonOf(error: unknown, where: string): [message: string, problem: string] {
  const { code, reason } = ((error as Error)?.cause ?? error ?? {}) as { code?: unknown; reason?: unknown }
  // The error of OpenSSL is in its own field; the message is for readers of its sources.
  const message = typeof reason === 'string' && reason !== '' ? reason : messageOf(error)
  const text = message.trim().replace(/\s+/g, ' ')
  if (error instanceof RpcError) return ofStatus(error, where)
  if (typeof code === 'string') {
    const known = SOCKET[code] ?? (code.includes('ALERT') ? CLIENT_CERTIFICATE : undefined)
    if (known) return [`cannot reach etcd at ${where}: ${known(text)}`, 'etcd cannot be reached']
  }
  if (error instanceof DeadlineExceeded) return [`etcd at ${where} does not answer: ${text}`, 'etcd does not answer']
  return [`the connection to etcd at ${where} failed: ${text}`, 'etcd cannot be reached']
}

function ofStatus(error: RpcError, where: string): [message: string, problem: string] {
  const { code, message } = error
  if (message.includes('no leader') || message.includes('leader failure'))
    return [`etcd at ${where} has no leader: most of its members are down, or do not reach each other`, 'etcd has no leader']
  if (isSpaceExceeded(error))
    return [
      `etcd at ${where} takes no writes as its space quota is used up: raise --quota-backend-bytes, or compact and defragment it, and then run etcdctl alarm disarm`,
      message,
    ]
  if (message.includes('CORRUPT') || message.includes('corrupt cluster'))
    return [
      `etcd at ${where} has found that the data of its members differ, and takes no writes: ${message}`,
      'the data of etcd is corrupt',
    ]
  if (isPermissionDenied(error))
    return [
      `etcd at ${where} denies permission (${message}): the user of --etcd-certfile must be allowed to read and write all keys below --etcd-prefix`,
      'etcd denies permission',
    ]
  if (code === CODES.unavailable || code === CODES.deadlineExceeded || isContextEnd(error))
    return [`etcd at ${where} does not answer: ${message}`, 'etcd does not answer']
  return [`etcd at ${where} refuses: ${message}`, `etcd refuses: ${message}`]
}

const CLIENT_CERTIFICATE = (text: string) => `it refuses the certificate of this server (${text}); check --etcd-certfile and --etcd-keyfile`

const SOCKET: Readonly<Record<string, (text: string) => string>> = {
  ECONNREFUSED: () => 'the connection was refused; check --etcd-servers, and that etcd is running',
  ENOTFOUND: () => 'there is no host of that name; check --etcd-servers',
  EAI_AGAIN: () => 'its name cannot be looked up now',
  EHOSTUNREACH: () => 'there is no way to that host',
  ENETUNREACH: () => 'there is no way to that network',
  ECONNRESET: () => 'it ended the connection; if it expects TLS, its address begins with https://',
  ERR_HTTP2_PROTOCOL: text => `${text}; if it expects TLS, its address begins with https://`,
  ERR_SSL_WRONG_VERSION_NUMBER: () => 'it does not use TLS; its address begins with http://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: () => 'it does not use TLS; its address begins with http://',
  UNTRUSTED_SERVER: text => `its certificate is not accepted (${text}); check --etcd-cafile`,
}

/** Whether trying again cannot help until somebody has changed something: certificates, permissions. */
export function isLasting(error: unknown): boolean {
  if (isPermissionDenied(error)) return true
  const { code } = ((error as Error)?.cause ?? error ?? {}) as { code?: unknown }
  return typeof code === 'string' && (code.includes('ALERT') || code.startsWith('ERR_SSL') || LASTING.has(code))
}

const LASTING: ReadonlySet<string> = new Set(['UNTRUSTED_SERVER', 'ENOTFOUND'])
