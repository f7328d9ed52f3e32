/** Flows through the console's pages: logins of users, waits for texts, and checks by axe in both themes. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { ask, type Sent, type Target } from '../kit.ts'
import { type InBrowser, type OpenPage, openConsole } from './browser.ts'
import { codeOf } from './console.ts'

/** A name of the browser, in functions that run there. */
declare const document: any, axe: any, requestAnimationFrame: (run: (time: number) => void) => void

/** Creates an object by its path. */
export async function create(server: Target, path: string, body: object, sent: Sent = {}): Promise<any> {
  const { status, text, json } = await ask(server, path, { method: 'POST', body, ...sent })
  assert.ok(status === 201 || status === 200, `${path}: ${text}`)
  return json
}

/** Changes an object by a merge patch, in the name of a field manager. */
export async function change(server: Target, path: string, patch: object, manager: string): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const { status, text } = await ask(server, `${path}?fieldManager=${manager}`, { method: 'PATCH', body: patch, headers })
  assert.equal(status, 200, text)
}

type Opened = OpenPage & { goto(path: string): Promise<void> }

/** A page of the console, logged in as the admin or as a user whose credentials are given. */
export async function consoleAt(given: InBrowser, server: Target, path: string, credentials?: Target['credentials']): Promise<Opened> {
  const opened = await given.open({ viewport: { width: 1280, height: 800 } })
  const code = credentials ? { code: await codeOf(server, credentials) } : {}
  await openConsole(opened, server, { path: path.replace(/^\//, ''), ...code })
  const goto = async (next: string) => {
    await opened.page.goto(`${server.url}/console${next}`)
  }
  return { ...opened, goto }
}

/** Waits until a text is seen. */
export const sees = (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor({ state: 'visible' })

/** The row of a table that has a text. */
export const rowOf = (page: Page, text: string | RegExp) => page.getByRole('row').filter({ hasText: text }).first()

let source: string | undefined

/** The rules of axe that colours decide. Themes differ in nothing else. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block']

/** Nothing serious; colours of the dark theme are checked where it is named. The page must have come to rest. */
export async function isAccessible(page: Page, themes: readonly ('light' | 'dark')[] = ['light']): Promise<void> {
  source ??= readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  // As a text it is not subject to the content security policy of the page. It stays until the next document is loaded.
  if (await page.evaluate(() => !('axe' in globalThis))) await page.evaluate(source)
  for (const theme of themes) {
    // A colour that is still changing would have another contrast.
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await page.evaluate(async name => {
      document.documentElement.dataset.theme = name
      for (let frames = 0; frames < 2; frames++) await new Promise(resolve => requestAnimationFrame(resolve))
    }, theme)
    const rules = theme === 'light' ? {} : { runOnly: OF_COLOURS }
    const found = await page.evaluate(async rules => {
      // Without media in the page, no rule needs what axe would load before.
      const { violations } = await axe.run(document, { resultTypes: ['violations'], preload: false, ...rules })
      return violations
        .filter(({ impact }: { impact: string }) => impact === 'serious' || impact === 'critical')
        .map(
          ({ id, nodes }: any) =>
            `${id}: ${nodes
              .map(({ html, any }: any) => `${html.slice(0, 160)} ${any[0]?.message ?? ''}`)
              .slice(0, 3)
              .join(' | ')}`,
        )
    }, rules)
    assert.deepEqual(found, [], `${page.url()} in the ${theme} theme`)
  }
}
