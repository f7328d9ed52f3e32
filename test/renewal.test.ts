// Certificates that near their end are replaced under a running server: new connections see the new one, open ones stay.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { DEFAULTS } from '../src/server/config.ts'
import { startServer } from '../src/server/start.ts'
import { ask, CONFIG_MAPS, configMap, connection, eventually, patient, type Target, targetOf, temporaryDirectory, Watching } from './kit.ts'
import { ManualClock } from './kits/storage/manual-clock.ts'

const DAY_MS = 24 * 3_600_000

/** The certificate that a new connection is shown. The client checks it by the real time, as any client does. */
async function certificateAt({ port, credentials: { ca } }: Target): Promise<X509Certificate> {
  const socket = connect({ port, host: '127.0.0.1', ca })
  try {
    await once(socket, 'secureConnect')
    assert.ok(socket.authorized)
    return socket.getPeerX509Certificate()!
  } finally {
    // The server ends connections that send nothing, and nobody would handle the error.
    socket.destroy()
  }
}

test('a server that runs for most of a year changes its certificate without anybody noticing', patient, async t => {
  const dataDir = temporaryDirectory(t)
  const kubeconfig = join(dataDir, 'admin.kubeconfig')
  // It was started three hundred days ago; that is two thirds of a certificate's life, and more.
  const clock = new ManualClock(Date.now() - 300 * DAY_MS)
  const server = await startServer({ ...DEFAULTS, port: 0, dataDir, kubeconfig, logLevel: 'silent' }, { clock })
  t.after(() => server.close())
  const target = targetOf(readFileSync(kubeconfig, 'utf8'))
  const first = await certificateAt(target)

  const agent = connection(t)
  const watching = await Watching.open(t, target, `${CONFIG_MAPS}?watch=true&resourceVersion=0`)
  assert.equal((await ask(target, CONFIG_MAPS, { method: 'POST', body: configMap('before'), agent })).status, 201)
  const [socket] = Object.values(agent.freeSockets).flat()
  assert.ok(socket)

  clock.advance(100 * DAY_MS)
  assert.equal((await certificateAt(target)).fingerprint256, first.fingerprint256)
  clock.advance(200 * DAY_MS)
  const second = await eventually('the renewal', async () => {
    const seen = await certificateAt(target)
    return seen.fingerprint256 === first.fingerprint256 ? undefined : seen
  })
  assert.ok(Date.parse(second.validTo) > Date.parse(first.validTo) + 100 * DAY_MS)
  assert.ok(second.verify(new X509Certificate(target.credentials.ca).publicKey))

  // The connections of before go on, the very same ones.
  assert.equal((await ask(target, CONFIG_MAPS, { method: 'POST', body: configMap('after'), agent })).status, 201)
  assert.equal(Object.values(agent.freeSockets).flat()[0], socket)
  await watching.until(({ object }) => object.metadata.name === 'after')

  // A client that reads the kubeconfig again is accepted for another year; others until the old certificate ends.
  const renewed = await eventually('the new kubeconfig', () => {
    const now = targetOf(readFileSync(kubeconfig, 'utf8'))
    return now.credentials.cert === target.credentials.cert ? undefined : now
  })
  assert.equal(renewed.credentials.ca, target.credentials.ca)
  for (const who of [target, renewed]) assert.equal((await ask(who, `${CONFIG_MAPS}/after`)).status, 200)
})
