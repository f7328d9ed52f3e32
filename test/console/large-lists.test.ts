// Lists of the console in Chromium at size, and pages that stay open while the server is away.
import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { CONFIG_MAPS, configMap, eventually, serverOfFile, startProcess } from '../kit.ts'
import { closeBrowserAfterwards, testInBrowser } from '../kits/browser.ts'
import { codeOf } from '../kits/console.ts'
import { consoleAt, create, rowOf, sees } from '../kits/console-pages.ts'

const server = serverOfFile({ console: true, controllers: ['none'] })
closeBrowserAfterwards()

const MAX_ROWS = 100

const shownRows = (page: Page) => page.locator('.grid-body [role=row]').count()

const nameOf = (i: number) => `map-${String(i).padStart(5, '0')}`
const rowFor = (i: number) => {
  const metadata = {
    name: nameOf(i),
    namespace: 'default',
    uid: `uid-${i}`,
    resourceVersion: '2',
    creationTimestamp: '2026-01-01T00:00:00Z',
  }
  return { cells: [metadata.name, 1, '1d'], object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata } }
}
const columnDefinitions = ['Name', 'Data', 'Age'].map((name, i) => ({ name, type: i === 1 ? 'integer' : 'string', priority: 0 }))
const tableOf = (rows: readonly object[], metadata: object) => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata,
  columnDefinitions,
  rows,
})

/** Answers requests for the config maps of a namespace. Rows are made up: to store so many takes longer than all other tests of the console. */
const answerInstead = (page: Page, answer: (query: URLSearchParams) => string | undefined) =>
  page.route(/\/console\/api\/api\/v1\/namespaces\/default\/configmaps\?/, async route => {
    const body = answer(new URL(route.request().url()).searchParams)
    // A watch without an answer stays open.
    if (body !== undefined) await route.fulfill({ contentType: 'application/json', body })
  })
const rowsAre = (page: Page, count: number) =>
  eventually(`${count} rows`, async () =>
    (await page.getByRole('grid').getAttribute('aria-rowcount')) === String(count + 1) ? true : undefined,
  )

testInBrowser('50,000 rows are read in portions and scrolled to the last, with few of them in the document', async given => {
  const total = 50_000
  const { page, goto } = await consoleAt(given, server, '/')
  await answerInstead(page, query => {
    if (query.has('watch')) return undefined
    const from = Number(query.get('continue') ?? 0)
    const to = Math.min(total, from + Number(query.get('limit') ?? total))
    const metadata = { resourceVersion: '1', ...(to < total && { continue: String(to), remainingItemCount: total - to }) }
    return JSON.stringify(
      tableOf(
        Array.from({ length: to - from }, (_, i) => rowFor(from + i)),
        metadata,
      ),
    )
  })
  await goto('/list/core/v1/configmaps?ns=default')
  await rowOf(page, nameOf(0)).waitFor()
  await rowsAre(page, total)
  assert.ok((await shownRows(page)) <= MAX_ROWS)
  await page.getByRole('grid').focus()
  await page.keyboard.press('End')
  await rowOf(page, nameOf(total - 1)).waitFor()
  assert.ok((await shownRows(page)) <= MAX_ROWS)
  // In the middle as well, by the scroll bar.
  await page.getByRole('grid').evaluate((grid: any) => grid.scrollTo(0, grid.scrollHeight / 2))
  await rowOf(page, /map-2[45]\d{3}/).waitFor()
  assert.ok((await shownRows(page)) <= MAX_ROWS)
})

testInBrowser('10,000 objects appear while the page is open, and it stays usable', async given => {
  const total = 10_000
  const { page, goto } = await consoleAt(given, server, '/')
  const added = Array.from({ length: total }, (_, i) => JSON.stringify({ type: 'ADDED', object: tableOf([rowFor(i)], {}) })).join('\n')
  let watches = 0
  await answerInstead(page, query => {
    if (!query.has('watch')) return JSON.stringify(tableOf([], { resourceVersion: '1' }))
    return ++watches === 1 ? `${added}\n` : undefined
  })
  await goto('/list/core/v1/configmaps?ns=default')
  await rowsAre(page, total)
  assert.ok((await shownRows(page)) <= MAX_ROWS)
  await page.getByLabel('Filter by name').fill(nameOf(total - 1))
  await rowsAre(page, 1)
  await rowOf(page, nameOf(total - 1)).waitFor()
})

testInBrowser('a page says that it is behind while the server is away, and goes on by itself: at once with a certificate', async given => {
  const first = await startProcess(given.t)
  const { cert, key } = first.credentials
  const clientCertificates = [{ origin: first.url, cert: Buffer.from(cert), key: Buffer.from(key) }]
  const [certified, coded] = [await given.open({ clientCertificates }), await given.open()]
  for (const { page } of [certified, coded]) {
    await page.goto(`${first.url}/console/list/core/v1/configmaps?ns=default#code=${await codeOf(first)}`)
    await sees(page, 'Live')
    await page.getByLabel('Filter by name').fill('a')
  }
  await first.stop()
  for (const { page } of [certified, coded]) await sees(page, /Behind by .*, reconnecting/)
  const second = await startProcess(given.t, { dataDir: first.dataDir, port: first.port })
  await create(second, CONFIG_MAPS, configMap('after'))
  await rowOf(certified.page, 'after').waitFor()
  await sees(certified.page, 'Live')
  // The session ended with the server; whoever has no certificate logs in, and the page is as it was.
  await sees(coded.page, /The session has ended/)
  await coded.page.goto(`${second.url}/console/list/core/v1/configmaps?ns=default#code=${await codeOf(second)}`)
  await rowOf(coded.page, 'after').waitFor()
})
