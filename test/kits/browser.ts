/** Chromium for tests of the console: one browser for all files of a process, one context for each page, and whatever a page complains about. */
import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { PATIENCE_MS, type Target } from '../kit.ts'
import { testWith } from '../programs.ts'
import { codeOf } from './console.ts'

/** Names of the browser, in functions that run there. */
declare const document: any, localStorage: any, sessionStorage: any, indexedDB: any, caches: any

/** How long a browser that no test uses is kept for the next file. */
const KEPT_MS = 2_000
/** Started with the first test that needs it. */
let starting: { readonly program: string; readonly browser: Promise<Browser> } | undefined
let closing: NodeJS.Timeout | undefined

async function browserOf(program: string): Promise<Browser> {
  clearTimeout(closing)
  if (starting?.program !== program) {
    const { chromium } = await import('playwright-core')
    // Root has no sandbox; a container seldom has enough shared memory.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu']
    starting = { program, browser: chromium.launch({ executablePath: program, args, timeout: PATIENCE_MS }) }
  }
  return await starting.browser
}

export type OpenPage = {
  readonly page: Page
  /** Violations of the content security policy, and errors that no code has caught. */
  readonly complaints: readonly string[]
}

export type InBrowser = {
  readonly t: TestContext
  /** Opens an empty page with cookies of its own. It is closed with the test, which fails if the page complained. */
  open(options?: BrowserContextOptions & { readonly mayComplain?: boolean }): Promise<OpenPage>
}

/** A test in Chromium; where there is none, the last lines of the output say so. Call it where tests are declared. */
export function testInBrowser(title: string, body: (given: InBrowser) => Promise<void>): void {
  testWith('chromium', title, { timeout: PATIENCE_MS }, async (t, program) => {
    const browser = await browserOf(program)
    const opened: (OpenPage & { readonly mayComplain: boolean })[] = []
    const open: InBrowser['open'] = async ({ mayComplain = false, ...options } = {}) => {
      // The server's certificate is signed by its own authority.
      const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options })
      t.after(() => context.close())
      context.setDefaultTimeout(PATIENCE_MS / 2)
      const complaints: string[] = []
      await context.exposeBinding('keelsonComplaint', (_, text: string) => void complaints.push(text))
      // tsx gives functions their names with this one, also those that run in the browser.
      await context.addInitScript('globalThis.__name = each => each')
      await context.addInitScript(() =>
        document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }: Record<string, string>) =>
          (globalThis as unknown as { keelsonComplaint(text: string): void }).keelsonComplaint(`${violatedDirective} ${blockedURI}`),
        ),
      )
      const page = await context.newPage()
      page.on('pageerror', error => complaints.push(error.stack ?? error.message))
      opened.push({ page, complaints, mayComplain })
      return { page, complaints }
    }
    await body({ t, open })
    for (const { complaints, mayComplain } of opened) if (!mayComplain) assert.deepEqual(complaints, [])
  })
}

/** The browser of this file ends after it, unless another file of the process goes on with it. */
export function closeBrowserAfterwards(): void {
  after(() => {
    clearTimeout(closing)
    closing = setTimeout(async () => {
      const { browser } = starting ?? {}
      starting = undefined
      await (await browser)?.close()
    }, KEPT_MS)
  })
}

/** Opens the console, logged in by a link as `keelson console` prints it; `path` is a route of the console. */
export async function openConsole(
  { page }: OpenPage,
  server: Target,
  { path = '', code }: { path?: string; code?: string } = {},
): Promise<void> {
  await page.goto(`${server.url}/console/${path}#code=${code ?? (await codeOf(server))}`)
}

/** Everything that pages can leave in a browser, beside cookies that scripts cannot read. */
export function storageOf(page: Page): Promise<Readonly<Record<string, unknown>>> {
  return page.evaluate(async () => ({
    cookies: document.cookie,
    local: { ...localStorage },
    session: { ...sessionStorage },
    databases: (await indexedDB.databases()).map(({ name }: { name: string }) => name),
    caches: await caches.keys(),
  }))
}
