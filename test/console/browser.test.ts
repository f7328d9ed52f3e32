// The console in Chromium: sessions as a browser keeps them, other pages that want to use them, and the content security policy.
import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { ask, CONFIG_MAPS, type Scope, serverOfFile, startProcess, targetOf } from '../kit.ts'
import { closeBrowserAfterwards, type OpenPage, storageOf, testInBrowser } from '../kits/browser.ts'
import { codeOf } from '../kits/console.ts'

/** A name of the browser, in functions that run there. */
declare const document: any

const server = serverOfFile({ console: true })
closeBrowserAfterwards()

/** A request of the page itself. */
const fetchIn = ({ page }: OpenPage, path: string, init: { method?: string; body?: string } = {}) =>
  page.evaluate(
    async ({ path, init }) => {
      const answer = await fetch(path, { ...init, headers: { 'Keelson-Console': '1' } })
      return { status: answer.status, text: await answer.text() }
    },
    { path, init },
  )

const logIn = (opened: OpenPage, login: object) => fetchIn(opened, '/console/session', { method: 'POST', body: JSON.stringify(login) })

testInBrowser('a login by code or token gives a cookie that no script sees, and leaves nothing else behind', async ({ open }) => {
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'visitor' } }
  await ask(server, '/api/v1/namespaces/default/serviceaccounts', { method: 'POST', body: account })
  const path = '/api/v1/namespaces/default/serviceaccounts/visitor/token'
  const { token } = (await ask(server, path, { method: 'POST', body: { spec: {} } })).json.status
  for (const login of [{ code: await codeOf(server) }, { token }]) {
    const opened = await open()
    const { page } = opened
    await page.goto(`${server.url}/console/`)
    assert.equal((await logIn(opened, login)).status, 200)
    const cookies = await page.context().cookies()
    assert.deepEqual(
      cookies.map(({ httpOnly, secure, sameSite, path }) => ({ httpOnly, secure, sameSite, path })),
      [{ httpOnly: true, secure: true, sameSite: 'Strict', path: '/console/' }],
    )
    assert.equal((await fetchIn(opened, '/console/api/apis')).status, 200)
    assert.equal((await fetchIn(opened, '/api/v1/secrets')).status, 403)
    assert.deepEqual(await storageOf(page), { cookies: '', local: {}, session: {}, databases: [], caches: [] })
    assert.equal((await fetchIn(opened, '/console/session', { method: 'DELETE' })).status, 204)
    assert.deepEqual(await page.context().cookies(), [])
    assert.equal((await fetchIn(opened, '/console/api/apis')).status, 401)
  }
})

testInBrowser('the client certificate of a browser logs in', async ({ open }) => {
  const { cert, key } = targetOf(server.kubeconfigFor('carol')).credentials
  const opened = await open({ clientCertificates: [{ origin: server.url, cert: Buffer.from(cert), key: Buffer.from(key) }] })
  await opened.page.goto(`${server.url}/console/`)
  const { status, text } = await logIn(opened, {})
  assert.equal(status, 200, text)
  assert.equal(JSON.parse(text).user, 'carol')
})

testInBrowser(
  'a page of another port, to which the browser would send the cookie, can neither read nor write with it',
  async ({ t, open }) => {
    const opened = await open({ mayComplain: true })
    const { page } = opened
    await page.goto(`${server.url}/console/`)
    assert.equal((await logIn(opened, { code: await codeOf(server) })).status, 200)
    const elsewhere = await otherSite(t)
    await page.goto(elsewhere)
    const write = `${server.url}/console/api${CONFIG_MAPS}`
    const outcomes = await page.evaluate(
      async ({ read, write, logout }) => {
        const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'forged' } })
        const tries: Record<string, Promise<unknown>> = {
          'read with the header': fetch(read, { credentials: 'include', headers: { 'Keelson-Console': '1' } }),
          'write with the header': fetch(write, { method: 'POST', body, credentials: 'include', headers: { 'Keelson-Console': '1' } }),
          'write without a preflight': fetch(write, { method: 'POST', body, credentials: 'include', mode: 'no-cors' }).then(
            ({ type }) => type,
          ),
          'logout without a preflight': fetch(logout, { method: 'POST', body: '{}', credentials: 'include', mode: 'no-cors' }).then(
            ({ type }) => type,
          ),
        }
        const settled = Object.entries(tries).map(async ([name, tried]) => [name, await tried.catch(error => (error as Error).name)])
        return Object.fromEntries(await Promise.all(settled))
      },
      { read: `${server.url}/console/api/api/v1/namespaces`, write, logout: `${server.url}/console/session` },
    )
    assert.deepEqual(outcomes, {
      'read with the header': 'TypeError',
      'write with the header': 'TypeError',
      'write without a preflight': 'TypeError',
      'logout without a preflight': 'TypeError',
    })
    assert.equal((await ask(server, `${CONFIG_MAPS}/forged`)).status, 404)
    // In a frame there is no console, and the session is as it was.
    const isFramed = await page.evaluate(async url => {
      const frame = document.createElement('iframe')
      const loaded = new Promise(resolve => frame.addEventListener('load', resolve))
      frame.src = url
      document.body.append(frame)
      await loaded
      return frame.contentDocument !== null
    }, `${server.url}/console/`)
    assert.equal(isFramed, false)
    for (const frame of page.frames()) assert.equal(await frame.locator('#app').count(), 0, frame.url())
    await page.goto(`${server.url}/console/`)
    assert.equal((await fetchIn(opened, '/console/api/api/v1/namespaces')).status, 200)
  },
)

testInBrowser('script that gets into the page does not run, and the page connects to its own server alone', async ({ open }) => {
  const { page, complaints } = await open({ mayComplain: true })
  await page.goto(`${server.url}/console/`)
  assert.equal(complaints.join(), '')
  const outcome = await page.evaluate(async () => {
    const script = document.createElement('script')
    try {
      script.textContent = 'globalThis.injected = true'
    } catch {
      // Trusted Types refuse it earlier.
    }
    document.body.append(script)
    const link = document.createElement('a')
    link.href = 'javascript:globalThis.injected = true'
    document.body.append(link)
    link.click()
    let sent = 'sent'
    await fetch('https://elsewhere.example/').catch(() => (sent = 'blocked'))
    let html = 'parsed'
    try {
      document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="globalThis.injected = true">')
    } catch (error) {
      html = (error as Error).name
    }
    await new Promise(resolve => setTimeout(resolve))
    return { injected: 'injected' in globalThis, sent, html }
  })
  assert.deepEqual(outcome, { injected: false, sent: 'blocked', html: 'TypeError' })
  assert.ok(
    complaints.some(text => text.startsWith('connect-src')),
    complaints.join('\n'),
  )
})

testInBrowser('a page that is open while the server is started again can log in anew; the old session is gone', async ({ t, open }) => {
  const first = await startProcess(t)
  const opened = await open()
  await opened.page.goto(`${first.url}/console/`)
  assert.equal((await logIn(opened, { code: await codeOf(first) })).status, 200)
  await first.stop()
  const second = await startProcess(t, { dataDir: first.dataDir, port: first.port })
  assert.equal((await fetchIn(opened, '/console/api/api/v1/namespaces')).status, 401)
  assert.equal((await logIn(opened, { code: await codeOf(second) })).status, 200)
  assert.equal((await fetchIn(opened, '/console/api/api/v1/namespaces')).status, 200)
})

/** A page of another origin on the same host: for cookies that is the same site. */
async function otherSite(t: Scope): Promise<string> {
  const { cert, key } = targetOf(server.kubeconfig).credentials
  const site = createServer({ cert, key }, (_, response) => response.setHeader('content-type', 'text/html').end('<body>elsewhere</body>'))
  await new Promise<void>(resolve => site.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    site.close()
    site.closeAllConnections()
  })
  return `https://127.0.0.1:${(site.address() as AddressInfo).port}/`
}
