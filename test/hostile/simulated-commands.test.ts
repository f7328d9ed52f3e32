// Commands of simulated containers cost their own namespace only: the main thread is never blocked for long, whatever they do, and other
// namespaces get their turn.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually, patient, type ServerProcess, startProcess, temporaryDirectory } from '../kit.ts'
import { assertWithin, costs, MAX_BLOCKED_MS, MEASURED } from './costs.ts'

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
  // Loading the server is no cost of the pod.
  await costs(second)
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
  assertWithin('blocked others for', blocked, MAX_BLOCKED_MS)
}

// At 6256f0f1 there were no turns: whoever came first kept the main thread.
test('the commands of one namespace wait for those of another no longer than for one of them', patient, async t => {
  const server = await startProcess(t, { flags: [...FLAGS, '--store', 'memory'], command: MEASURED })
  await prepared(server)
  await create(server, namespaced('mallory', 'configmaps'), { metadata: { name: 'lines' }, data: { f: LINES } })
  // The start of the server is none of the commands' costs.
  await costs(server)
  const containers = Array.from({ length: 40 }, (_, i) => shell(`c${i}`, `${LOOPS} # ${i}`, { volumeMounts }))
  for (let i = 0; i < 10; i++) await create(server, namespaced('mallory', 'pods'), pod(`p${i}`, { containers, volumes }))
  await othersAreServed(server, 'meanwhile')
  const phases = await Promise.all(Array.from({ length: 10 }, async (_, i) => (await podIn(server, 'mallory', `p${i}`)).status.phase))
  assert.ok(phases.includes('Pending'), 'four hundred commands were run before the one of another namespace')
  for (let i = 0; i < 10; i++) {
    const path = namespaced('mallory', 'pods', `p${i}`)
    assert.equal((await ask(server, path, { method: 'DELETE', body: { gracePeriodSeconds: 0 } })).status, 200)
    await podWith(server, 'mallory', `p${i}`, found => found.code === 404)
  }
  await notBlocked(server)
})

/** Something that a user writes, and when the node is through with it. */
type Written = {
  readonly name: string
  readonly spec: object
  readonly annotations?: Record<string, string>
  readonly isThrough: (pod: any) => boolean
  /** Read afterwards, as the log of a pod. */
  readonly read?: string
}

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const hasEnded = ({ status }: any) => status?.phase === 'Succeeded' || status?.phase === 'Failed'
const runs = ({ status }: any) => status?.phase === 'Running'
const once = (...containers: object[]) => ({ restartPolicy: 'Never', containers, volumes })
const keyOf = (i: number) => ({ configMapKeyRef: { name: 'keys', key: `key-${i}` } })
const exec = (script: string) => ({ exec: { command: ['sh', '-c', script] } })

const WRITTEN: readonly Written[] = [
  {
    name: 'variables that double',
    spec: once(
      ...many(50, i => ({
        ...shell(`c${i}`, 'echo $V59'),
        args: many(500, () => '$(V59)'),
        env: many(60, v => ({ name: `V${v}`, value: v === 0 ? 'x' : `$(V${v - 1})$(V${v - 1})` })),
      })),
    ),
    isThrough: hasEnded,
  },
  // At 6256f0f1 the keys of the config map were put together anew for each of the references, at every look.
  {
    name: 'references to a config map of many keys',
    spec: once(shell('c', 'echo $V1', { env: many(3_000, i => ({ name: `V${i}`, valueFrom: keyOf(i) })) })),
    isThrough: hasEnded,
  },
  {
    name: 'paths in volumes that depend on a large environment',
    spec: {
      ...once(
        ...many(50, i => ({
          name: `c${i}`,
          image: 'busybox',
          command: ['true'],
          envFrom: [{ configMapRef: { name: 'keys' } }],
          volumeMounts: [{ name: 'e', mountPath: '/e', subPathExpr: '$(key-1)' }],
        })),
      ),
      volumes: [{ name: 'e', emptyDir: {} }],
    },
    isThrough: hasEnded,
  },
  {
    name: 'a log of as many lines as bytes',
    spec: once({ name: 'c', image: 'web' }),
    annotations: { 'sim.keelson.dev/log': `${'\n'.repeat(200_000)}end` },
    isThrough: hasEnded,
    read: 'timestamps=true',
  },
  // At 6256f0f1 each newline was tried as the first of those at the end.
  { name: 'newlines that are not at the end', spec: once(shell('c', 'A=$(cat /tmp/x); echo on', { volumeMounts })), isThrough: hasEnded },
  // At 6256f0f1 these were nested calls, until the stack was used up, and the pod was tried again and again.
  { name: 'negations', spec: once(shell('c', '[ $(cat /tmp/not) ]', { volumeMounts })), isThrough: hasEnded },
  {
    name: 'scripts that are nested',
    spec: once(
      ...many(50, i => shell(`a${i}`, `${'$(echo '.repeat(600)}`)),
      ...many(50, i => shell(`b${i}`, `${'if true; then '.repeat(280)}`)),
      ...many(50, i => shell(`c${i}`, `${'true && '.repeat(500)}true`)),
      ...many(50, i => shell(`d${i}`, `${'`echo '.repeat(600)}`)),
    ),
    isThrough: hasEnded,
  },
  {
    name: 'probes that loop',
    spec: {
      containers: many(50, i => ({
        ...shell(`c${i}`, 'sleep 1d'),
        startupProbe: { ...exec(`${LOOPS} # ${i}`), failureThreshold: 1000 },
        readinessProbe: { ...exec(`${LOOPS} # r${i}`), periodSeconds: 1 },
        livenessProbe: { ...exec(`${LOOPS} # l${i}`), periodSeconds: 1, failureThreshold: 1000 },
      })),
    },
    isThrough: runs,
  },
  // At 6256f0f1 each of the names was followed to the end of the reference.
  {
    name: 'an image whose registry has many names',
    spec: { containers: [{ name: 'c', image: `x${'.invalid'.repeat(20_000)}` }] },
    isThrough: runs,
  },
  // At 6256f0f1 each slash was tried as the first of those at the end, when the pod was written.
  {
    name: 'files in a volume of many slashes',
    spec: {
      restartPolicy: 'Never',
      containers: [{ name: 'c', image: 'web' }],
      volumes: [
        { name: 'v', projected: { sources: [{ configMap: { name: 'lines', items: [{ key: 'f', path: `a${'/'.repeat(100_000)}b` }] } }] } },
      ],
    },
    isThrough: hasEnded,
  },
  {
    name: 'annotations that say nothing',
    spec: once(...many(500, i => ({ name: `c${i}`, image: 'web' }))),
    annotations: Object.fromEntries(many(5_000, i => [`x${i}.sim.keelson.dev/log`, ''])),
    isThrough: runs,
  },
  {
    name: 'many containers with a message each',
    spec: once(...many(500, i => ({ name: `c${i}`, image: 'web' }))),
    annotations: { 'sim.keelson.dev/termination-message': 'x'.repeat(200_000) },
    isThrough: found => runs(found) || hasEnded(found),
  },
  {
    name: 'loops that never end, and long sleeps',
    spec: { containers: [shell('a', 'while true; do true; done'), shell('b', 'yes | head -n 1'), shell('c', `sleep ${'9'.repeat(300)}`)] },
    isThrough: runs,
  },
  {
    name: 'widths and sequences',
    spec: once(
      shell('a', 'printf %1000000000d 1'),
      shell('b', 'for i in $(seq 1 100000000); do echo $i; done'),
      shell('c', 'echo {1..100000000}'),
    ),
    isThrough: found => runs(found) || hasEnded(found),
  },
]

test('whatever a pod says, its node does not block others', { timeout: 4 * patient.timeout }, async t => {
  const server = await startProcess(t, { flags: [...FLAGS, '--store', 'memory'], command: MEASURED })
  await prepared(server)
  const files = { f: LINES, x: `${'\n'.repeat(150_000)}x`, not: '! '.repeat(60_000) }
  await create(server, namespaced('mallory', 'configmaps'), { metadata: { name: 'lines' }, data: files })
  const data = Object.fromEntries(many(10_000, i => [`key-${i}`, 'value']))
  await create(server, namespaced('mallory', 'configmaps'), { metadata: { name: 'keys' }, data })
  for (const [i, { name, spec, annotations, isThrough, read }] of WRITTEN.entries())
    await t.test(name, async () => {
      await costs(server)
      await create(server, namespaced('mallory', 'pods'), pod(`p${i}`, spec, annotations))
      assert.equal((await ask(server, '/livez')).text, 'ok')
      await podWith(server, 'mallory', `p${i}`, isThrough)
      if (read) assert.equal((await ask(server, `${namespaced('mallory', 'pods', `p${i}`)}/log?${read}`)).status, 200)
      await notBlocked(server)
      await ask(server, namespaced('mallory', 'pods', `p${i}`), { method: 'DELETE', body: { gracePeriodSeconds: 0 } })
      await notBlocked(server)
    })
  // At 6256f0f1 the path took the square of its length.
  await t.test('a path of many slashes', async () => {
    await costs(server)
    assert.equal((await ask(server, `/api/v1/nodes/simulated-1/proxy/${'/'.repeat(50_000)}x`)).status, 501)
    await notBlocked(server)
  })
})
