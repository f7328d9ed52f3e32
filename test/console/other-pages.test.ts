// Pages of the console in Chromium: the overview, nodes, relations, history of a namespace, tried requests, access and faults.
import assert from 'node:assert/strict'
import { ask, eventually, serverOfFile } from '../kit.ts'
import { closeBrowserAfterwards, testInBrowser } from '../kits/browser.ts'
import { consoleAt, create, isAccessible, rowOf, sees } from '../kits/console-pages.ts'

/** A name of the browser, in functions that run there. */
declare const window: any

const server = serverOfFile({ console: true, nodes: 2, enableFaultInjection: true })
closeBrowserAfterwards()

const PODS = '/api/v1/namespaces/default/pods'
const EVIL = '<img src=x onerror="window.isHacked=1">'

const pod = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'main', image: 'main:1' }], ...spec },
})

testInBrowser('the overview shows what is not well, and leads to the reason why a pod is pending', async given => {
  await create(server, PODS, pod('pending', { nodeSelector: { accelerator: 'none' } }))
  const { page } = await consoleAt(given, server, '/')
  const trouble = page.locator('.trouble', { hasText: 'pending' }).first()
  await trouble.getByText('Unschedulable').waitFor()
  await sees(page, /Server is well/)
  await page.locator('.plot-box svg').first().waitFor()
  await isAccessible(page)
  await trouble.getByRole('link', { name: 'pending' }).click()
  await sees(page, 'No node can take this pod')
  await sees(page, '2 of 2 nodes')
  await isAccessible(page)
  await page.getByRole('link', { name: 'Compare with each node' }).click()
  await page.locator('td', { hasText: 'label accelerator=none is missing' }).first().waitFor()
  await isAccessible(page)
})

testInBrowser('the logs of a pod are followed, and are never markup', async given => {
  const annotations = { 'main.sim.keelson.dev/log': EVIL }
  await create(server, PODS, pod('talking', {}, { annotations }))
  await eventually('the pod runs', async () => ((await ask(server, `${PODS}/talking`)).json.status?.phase === 'Running' ? true : undefined))
  const { page } = await consoleAt(given, server, '/object/core/v1/pods/default/talking?tab=logs')
  await page.getByRole('log').getByText(EVIL).waitFor()
  assert.equal(await page.evaluate(() => window.isHacked), undefined)
  await isAccessible(page)
})

testInBrowser('relations lead from a deployment to its pods and to what they use', async given => {
  await create(server, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'related' } })
  const inside = '/api/v1/namespaces/related'
  await create(server, `${inside}/configmaps`, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings' } })
  const labels = { app: 'web' }
  await create(server, `${inside}/services`, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'front' },
    spec: { selector: labels, ports: [{ port: 80 }] },
  })
  const spec = { containers: [{ name: 'main', image: 'main:1', envFrom: [{ configMapRef: { name: 'settings' } }] }] }
  await create(server, '/apis/apps/v1/namespaces/related/deployments', {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  })
  const { page, goto } = await consoleAt(given, server, '/object/apps/v1/deployments/related/web?tab=relations')
  await page.locator('.tree-line', { hasText: 'ReplicaSet' }).first().waitFor()
  await page.locator('.tree-line', { hasText: 'Pod' }).first().waitFor()
  await page.locator('.tree-line', { hasText: 'settings' }).first().waitFor()
  await isAccessible(page)
  await goto('/relations?ns=related')
  await page.getByRole('link', { name: /front.*Service.*selects web-/ }).waitFor()
  await page.getByRole('link', { name: /web.*Deployment.*uses settings/ }).waitFor()
  await isAccessible(page)
  await goto('/past?kind=deployments.apps')
  await sees(page, 'As it was at')
  await page.getByRole('slider', { name: 'Write' }).waitFor()
  await isAccessible(page)
})

testInBrowser('a tried manifest names the policy that refuses it, and nothing is written', async given => {
  const group = '/apis/admissionregistration.k8s.io/v1'
  await create(server, `${group}/validatingadmissionpolicies`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'fixed-tags' },
    spec: {
      matchConstraints: { resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }] },
      validations: [{ expression: "object.spec.containers.all(c, !c.image.endsWith(':latest'))", message: 'images need a fixed tag' }],
    },
  })
  await create(server, `${group}/validatingadmissionpolicybindings`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'fixed-tags' },
    spec: { policyName: 'fixed-tags', validationActions: ['Deny'] },
  })
  const { page } = await consoleAt(given, server, '/try')
  await page.locator('.cm-content').waitFor()
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await sees(page, 'Refused by policy fixed-tags')
  await page.locator('.waterfall-step', { hasText: 'images need a fixed tag' }).waitFor()
  await isAccessible(page)
  await page.getByLabel('As user').fill('nobody')
  await page.getByRole('button', { name: 'Try', exact: true }).click()
  await sees(page, 'nobody is not allowed to do this')
  assert.equal((await ask(server, `${PODS}/example`)).status, 404)
})

testInBrowser('access tells what a user may do', async given => {
  const { page } = await consoleAt(given, server, '/access')
  await sees(page, /What I may do in/)
  await page.locator('td', { hasText: 'all groups' }).first().waitFor()
  await isAccessible(page)
})

testInBrowser('a fault is added, strikes, and is removed', async given => {
  const { page } = await consoleAt(given, server, '/faults')
  await page.getByLabel('resource').fill('configmaps')
  await page.getByLabel('verb').fill('list')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.locator('.trouble', { hasText: 'status 500' }).waitFor()
  assert.equal((await ask(server, '/api/v1/configmaps')).status, 500)
  await sees(page, '1 hits of 1')
  await isAccessible(page)
  await page.getByRole('button', { name: /Remove fault/ }).click()
  await sees(page, 'No faults')
  assert.equal((await ask(server, '/api/v1/configmaps')).status, 200)
})

testInBrowser('the console is usable at 360 pixels', async given => {
  const { page, goto } = await consoleAt(given, server, '/list/core/v1/nodes')
  await page.setViewportSize({ width: 360, height: 740 })
  await rowOf(page, 'simulated-1').waitFor()
  await page.getByRole('button', { name: 'Navigation', exact: true }).click()
  await page.getByRole('link', { name: 'Nodes and devices' }).click()
  await page.getByRole('region', { name: 'Node simulated-1' }).waitFor()
  for (const path of ['/', '/nodes', '/object/core/v1/nodes/-/simulated-1', '/access', '/try']) {
    await goto(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    const [inner, outer] = (await page.evaluate('[document.querySelector("#content").scrollWidth, innerWidth]' as never)) as unknown as [
      number,
      number,
    ]
    assert.ok(inner <= outer, `${path} is ${inner} wide`)
  }
})
