// Connections that mean harm or know no better: framing, floods, silence and the slow.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants } from 'node:http2'
import { type Socket, connect as tcpConnect } from 'node:net'
import { connect as tlsConnect } from 'node:tls'
import { ask, CONFIG_MAPS, configMap, Watching } from '../kit.ts'
import { type Attack, exchange, http2, lines, MIB, open, post, residentMemory, withstands } from './attacks.ts'

const attacks: Attack[] = []
const attack = (...one: Attack) => attacks.push(one)

const REFUSED_OR_CUT = /^(HTTP\/1\.1 431 |$)/

attack('headers without measure are refused', async (server, t) => {
  const huge = await exchange(server, t, lines('GET /readyz HTTP/1.1', `x-filler: ${'a'.repeat(200_000)}`))
  // The connection may close before the answer is read, since the rest of the request is not.
  assert.match(huge, REFUSED_OR_CUT)
  const many = Array.from({ length: 20_000 }, (_, i) => `x-${i}: ${i}`)
  assert.match(await exchange(server, t, lines('GET /readyz HTTP/1.1', ...many)), REFUSED_OR_CUT)
  const session = http2(server, t)
  const stream = session.request({ ':path': '/readyz', 'x-filler': 'a'.repeat(200_000) })
  let status = 0
  stream.on('response', headers => (status = headers[':status'] ?? 0))
  stream.on('error', () => {}).resume()
  await new Promise(resolve => stream.once('close', resolve))
  assert.notEqual(status, 200)
})

attack('connections that never finish what they began cost others nothing', async (server, t) => {
  const begun: Socket[] = []
  const never = [
    'GET /readyz HT',
    'GET /readyz HTTP/1.1\r\nhost: x\r\nx-slow: ',
    `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"apiVersion":`,
    `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"a`,
    `GET ${CONFIG_MAPS}?watch=true HTTP/1.1\r\nhost: x\r\n\r\n`,
    '',
  ]
  for (let i = 0; i < 48; i++) {
    const socket = await open(server, t)
    socket.write(never[i % never.length]!)
    begun.push(socket)
  }
  for (const opening of ['', '\u0016\u0003\u0001', 'GET / HTTP/1.1\r\n\r\n', '\u0000'.repeat(1000)])
    for (let i = 0; i < 8; i++) {
      const socket = tcpConnect({ host: '127.0.0.1', port: server.port }).on('error', () => {})
      await once(socket, 'connect')
      socket.write(opening)
      begun.push(socket)
    }
  for (let i = 0; i < 20; i++) assert.equal((await ask(server, CONFIG_MAPS)).status, 200)
  for (const socket of begun) socket.destroy()
})

attack('a request cut in the middle changes nothing', async (server, t) => {
  const body = JSON.stringify(configMap('cut', { a: '1' }))
  const head = `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  for (let length = 0; length < body.length; length += 7) {
    const socket = await open(server, t)
    socket.write(head + body.slice(0, length))
    if (length % 2 === 0) socket.end()
    else socket.destroy()
    await new Promise(resolve => (socket.closed ? resolve(undefined) : socket.resume().once('close', resolve)))
  }
})

attack('methods nobody knows are refused', async (server, t) => {
  for (const method of ['BREW', 'get', 'G E T', 'PROPFIND', 'TRACE', 'OPTIONS', 'LOCK', 'MKCOL', 'QUERY', 'A'.repeat(5000)]) {
    const answer = await exchange(server, t, lines(`${method} ${CONFIG_MAPS} HTTP/1.1`))
    assert.match(answer, /^HTTP\/1\.1 4\d\d /, `${method.slice(0, 20)}: ${answer.slice(0, 200)}`)
  }
  const tunnel = await exchange(server, t, 'CONNECT elsewhere:443 HTTP/1.1\r\nhost: elsewhere:443\r\n\r\n')
  assert.doesNotMatch(tunnel, /^HTTP\/1\.1 2/)
  const upgrade = await exchange(server, t, `GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: upgrade, close\r\nupgrade: websocket\r\n\r\n`)
  assert.doesNotMatch(upgrade, /^HTTP\/1\.1 101/)
})

attack('requests whose end can be read in two ways are refused', async (server, t) => {
  const smuggled = `GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n`
  const start = `POST ${CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`
  const both = await exchange(server, t, `${start}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`)
  const two = await exchange(server, t, `${start}content-length: 4\r\ncontent-length: ${4 + smuggled.length}\r\n\r\n0000${smuggled}`)
  const odd = await exchange(server, t, `${start}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`)
  const negative = await exchange(server, t, `${start}content-length: -1\r\n\r\n${smuggled}`)
  const bare = await exchange(server, t, `GET /readyz HTTP/1.1\nhost: x\nx: \u0000\n\n${smuggled}`)
  for (const answer of [both, two, odd, negative, bare]) {
    assert.match(answer, /^HTTP\/1\.1 (400|501) /, answer.slice(0, 200))
    assert.doesNotMatch(answer, /# TYPE/)
  }
})

attack('requests sent all at once are answered in their order', async (server, t) => {
  const names = Array.from({ length: 50 }, (_, i) => `none-${i}`)
  const requests = names.map(name => `GET ${CONFIG_MAPS}/${name} HTTP/1.1\r\nhost: x\r\n\r\n`).join('')
  const answer = await exchange(server, t, requests + lines('GET /readyz HTTP/1.1'))
  assert.deepEqual(
    [...answer.matchAll(/configmaps \\"(none-\d+)\\" not found/g)].map(([, name]) => name),
    names,
  )
})

attack('streams opened and reset without end wear nobody out', async (server, t) => {
  const session = http2(server, t)
  await once(session, 'remoteSettings')
  for (let i = 0; i < 3000 && !session.closed && !session.destroyed; i++) {
    const stream = session.request({ ':path': `${CONFIG_MAPS}?watch=true` })
    stream.on('error', () => {})
    stream.close(constants.NGHTTP2_CANCEL)
    if (i % 100 === 99) await new Promise(resolve => setImmediate(resolve))
  }
  session.destroy()
  const garbage = await open(server, t)
  garbage.end('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000')
  const raw = tlsConnect({ host: '127.0.0.1', port: server.port, ...server.credentials, ALPNProtocols: ['h2'] }).on('error', () => {})
  await once(raw, 'secureConnect')
  raw.resume().end(Buffer.alloc(100_000, 0xff))
  await once(raw, 'close')
})

attack('a watcher that reads nothing does not hold what it was sent, and others miss nothing', async (server, t) => {
  const { json } = await ask(server, CONFIG_MAPS)
  const watch = `${CONFIG_MAPS}?watch=true&resourceVersion=${json.metadata.resourceVersion}`
  const sleepers = await Promise.all(Array.from({ length: 10 }, () => open(server, t)))
  for (const socket of sleepers) socket.pause().write(`GET ${watch} HTTP/1.1\r\nhost: x\r\n\r\n`)
  const awake = await Watching.open(t, server, watch)
  const before = await residentMemory(server)
  const rounds = 80
  const filler = 'x'.repeat(MIB / 2)
  for (let i = 0; i <= rounds; i++) {
    const body = configMap('large', { filler, i: String(i) })
    const answer = i === 0 ? await post(server, body) : await ask(server, `${CONFIG_MAPS}/large`, { method: 'PUT', body })
    assert.ok(answer.status < 300, answer.text.slice(0, 300))
  }
  const seen = await awake.until(({ object }) => object.data.i === String(rounds))
  assert.deepEqual(
    seen.map(({ object }) => Number(object.data.i)),
    seen.map((_, i) => i),
  )
  // Without a bound, ten times forty MiB would now wait for them.
  const grown = (await residentMemory(server)) - before
  assert.ok(grown < 250 * MIB, `ten sleepers cost ${Math.round(grown / MIB)} MiB`)
  for (const socket of sleepers) socket.destroy()
  assert.equal((await ask(server, `${CONFIG_MAPS}/large`, { method: 'DELETE' })).status, 200)
})

withstands('no connection breaks the server, grows it or leaves a secret in its log', attacks)
