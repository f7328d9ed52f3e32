import assert from 'node:assert/strict'
import test from 'node:test'
import type { ResourceClaim } from '../kinds/resource/resourceclaim.ts'
import { ClusterChanges, type ClusterChangesParts } from './cluster-changes.ts'

test('a change of a claim wakes the pods whose binding waits for it, those of a group among them', () => {
  const woken: string[] = []
  const changes = new ClusterChanges({
    devices: { onClaim() {} },
    binder: { wake: (uid: string) => void woken.push(uid) },
    requeuer: { hasUnschedulable: false },
    podsOfClaim: () => ['member-1', 'member-2'],
  } as unknown as ClusterChangesParts)
  const change = (reservedFor: object[]) => {
    woken.length = 0
    const object = { metadata: { name: 'c' }, status: { reservedFor } } as unknown as ResourceClaim
    changes.resourceClaim({ type: 'updated', current: { namespace: 'default', name: 'c', object } } as never)
    return [...woken]
  }
  assert.deepEqual(change([{ resource: 'pods', name: 'p', uid: 'p' }]), ['p'])
  const group = { apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name: 'g', uid: 'g' }
  assert.deepEqual(change([group]), ['member-1', 'member-2'])
})
