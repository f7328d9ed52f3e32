// Claims and volumes over a registry: which are bound, and that none is bound twice whatever happens at the same time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { becomes, type ClientBench, openControllerBench } from '../../../test/kits/controllers.ts'
import { Event } from '../../kinds/core/event.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { StorageClass } from '../../kinds/storage/storageclass.ts'
import { persistentVolumeBinder } from './controller.ts'

const KINDS = [PersistentVolume, PersistentVolumeClaim, StorageClass, Pod, Event]

const claimOf = (name: string, storage: string, more: object = {}) => ({
  metadata: { name, namespace: 'default' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, storageClassName: 'fast', ...more },
})
const volumeOf = (name: string, storage: string, more: object = {}) => ({
  metadata: { name },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage },
    storageClassName: 'fast',
    csi: { driver: 'd', volumeHandle: name },
    ...more,
  },
})
const named = (name: string) => ({ namespace: 'default', name })

/**
 * Whatever is bound is bound on both sides, and to one only. While the controller works, a volume that was created anew with the name of a
 * deleted one may not know its claim yet.
 */
function assertOneToOne({ client }: Pick<ClientBench, 'client'>, { isIdle }: { readonly isIdle: boolean }): void {
  const claims = [...client.of(PersistentVolumeClaim).list()]
  const volumes = [...client.of(PersistentVolume).list()]
  const byUid = new Map(claims.map(claim => [claim.metadata.uid, claim]))
  const owners = volumes.flatMap(({ spec, metadata }) => {
    const owner = byUid.get(spec.claimRef?.uid ?? '')
    return owner && owner.spec.volumeName === metadata.name ? [owner.metadata.uid] : []
  })
  assert.equal(new Set(owners).size, owners.length, 'a claim has two volumes')
  const names = claims.flatMap(({ spec, status }) => (spec.volumeName && status.phase === 'Bound' ? [spec.volumeName] : []))
  assert.equal(new Set(names).size, names.length, 'a volume has two claims')
  for (const { metadata, spec, status } of claims)
    if (status.phase === 'Bound') {
      const volume = volumes.find(({ metadata }) => metadata.name === spec.volumeName)
      const owner = volume?.spec.claimRef?.uid
      if (volume && (isIdle || owner !== undefined)) assert.equal(owner, metadata.uid)
    }
}

test('a pending claim is bound when a volume is created, and the volume is released when the claim is deleted', async t => {
  const bench = await openControllerBench(t, KINDS)
  const running = bench.run(persistentVolumeBinder)
  const [claims, volumes] = [bench.client.of(PersistentVolumeClaim), bench.client.of(PersistentVolume)]
  await claims.create(claimOf('data', '5Gi'))
  await running.idle()
  assert.equal(claims.get(named('data'))!.status.phase, 'Pending')
  await volumes.create(volumeOf('v', '6Gi'))
  await becomes(
    () => claims.get(named('data'))!,
    ({ status }) => status.phase === 'Bound',
  )
  await running.idle()
  assert.deepEqual(claims.get(named('data'))!.status.capacity, { storage: '6Gi' })
  await claims.delete(claims.get(named('data'))!)
  await becomes(
    () => volumes.get({ name: 'v' })!,
    ({ status }) => status.phase === 'Released',
  )
  await claims.create(claimOf('again', '5Gi'))
  await running.idle()
  assert.equal(claims.get(named('again'))!.status.phase, 'Pending', 'a volume that was released is nobody’s until its claim is taken out')
  const { claimRef: _, ...spec } = volumes.get({ name: 'v' })!.spec
  await volumes.update({ ...volumes.get({ name: 'v' })!, spec })
  await becomes(
    () => claims.get(named('again'))!,
    ({ status }) => status.phase === 'Bound',
  )
})

test('a claim that loses its volume is lost for good', async t => {
  const bench = await openControllerBench(t, KINDS)
  const running = bench.run(persistentVolumeBinder)
  const [claims, volumes] = [bench.client.of(PersistentVolumeClaim), bench.client.of(PersistentVolume)]
  await volumes.create(volumeOf('v', '5Gi'))
  await claims.create(claimOf('data', '5Gi'))
  await becomes(
    () => claims.get(named('data'))!,
    ({ status }) => status.phase === 'Bound',
  )
  await running.idle()
  await volumes.delete(volumes.get({ name: 'v' })!)
  await becomes(
    () => claims.get(named('data'))!,
    ({ status }) => status.phase === 'Lost',
  )
  await running.idle()
  const [event] = [...bench.client.of(Event).list()].filter(({ reason }) => reason === 'ClaimLost')
  assert.equal(event?.message, 'Bound claim has lost its PersistentVolume. Data on the volume is lost!')
  assert.equal(event?.source?.component, 'persistentvolume-controller')
})

test('claims without a class get the default class when there is one', async t => {
  const bench = await openControllerBench(t, KINDS)
  const running = bench.run(persistentVolumeBinder)
  const claims = bench.client.of(PersistentVolumeClaim)
  const { storageClassName: _, ...spec } = claimOf('data', '5Gi').spec
  await claims.create({ ...claimOf('data', '5Gi'), spec })
  await claims.create(claimOf('none', '5Gi', { storageClassName: '' }))
  await running.idle()
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' }
  await bench.client.of(StorageClass).create({ metadata: { name: 'standard', annotations }, provisioner: 'example.com/p' })
  const given = await becomes(
    () => claims.get(named('data'))!,
    ({ metadata }) => metadata.annotations?.['volume.kubernetes.io/storage-provisioner'] !== undefined,
  )
  assert.equal(given.spec.storageClassName, 'standard')
  assert.equal(given.metadata.annotations?.['volume.beta.kubernetes.io/storage-provisioner'], 'example.com/p')
  assert.equal(claims.get(named('none'))!.spec.storageClassName, '')
})

test('a host path volume under /tmp is deleted, and one that cannot be deleted fails', async t => {
  const bench = await openControllerBench(t, KINDS)
  const running = bench.run(persistentVolumeBinder)
  const [claims, volumes] = [bench.client.of(PersistentVolumeClaim), bench.client.of(PersistentVolume)]
  for (const [name, path] of [
    ['a', '/tmp/a'],
    ['b', '/data/b'],
  ] as const) {
    const { csi: _, ...spec } = volumeOf(name, '5Gi').spec
    await volumes.create({ metadata: { name }, spec: { ...spec, persistentVolumeReclaimPolicy: 'Delete', hostPath: { path } } })
    await claims.create(claimOf(name, '5Gi', { volumeName: name }))
  }
  for (const name of ['a', 'b']) {
    await becomes(
      () => claims.get(named(name))!,
      ({ status }) => status.phase === 'Bound',
    )
    await running.idle()
    await claims.delete(claims.get(named(name))!)
  }
  await becomes(
    () => volumes.get({ name: 'a' }),
    volume => volume === undefined,
  )
  const failed = await becomes(
    () => volumes.get({ name: 'b' })!,
    ({ status }) => status.phase === 'Failed',
  )
  assert.equal(failed.status.message, 'host_path deleter only supports /tmp/.+ but received provided /data/b')
})

test('a volume that is recycled is emptied by a pod and free again', async t => {
  const bench = await openControllerBench(t, KINDS)
  const running = bench.run(persistentVolumeBinder)
  const [claims, volumes, pods] = [bench.client.of(PersistentVolumeClaim), bench.client.of(PersistentVolume), bench.client.of(Pod)]
  const { csi: _, ...spec } = volumeOf('v', '5Gi').spec
  await volumes.create({
    metadata: { name: 'v' },
    spec: { ...spec, persistentVolumeReclaimPolicy: 'Recycle', hostPath: { path: '/data' } },
  })
  await claims.create(claimOf('data', '5Gi'))
  await becomes(
    () => claims.get(named('data'))!,
    ({ status }) => status.phase === 'Bound',
  )
  await running.idle()
  await claims.delete(claims.get(named('data'))!)
  const pod = (await becomes(
    () => pods.get(named('recycler-for-v')),
    pod => pod !== undefined,
  ))!
  await running.idle()
  await pods.updateStatus({ ...pods.get(named('recycler-for-v'))!, status: { ...pod.status, phase: 'Succeeded' } })
  const free = await becomes(
    () => volumes.get({ name: 'v' })!,
    ({ status }) => status.phase === 'Available',
  )
  assert.equal(free.spec.claimRef, undefined)
})

/** At 6256f0f1 the claim waited for ever beside a volume that suits it. */
const VOLUME_DELETED_WHILE_BINDING = [
  { do: 'claim' as const, n: 0, size: 2 },
  { do: 'volume' as const, n: 1, size: 1 },
  { do: 'volume' as const, n: 0, size: 2 },
  { do: 'volume' as const, n: 2, size: 1 },
  { do: 'claim' as const, n: 1, size: 1 },
  { do: 'remove' as const, n: 1, size: 0 as const },
]

/** The claim is still bound to the volume that was deleted when another one of its name is created for it. */
const VOLUME_CREATED_ANEW = [
  { do: 'volume' as const, n: 5, size: 1 },
  { do: 'claim' as const, n: 0, size: 1 },
  { do: 'claim' as const, n: 0, size: 1 },
  { do: 'remove' as const, n: 5, size: 0 as const },
  { do: 'reserve' as const, n: 5, size: 0 },
]

test('whatever happens at the same time, nothing is bound twice, and every possible pair is bound', async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('claim' as const), n: fc.nat(5), size: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('volume' as const), n: fc.nat(5), size: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reserve' as const), n: fc.nat(5), size: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('unclaim' as const), n: fc.nat(5), size: fc.constant(0) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), n: fc.nat(5), size: fc.constant(0) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.integer({ min: 1, max: 6 }), async (steps, together) => {
      const undo: (() => unknown)[] = []
      const bench = await openControllerBench({ after: each => undo.push(each) }, KINDS)
      try {
        const running = bench.run(persistentVolumeBinder)
        const [claims, volumes] = [bench.client.of(PersistentVolumeClaim), bench.client.of(PersistentVolume)]
        const take = async ({ do: what, n, size }: (typeof steps)[number]) => {
          if (what === 'claim') await claims.create(claimOf(`c${n}`, `${size}Gi`))
          if (what === 'volume') await volumes.create(volumeOf(`v${n}`, `${size}Gi`))
          if (what === 'reserve') await volumes.create(volumeOf(`v${n}`, '4Gi', { claimRef: { namespace: 'default', name: `c${size}` } }))
          const claim = what === 'unclaim' ? claims.get(named(`c${n}`)) : undefined
          if (claim) await claims.delete(claim)
          const volume = what === 'remove' ? volumes.get({ name: `v${n}` }) : undefined
          if (volume) await volumes.delete(volume)
        }
        for (let i = 0; i < steps.length; i += together) {
          await Promise.all(steps.slice(i, i + together).map(take))
          assertOneToOne(bench, { isIdle: false })
        }
        await running.idle()
        assertOneToOne(bench, { isIdle: true })
        const free = [...volumes.list()].filter(({ spec, status }) => status.phase === 'Available' && !spec.claimRef)
        for (const { metadata, spec, status } of claims.list())
          if (status.phase === 'Pending')
            for (const volume of free)
              assert.ok(
                Number.parseInt(volume.spec.capacity!['storage']!, 10) < Number.parseInt(spec.resources.requests!['storage']!, 10),
                `${metadata.name} waits beside ${volume.metadata.name}`,
              )
      } finally {
        for (const each of undo) await each()
      }
    }),
    {
      numRuns: 60,
      examples: [
        [VOLUME_DELETED_WHILE_BINDING, 2],
        [VOLUME_CREATED_ANEW, 1],
      ],
    },
  )
})
