import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Stream } from '../../transport/grpc/connection.ts'
import { RpcError } from '../../transport/grpc/status.ts'
import { StoreUnavailable } from '../store.ts'
import type { Cluster } from './cluster.ts'
import { CODES, explain } from './problem.ts'
import { EtcdWatch } from './watch.ts'

const key = Buffer.from('/registry/')

/** A watch of a cluster that opens streams and sends nothing on them; `opened` tells of the first. */
function watchWith(check: () => Promise<void>, signal: AbortSignal) {
  let open = () => {}
  const opened = new Promise<void>(resolve => (open = resolve))
  const stream: Stream = { send() {}, pause() {}, resume() {}, close() {} }
  const cluster = {
    where: 'http://etcd',
    async stream() {
      open()
      return stream
    },
  } as unknown as Cluster
  const scope = { key, end: key, isEverything: true }
  const watch = new EtcdWatch('/', {
    cluster,
    scope,
    check,
    confirm: async () => {},
    saw() {},
    decode: () => [],
    onEnd() {},
    after: 1,
    signal,
  })
  return { watch, opened }
}

test('a watch that begins while etcd does not answer waits for it', async () => {
  const stop = new AbortController()
  let asked = 0
  const { watch, opened } = watchWith(async () => {
    if (++asked < 3) throw explain(new Error('etcd does not answer'), 'http://etcd')
  }, stop.signal)
  const next = watch.next()
  await opened
  assert.equal(asked, 3)
  stop.abort()
  assert.equal((await next).done, true)
})

test('a watch that may not read says so', async () => {
  const denied = explain(new RpcError(CODES.permissionDenied, 'etcdserver: permission denied'), 'http://etcd')
  const { watch } = watchWith(() => Promise.reject(denied), new AbortController().signal)
  await assert.rejects(watch.next(), error => error instanceof StoreUnavailable && /denies permission/.test(error.message))
})
