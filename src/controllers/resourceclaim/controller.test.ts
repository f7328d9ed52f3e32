import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, DEFAULT_GATES, openControllerBench } from '../../../test/kits/controllers.ts'
import { Event } from '../../kinds/core/event.ts'
import { Namespace } from '../../kinds/core/namespace.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourceClaimTemplate } from '../../kinds/resource/resourceclaimtemplate.ts'
import { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { messageOf } from '../../lib/error-message.ts'
import { startController } from '../controller.ts'
import { resourceClaimController } from './controller.ts'

const named = { namespace: 'default', name: 'p' }
const spec = { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu' } }] } }

test('the claim of a pod that is done is deleted once, and no other is made in its place', async t => {
  const { client, run } = await openControllerBench(t, [Namespace, Event, Pod, ResourceClaim, ResourceClaimTemplate])
  const [pods, claims] = [client.of(Pod), client.of(ResourceClaim)]
  await client.of(ResourceClaimTemplate).create({ metadata: { namespace: 'default', name: 't' }, spec: { spec } })
  const controller = run(resourceClaimController({ gate: () => false }))
  const containers = [{ name: 'c', image: 'i', resources: { claims: [{ name: 'g' }] } }]
  await pods.create({ metadata: named, spec: { containers, resourceClaims: [{ name: 'g', resourceClaimTemplateName: 't' }] } })
  const pod = await becomes(
    () => pods.get(named),
    each => each?.status.resourceClaimStatuses !== undefined,
  )
  const [status] = pod!.status.resourceClaimStatuses!
  assert.equal(claims.count(), 1)
  await pods.patch(named, { status: { phase: 'Succeeded' } }, { subresource: 'status' })
  await becomes(
    () => claims.count(),
    count => count === 0,
  )
  // Settles: nothing is made and deleted again and again.
  await controller.idle()
  assert.equal(claims.count(), 0)
  assert.deepEqual(pods.get(named)?.status.resourceClaimStatuses, [status])
})

const KINDS = [Namespace, Event, Pod, PodGroup, ResourceClaim, ResourceClaimTemplate]
const entry = { name: 'g', resourceClaimTemplateName: 't' }
const memberSpec = {
  containers: [{ name: 'c', image: 'i', resources: { claims: [{ name: 'g' }] } }],
  resourceClaims: [entry],
  schedulingGroup: { podGroupName: 'group' },
}
const groupDraft = {
  metadata: { namespace: 'default', name: 'group' },
  spec: { schedulingPolicy: { basic: {} }, resourceClaims: [entry] },
}

test('a pod that got its node without the scheduler has the claim of its group reserved for the group, which keeps it to its end', async t => {
  const { client, run } = await openControllerBench(t, KINDS, { gate: () => true })
  const [pods, groups, claims] = [client.of(Pod), client.of(PodGroup), client.of(ResourceClaim)]
  await client.of(ResourceClaimTemplate).create({ metadata: { namespace: 'default', name: 't' }, spec: { spec } })
  const controller = run(resourceClaimController({ gate: () => true }))
  // The group comes last: until then nothing is made for the pod.
  await pods.create({ metadata: named, spec: { ...memberSpec, nodeName: 'n' } })
  await controller.idle()
  assert.equal(claims.count(), 0)
  const group = (await groups.create(groupDraft))!.object
  const pod = await becomes(
    () => pods.get(named),
    each => each?.status.resourceClaimStatuses !== undefined,
  )
  const claimed = { namespace: 'default', name: pod!.status.resourceClaimStatuses![0]!.resourceClaimName! }
  const claim = claims.get(claimed)!
  await claims.updateStatus({ ...claim, status: { allocation: { devices: {} } } })
  const reserved = await becomes(
    () => claims.get(claimed),
    each => each?.status.reservedFor !== undefined,
  )
  const { uid } = group.metadata
  assert.deepEqual(reserved!.status.reservedFor, [{ apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name: 'group', uid }])
  // The end of a pod makes no difference.
  await pods.patch(named, { status: { phase: 'Succeeded' } }, { subresource: 'status' })
  await controller.idle()
  assert.deepEqual(claims.get(claimed)!.status, reserved!.status)
  await groups.delete(groups.get(groupDraft.metadata)!)
  await becomes(
    () => claims.get(claimed),
    each => each?.status.reservedFor === undefined,
  )
  assert.equal(claims.count(), 1)
})

test('the claims of a group are left alone when the feature is off again', async t => {
  const { client, clientFor, signal } = await openControllerBench(t, KINDS, { gate: () => true })
  const [pods, claims] = [client.of(Pod), client.of(ResourceClaim)]
  await client.of(ResourceClaimTemplate).create({ metadata: { namespace: 'default', name: 't' }, spec: { spec } })
  await client.of(PodGroup).create(groupDraft)
  await claims.create({ metadata: { namespace: 'default', name: 'old' }, spec })
  const reservedFor = [{ apiGroup: 'scheduling.k8s.io', resource: 'podgroups', name: 'gone', uid: 'u' }]
  const status = { allocation: { devices: {} }, reservedFor }
  await claims.updateStatus({ ...claims.get({ namespace: 'default', name: 'old' })!, status })
  await pods.create({ metadata: named, spec: memberSpec })
  const errors: string[] = []
  const controller = startController(resourceClaimController({ gate: name => name === 'GenericWorkload' }), {
    clientFor,
    groupDomain: 'k8s.io',
    gate: DEFAULT_GATES,
    onError: error => void errors.push(messageOf(error)),
    signal,
  })
  await controller.idle()
  const why = 'claim g is a PodGroup claim but the DRAWorkloadResourceClaims feature is disabled'
  assert.equal(errors[0], `pod default/p, PodResourceClaim g: ${why}`)
  assert.deepEqual(
    [...claims.list()].map(each => [each.metadata.name, each.status.reservedFor]),
    [['old', reservedFor]],
  )
})
