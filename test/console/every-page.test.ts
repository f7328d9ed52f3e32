// Every page of the console in Chromium at 360 pixels: nothing serious for axe in either theme, and nothing that sticks out.
import assert from 'node:assert/strict'
import { serverOfFile } from '../kit.ts'
import { closeBrowserAfterwards, testInBrowser } from '../kits/browser.ts'
import { consoleAt, create, isAccessible } from '../kits/console-pages.ts'

const server = serverOfFile({ console: true, nodes: 1, enableFaultInjection: true, testEndpoints: true })
closeBrowserAfterwards()

const PAGES = [
  ['/', '.plot-box svg'],
  ['/list/core/v1/pods?ns=default', '.grid-row'],
  ['/create/core/v1/pods?ns=default', '.cm-content'],
  ['/object/core/v1/pods/default/waits', '[role=tabpanel]'],
  ['/object/core/v1/pods/default/waits?tab=yaml', '.cm-content'],
  ['/object/core/v1/pods/default/waits?tab=blame', '.blame-line'],
  ['/object/core/v1/pods/default/waits?tab=history', '[type=range]'],
  ['/object/core/v1/pods/default/waits?tab=relations', '.tree-line'],
  ['/past?kind=pods', '[type=range]'],
  ['/relations?ns=default', 'svg'],
  ['/nodes?pod=default/waits', '.node-tile'],
  ['/try', '.cm-content'],
  ['/requests', '[role=grid]'],
  ['/requests?view=watches', '[role=grid]'],
  ['/access', 'table'],
  ['/faults', '.card'],
] as const

testInBrowser('every page is usable and accessible at 360 pixels, light and dark', async given => {
  const waits = { metadata: { name: 'waits' }, spec: { nodeSelector: { a: 'b' }, containers: [{ name: 'main', image: 'main:1' }] } }
  await create(server, '/api/v1/namespaces/default/pods', waits)
  const { page, goto } = await consoleAt(given, server, '/')
  await page.setViewportSize({ width: 360, height: 740 })
  for (const [path, ready] of PAGES) {
    await goto(path)
    await page.locator(`#content ${ready}`).first().waitFor()
    const [inner, outer] = (await page.evaluate('[document.querySelector("#content").scrollWidth, innerWidth]' as never)) as [
      number,
      number,
    ]
    assert.ok(inner <= outer, `${path} is ${inner} wide`)
    await isAccessible(page, ['light', 'dark'])
  }
})
