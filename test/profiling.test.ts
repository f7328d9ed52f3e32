// Profiles of a running server, for administrators, with --profiling.
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { test } from 'node:test'
import { ask, patient, startInProcess, startProcess } from './kit.ts'

test('without --profiling there are no profiles', patient, async t => {
  const server = await startInProcess(t)
  for (const path of ['/keelson/profile?seconds=1', '/keelson/profile/heap', '/debug/pprof', '/debug/pprof/', '/debug/pprof/profile'])
    assert.equal((await ask(server, path)).status, 404, path)
})

test('administrators get profiles in the formats of V8, one at a time, and nobody else does', patient, async t => {
  const server = await startProcess(t, { flags: ['--profiling'] })
  const cpu = await ask(server, '/keelson/profile?seconds=0.2')
  assert.equal(cpu.status, 200)
  assert.equal(cpu.headers['content-disposition'], 'attachment; filename="keelson.cpuprofile"')
  assert.ok(cpu.json.nodes.length > 0 && cpu.json.endTime > cpu.json.startTime)
  const heap = await ask(server, '/keelson/profile/heap')
  assert.ok(heap.json.snapshot.meta.node_fields.includes('self_size'))
  assert.match((await ask(server, '/debug/pprof/')).text, /\/keelson\/profile\?seconds=30/)
  assert.equal((await ask(server, '/debug/pprof/heap')).status, 404)
  for (const group of ['system:monitoring', 'dev']) {
    const headers = { 'impersonate-user': 'jane', 'impersonate-group': group }
    for (const path of ['/keelson/profile?seconds=0.1', '/keelson/profile/heap'])
      assert.equal((await ask(server, path, { headers })).status, 403)
  }
  for (const seconds of ['0', '51', '-1', 'x', '1e1'])
    assert.equal((await ask(server, `/keelson/profile?seconds=${seconds}`)).status, 400, seconds)
  assert.equal((await ask(server, '/keelson/profile', { method: 'POST' })).status, 405)
  const running = ask(server, '/keelson/profile?seconds=2')
  let other = await ask(server, '/keelson/profile/heap')
  while (other.status === 200) other = await ask(server, '/keelson/profile/heap')
  assert.equal(other.status, 429)
  assert.equal(other.json.message, 'another profile is being made')
  assert.equal((await ask(server, '/readyz')).status, 200)
  assert.equal((await running).status, 200)
})

test('a client that leaves ends its profile', patient, async t => {
  const server = await startProcess(t, { flags: ['--profiling'] })
  for (const path of ['/keelson/profile?seconds=50', '/keelson/profile/heap']) {
    const leaving = request(new URL(server.url), { ...server.credentials, path, agent: false }, response =>
      response.once('data', () => leaving.destroy()),
    )
    leaving.on('error', () => {})
    leaving.end()
    while ((await ask(server, '/keelson/profile?seconds=0.1')).status !== 429 && !leaving.destroyed) await new Promise(setImmediate)
    leaving.destroy()
    while ((await ask(server, '/keelson/profile?seconds=0.1')).status !== 200) await new Promise(resolve => setTimeout(resolve, 20))
  }
})
