// Makes the pictures of docs/images: `node --import tsx test/console/screenshots.ts`, with Chromium in CHROMIUM or at its usual path.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { ask, eventually, ROOT, startInProcess } from '../kit.ts'
import { codeOf } from '../kits/console.ts'
import { change, create, sees } from '../kits/console-pages.ts'

const FOLDER = join(ROOT, 'docs/images')
const SIZE = { width: 1200, height: 750 }
const DEPLOYMENTS = '/apis/apps/v1/namespaces/shop/deployments'

async function main(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true })
  const undo: (() => unknown)[] = []
  const server = await startInProcess({ after: one => void undo.push(one) }, { console: true, nodes: 3 })
  const browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox'] })
  try {
    await create(server, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    await create(server, '/api/v1/namespaces/shop/configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } })
    const labels = { app: 'web' }
    await create(server, '/api/v1/namespaces/shop/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { selector: labels, ports: [{ port: 80 }] },
    })
    for (const name of ['web', 'checkout'])
      await create(server, `${DEPLOYMENTS}?fieldManager=helm`, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name },
        spec: {
          replicas: 2,
          selector: { matchLabels: { app: name } },
          template: {
            metadata: { labels: { app: name } },
            spec: {
              containers: [{ name, image: `registry.example/${name}:1.4`, envFrom: [{ configMapRef: { name: 'settings' } }] }],
            },
          },
        },
      })
    await create(server, '/api/v1/namespaces/shop/pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'train' },
      spec: { nodeSelector: { accelerator: 'h100' }, containers: [{ name: 'train', image: 'train:2' }] },
    })
    await change(server, `${DEPLOYMENTS}/web`, { spec: { replicas: 5 } }, 'autoscaler')
    await eventually('the pods run', async () =>
      (await ask(server, `${DEPLOYMENTS}/web`)).json.status?.readyReplicas === 5 ? true : undefined,
    )
    for (const theme of ['light', 'dark'] as const) {
      const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: SIZE, colorScheme: theme })
      context.setDefaultTimeout(120_000)
      const page = await context.newPage()
      await page.goto(`${server.url}/console/#code=${await codeOf(server)}`)
      for (const [name, path, ready] of SHOTS) {
        await page.goto(`${server.url}/console${path}`)
        await ready(page)
        if (theme === 'light' || name === 'overview' || name === 'blame')
          await page.screenshot({ path: join(FOLDER, `console-${name}${theme === 'dark' ? '-dark' : ''}.png`) })
      }
      await context.close()
    }
  } finally {
    await browser.close()
    for (const one of undo) await one()
  }
}

const SHOTS: readonly (readonly [name: string, path: string, ready: (page: Page) => Promise<unknown>])[] = [
  ['overview', '/', async page => [await sees(page, 'Unschedulable'), await page.locator('.plot-box svg').first().waitFor()]],
  [
    'blame',
    '/object/apps/v1/deployments/shop/web?tab=blame',
    async page => {
      await page.locator('.blame-line', { hasText: 'replicas: 5' }).first().click()
      await sees(page, '2 → 5')
    },
  ],
  ['relations', '/relations?ns=shop', page => page.getByRole('link', { name: /web.*Service/ }).waitFor()],
  ['pending', '/nodes?pod=shop/train', page => page.locator('td', { hasText: 'is missing' }).first().waitFor()],
]

void main()
