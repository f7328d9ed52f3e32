import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { RequestTrace } from '../../lib/request-trace.ts'
import { readTraceContext } from '../../lib/trace-context.ts'
import { type Connection, type Method, openConnection } from '../../transport/grpc/connection.ts'
import { RpcError } from '../../transport/grpc/status.ts'
import { Writer } from '../../transport/grpc/wire.ts'
import { call } from './call.ts'

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const traceOf = (parent: string) =>
  new RequestTrace({ ...readTraceContext(parent)!, state: 'a=b' }, { baggage: 'c=d', now: () => performance.now() })

/** A gRPC server that answers every call with a status, and the headers that it got. */
async function standIn(t: TestContext, status: string): Promise<{ connection: Connection; port: number; got: IncomingHttpHeaders[] }> {
  const got: IncomingHttpHeaders[] = []
  const server = createServer()
  server.on('stream', (stream, headers) => {
    got.push(headers)
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status, 'grpc-message': 'etcdserver: no leader' }))
    stream.resume()
    stream.end(Buffer.alloc(5))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connection = await openConnection(`http://127.0.0.1:${port}`, { peer: { name: 'etcd' }, signal: new AbortController().signal })
  t.after(() => {
    connection.destroy()
    server.close()
  })
  return { connection, port, got }
}

const method: Method<undefined, string> = { path: '/etcdserverpb.KV/Txn', write: () => new Writer({ reserve: 5 }), read: () => 'answered' }
const options = { method, request: undefined, deadlineMs: 60_000 }

test('a call for a traced request is a span, and etcd gets its context', async t => {
  const { connection, port, got } = await standIn(t, '0')
  const trace = traceOf(PARENT)
  assert.equal(await call(connection, { ...options, trace }), 'answered')
  assert.equal(await call(connection, options), 'answered')
  const [span] = trace.calls
  assert.deepEqual(
    { name: span?.name, kind: span?.kind, parentId: span?.parentId, error: span?.error, attributes: span?.attributes },
    {
      name: 'etcdserverpb.KV/Txn',
      kind: 'client',
      parentId: trace.handlingId,
      error: undefined,
      attributes: {
        'rpc.method': 'etcdserverpb.KV/Txn',
        'rpc.system.name': 'grpc',
        'rpc.response.status_code': 'OK',
        'server.address': '127.0.0.1',
        'server.port': port,
      },
    },
  )
  const { traceparent, tracestate, baggage, 'grpc-timeout': timeout } = got[0]!
  assert.deepEqual(
    { traceparent, tracestate, baggage, timeout },
    { traceparent: `00-${span!.context.traceId}-${span!.context.spanId}-01`, tracestate: 'a=b', baggage: 'c=d', timeout: '60000m' },
  )
  // The call after it is of no trace.
  assert.deepEqual([got[1]!['traceparent'], got[1]!['baggage'], got[1]!['grpc-timeout']], [undefined, undefined, '60000m'])
})

test('a trace that is not recorded is passed on, and no span is made', async t => {
  const { connection, got } = await standIn(t, '0')
  const trace = traceOf(PARENT.replace(/1$/, '0'))
  await call(connection, { ...options, trace })
  assert.deepEqual(trace.calls, [])
  assert.match(String(got[0]!['traceparent']), /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-00$/)
})

test('the span of a call that fails says why', async t => {
  for (const [status, name] of [
    ['14', 'UNAVAILABLE'],
    ['1', 'CANCELLED'],
    ['8', 'RESOURCE_EXHAUSTED'],
  ] as const) {
    const { connection } = await standIn(t, status)
    const trace = traceOf(PARENT)
    await assert.rejects(call(connection, { ...options, trace }), RpcError)
    const { error, attributes } = trace.calls[0]!
    assert.deepEqual([error, attributes['rpc.response.status_code']], ['etcdserver: no leader', name])
  }
})
