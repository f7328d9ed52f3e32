import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkSubresource, contextWith, created, withDefaults } from '../../test/kits/kinds/kinds.ts'
import { allocatorFeatures } from '../devices/features.ts'
import { Deployment } from './apps/deployment.ts'
import { ReplicaSet } from './apps/replicaset.ts'
import { Node } from './core/node.ts'
import { Pod } from './core/pod/pod.ts'
import { ResourceSlice } from './resource/resourceslice.ts'

const withGates = (...gates: string[]) => contextWith({ gate: name => gates.includes(name) })
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
const workload = { spec: { selector: { matchLabels: { a: 'b' } }, template } }

/** The status that an update of it stores. */
function statusAfter(kind: typeof Node | typeof Deployment | typeof ReplicaSet, draft: object, gates: readonly string[]): any {
  const object = withDefaults(kind, draft as never)
  const old = withDefaults(kind, { ...draft, status: {} } as never)
  kind.def.subresources?.status?.prepareForUpdate?.(object as never, old as never, withGates(...gates))
  return object.status
}

test('pods that are being terminated are counted with DeploymentReplicaSetTerminatingReplicas', () => {
  for (const kind of [Deployment, ReplicaSet])
    for (const gates of [[], ['DeploymentReplicaSetTerminatingReplicas']]) {
      const status = statusAfter(kind, { ...workload, status: { replicas: 1, terminatingReplicas: 1 } }, gates)
      assert.equal(status.terminatingReplicas, gates.length === 0 ? undefined : 1, kind.name)
    }
})

test('a node says with KubeletInUserNamespace that its kubelet runs in a user namespace', () => {
  const status = { nodeInfo: { runningInUserNamespace: true } }
  assert.equal(statusAfter(Node, { status }, []).nodeInfo.runningInUserNamespace, undefined)
  assert.equal(statusAfter(Node, { status }, ['KubeletInUserNamespace']).nodeInfo.runningInUserNamespace, true)
})

test('a pod that is bound cannot be nominated for a node with ClearingNominatedNodeNameAfterBinding', () => {
  const pod = { spec: { nodeName: 'n', containers: template.spec.containers } }
  const errors = (...gates: string[]) =>
    checkSubresource(Pod, 'status', { ...pod, status: { nominatedNodeName: 'm' } }, pod, withGates(...gates))
  assert.deepEqual(errors(), [])
  assert.deepEqual(errors('ClearingNominatedNodeNameAfterBinding'), [
    'status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node',
  ])
})

test('devices have conditions and counters with their gates', () => {
  const device = { name: 'd', bindingConditions: ['a'], bindingFailureConditions: ['b'], consumesCounters: [{ counterSet: 's' }] }
  const spec = { driver: 'a.example', nodeName: 'n', pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, devices: [device] }
  const fields = (...gates: string[]) => Object.keys(created(ResourceSlice, { spec }, withGates(...gates)).spec.devices[0]).sort()
  assert.deepEqual(fields(), ['name'])
  assert.deepEqual(fields('DRADeviceBindingConditions', 'DRAResourceClaimDeviceStatus'), [
    'bindingConditions',
    'bindingFailureConditions',
    'name',
  ])
  assert.deepEqual(fields('DRAPartitionableDevices'), ['consumesCounters', 'name'])
})

test('the allocation of devices waits for conditions only where claims have a status of devices', () => {
  const waits = (...gates: string[]) => allocatorFeatures(name => gates.includes(name)).bindingConditions
  assert.equal(waits('DRADeviceBindingConditions'), false)
  assert.equal(waits('DRADeviceBindingConditions', 'DRAResourceClaimDeviceStatus'), true)
})
