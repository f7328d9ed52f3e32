import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { WholeReader } from './whole-request.ts'

const read = (text: string) => new WholeReader().read(Buffer.from(text, 'latin1'))
const GET = 'GET /api?x=%20 HTTP/1.1\r\nHost: a\r\n'

test('a plain request is read, with its body', () => {
  const text = 'POST /api/v1/pods?dryRun=All HTTP/1.1\r\nHost: a\r\nContent-TYPE:  application/json \r\ncontent-length: 2\r\n\r\n{}'
  const { body, ...rest } = read(text)!
  assert.equal(Buffer.from(body).toString(), '{}')
  assert.deepEqual(rest, {
    method: 'POST',
    target: '/api/v1/pods?dryRun=All',
    headers: { host: 'a', 'content-type': 'application/json', 'content-length': '2' },
    headerLines: ['Host', 'a', 'Content-TYPE', 'application/json', 'content-length', '2'],
  })
  assert.equal(read(`${GET}Connection: Keep-Alive\r\n\r\n`)!.body.byteLength, 0)
})

for (const [what, text] of [
  ['part of a head', GET],
  ['part of a body', `${GET}Content-Length: 3\r\n\r\nab`],
  ['two requests', `${GET}\r\n${GET}\r\n`],
  ['more than its body', `${GET}Content-Length: 1\r\n\r\nab`],
  ['HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\n\r\n'],
  ['no host', 'GET / HTTP/1.1\r\nAccept: a\r\n\r\n'],
  ['no headers', 'GET / HTTP/1.1\r\n\r\n'],
  ['another method', 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['an absolute target', 'GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['a header that is repeated', `${GET}Accept: a\r\naccept: b\r\n\r\n`],
  ['lengths that differ', `${GET}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
  ['length and chunks', `${GET}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\na`],
  ['chunks', `${GET}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a length that is no number', `${GET}Content-Length: +0\r\n\r\n`],
  ['an expectation', `${GET}Expect: 100-continue\r\n\r\n`],
  ['an upgrade', `${GET}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`],
  ['a last request', `${GET}Connection: close\r\n\r\n`],
  ['a folded line', `${GET}Accept: a\r\n b\r\n\r\n`],
  ['a bare line feed', `${GET}Accept: a\nUpgrade: b\r\n\r\n`],
  ['a bare carriage return', `${GET}Accept: a\rUpgrade: b\r\n\r\n`],
  ['a space before the colon', `${GET}Accept : a\r\n\r\n`],
  ['a header without a value', `${GET}Accept:\r\n\r\n`],
  ['a header beyond ASCII', `${GET}Accept: \xe9\r\n\r\n`],
  ['a header that every object has', `${GET}constructor: a\r\n\r\n`],
  ['what is no request', 'hello\r\n\r\n'],
] as const)
  test(`left to node:http: ${what}`, () => assert.equal(read(text), undefined))

/** The same bytes as node:http parses them. */
const seen: IncomingMessage[] = []
const server = createServer((message, response) => {
  seen.push(message)
  const parts: Buffer[] = []
  message.on('data', part => parts.push(part))
  message.on('end', () => response.setHeader('connection', 'close').end(Buffer.concat(parts)))
})
after(() => server.close())

async function answerOfNode(bytes: Buffer): Promise<string> {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening')
  seen.length = 0
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let received = ''
  socket.setEncoding('latin1').on('data', text => (received += text))
  socket.write(bytes)
  await once(socket, 'close')
  return received
}

test('what is read here is read in the same way by node:http', async () => {
  const reader = new WholeReader()
  const piece = fc.constantFrom(
    ...[
      'Host: a\r\n',
      'Accept: */*\r\n',
      'X-A:b  \r\n',
      'content-length: 1\r\n',
      'Content-Length: 0\r\n',
      'a',
      ' ',
      '\r\n',
      '\n',
      '\t',
      ':',
    ],
    ...['Connection: keep-alive\r\n', 'Cookie: a; b\r\n', 'X-B:  "c"\r\n', '\0', '\x7f', 'é', 'Keep-Alive: 5\r\n', '__proto__: x\r\n'],
  )
  const request = fc
    .tuple(
      fc.constantFrom('GET', 'POST', 'PATCH', 'OPTIONS', 'get'),
      fc.constantFrom('/', '/a?b#c', '/"<>\\^`{|}', '*', '/ä'),
      fc.array(piece, { maxLength: 6 }),
      fc.constantFrom('', 'a', '{}'),
    )
    .map(([method, target, pieces, body]) =>
      Buffer.from(`${method} ${target} HTTP/1.1\r\nhost: x\r\n${pieces.join('')}\r\n${body}`, 'latin1'),
    )
  await fc.assert(
    fc.asyncProperty(request, async bytes => {
      const whole = new WholeReader().read(bytes)
      // Earlier requests on the connection make no difference.
      assert.deepEqual(reader.read(bytes), whole)
      if (whole === undefined) return
      const received = await answerOfNode(bytes)
      const [message, ...more] = seen
      assert.equal(more.length, 0)
      const { method, url, headers, rawHeaders } = message!
      const { body, ...rest } = whole
      assert.deepEqual(rest, { method, target: url, headers: { ...headers }, headerLines: rawHeaders })
      assert.ok(received.startsWith('HTTP/1.1 200 OK') && received.endsWith(`\r\n\r\n${Buffer.from(body).toString()}`), received)
    }),
    { numRuns: 300 },
  )
})
