// Commands of simulated containers cost their own namespace only: the main thread is never blocked for long, whatever they do, and other
// namespaces get their turn.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually, patient, type ServerProcess, startProcess, temporaryDirectory } from '../kit.ts'
import { costs, FACTOR, MEASURED, MOST_BLOCKED_MS } from './costs.ts'

const FLAGS = ['--nodes', '1']
const namespaced = (namespace: string, plural: string, name = '') => `/api/v1/namespaces/${namespace}/${plural}${name && `/${name}`}`
const MALLORY = { 'impersonate-user': 'mallory' }

async function create(server: ServerProcess, path: string, body: object, headers: Record<string, string> = {}): Promise<void> {
  const { status, text } = await ask(server, path, { method: 'POST', body, headers })
  assert.equal(status, 201, text.slice(0, 300))
}

const pod = (name: string, spec: object, annotations: Record<string, string> = {}) => ({ metadata: { name, annotations }, spec })
const shell = (name: string, script: string, more: object = {}) => ({ name, image: 'busybox', command: ['sh', '-c', script], ...more })

const podIn = async (server: ServerProcess, namespace: string, name: string) =>
  (await ask(server, namespaced(namespace, 'pods', name))).json

const podWith = (server: ServerProcess, namespace: string, name: string, isThere: (pod: any) => boolean) =>
  eventually(`${name} in ${namespace}`, async () => {
    const found = await podIn(server, namespace, name)
    return isThere(found) ? found : undefined
  })

async function prepared(server: ServerProcess): Promise<void> {
  await eventually('a node', async () => ((await ask(server, '/api/v1/nodes/simulated-1')).status === 200 ? true : undefined))
  for (const name of ['mallory', 'alice']) {
    await create(server, '/api/v1/namespaces', { metadata: { name } })
    await eventually('its account', async () =>
      (await ask(server, namespaced(name, 'serviceaccounts', 'default'))).status === 200 ? true : undefined,
    )
  }
}

/** A user who may create pods and config maps in one namespace. */
async function admitMallory(server: ServerProcess): Promise<void> {
  const group = '/apis/rbac.authorization.k8s.io/v1/namespaces/mallory'
  const rules = [{ apiGroups: [''], resources: ['pods', 'configmaps'], verbs: ['create', 'get', 'delete'] }]
  await create(server, `${group}/roles`, { metadata: { name: 'work' }, rules })
  const subjects = [{ kind: 'User', name: 'mallory', apiGroup: 'rbac.authorization.k8s.io' }]
  const roleRef = { kind: 'Role', name: 'work', apiGroup: 'rbac.authorization.k8s.io' }
  await create(server, `${group}/rolebindings`, { metadata: { name: 'work' }, subjects, roleRef })
}

const LINES = '\n'.repeat(220_000)
const volumes = [{ name: 'f', configMap: { name: 'lines' } }]
const volumeMounts = [{ name: 'f', mountPath: '/tmp' }]
const words = (count: number) => Array.from({ length: count }, (_, i) => i).join(' ')
const LOOPS = `for i in ${words(40)}; do for j in ${words(40)}; do grep -q zz /tmp/f; done; done`

const endings = (found: any): any[] =>
  (found.status?.containerStatuses ?? []).map(({ state, lastState }: any) => state.terminated ?? lastState.terminated)

// At 6256f0f1 the server spent minutes of its main thread on this pod, answered nothing meanwhile, and did so again after each start.
test('a pod whose fifty containers loop over a large file delays nobody, nor after the server was killed', patient, async t => {
  const dataDir = temporaryDirectory(t)
  const first = await startProcess(t, { dataDir, flags: FLAGS, command: MEASURED })
  await prepared(first)
  await admitMallory(first)
  await create(first, namespaced('mallory', 'configmaps'), { metadata: { name: 'lines' }, data: { f: LINES } }, MALLORY)
  await costs(first)
  const containers = Array.from({ length: 50 }, (_, i) => shell(`c${i}`, LOOPS, { volumeMounts }))
  await create(first, namespaced('mallory', 'pods'), pod('loops', { containers, volumes, terminationGracePeriodSeconds: 1 }), MALLORY)
  await othersAreServed(first, 'before')
  const failed = await podWith(first, 'mallory', 'loops', found => endings(found).length === 50 && endings(found).every(Boolean))
  for (const { reason, exitCode, message } of endings(failed)) {
    assert.deepEqual([reason, exitCode], ['ContainerCannotRun', 128])
    assert.match(message, /^command exceeds the limit of a simulated container \(4194304 bytes read and written\): simplify it/)
  }
  assert.match((await ask(first, `${namespaced('mallory', 'pods', 'loops')}/log?container=c0`)).text, /^command exceeds the limit/)
  await notBlocked(first)
  assert.deepEqual(await first.stop('SIGKILL'), { code: null, signal: 'SIGKILL' })

  const second = await startProcess(t, { dataDir, flags: FLAGS, command: MEASURED })
  await othersAreServed(second, 'after')
  const { status } = await ask(second, namespaced('mallory', 'pods', 'loops'), { method: 'DELETE', headers: MALLORY })
  assert.equal(status, 200)
  await podWith(second, 'mallory', 'loops', found => found.code === 404)
  await notBlocked(second)
  assert.deepEqual(await second.stop(), { code: 0, signal: null })
})

async function othersAreServed(server: ServerProcess, name: string): Promise<void> {
  assert.equal((await ask(server, '/livez')).text, 'ok')
  await create(server, namespaced('alice', 'configmaps'), { metadata: { name } })
  await create(
    server,
    namespaced('alice', 'pods'),
    pod(name, { restartPolicy: 'Never', containers: [shell('c', 'echo $HOSTNAME; exit 3')] }),
  )
  const { status } = await podWith(server, 'alice', name, ({ status }) => status.phase === 'Failed')
  assert.equal(status.containerStatuses[0].state.terminated.exitCode, 3)
  assert.equal((await ask(server, `${namespaced('alice', 'pods', name)}/log`)).text, `${name}\n`)
}

async function notBlocked(server: ServerProcess): Promise<void> {
  const { blocked, worked, used } = await costs(server)
  if (process.env['KEELSON_HOSTILE_VERBOSE'])
    console.error(`${used.toFixed(0)} ms  ${worked.toFixed(0)} ms of main thread  ${blocked.toFixed(0)} ms blocked`)
  assert.ok(blocked < MOST_BLOCKED_MS * FACTOR, `it blocked others for ${blocked.toFixed(0)} ms`)
}
