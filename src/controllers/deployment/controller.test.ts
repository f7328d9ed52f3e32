import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { fakeKubelet } from '../../../test/kits/fake-kubelet.ts'
import { Deployment } from '../../kinds/apps/deployment.ts'
import { ReplicaSet } from '../../kinds/apps/replicaset.ts'
import { Event } from '../../kinds/core/event.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { replicaSetController } from '../replicaset/controller.ts'
import { deploymentController } from './controller.ts'
import { newSetFor } from './replica-sets.ts'

const LABELS = { app: 'web' }
const NAMED = { namespace: 'default', name: 'web' }
const template = (image: string) => ({ metadata: { labels: LABELS }, spec: { containers: [{ name: 'c', image }] } })
const draft = (replicas: number, spec: object = {}) => ({
  metadata: NAMED,
  spec: { replicas, selector: { matchLabels: LABELS }, template: template('one'), ...spec },
})

async function openDeployments(t: Scope) {
  const bench = await openControllerBench(t, [Deployment, ReplicaSet, Pod, Event])
  const [deployments, sets, pods, events] = [Deployment, ReplicaSet, Pod, Event].map(kind => bench.client.of(kind as never)) as never as [
    ReturnType<typeof bench.client.of<typeof Deployment>>,
    ReturnType<typeof bench.client.of<typeof ReplicaSet>>,
    ReturnType<typeof bench.client.of<typeof Pod>>,
    ReturnType<typeof bench.client.of<typeof Event>>,
  ]
  const start = () => [deploymentController, replicaSetController, fakeKubelet()].map(bench.run)
  const settled = () =>
    becomes(
      () => deployments.get(NAMED)!,
      ({ metadata, spec, status }) =>
        status.observedGeneration === metadata.generation &&
        status.availableReplicas === spec.replicas &&
        status.replicas === spec.replicas &&
        status.updatedReplicas === spec.replicas,
    )
  return { ...bench, deployments, sets, pods, events, start, settled }
}

test('a Deployment is rolled out, updated, scaled and rolled back, with events', async t => {
  const { deployments, sets, pods, events, start, settled } = await openDeployments(t)
  await deployments.create(draft(3))
  const running = start()
  await settled()
  await deployments.patch(NAMED, { spec: { template: template('two') } }, { type: 'strategic' })
  await settled()
  assert.equal(sets.count(), 2)
  assert.deepEqual(new Set(Array.from(pods.list(), pod => pod.spec.containers![0]!.image)), new Set(['two']))
  await deployments.patch(NAMED, { spec: { template: template('one') } }, { type: 'strategic' })
  const back = await settled()
  assert.equal(sets.count(), 2)
  assert.equal(back.metadata.annotations!['deployment.kubernetes.io/revision'], '3')
  await deployments.patch(NAMED, { spec: { replicas: 5 } })
  const { metadata, status } = await settled()
  assert.equal(pods.count(), 5)
  assert.deepEqual(
    new Set(status.conditions!.map(({ type, status, reason }) => `${type} ${status} ${reason}`)),
    new Set(['Available True MinimumReplicasAvailable', 'Progressing True NewReplicaSetAvailable']),
  )
  // Neither revisions nor counts change the desired state.
  assert.equal(metadata.generation, 4)
  for (const each of running) await each.idle()
  const messages = Array.from(events.list(), ({ reason, message = '' }) => `${reason} ${message.replace(/web-\w+/, 'SET')}`)
  assert.ok(messages.includes('ScalingReplicaSet Scaled up replica set SET from 0 to 3'))
  assert.ok(messages.some(message => message.endsWith('Scaled up replica set SET from 3 to 5')))
})

test('a ReplicaSet without a controller is adopted, and released when it no longer matches', async t => {
  const { deployments, sets, start, settled, pods } = await openDeployments(t)
  await sets.create({
    metadata: { namespace: 'default', name: 'mine', labels: LABELS },
    spec: { replicas: 2, selector: { matchLabels: LABELS }, template: template('one') },
  })
  await deployments.create(draft(2))
  start()
  await settled()
  assert.deepEqual([sets.count(), pods.count()], [1, 2])
  const mine = { namespace: 'default', name: 'mine' }
  assert.equal(sets.get(mine)!.metadata.ownerReferences![0]!.kind, 'Deployment')
  await sets.patch(mine, { metadata: { labels: { app: 'other' } } })
  await becomes(
    () => sets.count(),
    count => count === 2,
  )
  await becomes(
    () => sets.get(mine)!.metadata.ownerReferences,
    owners => owners === undefined,
  )
})

test('where the name of a ReplicaSet is taken, another hash is used', async t => {
  const { deployments, sets, start, settled } = await openDeployments(t)
  await deployments.create(draft(1))
  const { name = '' } = newSetFor(deployments.get(NAMED)!).metadata
  const other = { app: 'other' }
  await sets.create({
    metadata: { namespace: 'default', name },
    spec: { replicas: 0, selector: { matchLabels: other }, template: { ...template('x'), metadata: { labels: other } } },
  })
  start()
  const { status } = await settled()
  assert.equal(status.collisionCount, 1)
  assert.equal(sets.count(), 2)
})
