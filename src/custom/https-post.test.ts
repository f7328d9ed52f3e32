import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { issueAuthority, issueServer } from '../lib/x509/issue.ts'
import { WebhookTransport } from '../transport/webhook-transport.ts'
import { poster } from './https-post.ts'

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }
const authority = issueAuthority('test authority', validity)
const names = { names: ['127.0.0.1'], ...validity }

async function webhook(t: TestContext, pair = issueServer(authority, 'webhook', names)) {
  const server = createServer(pair, (_: IncomingMessage, answer) => answer.end('{}'))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const transport = new WebhookTransport()
  const post = poster(transport)
  t.after(() => {
    transport[Symbol.dispose]()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { pair, port, call: (ca?: string) => post({ host: '127.0.0.1', port, path: '/', body: '{}', ...(ca !== undefined && { ca }) }) }
}

test('a webhook is trusted by its authority or by its own certificate, and by nothing else', async t => {
  const { pair, call } = await webhook(t)
  assert.equal(await call(authority.cert), '{}')
  assert.equal(await call(pair.cert), '{}')
  await assert.rejects(call(issueServer(authority, 'other', names).cert), /Post "https:\/\/127.0.0.1:\d+\/": /)
  await assert.rejects(call(issueAuthority('test authority', validity).cert))
  await assert.rejects(call())
})

test('a certificate in the bundle does not excuse a wrong name', async t => {
  const { pair, call } = await webhook(t, issueServer(authority, 'webhook', { names: ['elsewhere.example'], ...validity }))
  await assert.rejects(call(pair.cert), /x509: cannot validate certificate for 127\.0\.0\.1 because it doesn't contain any IP SANs/)
  await assert.rejects(call(authority.cert), /x509: cannot validate certificate for 127\.0\.0\.1 because it doesn't contain any IP SANs/)
})
