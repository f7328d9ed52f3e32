// Helm against workloads that come to life: install and wait, upgrade, hooks, tests, rollback, uninstall.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ask, PATIENCE_MS, serveHere, temporaryDirectory } from './kit.ts'
import { testWith } from './programs.ts'

const run = promisify(execFile)

/** A chart of our own: a Deployment with a Service, hooks before and after, and a test. */
const CHART: Record<string, string> = {
  'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 0.1.0\nappVersion: "1"\n',
  'values.yaml': 'replicas: 2\nimage: example.com/web:1\nannotations: {}\n',
  'templates/web.yaml': `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      annotations: {{ toJson .Values.annotations }}
    spec:
      containers: [{name: web, image: {{ .Values.image }}, ports: [{name: http, containerPort: 8080}]}]
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  type: LoadBalancer
  selector: {app: {{ .Release.Name }}}
  ports: [{name: http, port: 80, targetPort: http}]
`,
  'templates/hooks.yaml': `apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-before
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: migrate, image: example.com/migrate}]
---
apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-test
  annotations: {helm.sh/hook: test}
spec:
  restartPolicy: Never
  containers: [{name: probe, image: example.com/probe}]
`,
}

testWith(
  'helm',
  'helm installs and waits, runs hooks and tests, upgrades, rolls back and uninstalls',
  { timeout: 2 * PATIENCE_MS },
  async (t, helm) => {
    const server = await serveHere(t, { flags: ['--nodes=1'] })
    const chart = join(temporaryDirectory(t), 'web')
    for (const [file, text] of Object.entries(CHART)) {
      mkdirSync(dirname(join(chart, file)), { recursive: true })
      writeFileSync(join(chart, file), text)
    }
    const env = { ...process.env, HOME: temporaryDirectory(t), KUBECONFIG: server.kubeconfig }
    const release = async (...args: string[]) => (await run(helm, args, { env })).stdout
    const deployment = async () => (await ask(server, '/apis/apps/v1/namespaces/default/deployments/shop')).json

    await release('install', 'shop', chart, '--wait', '--timeout', '60s')
    assert.equal((await deployment()).status.availableReplicas, 2)
    const hook = await ask(server, '/apis/batch/v1/namespaces/default/jobs/shop-before')
    assert.equal(hook.json.status.succeeded, 1)
    assert.match(await release('test', 'shop', '--timeout', '60s'), /Phase:\s+Succeeded/)

    await release('upgrade', 'shop', chart, '--wait', '--timeout', '60s', '--set', 'replicas=3,image=example.com/web:2')
    const { spec, status } = await deployment()
    assert.deepEqual(
      [status.updatedReplicas, status.availableReplicas, spec.template.spec.containers[0].image],
      [3, 3, 'example.com/web:2'],
    )

    const stuck = { 'sim.keelson.dev/ready-delay': 'never' }
    const failing = release('upgrade', 'shop', chart, '--wait', '--timeout', '5s', '--set-json', `annotations=${JSON.stringify(stuck)}`)
    await assert.rejects(failing, /not ready|deadline|timed out|InProgress/i)

    await release('rollback', 'shop', '2', '--wait', '--timeout', '60s')
    assert.equal((await deployment()).spec.template.spec.containers[0].image, 'example.com/web:2')
    await release('uninstall', 'shop', '--wait', '--timeout', '60s')
    const { json } = await ask(server, '/api/v1/namespaces/default/pods?labelSelector=app%3Dshop')
    assert.deepEqual(json.items, [])
  },
)
