import assert from 'node:assert/strict'
import test from 'node:test'
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { Device } from '../kinds/resource/slice-shapes.ts'
import { podRequests } from '../kinds/rules/pod/resources/pod-requests.ts'
import { AllocationError } from './claim-requests.ts'
import { nodeResourcesOf } from './node-resources.ts'

const using = (...claims: readonly string[]) => ({ resources: { requests: { cpu: '1' }, claims: claims.map(name => ({ name })) } })
const pod = {
  metadata: { name: 'p' },
  spec: {
    initContainers: [{ name: 'init', ...using('x') }],
    containers: [
      { name: 'main', ...using('x', 'y') },
      { name: 'side', ...using('x', 'x') },
    ],
    resourceClaims: [
      { name: 'x', resourceClaimName: 'one' },
      { name: 'y', resourceClaimTemplateName: 't' },
    ],
  },
  status: { resourceClaimStatuses: [{ name: 'y', resourceClaimName: 'two' }] },
} as unknown as Pod
const deviceOf = (nodeAllocatableResources: object) => ({ name: 'd', nodeAllocatableResources }) as unknown as Device
const claimOf = (name: string, ...devices: readonly { device: Device; consumed?: Record<string, string> }[]) => ({
  namespace: 'default',
  name,
  devices: devices.map(({ device, consumed }) => ({ device, consumed })),
})

test('the devices of a claim are added up, by resource, with the containers that use it', () => {
  const cores = { cpu: { mapping: { capacityKey: 'cores', capacityMultiplier: '500m' }, overhead: { perContainer: '100m' } } }
  const fixed = { cpu: { mapping: { deviceMultiplier: '1500m' } }, memory: { overhead: { perPod: '1Gi' } } }
  const statuses = nodeResourcesOf(pod, [
    claimOf('two', { device: deviceOf(fixed) }, { device: deviceOf(fixed) }),
    claimOf('none', { device: deviceOf({}) }),
    claimOf('one', { device: deviceOf(cores), consumed: { cores: '3' } }, { device: deviceOf(cores), consumed: { other: '1' } }),
  ])
  assert.deepEqual(statuses, [
    {
      resourceClaimName: 'one',
      containers: ['init', 'main', 'side'],
      mapping: [{ name: 'cpu', quantity: '1500m' }],
      overhead: [{ name: 'cpu', perContainer: '200m' }],
    },
    {
      resourceClaimName: 'two',
      containers: ['main'],
      mapping: [{ name: 'cpu', quantity: '3' }],
      overhead: [{ name: 'memory', perPod: '2Gi' }],
    },
  ])
  const counted = { ...pod, status: { nodeAllocatableResourceClaimStatuses: statuses } } as unknown as Pod
  const shown = (withClaims: boolean) =>
    Object.fromEntries([...podRequests(counted, { withClaims })].map(([name, { text }]) => [name, text]))
  assert.deepEqual(shown(false), { cpu: '2' })
  assert.deepEqual(shown(true), { cpu: '7100m', memory: '2Gi' })
})

test('a device that counts by its capacity has to say how much of it was taken', () => {
  const device = deviceOf({ cpu: { mapping: { capacityKey: 'cores' } } })
  assert.throws(
    () => nodeResourcesOf(pod, [claimOf('one', { device })]),
    new AllocationError(
      "claim default/one, device d: ConsumedCapacity is nil, but Capacity key 'cores' is set in NodeAllocatableResources for resource cpu",
    ),
  )
})
