import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testApi, testRequest } from '../../../test/kits/http/test-server.ts'
import type { Response } from '../message.ts'

const text = ({ body }: Response) => Buffer.from(body as Uint8Array).toString()
const health = {
  live: [{ name: 'loop', check: () => undefined }],
  ready: [{ name: 'storage', check: () => Promise.reject(new Error('disk on fire')) }],
}
const get = async (target: string) => testApi({ health }).serve(testRequest(target))

test('health is a single ok, or verbose check by check', async () => {
  assert.equal(text(await get('/livez')), 'ok')
  assert.equal(text(await get('/livez?verbose')), '[+]ping ok\n[+]loop ok\nlivez check passed\n')
  assert.equal(text(await get('/healthz?verbose')), '[+]ping ok\n[+]loop ok\nhealthz check passed\n')
  assert.equal(text(await get('/livez/ping')), 'ok')
})

test('a failure lists all checks, but its reason is only shown to those who may get the single check', async () => {
  const response = await get('/readyz')
  assert.equal(response.status, 500)
  assert.equal(text(response), '[+]ping ok\n[+]loop ok\n[-]storage failed: reason withheld\nreadyz check failed\n')
  const single = await get('/readyz/storage')
  assert.deepEqual([single.status, text(single)], [500, 'internal server error: disk on fire\n'])
})

test('checks can be excluded, and unknown ones are named', async () => {
  const response = await get('/readyz?verbose&exclude=storage&exclude=nope')
  assert.equal(response.status, 200)
  assert.equal(
    text(response),
    '[+]ping ok\n[+]loop ok\n[+]storage excluded: ok\nwarn: some health checks cannot be excluded: no matches for "nope"\nreadyz check passed\n',
  )
})

test('the version is one that clients can read', async () => {
  const version = JSON.parse(text(await get('/version')))
  assert.deepEqual([version.major, version.minor], ['1', '37'])
  assert.match(version.gitVersion, /^v1\.37\.0\+keelson-/)
  assert.match(version.platform, /^\w+\/\w+$/)
})

test('checks are counted for service level indicators', async () => {
  const { Health } = await import('./health.ts')
  const { createLog } = await import('./log.ts')
  const counted = new Health(health, createLog('silent'))
  const readyz = counted.endpoints().find(({ path }) => path === '/readyz')!
  for (let i = 0; i < 2; i++) await readyz.answer(testRequest('/readyz'), { path: '/readyz', query: new URLSearchParams() })
  const [state, total] = counted.families()
  assert.deepEqual(state!.samples, [
    [{ name: 'ping', type: 'readyz' }, 1],
    [{ name: 'loop', type: 'readyz' }, 1],
    [{ name: 'storage', type: 'readyz' }, 0],
  ])
  assert.deepEqual(total!.samples.at(-1), [{ name: 'storage', type: 'readyz', status: 'error' }, 2])
})
