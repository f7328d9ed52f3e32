// The built server with its console: keelson console, several processes, and servers without a console.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, keelson, patient, startProcess } from '../kit.ts'
import { keelsonHere } from '../kits/command-here.ts'
import { ConsolePage, codeOf } from '../kits/console.ts'
import { startProcesses } from '../kits/processes.ts'

test('keelson console prints a link that logs in, and serve has a console unless --console=false', patient, async t => {
  const server = await startProcess(t)
  const { code, stdout, stderr } = await keelson('console', '--print', '--data-dir', server.dataDir)
  assert.equal(code, 0, stderr)
  const [, link, secret] = /^(https:\/\/\S+\/console\/)#code=([\w-]{43})\n$/.exec(stdout) ?? []
  assert.equal(link, `${server.url}/console/`)
  assert.match(stderr, /logs kubernetes-admin in, once, within 60 seconds/)
  const page = new ConsolePage(server)
  const html = await page.send('/console/')
  assert.match(html.text, /<div id="app">/)
  const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(html.text) ?? []
  const loaded = await page.send(script, { headers: { 'accept-encoding': 'br' } })
  assert.deepEqual(
    [loaded.status, loaded.headers['content-encoding'], loaded.headers['cache-control'], loaded.headers['content-type']],
    [200, 'br', 'public, max-age=31536000, immutable', 'text/javascript; charset=utf-8'],
  )
  for (const path of ['/console/assets/..%2f..%2fcli.cjs', '/console/assets/index.html', '/console/assets/', '/console/assets/.hidden.js'])
    assert.equal((await page.send(path)).status, 404, path)
  assert.equal((await page.logIn({ code: secret })).json.user, 'kubernetes-admin')

  await server.stop()
  const without = await startProcess(t, { dataDir: server.dataDir, flags: ['--console=false'] })
  assert.equal((await ask(without, '/console/')).status, 404)
  const refused = await keelsonHere('console', '--print', '--data-dir', server.dataDir)
  assert.deepEqual([refused.code, refused.stdout], [1, ''])
  assert.match(refused.stderr, /serves no console/)
})

test('a session counts in every process of a server, until its logout in one of them', patient, async t => {
  const server = await startProcesses(t, 2)
  await server.complete()
  const clients = [server.client(), server.client()]
  const code = await codeOf(server, { agent: clients[0]!.agent })
  const page = new ConsolePage(server)
  const login = await page.logIn({ code }, { agent: clients[1]!.agent })
  assert.equal(login.status, 200, login.text)
  const statuses = () => Promise.all(clients.map(async ({ agent }) => (await page.api('/api/v1/namespaces', { agent })).status))
  assert.deepEqual(await statuses(), [200, 200])
  assert.equal((await page.logIn({ code }, { agent: clients[0]!.agent })).status, 401)
  const { cookie } = page
  assert.equal((await page.send('/console/session', { method: 'DELETE', agent: clients[0]!.agent })).status, 204)
  page.cookie = cookie
  assert.deepEqual(await statuses(), [401, 401])
})
