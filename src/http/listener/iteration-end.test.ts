// Small responses are sent at the end of the iteration in which they were made, after all requests that have come in it were handled.
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerHttp2Stream } from 'node:http2'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import { UnsentResponses } from '../flow-control/unsent-responses.ts'
import { bytesResponse, type Request, type Response, type Settle } from '../message.ts'
import { answerDirectly } from './direct.ts'
import { answerHttp2 } from './http2.ts'
import { IterationEnd } from './iteration-end.ts'

const PEER = { address: '127.0.0.1', certificate: undefined }
const iteration = () => new Promise(setImmediate)

test('jobs are done in their order at the end of the iteration, those that they add in the next', async () => {
  const end = new IterationEnd()
  const done: string[] = []
  end.add(() => {
    done.push('a')
    end.add(() => done.push('c'))
  })
  end.add(() => done.push('b'))
  await Promise.resolve()
  assert.equal(done.join(''), '')
  await iteration()
  assert.equal(done.join(''), 'ab')
  await iteration()
  assert.equal(done.join(''), 'abc')
  end.add(() => done.push('d'))
  await iteration()
  assert.equal(done.join(''), 'abcd')
})

test('many responses do not wait for further requests', async () => {
  const end = new IterationEnd()
  let done = 0
  for (let i = 0; i < 40; i++) end.add(() => void done++)
  assert.ok(done > 0 && done < 40, String(done))
  await iteration()
  assert.equal(done, 40)
})

test('jobs that come alone are mostly done at once, until some come together', async () => {
  const end = new IterationEnd()
  let atOnce = 0
  for (let i = 0; i < 100; i++) {
    let isDone = false
    end.add(() => void (isDone = true))
    if (isDone) atOnce++
    await iteration()
    assert.ok(isDone)
  }
  assert.ok(atOnce > 75 && atOnce < 92, String(atOnce))
  // One of them waits sooner or later, and the next with it.
  let waited = 0
  for (let i = 0; i < 20; i++) {
    let done = 0
    for (let job = 0; job < 3; job++) end.add(() => void done++)
    if (done === 0) waited++
    await iteration()
    assert.equal(done, 3)
  }
  assert.ok(waited >= 14, String(waited))
})

/** A server of plain connections that notes its steps. */
function direct(responseOf: (request: Request) => MaybePromise<Response>) {
  const done: string[] = []
  const iterationEnd = new IterationEnd()
  const connect = (name: string): EventEmitter => {
    const socket = Object.assign(new EventEmitter(), {
      setTimeout: () => socket,
      write: () => done.push(`sent ${name}`) > 0,
      cork() {},
      uncork() {},
      destroyed: false,
    })
    answerDirectly(socket as unknown as TLSSocket, {
      peer: PEER,
      serve: request => {
        done.push(`handled ${name}`)
        return responseOf(request)
      },
      iterationEnd,
      draining: () => false,
      opened() {},
      closed: () => done.push(`closed ${name}`),
      failed: error => assert.fail(error as Error),
      leave: () => assert.fail('the request is plain'),
    })
    return socket
  }
  return { done, connect }
}

const GET = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
const small = () => bytesResponse(200, 'text/plain', Buffer.from('x'))

test('over HTTP/1.1 all requests of an iteration are handled before the first small response is sent', async () => {
  const { done, connect } = direct(small)
  const sockets = ['a', 'b'].map(connect)
  for (const socket of sockets) socket.emit('data', GET)
  assert.deepEqual(done, ['handled a', 'handled b'])
  await iteration()
  assert.deepEqual(done.slice(2), ['sent a', 'closed a', 'sent b', 'closed b'])
})

test('a large response is sent at once: it would only take up memory', () => {
  const { done, connect } = direct(() => bytesResponse(200, 'text/plain', Buffer.alloc(1 << 20)))
  connect('a').emit('data', GET)
  assert.equal(done[1], 'sent a')
})

for (const [size, response] of [
  ['small', small],
  ['large', () => bytesResponse(200, 'text/plain', Buffer.alloc(1 << 20))],
] as const)
  test(`a ${size} response over HTTP/1.1 waits for what has to be done before`, async () => {
    let isDone = () => {}
    const { done, connect } = direct(request => {
      request.beforeSending!(() => new Promise(resolve => (isDone = resolve)))
      return response()
    })
    connect('a').emit('data', GET)
    await iteration()
    assert.deepEqual(done, ['handled a'])
    isDone()
    await iteration()
    assert.equal(done[1], 'sent a')
  })

test('responses that come later are sent together where something has to be done before', async () => {
  const ready: ((response: Response) => void)[] = []
  const { done, connect } = direct(request => {
    request.beforeSending!(() => void done.push('settled'))
    return new Promise(resolve => ready.push(resolve))
  })
  for (const name of ['a', 'b']) connect(name).emit('data', GET)
  for (const resolve of ready) resolve(small())
  await Promise.resolve()
  assert.deepEqual(done, ['handled a', 'handled b'])
  await iteration()
  assert.deepEqual(
    done.filter(step => step.startsWith('s')),
    ['settled', 'sent a', 'settled', 'sent b'],
  )
})

test('a client that goes away before the end of the iteration is sent nothing', async () => {
  const { done, connect } = direct(small)
  const socket = connect('a')
  socket.emit('data', GET)
  Object.assign(socket, { destroyed: true }).emit('close')
  await iteration()
  assert.deepEqual(done, ['handled a', 'closed a'])
})

/** Serves a stream of HTTP/2 that notes its calls. */
function http2(body: Uint8Array, settle?: Settle) {
  const done: string[] = []
  const jobs: (() => unknown)[] = []
  const stream = Object.assign(new EventEmitter(), {
    endAfterHeaders: true,
    respond: () => void done.push('sent'),
    end() {},
    setTimeout() {},
    destroyed: false,
    closed: false,
  })
  void answerHttp2(
    stream as unknown as ServerHttp2Stream,
    { ':method': 'GET', ':path': '/', ':authority': 'a' },
    {
      peer: PEER,
      unsentResponses: new UnsentResponses(1, 1),
      headerLines: [],
      passed: () => void done.push('passed'),
      serve: request => {
        if (settle) request.beforeSending!(settle)
        return bytesResponse(200, 'text/plain', body)
      },
      atEnd: send => void jobs.push(send),
    },
  )
  return { done, jobs, stream }
}

test('over HTTP/2 a small response waits for the end of the iteration, and its request for no seat', () => {
  const { done, jobs } = http2(Buffer.from('x'))
  assert.deepEqual(done, ['passed'])
  for (const job of jobs) job()
  assert.deepEqual(done, ['passed', 'sent'])
})

for (const [size, bytes] of [
  ['small', 1],
  ['large', 1 << 20],
] as const)
  test(`a ${size} response over HTTP/2 waits for what has to be done before`, async () => {
    let isDone = () => {}
    const { done, jobs } = http2(Buffer.alloc(bytes), () => new Promise(resolve => (isDone = resolve)))
    for (const job of jobs) job()
    await iteration()
    assert.deepEqual(done, ['passed'])
    isDone()
    await iteration()
    assert.deepEqual(done, ['passed', 'sent'])
  })

test('over HTTP/2 a large response is sent at once, and none to a stream that is gone', () => {
  const large = http2(Buffer.alloc(1 << 20))
  assert.deepEqual([large.done, large.jobs.length], [['passed', 'sent'], 0])
  const gone = http2(Buffer.from('x'))
  gone.stream.destroyed = true
  for (const job of gone.jobs) job()
  assert.deepEqual(gone.done, ['passed'])
})
