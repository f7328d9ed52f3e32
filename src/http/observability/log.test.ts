import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryDirectory } from '../../../test/kit.ts'
import { secretJson, testApi, testRequest } from '../../../test/kits/http/test-server.ts'
import { builtScript } from '../../../test/kits/script.ts'
import type { Fields, Log } from './log.ts'

test('lines below the level are dropped, the others are JSON on standard error in their order', async t => {
  const source = fileURLToPath(new URL('./log.ts', import.meta.url))
  const script = join(temporaryDirectory(t), 'script.ts')
  const text = `import { createLog } from ${JSON.stringify(source)}
    const log = createLog('info')
    log.debug({}, 'never')
    log.info({ n: 1 }, 'first')
    log.error({ n: 2 }, 'second')`
  writeFileSync(script, text)
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [builtScript(t, script)])
  const lines = stderr
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line))
  assert.equal(stdout, '')
  assert.deepEqual(
    lines.map(({ level, n, msg }) => [level, n, msg]),
    [
      ['info', 1, 'first'],
      ['error', 2, 'second'],
    ],
  )
  assert.ok(lines.every(({ time }) => !Number.isNaN(Date.parse(time))))
})

test('the line of a request names the user and the object, never a token, a query or a body', async () => {
  const lines: Fields[] = []
  const log: Log = { enabled: () => true, debug: fields => lines.push(fields), info: () => {}, warn: () => {}, error: () => {} }
  const { api, serve } = testApi({
    log,
    handle: ({ resource }) => ({ type: 'object', code: 200, resource, json: secretJson('a', { password: 'aHVudGVyMg==' }), warnings: [] }),
  })
  await serve(
    testRequest('/api/v1/namespaces/default/secrets/a?fieldManager=hidden', { method: 'PUT', body: '{"stringData":{"p":"hunter2"}}' }),
  )
  assert.equal(api.log, log)
  const { auditID, ms, ...rest } = lines[0]!
  assert.deepEqual(rest, {
    verb: 'update',
    path: '/api/v1/namespaces/default/secrets/a',
    protocol: 'HTTP/1.1',
    user: 'jane',
    source: '127.0.0.1',
    status: 200,
  })
  assert.ok(typeof auditID === 'string' && typeof ms === 'number')
})

test('a slow request is logged with where its time went', async t => {
  const now = performance.now.bind(performance)
  let aheadMs = 0
  t.mock.method(performance, 'now', () => now() + aheadMs)
  const lines: [Fields, string][] = []
  const nothing = () => {}
  const info = (fields: Fields, message: string) => lines.push([fields, message])
  const log: Log = { enabled: level => level !== 'debug', debug: nothing, info, warn: nothing, error: nothing }
  const { serve } = testApi({
    log,
    handle: ({ resource }) => {
      aheadMs = 1_100
      return { type: 'object', code: 200, resource, json: secretJson('a'), warnings: [] }
    },
  })
  await serve(testRequest('/api/v1/namespaces/default/secrets/a'))
  const [[fields, message]] = lines as [[Fields, string]]
  assert.equal(message, 'slow request')
  assert.equal(fields['path'], '/api/v1/namespaces/default/secrets/a')
  assert.ok((fields['phases'] as Record<string, number>)['handle']! > 1_000)
})
