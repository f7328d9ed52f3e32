import assert from 'node:assert/strict'
import test from 'node:test'
import { isMadeFor } from '../../devices/pod-claims.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { ResourceClaimTemplate } from '../../kinds/resource/resourceclaimtemplate.ts'
import { claimDraft, claimStatuses, keepsReservation, planClaim, planEntry } from './reconcile.ts'

const podOf = (more: any = {}) =>
  ({ metadata: { namespace: 'ns', name: 'pod', uid: 'u', ...more.metadata }, spec: {}, status: {}, ...more }) as unknown as Pod
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'pod', uid: 'u', controller: true }
const claimNamed = (name: string, metadata: object = {}, status: object = {}) =>
  ({ metadata: { namespace: 'ns', name, uid: name, ...metadata }, spec: {}, status }) as unknown as ResourceClaim
const made = (name: string, entry: string) =>
  claimNamed(name, { ownerReferences: [owner], annotations: { 'resource.kubernetes.io/pod-claim-name': entry } })

const partsOf = ({ metadata: { uid = '' } }: Pod, there: ResourceClaim[]) => ({
  existing: (name: string) => there.find(({ metadata }) => metadata.name === name),
  isMade: (claim: ResourceClaim) => isMadeFor(uid, claim),
  owner: uid,
  own: there,
})

test('a claim is made for an entry with a template, once, and anew for another pod of the same name', () => {
  const entry = { name: 'gpu', resourceClaimTemplateName: 't' }
  const status = { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'c' }] }
  const plan = (pod: Pod, there: ResourceClaim[] = []) => planEntry(pod, entry, partsOf(pod, there)).type
  assert.equal(plan(podOf()), 'make')
  assert.equal(plan(podOf(), [made('c', 'gpu')]), 'made')
  assert.equal(plan(podOf(), [made('c', 'other')]), 'make')
  assert.equal(plan(podOf({ status }), [made('c', 'gpu')]), 'done')
  assert.equal(plan(podOf({ status, metadata: { namespace: 'ns', name: 'pod', uid: 'new' } }), [made('c', 'gpu')]), 'make')
  assert.equal(plan(podOf({ status: { resourceClaimStatuses: [{ name: 'gpu' }] } })), 'done')
  assert.equal(planEntry(podOf(), { name: 'gpu', resourceClaimName: 'x' }, partsOf(podOf(), [])).type, 'done')
})

test('a claim has what its template says, and a name that fits', () => {
  const template = {
    spec: { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec: { devices: {} } },
  } as unknown as ResourceClaimTemplate
  const { metadata } = claimDraft(podOf(), { name: 'gpu' }, template)
  assert.equal(metadata!.generateName, 'pod-gpu-')
  assert.deepEqual(metadata!.annotations, { c: 'd', 'resource.kubernetes.io/pod-claim-name': 'gpu' })
  assert.deepEqual(metadata!.labels, { a: 'b' })
  const long = claimDraft(podOf({ metadata: { name: 'p'.repeat(60) } }), { name: 'g'.repeat(20) }, template).metadata!.generateName!
  assert.match(long, /^p{41}-g{13}$/)
  assert.deepEqual(
    claimStatuses(podOf({ status: { resourceClaimStatuses: [{ name: 'z', resourceClaimName: '1' }] } }), new Map([['a', '2']])),
    [
      { name: 'a', resourceClaimName: '2' },
      { name: 'z', resourceClaimName: '1' },
    ],
  )
})

test('reservations end with their pods; the last one deallocates the claim, and a generated claim is deleted with its pod', () => {
  assert(keepsReservation(podOf(), 'u'))
  assert(!keepsReservation(undefined, 'u'))
  assert(!keepsReservation(podOf(), 'other'))
  assert(!keepsReservation(podOf({ status: { phase: 'Succeeded' } }), 'u'))
  assert(!keepsReservation(podOf({ metadata: { uid: 'u', deletionTimestamp: 'now' } }), 'u'))
  assert(keepsReservation(podOf({ metadata: { uid: 'u', deletionTimestamp: 'now' }, spec: { nodeName: 'n' } }), 'u'))
  const users = ['a', 'b'].map(name => ({ resource: 'pods', name, uid: name }))
  const finalizers = ['resource.kubernetes.io/delete-protection']
  const used = claimNamed('c', { finalizers }, { allocation: { devices: {} }, reservedFor: users, devices: [] })
  assert.deepEqual(planClaim(used, users, false), { dropsFinalizer: false, deletes: false })
  assert.deepEqual(planClaim(used, users.slice(1), false), {
    status: { allocation: { devices: {} }, reservedFor: users.slice(1), devices: [] },
    dropsFinalizer: false,
    deletes: false,
  })
  assert.deepEqual(planClaim(used, [], true), { status: { devices: [] }, dropsFinalizer: true, deletes: true })
  // Nobody has begun to use it: it keeps what it has, unless it is deleted.
  const unused = claimNamed('c', { finalizers }, { allocation: { devices: {} } })
  assert.deepEqual(planClaim(unused, [], false), { dropsFinalizer: false, deletes: false })
  const going = claimNamed('c', { finalizers, deletionTimestamp: 'now' }, { allocation: { devices: {} } })
  assert.deepEqual(planClaim(going, [], false), { status: {}, dropsFinalizer: true, deletes: false })
})
