/** One call of a member of etcd. For a request that is traced it is a span, named as OpenTelemetry names calls of gRPC, and etcd gets its context. */
import { messageOf } from '../../lib/error-message.ts'
import type { RequestTrace } from '../../lib/request-trace.ts'
import type { Connection, Method } from '../../transport/grpc/connection.ts'
import { DeadlineExceeded } from '../../transport/grpc/http2-session.ts'
import { codeName, RpcError } from '../../transport/grpc/status.ts'

export type MemberCall<Request, Response> = {
  readonly method: Method<Request, Response>
  readonly request: Request
  readonly deadlineMs: number
  readonly trace?: RequestTrace | undefined
}

/** Rejects as `Connection.call` does. */
export function call<Request, Response>(connection: Connection, options: MemberCall<Request, Response>): Promise<Response> {
  const { method, request, deadlineMs, trace } = options
  return trace ? tracedCall(connection, { ...options, trace }) : connection.call(method, request, { deadlineMs })
}

async function tracedCall<Request, Response>(
  connection: Connection,
  { method, request, deadlineMs, trace }: MemberCall<Request, Response> & { readonly trace: RequestTrace },
): Promise<Response> {
  const name = method.path.slice(1)
  const { hostname, port } = new URL(connection.endpoint)
  const span = trace.call(name, {
    'rpc.method': name,
    'rpc.system.name': 'grpc',
    'server.address': hostname,
    'server.port': port === '' ? undefined : Number(port),
  })
  try {
    const answer = await connection.call(method, request, { deadlineMs, metadata: span.headers })
    span.end(undefined, { 'rpc.response.status_code': 'OK' })
    return answer
  } catch (error) {
    span.end(messageOf(error), { 'rpc.response.status_code': statusOf(error) })
    throw error
  }
}

/** The name of a status in the specification of gRPC. */
function statusOf(error: unknown): string {
  if (error instanceof DeadlineExceeded) return 'DEADLINE_EXCEEDED'
  if (!(error instanceof RpcError)) return 'UNAVAILABLE'
  const name = codeName(error.code)
  return name === 'Canceled' ? 'CANCELLED' : name.replace(/\B[A-Z]/g, '_$&').toUpperCase()
}
