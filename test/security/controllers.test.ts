// Objects that ask controllers for more than there can ever be: they are worked on in parts, and everybody else is served.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, eventually, patient, type Scope, type ServerProcess, startProcess } from '../kit.ts'

const MAX_INT32 = 2_147_483_647
const labels = { app: 'a' }
const template = (spec: object = {}) => ({ metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } })
const selector = { matchLabels: labels }
const once = template({ restartPolicy: 'Never' })
const MERGE = 'application/merge-patch+json'

type Greedy = {
  readonly name: string
  /** Below `/apis/`. */
  readonly collection: string
  readonly spec: object
  /** A status to write, and a spec to write afterwards. */
  readonly afterwards?: readonly [status: object, spec: object]
}

const GREEDY: readonly Greedy[] = [
  // At 6256f0f1 the first two stopped the server until it ran out of memory.
  {
    name: 'pods in order',
    collection: 'apps/v1/NS/statefulsets',
    spec: { replicas: MAX_INT32, serviceName: 's', selector, template: template() },
  },
  {
    name: 'pods in parallel',
    collection: 'apps/v1/NS/statefulsets',
    spec: {
      replicas: MAX_INT32,
      ordinals: { start: MAX_INT32 },
      podManagementPolicy: 'Parallel',
      serviceName: 's',
      selector,
      template: template(),
    },
  },
  { name: 'replicas', collection: 'apps/v1/NS/deployments', spec: { replicas: MAX_INT32, selector, template: template() } },
  { name: 'completions', collection: 'batch/v1/NS/jobs', spec: { completions: MAX_INT32, parallelism: MAX_INT32, template: once } },
  {
    name: 'indexes',
    collection: 'batch/v1/NS/jobs',
    spec: {
      completions: MAX_INT32,
      parallelism: 1_000,
      completionMode: 'Indexed',
      successPolicy: { rules: [{ succeededIndexes: `0-${MAX_INT32 - 1}`, succeededCount: MAX_INT32 }] },
      template: once,
    },
  },
  {
    name: 'indexes in the status',
    collection: 'batch/v1/NS/jobs',
    spec: { suspend: true, completions: 100_000, parallelism: 1, completionMode: 'Indexed', backoffLimitPerIndex: 1, template: once },
    afterwards: [{ completedIndexes: Array.from({ length: 25_000 }, (_, i) => i * 4).join() }, { suspend: false, parallelism: 500 }],
  },
  {
    name: 'starts that were missed for half a century',
    collection: 'batch/v1/NS/cronjobs',
    spec: { suspend: true, schedule: '@every 1s', jobTemplate: { spec: { template: once } } },
    afterwards: [{ lastScheduleTime: '1970-01-01T00:00:00Z' }, { suspend: false }],
  },
  {
    name: 'a day that never comes',
    collection: 'batch/v1/NS/cronjobs',
    spec: { schedule: '0 0 30 2 *', timeZone: 'Europe/Berlin', jobTemplate: { spec: { template: once } } },
  },
  {
    name: 'times beyond every timer',
    collection: 'batch/v1/NS/jobs',
    spec: {
      ttlSecondsAfterFinished: MAX_INT32,
      activeDeadlineSeconds: Number.MAX_SAFE_INTEGER,
      template: template({ restartPolicy: 'Never', terminationGracePeriodSeconds: Number.MAX_SAFE_INTEGER }),
    },
  },
]

async function send(server: ServerProcess, method: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': method === 'PATCH' ? MERGE : 'application/json' }
  const { status, text } = await ask(server, path, { method, body, headers })
  assert.ok(status < 300, `${method} ${path}: ${text}`)
}

/** A deployment of somebody else gets its pods. */
async function othersAreServed(server: ServerProcess, name: string): Promise<void> {
  const spec = {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: template().spec },
  }
  await send(server, 'POST', '/apis/apps/v1/namespaces/default/deployments', { metadata: { name }, spec })
  await eventually(`the pods of ${name}`, async () => {
    const { json } = await ask(server, `/api/v1/namespaces/default/pods?labelSelector=app%3D${name}`)
    return json.items.length === 2 ? true : undefined
  })
}

const start = (t: Scope) => startProcess(t, { flags: ['--store', 'memory', '--nodes', '0', '--controllers', '*'] })

test('objects that ask controllers for more than there can be keep nobody else waiting', patient, async t => {
  const server = await start(t)
  for (const [i, { name, collection, spec, afterwards }] of GREEDY.entries())
    await t.test(name, async () => {
      const namespace = `greedy-${i}`
      const path = `/apis/${collection.replace('NS', `namespaces/${namespace}`)}`
      await send(server, 'POST', '/api/v1/namespaces', { metadata: { name: namespace } })
      await send(server, 'POST', path, { metadata: { name: 'x' }, spec })
      if (afterwards) {
        await send(server, 'PATCH', `${path}/x/status`, { status: afterwards[0] })
        await send(server, 'PATCH', `${path}/x`, { spec: afterwards[1] })
      }
      await othersAreServed(server, `other-${i}`)
      // Deleted again, so that the next one is alone.
      await send(server, 'DELETE', `${path}/x`, {})
    })
  assert.equal((await ask(server, '/readyz')).text, 'ok')
})
