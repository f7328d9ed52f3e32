import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openControllerBench } from '../../../test/kits/controllers.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { claimProtection } from './controller.ts'
import { nextStep } from './reconcile.ts'
import { isClaimUsed, isClassUsed, isVolumeUsed } from './usage.ts'

const going = { deletionTimestamp: '2026-07-01T00:00:00Z' }

test('objects are protected, and released when they are being deleted and nobody uses them', () => {
  assert.equal(
    nextStep({}, 'a/p', () => true),
    'protect',
  )
  assert.equal(
    nextStep({ finalizers: ['a/p'] }, 'a/p', () => true),
    undefined,
  )
  assert.equal(
    nextStep({ ...going, finalizers: ['a/p'] }, 'a/p', () => true),
    'wait',
  )
  assert.equal(
    nextStep({ ...going, finalizers: ['b/q', 'a/p'] }, 'a/p', () => false),
    'release',
  )
  assert.equal(
    nextStep({ ...going, finalizers: ['b/q'] }, 'a/p', () => false),
    undefined,
  )
})

const claim = (name: string, more: object = {}) => ({ metadata: { name, ...more }, spec: {}, status: {} }) as never
const pod = (nodeName: string, volumes: object[], metadata: object = {}) =>
  ({ metadata: { name: 'p', uid: 'u', ...metadata }, spec: { nodeName, volumes } }) as never
const mount = (claimName: string) => ({ name: 'v', persistentVolumeClaim: { claimName } })

test('a claim is used by pods that a node has, under its own name or made for them', () => {
  assert.equal(isClaimUsed(claim('c'), [pod('n', [mount('c')])]), true)
  assert.equal(isClaimUsed(claim('c'), [pod('', [mount('c')]), pod('n', [mount('d')]), pod('n', [])]), false)
  const made = claim('p-v', { ownerReferences: [{ controller: true, uid: 'u' }] })
  const ephemeral = { name: 'v', ephemeral: {} }
  assert.equal(isClaimUsed(made, [pod('n', [ephemeral])]), true)
  assert.equal(isClaimUsed(claim('p-v'), [pod('n', [ephemeral])]), false)
  assert.equal(isClaimUsed(made, [pod('n', [ephemeral], { ...going, deletionGracePeriodSeconds: 0 })]), false)
  assert.equal(isClaimUsed(made, [pod('n', [ephemeral], { ...going, deletionGracePeriodSeconds: 30 })]), true)
})

test('a volume is used while it is bound', () => {
  assert.equal(isVolumeUsed({ metadata: {}, status: { phase: 'Bound' } } as never), true)
  assert.equal(isVolumeUsed({ metadata: {}, status: { phase: 'Released' } } as never), false)
})

test('a class is used by volumes and by claims, whatever they have to do with it', () => {
  const gold = { metadata: { name: 'gold' } } as never
  const of = (spec: object, status: object = {}) => ({ metadata: {}, spec, status }) as never
  const named = { volumeAttributesClassName: 'gold' }
  assert.equal(isClassUsed(gold, [of(named)], []), true)
  assert.equal(isClassUsed(gold, [], [of(named)]), true)
  assert.equal(isClassUsed(gold, [], [of({}, { currentVolumeAttributesClassName: 'gold' })]), true)
  assert.equal(isClassUsed(gold, [], [of({}, { modifyVolumeStatus: { targetVolumeAttributesClassName: 'gold' } })]), true)
  assert.equal(isClassUsed(gold, [of({})], [of({ volumeAttributesClassName: 'silver' })]), false)
})

test('a claim says since when no pod uses it, unless PersistentVolumeClaimUnusedSinceTime is off', async t => {
  for (const on of [true, false]) {
    const gate = (name: string) => on || name !== 'PersistentVolumeClaimUnusedSinceTime'
    const { client, run } = await openControllerBench(t, [PersistentVolumeClaim, Pod], { gate })
    const running = run(claimProtection(gate))
    const resources = { requests: { storage: '1Gi' } }
    const claims = client.of(PersistentVolumeClaim)
    const name = { namespace: 'default', name: 'c' }
    await claims.create({ metadata: name, spec: { accessModes: ['ReadWriteOnce'], resources } })
    await claims.patch(name, { status: { phase: 'Bound' } }, { type: 'merge', subresource: 'status' })
    await running.idle()
    const { metadata, status } = claims.get(name)!
    assert.deepEqual(metadata.finalizers, ['kubernetes.io/pvc-protection'])
    const unused = status.conditions?.find(({ type }) => type === 'Unused')
    assert.equal(unused?.status, on ? 'True' : undefined)
  }
})
