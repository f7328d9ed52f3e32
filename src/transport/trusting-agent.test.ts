import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createServer } from 'node:tls'
import { makeNamed } from '../../test/kits/chains.ts'
import { type Trust, trustingAgent } from './trusting-agent.ts'

const ca = { ca: true, usages: ['digitalSignature', 'certSign'] } as const
const names = { dnsNames: ['a.example.com'], addresses: [[127, 0, 0, 1]] }
const made = makeNamed({
  root: { ...ca, issuer: 'root', key: 0 },
  other: { ...ca, issuer: 'other', key: 3 },
  // One authority, certified by two, and another of the same name.
  middle: { ...ca, issuer: 'root', key: 1 },
  middleByOther: { ...ca, subject: 'middle', issuer: 'other', key: 1 },
  namesake: { ...ca, subject: 'middle', issuer: 'other', key: 3 },
  server: { issuer: 'middle', key: 2, ...names },
  client: { issuer: 'middle', key: 2, purposes: ['1.3.6.1.5.5.7.3.2'], ...names },
})
type Name = keyof typeof made
const pem = (...each: readonly Name[]) => each.map(name => made[name].cert).join('')

/** A server that presents the given certificates, and the requests it has received. */
async function open(t: TestContext, ...shown: [Name, ...Name[]]) {
  const received: Buffer[] = []
  const server = createServer({ cert: pem(...shown), key: made[shown[0]].key }, socket => {
    socket.on('error', () => {})
    socket.on('data', data => {
      received.push(data)
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const post = (trust: Partial<Trust>): Promise<string> => {
    const agent = trustingAgent({ host: '127.0.0.1', ca: pem('root'), servername: '', skipsVerification: false, ...trust }, {})
    return new Promise(resolve => {
      const sent = request({ host: '127.0.0.1', port, method: 'POST', agent }, answer => {
        answer.resume().on('end', () => resolve(String(answer.statusCode)))
      })
      sent.on('error', error => resolve(error.message))
      sent.end('secret')
    })
  }
  return { post, received: () => Buffer.concat(received).toString() }
}

const failed = (why: string) => `tls: failed to verify certificate: x509: ${why}`

test('a server is trusted whose certificate leads to the bundle, whatever else it sends', async t => {
  const every: readonly [Name, ...Name[]][] = [
    ['server', 'middle'],
    ['server', 'root', 'middle'],
    // Node follows the first of the same name, and loses the others.
    ['server', 'middleByOther', 'middle'],
    ['server', 'namesake', 'middleByOther', 'middle'],
  ]
  for (const shown of every) {
    const { post } = await open(t, ...shown)
    assert.equal(await post({}), '200', shown.join(', '))
    assert.equal(await post({}), '200', 'again')
    assert.equal(await post({ ca: pem('server') }), '200', 'its own certificate is an anchor')
    assert.equal(await post({ servername: 'a.example.com' }), '200')
  }
})

test('one that is not trusted gets no byte', async t => {
  const { post, received } = await open(t, 'server', 'middle')
  assert.equal(await post({ ca: pem('other') }), failed('certificate signed by unknown authority'))
  assert.equal(await post({ ca: '' }), failed('certificate signed by unknown authority'))
  assert.equal(await post({ servername: 'b.example.com' }), failed('certificate is valid for a.example.com, not b.example.com'))
  const client = await open(t, 'client', 'middle')
  assert.equal(await client.post({}), failed('certificate specifies an incompatible key usage'))
  assert.equal(received() + client.received(), '')
  assert.equal(await post({ ca: pem('other'), skipsVerification: true }), '200')
  assert.match(received(), /secret$/)
})
