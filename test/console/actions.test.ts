// Actions of the console in Chromium: restart, roll back, cordon, drain, evict, approve; devices and their claims; who can do something.
import assert from 'node:assert/strict'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { ask, eventually, serverOfFile, type Target } from '../kit.ts'
import { closeBrowserAfterwards, testInBrowser } from '../kits/browser.ts'
import { consoleAt, create, isAccessible, sees } from '../kits/console-pages.ts'
import { encodedRequest } from '../kits/x509.ts'

const DRIVER = 'gpu.example.com'
const server = serverOfFile({ console: true, nodes: 2, nodeDevices: [`${DRIVER}=2,model=A100`] })
closeBrowserAfterwards()

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const PODS = '/api/v1/namespaces/default/pods'

const pod = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'main:1' }], ...spec },
})
const read = async (target: Target, path: string) => (await ask(target, path)).json
const inPhase = (name: string, phase: string) =>
  eventually(`pod ${name} is ${phase}`, async () => ((await read(server, `${PODS}/${name}`)).status?.phase === phase ? true : undefined))

testInBrowser('a deployment is restarted, and rolled back to its earlier template', async given => {
  await create(server, DEPLOYMENTS, {
    metadata: { name: 'web' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
    },
  })
  const sets = async () => (await read(server, '/apis/apps/v1/namespaces/default/replicasets')).items
  await eventually('the first replica set', async () => ((await sets()).length === 1 ? true : undefined))
  const { page } = await consoleAt(given, server, '/object/apps/v1/deployments/default/web')
  await page.getByRole('button', { name: 'Restart' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Restart' }).click()
  await sees(page, 'Restarting web')
  await eventually('the second replica set', async () => ((await sets()).length === 2 ? true : undefined))
  const templateOf = async () => (await read(server, `${DEPLOYMENTS}/web`)).spec.template.metadata
  assert.ok((await templateOf()).annotations['kubectl.kubernetes.io/restartedAt'])
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Roll back' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.locator('.diff-del', { hasText: 'restartedAt' }).waitFor()
  await isAccessible(page)
  await dialog.getByRole('button', { name: /Roll back to revision 1/ }).click()
  await sees(page, 'Rolled web back to revision 1')
  assert.equal((await templateOf()).annotations, undefined)
})

testInBrowser('a pod is evicted; a node is cordoned, drained as budgets allow, and takes pods again', async given => {
  for (const name of ['leaves', 'kept'])
    await create(server, PODS, { ...pod(name, { nodeName: 'simulated-2' }), metadata: { name, labels: { app: name } } })
  await create(server, PODS, pod('evicted', { nodeName: 'simulated-1' }))
  await create(server, '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
    metadata: { name: 'kept' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } },
  })
  for (const name of ['leaves', 'kept', 'evicted']) await inPhase(name, 'Running')
  const { page, goto } = await consoleAt(given, server, '/object/core/v1/pods/default/evicted')
  await page.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Evict' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Evict' }).click()
  await sees(page, 'Evicted evicted')

  await goto('/object/core/v1/nodes/-/simulated-2')
  await page.getByRole('button', { name: 'Cordon', exact: true }).click()
  await page.getByRole('button', { name: 'Uncordon' }).waitFor()
  assert.equal((await read(server, '/api/v1/nodes/simulated-2')).spec.unschedulable, true)
  await page.getByRole('button', { name: 'Drain' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('default/leaves').waitFor()
  await dialog.getByRole('button', { name: /Cordon and evict \d+ pods/ }).click()
  await dialog.getByText(/violate the pod's disruption budget/).waitFor()
  await isAccessible(page)
  await eventually('the pod leaves', async () => ((await ask(server, `${PODS}/leaves`)).status === 404 ? true : undefined))
  assert.equal((await ask(server, `${PODS}/kept`)).status, 200)
  await dialog.getByRole('button', { name: 'Close', exact: true }).first().click()
  await page.getByRole('button', { name: 'Uncordon' }).click()
  await page.getByRole('button', { name: 'Cordon', exact: true }).waitFor()
})

testInBrowser('a signing request is approved, and gets its certificate', async given => {
  const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
  await create(server, path, {
    metadata: { name: 'for-carol' },
    spec: {
      request: encodedRequest(generateKeyPairSync('ec', { namedCurve: 'P-256' }), { commonName: 'carol' }),
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['client auth'],
    },
  })
  const { page } = await consoleAt(given, server, '/object/certificates.k8s.io/v1/certificatesigningrequests/-/for-carol')
  await page.getByRole('button', { name: 'Approve' }).click()
  await sees(page, 'Approved for-carol')
  await page.getByRole('button', { name: 'Approve' }).waitFor({ state: 'detached' })
  const certificate = await eventually('a certificate', async () => (await read(server, `${path}/for-carol`)).status?.certificate)
  assert.match(new X509Certificate(Buffer.from(certificate, 'base64')).subject, /CN=carol/)
})

testInBrowser('devices show who holds them, and a claim why it cannot be allocated', async given => {
  const api = '/apis/resource.k8s.io/v1'
  const claim = (name: string, count: number) => ({
    metadata: { name },
    spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count } }] } },
  })
  await create(server, `${api}/deviceclasses`, {
    metadata: { name: 'gpu' },
    spec: { selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }] },
  })
  for (const [name, count] of [
    ['fits', 1],
    ['too-many', 5],
  ] as const) {
    await create(server, `${api}/namespaces/default/resourceclaims`, claim(name, count))
    await create(server, PODS, pod(`uses-${name}`, { resourceClaims: [{ name: 'gpu', resourceClaimName: name }] }))
  }
  await inPhase('uses-fits', 'Running')
  const { page } = await consoleAt(given, server, '/nodes')
  await page
    .getByRole('region', { name: /Pool .* of gpu.example.com/ })
    .first()
    .waitFor()
  await page.locator('.device', { hasText: 'held by fits' }).waitFor()
  await page.locator('.device', { hasText: 'free' }).first().waitFor()
  const row = page.getByRole('row').filter({ hasText: 'too-many' })
  await row.getByText('pending').waitFor()
  await row.getByText(/cannot allocate all claims/).waitFor()
  await isAccessible(page)
})

testInBrowser('who can do something is told with the binding that permits it', async given => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default'
  await create(server, `${rbac}/roles`, {
    metadata: { name: 'restarter' },
    rules: [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['patch'], resourceNames: ['web'] }],
  })
  await create(server, `${rbac}/rolebindings`, {
    metadata: { name: 'restarters' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'restarter' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'rosa' }],
  })
  const { page } = await consoleAt(given, server, '/access?kind=deployments.apps&verb=patch&name=web&ns=default')
  const row = page.getByRole('row').filter({ hasText: 'restarters' })
  await row.getByText('rosa').waitFor()
  await row.getByRole('link', { name: 'restarter', exact: true }).waitFor()
  await isAccessible(page)
  await page.getByLabel('Name', { exact: true }).fill('another')
  await page.getByLabel('Name', { exact: true }).press('Enter')
  await row.waitFor({ state: 'detached' })
})
