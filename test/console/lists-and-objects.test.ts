// Pages of the console in Chromium: lists, objects, creation, edits, and what users without permissions see.
import assert from 'node:assert/strict'
import { ask, CONFIG_MAPS, configMap, eventually, serverOfFile, targetOf } from '../kit.ts'
import { closeBrowserAfterwards, testInBrowser } from '../kits/browser.ts'
import { change, consoleAt, create, isAccessible, rowOf, sees } from '../kits/console-pages.ts'

/** A name of the browser, in functions that run there. */
declare const window: any

const server = serverOfFile({ console: true })
closeBrowserAfterwards()

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const EVIL = '<img src=x onerror="window.isHacked=1">'

const deployment = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, labels: { app: name }, ...metadata },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
    ...spec,
  },
})

testInBrowser('a list follows changes, is filtered by name and selectors, sorted, and several objects are deleted at once', async given => {
  for (const name of ['alpha', 'beta', 'gamma'])
    await create(server, CONFIG_MAPS, configMap(name, {}, { labels: { team: name === 'beta' ? 'blue' : 'red' } }))
  const { page } = await consoleAt(given, server, '/list/core/v1/configmaps?ns=default')
  await rowOf(page, 'gamma').waitFor()
  await sees(page, 'Live')
  await create(server, CONFIG_MAPS, configMap('delta', {}, { labels: { team: 'blue' } }))
  await rowOf(page, 'delta').waitFor()
  await isAccessible(page)
  await page.getByLabel('Filter by name').fill('ta')
  await rowOf(page, 'gamma').waitFor({ state: 'detached' })
  await page.getByLabel('Filter by name').fill('')
  const selector = page.getByRole('combobox', { name: 'Label selector' })
  await selector.click()
  await page.getByRole('option', { name: /team=/ }).click()
  await page.getByRole('option', { name: /blue/ }).click()
  await rowOf(page, 'alpha').waitFor({ state: 'detached' })
  assert.match(page.url(), /labels=team%3Dblue/)
  await selector.fill('')
  await selector.press('Enter')
  await rowOf(page, 'alpha').waitFor()
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  await page.getByRole('button', { name: 'Name', exact: true }).click()
  await page.locator('[aria-sort=descending]').waitFor()
  await page.getByLabel('Filter by name').fill('ta')
  await rowOf(page, 'alpha').waitFor({ state: 'detached' })
  const boxes = page.getByLabel('Select row')
  await boxes.first().check()
  await page.getByRole('button', { name: 'Delete 1' }).waitFor()
  await boxes.first().uncheck()
  await page.getByLabel('Select all').click()
  const deleting = page.getByRole('button', { name: 'Delete 2' })
  await deleting.waitFor()
  assert.deepEqual([await boxes.nth(0).isChecked(), await boxes.nth(1).isChecked()], [true, true])
  await deleting.click()
  await sees(page, 'Delete 2 ConfigMaps?')
  await isAccessible(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await sees(page, 'Nothing fits')
  const { items } = (await ask(server, CONFIG_MAPS)).json
  assert.deepEqual(
    items.map(({ metadata }: any) => metadata.name).filter((name: string) => ['alpha', 'beta', 'gamma', 'delta'].includes(name)),
    ['alpha', 'gamma'],
  )
})

testInBrowser('an edit is checked while it is typed, reviewed, and saved by apply in spite of another manager', async given => {
  await create(server, `${DEPLOYMENTS}?fieldManager=team-a`, deployment('edited'))
  const path = '/object/apps/v1/deployments/default/edited'
  const { page } = await consoleAt(given, server, `${path}?tab=yaml`)
  const line = page.locator('.cm-line', { hasText: 'replicas: 1' })
  await line.click()
  await page.keyboard.press('End')
  await page.keyboard.press('Backspace')
  await page.keyboard.type('-4')
  // The cause stands beside the editor, with its field, and at the line.
  await page.locator('.verdict', { hasText: 'spec.replicas' }).waitFor()
  await page.locator('.cm-lint-marker-error').waitFor()
  await isAccessible(page)
  for (let i = 0; i < 2; i++) await page.keyboard.press('Backspace')
  await page.keyboard.type('3')
  await sees(page, 'The server would accept this')
  await page.getByRole('button', { name: 'Review changes' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.locator('.diff-add', { hasText: 'replicas: 3' }).waitFor()
  await dialog.getByRole('button', { name: 'Apply', exact: true }).first().click()
  await dialog.getByText('Another manager owns a field').waitFor()
  await dialog.getByText('team-a').waitFor()
  await isAccessible(page)
  await dialog.getByRole('button', { name: 'Take over this field' }).click()
  await dialog.getByRole('button', { name: 'Apply and take over' }).click()
  await sees(page, 'Saved edited')
  const { spec, metadata } = (await ask(server, `${DEPLOYMENTS}/edited`)).json
  assert.equal(spec.replicas, 3)
  assert.ok(metadata.managedFields.some(({ manager, operation }: any) => manager === 'keelson-console' && operation === 'Apply'))
})

testInBrowser('text that is not YAML is shown at its line, and every cause of a refusal at its field', async given => {
  const { page } = await consoleAt(given, server, '/create/apps/v1/deployments?ns=default')
  await sees(page, 'The server would accept this')
  const editor = page.locator('.cm-content')
  await editor.click()
  await page.keyboard.press('Control+a')
  await page.keyboard.type('apiVersion: apps/v1\nkind: Deployment\nmetadata: [')
  await sees(page, /Line 3: This is not valid YAML/)
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(
    'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: Bad_Name\n  namespace: default\nspec:\n  replicas: -1\n  selector:\n    matchLabels: {app: a}\n  template:\n    metadata:\n      labels: {app: b}\n    spec:\n      containers:\n      - name: web\n        image: web:1\n',
  )
  await page.locator('.verdict', { hasText: 'metadata.name' }).waitFor()
  for (const field of ['metadata.name', 'spec.replicas', 'spec.template.metadata.labels'])
    await page.locator('.verdict code', { hasText: field }).waitFor()
  await eventually('a mark at each of the three lines', async () =>
    (await page.locator('.cm-lint-marker-error').count()) === 3 ? true : undefined,
  )
  await isAccessible(page)
})

testInBrowser('a deployment is created from the template of its schema, scaled and deleted', async given => {
  const { page } = await consoleAt(given, server, '/list/apps/v1/deployments?ns=default')
  await page.getByRole('link', { name: 'Create' }).click()
  await sees(page, 'The server would accept this')
  await page.getByRole('button', { name: 'Review and create' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'example', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Scale' }).click()
  await page.getByRole('spinbutton').fill('2')
  await page.getByRole('dialog').getByRole('button', { name: 'Scale' }).click()
  await sees(page, 'Scaled example to 2')
  assert.equal((await ask(server, `${DEPLOYMENTS}/example`)).json.spec.replicas, 2)
  await isAccessible(page)
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('heading', { name: 'Deployments' }).waitFor()
  await eventually('the deletion', async () => ((await ask(server, `${DEPLOYMENTS}/example`)).status === 404 ? true : undefined))
})

testInBrowser('the manager that changed the replicas, and the value before, are found; an earlier revision is restored', async given => {
  await create(server, `${DEPLOYMENTS}?fieldManager=helm`, deployment('blamed', { replicas: 2 }))
  await change(server, `${DEPLOYMENTS}/blamed`, { spec: { replicas: 7 } }, 'autoscaler')
  const { page } = await consoleAt(given, server, '/object/apps/v1/deployments/default/blamed')
  await page.getByRole('tab', { name: 'Who set this' }).click()
  await page.locator('.blame-line', { hasText: 'replicas: 7' }).first().click()
  const side = page.locator('.blame-side')
  await side.getByText('Value before').waitFor()
  await side.locator('dd', { hasText: 'autoscaler' }).waitFor()
  await side.getByText('2 → 7').waitFor()
  await isAccessible(page)
  await page.getByRole('tab', { name: 'History' }).click()
  const slider = page.getByRole('slider', { name: 'Revision' })
  await slider.focus()
  await page.keyboard.press('Home')
  await sees(page, 'created')
  await isAccessible(page)
  await page.getByRole('button', { name: 'Restore as an edit' }).click()
  await page.locator('.cm-line', { hasText: 'replicas: 2' }).waitFor()
  await page.getByRole('button', { name: 'Review changes' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await sees(page, 'Saved blamed')
  assert.equal((await ask(server, `${DEPLOYMENTS}/blamed`)).json.spec.replicas, 2)
})

testInBrowser('texts that users store are never markup', async given => {
  const annotations = { note: EVIL }
  await create(server, DEPLOYMENTS, deployment('evil', {}, { annotations }))
  const { uid } = (await ask(server, `${DEPLOYMENTS}/evil`)).json.metadata
  await create(server, '/api/v1/namespaces/default/events', {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'evil' },
    involvedObject: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'evil', namespace: 'default', uid },
    type: 'Warning',
    reason: EVIL.slice(0, 100),
    message: EVIL,
    source: { component: EVIL },
    lastTimestamp: new Date().toISOString(),
  })
  await create(server, CONFIG_MAPS, configMap('evil', { script: `${EVIL}\n</pre><script>window.isHacked=1</script>` }))
  const { page, goto } = await consoleAt(given, server, '/object/apps/v1/deployments/default/evil')
  await page.locator('td', { hasText: EVIL }).first().waitFor()
  for (const [path, seen] of [
    ['/object/apps/v1/deployments/default/evil?tab=yaml', '.cm-line'],
    ['/object/apps/v1/deployments/default/evil?tab=blame', '.blame-line'],
    ['/object/apps/v1/deployments/default/evil?tab=history', '.diff-line'],
    ['/object/core/v1/configmaps/default/evil?tab=yaml', '.cm-line'],
    ['/', '.trouble'],
  ] as const) {
    await goto(path)
    if (path.endsWith('history')) await page.getByRole('button', { name: 'Object' }).click()
    await page.locator(seen, { hasText: 'onerror=' }).first().waitFor()
  }
  await goto(`/list/core/v1/configmaps?name=${encodeURIComponent(EVIL)}`)
  await sees(page, 'Nothing fits')
  await goto(`/object/core/v1/configmaps/default/${encodeURIComponent(EVIL)}`)
  await sees(page, /does not exist|cannot be shown/)
  assert.equal(await page.evaluate(() => window.isHacked), undefined)
})

testInBrowser('unknown kinds, objects and pages say so', async given => {
  const { page, goto } = await consoleAt(given, server, '/list/example.com/v1/unicorns')
  await sees(page, 'The server does not know this kind')
  await isAccessible(page)
  await goto('/object/core/v1/configmaps/default/nowhere')
  await sees(page, 'ConfigMap nowhere does not exist')
  await goto('/nowhere')
  await sees(page, 'There is no such page')
})

testInBrowser('a user sees which permission is missing, and is offered only the buttons that may be pressed', async given => {
  await create(server, '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'reader' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }],
  })
  await create(server, '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'reader' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'rita' }],
  })
  await create(server, CONFIG_MAPS, configMap('readable'))
  const { credentials } = targetOf(server.kubeconfigFor('rita'))
  const { page, goto } = await consoleAt(given, server, '/list/core/v1/secrets?ns=default', credentials)
  await sees(page, 'You may not see Secrets in default')
  await page.locator('b', { hasText: 'list secrets in the namespace default' }).waitFor()
  await isAccessible(page)
  await goto('/object/core/v1/configmaps/default/readable?tab=yaml')
  await sees(page, 'Read only')
  assert.equal(await page.getByRole('button', { name: 'More actions' }).count(), 0)
  await goto('/list/core/v1/configmaps?ns=default')
  await rowOf(page, 'readable').waitFor()
  assert.equal(await page.getByRole('link', { name: 'Create' }).count(), 0)
  assert.equal(await page.getByLabel('Select all').count(), 0)
})

testInBrowser('everything is reached by keys: the palette, the help, and the table', async given => {
  await create(server, CONFIG_MAPS, configMap('by-keyboard'))
  const { page } = await consoleAt(given, server, '/list/core/v1/configmaps?ns=default')
  await rowOf(page, 'by-keyboard').waitFor()
  await page.keyboard.press('?')
  await sees(page, 'Filter by name')
  await isAccessible(page)
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  await page.getByRole('combobox', { name: /Search pages/ }).waitFor()
  await page.keyboard.type('cm by-key')
  await page.getByRole('option', { name: /by-keyboard/ }).waitFor()
  await isAccessible(page)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'by-keyboard' }).waitFor()
  await page.keyboard.press('2')
  await page.locator('.cm-content').waitFor()
})
