/** Common parts of the tests of hostile clients: a server under attack, the invariants after each attack, and raw connections to it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type TLSSocket, connect as tlsConnect } from 'node:tls'
import { type Answer, ask, CONFIG_MAPS, patient, type ServerProcess, startProcess, temporaryDirectory } from '../kit.ts'

export const TOKEN = 'token-that-must-stay-unseen'
const PASSWORD = 'password-that-must-stay-unseen'
export const MIB = 1024 * 1024
const MEMORY_BOUND = 450 * MIB

export type Attack = readonly [name: string, work: (server: ServerProcess, t: TestContext) => Promise<void>]

/** One server, attacked in many ways one after another: it still responds, keeps its data and its size, and logs no secret. */
export function withstands(name: string, attacks: readonly Attack[]): void {
  test(name, { timeout: 2 * patient.timeout }, t => attackAll(t, attacks))
}

async function attackAll(t: TestContext, attacks: readonly Attack[]): Promise<void> {
  const tokens = join(temporaryDirectory(t), 'tokens.csv')
  writeFileSync(tokens, `${TOKEN},jane,u1\n`)
  const server = await startProcess(t, { flags: ['--token-auth-file', tokens, '--log-level', 'debug'] })
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'secret' }, stringData: { password: PASSWORD } }
  assert.equal((await ask(server, '/api/v1/namespaces/default/secrets', { method: 'POST', body: secret })).status, 201)
  const held = await contents(server)
  for (const [name, work] of attacks)
    await t.test(name, async inner => {
      await work(server, inner)
      assert.equal((await ask(server, '/readyz')).text, 'ok')
      assert.deepEqual(await contents(server), held, 'something was stored or lost')
      const memory = await residentMemory(server)
      assert.ok(memory < MEMORY_BOUND, `the server holds ${Math.round(memory / MIB)} MiB`)
    })
  assert.deepEqual(await server.stop(), { code: 0, signal: null })
  const log = server.stderr()
  assert.match(log, /"path":"\/readyz"/, 'there is a log to look at')
  for (const hidden of [TOKEN, PASSWORD, Buffer.from(PASSWORD).toString('base64'), 'wrong-token-of-somebody', 'authorization'])
    assert.equal(log.includes(hidden), false, `the log holds ${hidden}`)
  const failures = log.split('\n').filter(line => /"level":"error"/.test(line) || /"status":50[0-3]/.test(line))
  assert.deepEqual(failures, [], 'client mistakes are not errors of the server')
}

/** All state that a bad request could have changed. */
async function contents(server: ServerProcess): Promise<string[]> {
  const held: string[] = []
  for (const path of ['/api/v1/configmaps', '/api/v1/secrets', '/api/v1/namespaces', '/apis/apps/v1/deployments'])
    for (const { metadata } of (await ask(server, path)).json.items) held.push(`${path}: ${metadata.name} at ${metadata.resourceVersion}`)
  return held
}

export async function residentMemory(server: ServerProcess): Promise<number> {
  const { text } = await ask(server, '/metrics')
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
}

/** A TLS connection for handwritten HTTP/1.1. */
export async function open({ port, credentials }: ServerProcess, t: TestContext): Promise<TLSSocket> {
  const socket = tlsConnect({ host: '127.0.0.1', port, ...credentials, ALPNProtocols: ['http/1.1'] })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'secureConnect')
  return socket
}

/** Sends bytes and returns everything received until the server closes. */
export async function exchange(server: ServerProcess, t: TestContext, bytes: string | Buffer): Promise<string> {
  const socket = await open(server, t)
  let text = ''
  socket.setEncoding('latin1').on('data', chunk => (text += chunk))
  socket.write(bytes)
  await new Promise(resolve => socket.once('close', resolve))
  return text
}

export const lines = (...parts: string[]) => `${[...parts, 'host: localhost', 'connection: close'].join('\r\n')}\r\n\r\n`
export const post = (
  server: ServerProcess,
  body: unknown,
  more: { query?: string; type?: string; headers?: Record<string, string> } = {},
) =>
  ask(server, `${CONFIG_MAPS}${more.query ?? ''}`, {
    method: 'POST',
    body,
    headers: { 'content-type': more.type ?? 'application/json', ...more.headers },
  })

/** Refused as the client's mistake, with a Status where the request got that far. */
export function assertRefused({ status, json, text }: Answer, what: string, ...codes: number[]): void {
  assert.ok(codes.length === 0 ? status >= 400 && status < 500 : codes.includes(status), `${what}: ${status} ${text.slice(0, 300)}`)
  assert.equal(json?.kind, 'Status', `${what}: ${text.slice(0, 300)}`)
}

/** An HTTP/2 connection as the admin. */
export function http2({ url, credentials }: ServerProcess, t: TestContext): ClientHttp2Session {
  const session = connectHttp2(url, credentials)
  session.on('error', () => {})
  t.after(() => session.destroy())
  return session
}
