// Pages of the console in Chromium about the server itself: requests, watches, the waterfall of admission, the clock, and snapshots.
import assert from 'node:assert/strict'
import { ask, CONFIG_MAPS, configMap, eventually, serverOfFile } from '../kit.ts'
import { closeBrowserAfterwards, testInBrowser } from '../kits/browser.ts'
import { change, consoleAt, create, isAccessible, rowOf, sees } from '../kits/console-pages.ts'

const server = serverOfFile({ console: true, testEndpoints: true, controllers: ['none'] })
closeBrowserAfterwards()

const POLICIES = '/apis/admissionregistration.k8s.io/v1'
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'

testInBrowser('requests show as they come, are filtered, have phases and bodies, and are copied as commands', async given => {
  const { page } = await consoleAt(given, server, '/requests')
  await sees(page, /\d+ requests/)
  await page.getByRole('button', { name: 'Record bodies' }).click()
  const headers = { 'user-agent': 'robot/7' }
  // Recording has begun when a request says that it has bodies.
  const secret = { metadata: { name: 'hidden' }, stringData: { password: 'never-shown' } }
  await eventually('bodies are recorded', async () => {
    await ask(server, `${CONFIG_MAPS}/absent`, { headers })
    const { requests } = (await ask(server, '/keelson/v1/requests?userAgent=robot')).json
    return requests.some(({ hasBodies }: any) => hasBodies) ? true : undefined
  })
  await ask(server, CONFIG_MAPS, { method: 'POST', body: configMap('logged', { colour: 'green' }), headers })
  await ask(server, '/api/v1/namespaces/default/secrets', { method: 'POST', body: secret, headers })
  await page.getByLabel('Filter requests').fill('robot create configmaps')
  const row = rowOf(page, 'robot/7')
  await row.getByText('201').waitFor()
  assert.equal(await page.getByRole('row').filter({ hasText: 'secrets' }).count(), 0)
  await row.click()
  const card = page.locator('.card', { hasText: 'kubernetes-admin' })
  for (const text of ['Copy as kubectl', 'Copy as curl']) await card.getByRole('button', { name: text }).waitFor()
  await card.locator('dt', { hasText: 'admission' }).waitFor()
  await card.getByRole('region', { name: 'Sent body' }).getByText('colour: green').waitFor()
  await card.getByRole('region', { name: 'Answered body' }).getByText(/uid: /).waitFor()
  await isAccessible(page)
  await page.getByLabel('Filter requests').fill('robot create secrets')
  await row.getByText('201').waitFor()
  await row.click()
  await card.getByText(/create secrets/).waitFor()
  assert.equal(await card.getByRole('region', { name: 'Sent body' }).count(), 0)
})

testInBrowser('open watches are listed with their user, selector and state', async given => {
  const { page } = await consoleAt(given, server, '/list/core/v1/configmaps?ns=default&labels=team%3Dred')
  await sees(page, 'Live')
  const other = await consoleAt(given, server, '/requests?view=watches')
  const row = other.page.getByRole('row').filter({ hasText: 'team=red' })
  await row.getByText('kubernetes-admin').waitFor()
  await row.getByText('configmaps').waitFor()
  await isAccessible(other.page)
})

testInBrowser('the waterfall of admission has the time and the changes of each policy', async given => {
  const matchConstraints = {
    resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
  }
  await create(server, `${POLICIES}/mutatingadmissionpolicies`, {
    metadata: { name: 'team-label' },
    spec: {
      reinvocationPolicy: 'Never',
      matchConstraints,
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"team": "blue"}}}' },
        },
      ],
    },
  })
  await create(server, `${POLICIES}/mutatingadmissionpolicybindings`, {
    metadata: { name: 'team-label' },
    spec: { policyName: 'team-label' },
  })
  const { page } = await consoleAt(given, server, '/try')
  await page.locator('.cm-content').waitFor()
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await sees(page, 'The server would accept this')
  const step = page.locator('.waterfall-step', { hasText: 'team-label' })
  await step.getByText(/\+ metadata\.labels: .*blue/).waitFor()
  await step.getByText(/^[\d.]+ (µs|ms|s)$/).waitFor()
  await page.getByRole('button', { name: /Show \d+ plugins without an effect/ }).click()
  await page.locator('.waterfall-step', { hasText: 'NamespaceLifecycle' }).first().waitFor()
  await isAccessible(page)
})

testInBrowser('ten minutes later, the manager that changed the replicas and the value before are still found', async given => {
  const spec = {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
  }
  await create(server, `${DEPLOYMENTS}?fieldManager=helm`, { metadata: { name: 'scaled' }, spec })
  await change(server, `${DEPLOYMENTS}/scaled`, { spec: { replicas: 7 } }, 'autoscaler')
  const { page, goto } = await consoleAt(given, server, '/faults')
  await page.getByLabel('Advance by').fill('10m')
  await page.getByRole('button', { name: 'Advance', exact: true }).click()
  await sees(page, 'Advanced by 10m')
  await goto('/object/apps/v1/deployments/default/scaled?tab=blame')
  await page.locator('.blame-line', { hasText: 'replicas: 7' }).first().click()
  const side = page.locator('.blame-side')
  await side.locator('dd', { hasText: /^10m.* ago/ }).waitFor()
  await side.locator('dd', { hasText: 'autoscaler' }).waitFor()
  await side.getByText('2 → 7').waitFor()
})

testInBrowser('a snapshot is taken, restored and deleted; the clock stands still', async given => {
  await create(server, CONFIG_MAPS, configMap('in-the-snapshot'))
  const { page } = await consoleAt(given, server, '/faults')
  await page.getByLabel('Name of the snapshot').fill('before')
  await page.getByRole('button', { name: 'Take a snapshot' }).click()
  await page.getByRole('button', { name: 'Restore before' }).waitFor()
  await ask(server, `${CONFIG_MAPS}/in-the-snapshot`, { method: 'DELETE' })
  await isAccessible(page)
  await page.getByRole('button', { name: 'Restore before' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
  await eventually('the object is back', async () =>
    (await ask(server, `${CONFIG_MAPS}/in-the-snapshot`)).status === 200 ? true : undefined,
  )
  await page.getByRole('button', { name: 'Delete before' }).click()
  await sees(page, /No snapshots/)
  await page.getByRole('button', { name: 'Freeze' }).click()
  await sees(page, 'frozen')
  assert.equal((await ask(server, '/keelson/v1/clock')).json.frozen, true)
  await page.getByRole('button', { name: 'Let it go on' }).click()
  await page.getByRole('button', { name: 'Freeze' }).waitFor()
  // Faults work with the endpoints for tests alone, too.
  await page.getByLabel('resource').fill('configmaps')
  await page.getByLabel('verb').fill('list')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.locator('.trouble', { hasText: 'status 500' }).waitFor()
  await page.getByRole('button', { name: 'Reset' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click()
  await sees(page, /No faults/)
  assert.equal((await ask(server, `${CONFIG_MAPS}/in-the-snapshot`)).status, 404)
})
