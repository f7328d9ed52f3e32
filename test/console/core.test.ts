// The console's functions without a page: quantities, durations, health, the scheduler's messages, owners of fields, commands and changes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { duration, millis } from '../../console/core/duration.ts'
import { conditionTone, healthOf, toneOf } from '../../console/core/health.ts'
import { keyOf, ownerAt, ownersOf, writerOf } from '../../console/core/owners.ts'
import { quantity, short } from '../../console/core/quantity.ts'
import { readMessage } from '../../console/core/scheduling.ts'
import { curlOf, kubectlOf } from '../../console/pages/requests/commands.ts'
import { changesIn, fieldOf } from '../../console/pages/try/changes.ts'

test('quantities are numbers, and numbers short texts', () => {
  const read = Object.entries({ '250m': 0.25, '1': 1, '1.5': 1.5, '2Ki': 2048, '1e3': 1000, '1E': 1e18, '3k': 3000, '-1Gi': -(2 ** 30) })
  for (const [text, value] of read) assert.equal(quantity(text), value, text)
  assert.equal(quantity(undefined), 0)
  assert.equal(quantity('no quantity'), 0)
  const written: readonly [number, boolean, string][] = [
    [0, true, '0'],
    [1536, true, '1.5Ki'],
    [2 ** 30, true, '1Gi'],
    [1500, false, '1.5k'],
    [0.25, false, '0.25'],
    [123_456, false, '123k'],
  ]
  for (const [value, isBinary, text] of written) assert.equal(short(value, isBinary), text)
})

test('durations have at most two units, as kubectl prints them', () => {
  const [second, minute, hour, day] = [1000, 60_000, 3600_000, 86_400_000]
  const cases: readonly [number, string][] = [
    [-5, '0s'],
    [119 * second, '119s'],
    [2 * minute, '2m'],
    [2 * minute + 5 * second, '2m5s'],
    [11 * minute + 5 * second, '11m'],
    [3 * hour + 4 * minute, '3h4m'],
    [9 * hour + 4 * minute, '9h'],
    [2 * day + hour, '2d1h'],
    [10 * day, '10d'],
    [800 * day, '2y70d'],
  ]
  for (const [ms, text] of cases) assert.equal(duration(ms), text)
  assert.deepEqual([0.5, 5.25, 50, 1500].map(millis), ['500 µs', '5.3 ms', '50 ms', '1.50 s'])
})

test('health is told from phases, conditions and counts, whatever the kind', () => {
  const metadata = { name: 'x' }
  const cases: readonly [object, string, string][] = [
    [{ metadata, status: { phase: 'Bound' } }, 'good', 'Bound'],
    [{ metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] } }, 'warn', 'Terminating'],
    [{ metadata, spec: { replicas: 3 }, status: { replicas: 3, readyReplicas: 1 } }, 'warn', '1 of 3 ready'],
    [{ metadata, spec: { replicas: 3 }, status: { replicas: 3, readyReplicas: 3 } }, 'good', '3 ready'],
    [
      { metadata: { ...metadata, generation: 2 }, spec: { replicas: 1 }, status: { observedGeneration: 1, readyReplicas: 1 } },
      'warn',
      '1 of 1 ready',
    ],
    [{ metadata, status: { conditions: [{ type: 'Ready', status: 'False', message: 'no' }] } }, 'warn', 'Not ready'],
    [{ metadata, status: { conditions: [{ type: 'Ready', status: 'True' }] } }, 'good', 'Ready'],
    [
      {
        metadata,
        spec: { containers: [] },
        status: { containerStatuses: [{ name: 'a', state: { waiting: { reason: 'ImagePullBackOff' } } }] },
      },
      'bad',
      'ImagePullBackOff',
    ],
    [
      { metadata, spec: { containers: [] }, status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] } },
      'bad',
      'Unschedulable',
    ],
    [{ metadata, spec: {} }, 'plain', ''],
  ]
  for (const [object, tone, text] of cases) {
    const health = healthOf(object as never)
    assert.deepEqual([health.tone, health.text], [tone, text])
  }
  assert.deepEqual(['Running', 'Pending', 'CrashLoopBackOff', 'whatever'].map(toneOf), ['good', 'warn', 'bad', 'plain'])
  assert.equal(conditionTone({ type: 'MemoryPressure', status: 'False' }), 'good')
  assert.equal(conditionTone({ type: 'MemoryPressure', status: 'True' }), 'bad')
  assert.equal(conditionTone({ type: 'Available', status: 'False' }), 'warn')
})

test('the message of the scheduler is read as reasons with their nodes and plugins', () => {
  const message =
    "0/6 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b, c}, 3 node(s) didn't match Pod's node affinity/selector. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling."
  const read = readMessage(message)!
  assert.deepEqual(
    read.reasons.map(({ nodes, plugin }) => [nodes, plugin]),
    [
      [1, 'NodeResourcesFit'],
      [2, 'TaintToleration'],
      [3, 'NodeAffinity'],
    ],
  )
  assert.equal(read.total, 6)
  assert.match(read.preemption, /not helpful/)
  assert.equal(readMessage('something else'), undefined)
})

test('owners of fields are found by path, also within lists, and the writer of a revision by its entry', () => {
  const entry = (manager: string, time: string, fieldsV1: object) => ({ manager, operation: 'Update', time, fieldsV1: fieldsV1 as never })
  const before = {
    metadata: { name: 'web', managedFields: [entry('helm', '2026-01-01T00:00:00Z', { 'f:spec': { 'f:replicas': {}, 'f:paused': {} } })] },
    spec: { replicas: 2, paused: false, list: [{ name: 'a' }, { name: 'b' }] },
  }
  const after = {
    ...before,
    metadata: {
      name: 'web',
      managedFields: [
        entry('helm', '2026-01-01T00:00:00Z', { 'f:spec': { 'f:paused': {} } }),
        entry('scaler', '2026-01-01T00:01:00Z', {
          'f:spec': { 'f:replicas': {}, 'f:list': { 'k:{"name":"b"}': { '.': {}, 'f:name': {} } } },
        }),
      ],
    },
  }
  const owners = ownersOf(after)
  assert.equal(ownerAt(owners, ['spec', 'replicas'])?.manager, 'scaler')
  assert.equal(ownerAt(owners, ['spec', 'paused'])?.manager, 'helm')
  assert.ok(owners.has(keyOf(['spec', 'list', '[name=b]', 'name'])))
  assert.equal(ownerAt(owners, ['spec', 'list', '[name=a]']), undefined)
  assert.equal(writerOf(after, before)?.manager, 'scaler')
  // A second write of the same manager within the same second leaves its entry as it was.
  assert.equal(writerOf({ ...after, spec: { ...after.spec, replicas: 9 } }, after)?.manager, 'scaler')
})

test('a request is copied as kubectl or curl, quoted for a shell', () => {
  const sent = {
    method: 'GET',
    verb: 'list',
    path: '/apis/apps/v1/namespaces/a/deployments',
    query: 'labelSelector=a%3D%27b%27',
    user: 'system:serviceaccount:a:b',
    resource: { group: 'apps', resource: 'deployments', subresource: '', namespace: 'a', name: '' },
  }
  assert.equal(kubectlOf(sent), `kubectl get deployments.apps -n a -l 'a='\\''b'\\''' --as system:serviceaccount:a:b`)
  assert.match(
    curlOf(sent, 'https://host'),
    / -X GET 'https:\/\/host\/apis\/apps\/v1\/namespaces\/a\/deployments\?labelSelector=a%3D%27b%27'$/,
  )
  const { resource: _, query: __, ...path } = { ...sent, path: '/metrics' }
  assert.equal(kubectlOf(path), 'kubectl get --raw /metrics --as system:serviceaccount:a:b')
})

test('the changes of a step of admission are lines with field paths', () => {
  assert.deepEqual(changesIn('[{"op":"add","path":"/spec/containers/0/env","value":[1]},{"op":"remove","path":"/metadata/labels/a~1b"}]'), [
    { op: 'add', path: 'spec.containers[0].env', value: '[1]' },
    { op: 'remove', path: 'metadata.labels["a/b"]', value: '' },
  ])
  assert.deepEqual(changesIn('cut'), [])
  assert.equal(fieldOf(''), 'the whole object')
})
