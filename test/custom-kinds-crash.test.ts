// Custom kinds across restarts and crashes of the real server.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually, patient, serveHere, startProcess, Watching } from './kit.ts'
import { create, DEFINITIONS, define, definition, established, GROUP, isEstablished, TABS, tab, version } from './kits/cron-tabs.ts'

test('kinds and objects are there when a restarted server says that it is ready, and watches go on', patient, async t => {
  const first = await serveHere(t)
  await define(first, definition())
  const made = await create(first, tab('a'))
  await ask(first, `${TABS}/a`, {
    method: 'PATCH',
    body: { spec: { replicas: 1 } },
    headers: { 'content-type': 'application/merge-patch+json' },
  })
  await first.stop()
  const second = await serveHere(t, { dataDir: first.dataDir })
  assert.equal((await ask(second, `${TABS}/a`)).json.spec.replicas, 1)
  const watching = await Watching.open(t, second, `${TABS}?watch=true&resourceVersion=${made.metadata.resourceVersion}`)
  const event = await watching.next()
  assert.deepEqual([event?.type, event?.object.spec.replicas], ['MODIFIED', 1])
})

test('a kill between definition and objects loses neither', patient, async t => {
  let server = await startProcess(t)
  const { dataDir } = server
  for (let round = 0; round < 4; round++) {
    const names = { plural: `kind${round}s`, kind: `Kind${round}`, shortNames: [], categories: [] }
    const body = definition([version('v1')], names)
    const path = `/apis/${GROUP}/v1/namespaces/default/kind${round}s`
    const answer = await ask(server, DEFINITIONS, { method: 'POST', body })
    assert.equal(answer.status, 201, answer.text)
    if (round % 2 === 0) {
      await established(server, body.metadata.name)
      await create(server, { ...tab('a'), kind: `Kind${round}` }, path)
    }
    await server.stop('SIGKILL')
    server = await startProcess(t, { dataDir })
    assert.equal(isEstablished((await ask(server, `${DEFINITIONS}/${body.metadata.name}`)).json), true)
    for (let known = 0; known <= round; known++) {
      const { items } = (await ask(server, `/apis/${GROUP}/v1/kind${known}s`)).json
      assert.equal(items.length, known % 2 === 0 ? 1 : 0)
    }
    await create(server, { ...tab('b'), kind: `Kind${round}` }, path)
    await ask(server, `${path}/b`, { method: 'DELETE' })
  }
})

test('a deletion that is cut short is finished by the next server', patient, async t => {
  const first = await startProcess(t)
  await define(first, definition())
  await create(first, tab('held', undefined, { finalizers: ['example.com/hold'] }))
  await create(first, tab('free'))
  await ask(first, `${DEFINITIONS}/crontabs.${GROUP}`, { method: 'DELETE' })
  await eventually('the deletion of what is free', async () => ((await ask(first, `${TABS}/free`)).status === 404 ? true : undefined))
  await first.stop('SIGKILL')
  const second = await serveHere(t, { dataDir: first.dataDir })
  assert.equal((await ask(second, TABS, { method: 'POST', body: tab('late') })).status, 403)
  const headers = { 'content-type': 'application/merge-patch+json' }
  assert.equal((await ask(second, `${TABS}/held`, { method: 'PATCH', body: { metadata: { finalizers: null } }, headers })).status, 200)
  await eventually('the end of the definition', async () =>
    (await ask(second, `${DEFINITIONS}/crontabs.${GROUP}`)).status === 404 ? true : undefined,
  )
  assert.equal((await ask(second, TABS)).status, 404)
})
