import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_GATES, openControllerBench } from '../../../test/kits/controllers.ts'
import { ManualClock } from '../../../test/kits/storage/manual-clock.ts'
import { Lease } from '../../kinds/coordination/lease.ts'
import { Event } from '../../kinds/core/event.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { startController } from '../controller.ts'
import { nodeLifecycleController } from './controller.ts'
import { readyOf } from './reconcile.ts'

const GRACE_MS = 40_000

// At 6256f0f1 the next look came a whole grace period later.
test('a node that is looked at when its grace period ends is silent a millisecond later', async t => {
  const clock = new ManualClock()
  const bench = await openControllerBench(t, [Node, Lease, Pod, Event], { now: () => new Date(clock.now()) })
  const nodes = bench.client.of(Node)
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastHeartbeatTime: '2030-01-01T00:00:00Z' }
  await nodes.create({ metadata: { name: 'a' }, spec: {}, status: { conditions: [ready], nodeInfo: {}, daemonEndpoints: {} } } as never)
  const { clientFor, signal } = bench
  const parts = { clientFor, groupDomain: 'k8s.io', gate: DEFAULT_GATES, onError: assert.ifError, signal, clock }
  const controller = startController(nodeLifecycleController({ grace: { monitorMs: GRACE_MS, startupMs: GRACE_MS } }), parts)
  const readiness = async () => {
    await controller.idle()
    return readyOf(nodes.get({ name: 'a' }))?.status
  }
  await readiness()
  clock.advance(GRACE_MS)
  // A change has the controller look at the node at this very moment.
  await nodes.patch({ name: 'a' }, { metadata: { annotations: { looked: 'at' } } })
  assert.equal(await readiness(), 'True')
  clock.advance(1)
  assert.equal(await readiness(), 'Unknown')
})
