import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { cutOffController } from '../../../test/kits/cut-off.ts'
import { fakeKubelet } from '../../../test/kits/fake-kubelet.ts'
import { ControllerRevision } from '../../kinds/apps/controllerrevision.ts'
import { DaemonSet } from '../../kinds/apps/daemonset.ts'
import { Event } from '../../kinds/core/event.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { hashOf } from '../pods/template-hash.ts'
import { daemonSetController } from './controller.ts'
import { targetNode } from './placement.ts'

const LABELS = { app: 'agent' }
const NAMED = { namespace: 'default', name: 'agent' }
const template = (image: string) => ({ metadata: { labels: LABELS }, spec: { containers: [{ name: 'c', image }] } })

async function openDaemons(t: Scope, options: Parameters<typeof openControllerBench>[2] = {}) {
  const bench = await openControllerBench(t, [DaemonSet, ControllerRevision, Node, Pod, Event], options)
  const { client } = bench
  const [sets, nodes, pods, revisions] = [client.of(DaemonSet), client.of(Node), client.of(Pod), client.of(ControllerRevision)]
  for (const name of ['n1', 'n2', 'n3']) await nodes.create({ metadata: { name } })
  await sets.create({ metadata: NAMED, spec: { selector: { matchLabels: LABELS }, template: template('one') } })
  const settled = (count: number) =>
    becomes(
      () => sets.get(NAMED)!,
      ({ metadata, status }) =>
        status.observedGeneration === metadata.generation && status.numberAvailable === count && status.updatedNumberScheduled === count,
    )
  const placed = () => Array.from(pods.list(), pod => `${targetNode(pod)} ${pod.spec.containers![0]!.image}`).sort()
  return { ...bench, sets, nodes, pods, revisions, settled, placed }
}

test('pods are created and deleted with their nodes', async t => {
  const { sets, nodes, run, settled, placed, pods } = await openDaemons(t)
  const running = run(daemonSetController)
  run(fakeKubelet())
  await settled(3)
  assert.deepEqual(placed(), ['n1 one', 'n2 one', 'n3 one'])
  await nodes.create({ metadata: { name: 'n4' } })
  await settled(4)
  await nodes.patch({ name: 'n1' }, { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } })
  // As in Kubernetes, a node wakes the sets that have a pod bound to it; here nobody binds pods.
  await sets.patch(NAMED, { metadata: { annotations: { look: 'again' } } })
  await settled(3)
  await running.idle()
  assert.deepEqual(placed(), ['n2 one', 'n3 one', 'n4 one'])
  await nodes.delete(nodes.get({ name: 'n2' })!)
  await running.idle()
  // Nobody has placed the pod yet, so nobody else would delete it.
  assert.equal(pods.count(), 2)
})

test('a template is rolled out and back, and its revisions are numbered', async t => {
  const { sets, revisions, run, settled, placed } = await openDaemons(t)
  run(daemonSetController)
  run(fakeKubelet())
  await settled(3)
  for (const image of ['two', 'one']) {
    await sets.patch(NAMED, { spec: { template: template(image) } }, { type: 'strategic' })
    await settled(3)
    assert.deepEqual(placed(), [`n1 ${image}`, `n2 ${image}`, `n3 ${image}`])
  }
  assert.deepEqual(Array.from(revisions.list(), ({ revision }) => Number(revision)).sort(), [2, 3])
})

// The conformance test of ControllerRevisions counts both.
test('a second revision of the same template stays until the set changes', async t => {
  const { sets, revisions, run, settled } = await openDaemons(t)
  const running = run(daemonSetController)
  run(fakeKubelet())
  await settled(3)
  const [first] = revisions.list()
  const { uid = '' } = sets.get(NAMED)!.metadata
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid, controller: true }]
  const { data, revision } = first!
  await revisions.create({
    metadata: { ...NAMED, name: 'again', labels: LABELS, ownerReferences },
    data,
    revision: Number(revision) + 1,
  } as never)
  await running.idle()
  assert.equal(revisions.count(), 2)
  await sets.patch(NAMED, { metadata: { annotations: { look: 'again' } } })
  await running.idle()
  assert.deepEqual(
    Array.from(revisions.list(), ({ metadata }) => metadata.name),
    ['again'],
  )
})

test('where the name of a revision is taken, another hash is used', async t => {
  const { sets, revisions, run, settled } = await openDaemons(t)
  const { template } = sets.get(NAMED)!.spec
  const metadata = { namespace: 'default', name: `agent-${hashOf(template)}` }
  await revisions.create({ metadata, revision: 1, data: { spec: {} } } as never)
  run(fakeKubelet())
  run(daemonSetController)
  const { status } = await settled(3)
  assert.deepEqual([status.collisionCount, revisions.count()], [1, 2])
})

test('wherever the server is killed, each node gets one pod and a template one revision', async () => {
  const cutOff = cutOffController('daemon-set-controller')
  for (let writes = 0; writes < 8; writes++) {
    const scope: (() => unknown)[] = []
    const bench = await openDaemons({ after: undo => scope.push(undo) }, { authorizer: cutOff.authorizer })
    await cutOff.run(bench, daemonSetController, writes)
    bench.run(fakeKubelet())
    const running = bench.run(daemonSetController)
    await bench.settled(3)
    await running.idle()
    assert.deepEqual([bench.placed(), bench.revisions.count()], [['n1 one', 'n2 one', 'n3 one'], 1], `after ${writes}`)
    for (const undo of scope) await undo()
  }
})
