import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench, type Scope } from '../../../test/kits/controllers.ts'
import { fakeKubelet } from '../../../test/kits/fake-kubelet.ts'
import { ControllerRevision } from '../../kinds/apps/controllerrevision.ts'
import { StatefulSet } from '../../kinds/apps/statefulset.ts'
import { Event } from '../../kinds/core/event.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { statefulSetController } from './controller.ts'

const LABELS = { app: 'db' }
const NAMED = { namespace: 'default', name: 'db' }
const template = (image: string) => ({ metadata: { labels: LABELS }, spec: { containers: [{ name: 'c', image }] } })
const CLAIM = {
  metadata: { name: 'data' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
}

async function openSets(t: Scope, spec: object, options: Parameters<typeof openControllerBench>[2] = {}) {
  const bench = await openControllerBench(t, [StatefulSet, ControllerRevision, Pod, PersistentVolumeClaim, Event], options)
  const { client } = bench
  const sets = client.of(StatefulSet)
  await sets.create({
    metadata: NAMED,
    spec: { serviceName: 'db', selector: { matchLabels: LABELS }, template: template('one'), ...spec },
  })
  const running = [bench.run(statefulSetController), bench.run(fakeKubelet())]
  const settled = () =>
    becomes(
      () => sets.get(NAMED)!,
      ({ metadata, spec: { replicas }, status }) =>
        status.observedGeneration === metadata.generation &&
        [status.replicas, status.availableReplicas, status.updatedReplicas ?? 0, status.currentReplicas ?? 0].every(n => n === replicas),
    )
  const idle = async () => {
    for (const each of running) await each.idle()
  }
  const parts = {
    pods: client.of(Pod),
    claims: client.of(PersistentVolumeClaim),
    revisions: client.of(ControllerRevision),
    events: client.of(Event),
  }
  return { ...bench, ...parts, sets, settled, idle }
}

test('pods are created with their claims, replaced for a new template, and deleted from the last on; claims stay', async t => {
  const { sets, pods, claims, revisions, events, settled, idle } = await openSets(t, { replicas: 3, volumeClaimTemplates: [CLAIM] })
  await settled()
  assert.deepEqual(
    Array.from(pods.list(), ({ metadata }) => metadata.name),
    ['db-0', 'db-1', 'db-2'],
  )
  assert.deepEqual(
    Array.from(claims.list(), ({ metadata }) => metadata.name),
    ['data-db-0', 'data-db-1', 'data-db-2'],
  )
  await sets.patch(NAMED, { spec: { template: template('two') } }, { type: 'strategic' })
  const { status } = await settled()
  assert.equal(status.currentRevision, status.updateRevision)
  assert.ok([...pods.list()].every(({ spec }) => spec.containers![0]!.image === 'two'))
  assert.equal(revisions.count(), 2)
  // The first template again: no third revision, but the first becomes the latest.
  await sets.patch(NAMED, { spec: { template: template('one') } }, { type: 'strategic' })
  await settled()
  assert.deepEqual(Array.from(revisions.list(), ({ revision }) => revision).sort(), [2, 3])
  await sets.patch(NAMED, { spec: { replicas: 1 } })
  await settled()
  assert.deepEqual([pods.count(), claims.count()], [1, 3])
  await idle()
  const told = Array.from(events.list(), ({ reason, message }) => `${reason}: ${message}`)
  for (const text of [
    'SuccessfulCreate: Create Claim data-db-0 Pod db-0 in StatefulSet db success',
    'SuccessfulCreate: Create Pod db-0 in StatefulSet db successful',
    'SuccessfulDelete: Delete Pod db-2 in StatefulSet db successful',
  ])
    assert.ok(told.includes(text), `${text} in ${told}`)
})

test('only so many revisions are kept', async t => {
  const { sets, revisions, settled, idle } = await openSets(t, { replicas: 1, revisionHistoryLimit: 1 })
  for (const image of ['two', 'three', 'four']) {
    await settled()
    await sets.patch(NAMED, { spec: { template: template(image) } }, { type: 'strategic' })
  }
  await settled()
  await idle()
  assert.deepEqual(Array.from(revisions.list(), ({ revision }) => revision).sort(), [3, 4])
})

test('claims are owned as their retention asks, whenever that changes', async t => {
  const { sets, claims, settled, idle } = await openSets(t, { replicas: 2, volumeClaimTemplates: [CLAIM] })
  await settled()
  const owners = () => Array.from(claims.list(), ({ metadata }) => metadata.ownerReferences?.map(({ kind }) => kind).join() ?? '')
  assert.deepEqual(owners(), ['', ''])
  await sets.patch(NAMED, { spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } } })
  await settled()
  await idle()
  assert.deepEqual(owners(), ['StatefulSet', 'StatefulSet'])
  await sets.patch(NAMED, { spec: { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Delete' }, replicas: 1 } })
  await settled()
  await idle()
  assert.deepEqual(owners(), ['StatefulSet', 'Pod'])
})

test('with Parallel all pods are created at once, and a matching orphan is adopted', async t => {
  const { pods, settled } = await openSets(t, { replicas: 3, podManagementPolicy: 'Parallel' })
  await settled()
  const orphan = pods.get({ namespace: 'default', name: 'db-1' })!
  await pods.patch(orphan.metadata, { metadata: { ownerReferences: null } })
  const adopted = await becomes(
    () => pods.get({ namespace: 'default', name: 'db-1' })!,
    ({ metadata }) => metadata.ownerReferences !== undefined,
  )
  assert.deepEqual([adopted.metadata.uid, adopted.metadata.ownerReferences![0]!.kind], [orphan.metadata.uid, 'StatefulSet'])
})

test('with Recreate and its gate a new template replaces all pods', async t => {
  const gates = ['StatefulSetRecreateStrategy']
  const gate = (name: string) => gates.includes(name)
  const { sets, pods, settled } = await openSets(t, { replicas: 2, updateStrategy: { type: 'Recreate' } }, { gate })
  await settled()
  await sets.patch(NAMED, { spec: { template: template('two') } }, { type: 'strategic' })
  const { status } = await settled()
  assert.deepEqual(
    Array.from(pods.list(), ({ spec }) => spec.containers![0]!.image),
    ['two', 'two'],
  )
  assert.deepEqual(
    status.conditions?.map(each => [each.type, each.status, each.reason]),
    [['Progressing', 'False', 'RecreateCompleted']],
  )
})

test('a revision without fields that came later is the latest all the same, unless StatefulSetSemanticRevisionComparison is off', async t => {
  for (const [isOn, expected] of [
    [true, 1],
    [false, 2],
  ] as const) {
    const options = { gate: (name: string) => isOn && name === 'StatefulSetSemanticRevisionComparison' }
    const { sets, revisions, settled, idle } = await openSets(t, { replicas: 1 }, options)
    await settled()
    const [revision] = [...revisions.list()]
    const { dnsPolicy: _, ...spec } = (revision!.data as any).spec.template.spec
    await revisions.delete(revision!)
    const { resourceVersion: _r, uid: _u, ...metadata } = revision!.metadata
    await revisions.create({
      ...revision!,
      metadata,
      data: { spec: { template: { ...(revision!.data as any).spec.template, spec } } },
    } as never)
    await sets.patch(NAMED, { metadata: { annotations: { looked: 'at' } } })
    await idle()
    assert.equal(revisions.count(), expected)
  }
})
