// Pods get nodes, by a real server over HTTPS, with the rights of kube-scheduler and no more.
import assert from 'node:assert/strict'
import test from 'node:test'
import { ask, eventually, freshServer, patient, type Scope, type Target } from './kit.ts'
import { addNode, create } from './kits/ready-nodes.ts'

const PODS = '/api/v1/namespaces/default/pods'

const open = (t: Scope, controllers = ['*', 'scheduler'], featureGates = '') =>
  freshServer(t, { store: 'memory', port: 0, nodes: 0, controllers, ...(featureGates && { featureGates }) })

const addPod = (server: Target, name: string, { cpu = '1', ...spec }: any = {}) =>
  create(server, PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: { containers: [{ name: 'main', image: 'example/image', resources: { requests: { cpu } } }], ...spec },
  })

const podOf = async (server: Target, name: string) => (await ask(server, `${PODS}/${name}`)).json

const placed = (server: Target, name: string) =>
  eventually(`a node for ${name}`, async () => (await podOf(server, name)).spec.nodeName || undefined)

const scheduledCondition = (pod: any) => pod.status.conditions?.find(({ type }: any) => type === 'PodScheduled')

const eventsAbout = async (server: Target, name: string) =>
  (await ask(server, `/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name=${name}`)).json.items

test('a pod is bound by default-scheduler, and an event of the new style says so', patient, async t => {
  const server = await open(t)
  await addPod(server, 'early')
  const [waiting] = await eventually('an event', async () => {
    const events = await eventsAbout(server, 'early')
    return events.length > 0 ? events : undefined
  })
  assert.equal(waiting.note, 'no nodes available to schedule pods')
  assert.equal(waiting.reason, 'FailedScheduling')
  await addNode(server, 'node-1')
  assert.equal(await placed(server, 'early'), 'node-1')
  const pod = await podOf(server, 'early')
  assert.equal(scheduledCondition(pod).status, 'True')
  const scheduled = await eventually('the second event', async () =>
    (await eventsAbout(server, 'early')).find(({ reason }: any) => reason === 'Scheduled'),
  )
  const { note, action, type, reportingController, reportingInstance, regarding } = scheduled
  assert.deepEqual(
    [note, action, type, reportingController],
    ['Successfully assigned default/early to node-1', 'Binding', 'Normal', 'default-scheduler'],
  )
  assert.match(reportingInstance, /^default-scheduler-./)
  assert.equal(regarding.uid, pod.metadata.uid)
})

test('pods of other schedulers, gated pods and pods with a node are left alone', patient, async t => {
  const server = await open(t)
  await addNode(server, 'node-1')
  await addPod(server, 'theirs', { schedulerName: 'other' })
  await addPod(server, 'gated', { schedulingGates: [{ name: 'example.com/wait' }] })
  await addPod(server, 'ours')
  await placed(server, 'ours')
  assert.equal((await podOf(server, 'theirs')).spec.nodeName, undefined)
  const gated = await podOf(server, 'gated')
  assert.equal(gated.spec.nodeName, undefined)
  assert.equal(scheduledCondition(gated).reason, 'SchedulingGated')
  const opened = await ask(server, `${PODS}/gated`, {
    method: 'PATCH',
    body: [{ op: 'remove', path: '/spec/schedulingGates' }],
    headers: { 'content-type': 'application/json-patch+json' },
  })
  assert.equal(opened.status, 200, opened.text)
  assert.equal(await placed(server, 'gated'), 'node-1')
})

test('a more important pod takes the place of a less important one', patient, async t => {
  const server = await open(t)
  await addNode(server, 'node-1', { cpu: '1' })
  const classes = '/apis/scheduling.k8s.io/v1/priorityclasses'
  const priorityClass = (name: string, value: number, more: object = {}) =>
    create(server, classes, { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name }, value, ...more })
  await priorityClass('important', 1000)
  await priorityClass('patient', 1000, { preemptionPolicy: 'Never' })
  await addPod(server, 'victim', { terminationGracePeriodSeconds: 30 })
  await placed(server, 'victim')
  const polite = await addPod(server, 'polite', { priorityClassName: 'patient' })
  assert.equal(polite.spec.preemptionPolicy, 'Never')
  const declined = await eventually('a reason', async () => scheduledCondition(await podOf(server, 'polite')))
  assert.equal(declined.message, '0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never.')
  await ask(server, `${PODS}/polite`, { method: 'DELETE' })

  const preemptor = await addPod(server, 'preemptor', { priorityClassName: 'important' })
  const victim = await eventually('its deletion', async () => {
    const pod = await podOf(server, 'victim')
    return pod.metadata.deletionTimestamp ? pod : undefined
  })
  const target = victim.status.conditions.find(({ type }: any) => type === 'DisruptionTarget')
  assert.deepEqual(
    [target.status, target.reason, target.message],
    ['True', 'PreemptionByScheduler', 'default-scheduler: preempting to accommodate a higher priority pod'],
  )
  const nominated = await eventually('a nomination', async () => {
    const pod = await podOf(server, 'preemptor')
    return pod.status.nominatedNodeName ? pod : undefined
  })
  assert.equal(nominated.status.nominatedNodeName, 'node-1')
  assert.equal(
    scheduledCondition(nominated).message,
    '0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node node-1, preempting 1 victims',
  )
  const preempted = await eventually('an event', async () =>
    (await eventsAbout(server, 'victim')).find(({ reason }: any) => reason === 'Preempted'),
  )
  assert.equal(preempted.note, `Preempted by pod ${preemptor.metadata.uid} on node node-1`)
  // As in kube-scheduler 1.37, where only a group is named.
  assert.equal(preempted.related, undefined)
  // The room is kept for it: a pod of the same size that comes later gets nothing.
  await addPod(server, 'late')
  await ask(server, `${PODS}/victim?gracePeriodSeconds=0`, { method: 'DELETE' })
  assert.equal(await placed(server, 'preemptor'), 'node-1')
  assert.equal((await podOf(server, 'preemptor')).status.nominatedNodeName, undefined)
  assert.equal((await podOf(server, 'late')).spec.nodeName, undefined)
})

test('without simulated nodes the scheduler runs only when it is named', patient, async t => {
  const server = await open(t, ['*'])
  await addNode(server, 'node-1')
  const pod = await addPod(server, 'alone')
  await create(server, `${PODS}/alone/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'alone' },
    target: { kind: 'Node', name: 'node-1' },
  })
  assert.equal((await podOf(server, 'alone')).metadata.uid, pod.metadata.uid)
  assert.deepEqual(await eventsAbout(server, 'alone'), [])
})

test('a pod whose volume is not there yet names the node that it will be bound to, unless the gate is off', patient, async t => {
  for (const isOn of [true, false]) {
    const server = await open(t, undefined, isOn ? '' : 'NominatedNodeNameForExpectation=false')
    await addNode(server, 'node-1')
    await create(server, '/apis/storage.k8s.io/v1/storageclasses', {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'elsewhere' },
      provisioner: 'example.com/nobody',
      volumeBindingMode: 'WaitForFirstConsumer',
    })
    const claims = '/api/v1/namespaces/default/persistentvolumeclaims'
    await create(server, claims, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { storageClassName: 'elsewhere', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    })
    await addPod(server, 'waiting', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] })
    // The node is chosen for the claim after the pod names it.
    await eventually('a node for the claim', async () => {
      const { metadata } = (await ask(server, `${claims}/data`)).json
      return metadata.annotations?.['volume.kubernetes.io/selected-node']
    })
    const { spec, status } = await podOf(server, 'waiting')
    assert.deepEqual([spec.nodeName, status.nominatedNodeName], [undefined, isOn ? 'node-1' : undefined])
  }
})
