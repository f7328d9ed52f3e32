import assert from 'node:assert/strict'
import test from 'node:test'
import { openVolumeParts } from '../../../test/kits/persistent-volumes.ts'

const CLAIM_REF = { namespace: 'default', name: 'gone', uid: 'gone' }

async function open(t: Parameters<typeof openVolumeParts>[0]) {
  const parts = await openVolumeParts(t)
  const { addVolume, volume, pods, recycler } = parts
  await addVolume('v', { claimRef: CLAIM_REF, persistentVolumeReclaimPolicy: 'Recycle' })
  const pod = () => pods.get({ namespace: 'default', name: 'recycler-for-v' })
  return {
    ...parts,
    pod,
    recycle: () => recycler.recycle(volume('v')!),
    end: (phase: string) => pods.updateStatus({ ...pod()!, status: { ...pod()!.status, phase } }),
  }
}

test('a recycler pod empties the volume, which is available after it has succeeded', async t => {
  const { recycle, pod, end, volume, events } = await open(t)
  await recycle()
  assert.equal(pod()?.spec.containers[0]?.name, 'pv-recycler')
  await recycle()
  assert.equal(volume('v')?.spec.claimRef?.uid, 'gone')
  await end('Succeeded')
  await recycle()
  assert.deepEqual([pod(), volume('v')?.spec.claimRef?.uid, volume('v')?.status.phase], [undefined, undefined, 'Available'])
  assert.deepEqual(events, ['v Normal VolumeRecycled: Volume recycled'])
})

test('a recycler pod that fails fails the volume, and is started again after a delay', async t => {
  const { recycle, pod, end, volume } = await open(t)
  await recycle()
  await end('Failed')
  assert.equal(await recycle(), 15_000)
  assert.deepEqual([pod(), volume('v')?.status.phase], [undefined, 'Failed'])
  await recycle()
  assert.ok(pod())
})

test('a pod of that name that an earlier process has started is replaced', async t => {
  const { recycle, pod, pods, recycler } = await open(t)
  await pods.create({
    metadata: { namespace: 'default', name: 'recycler-for-v' },
    spec: { containers: [{ name: 'main', image: 'i' }], terminationGracePeriodSeconds: 0 },
  })
  await recycle()
  assert.equal(pod(), undefined)
  assert.equal(recycler.isHoldingBack, false)
})

test('a volume that pods still use is held back until they end', async t => {
  const { recycle, addPod, pod, recycler, events } = await open(t)
  await addPod('user', 'gone')
  await recycle()
  assert.deepEqual([pod(), recycler.isHoldingBack], [undefined, true])
  assert.deepEqual(events, ['v Normal VolumeFailedRecycle: Volume is used by pods: default/user'])
  assert.deepEqual([recycler.takeHeldBack('claim/default/gone'), recycler.takeHeldBack('claim/default/gone')], ['v', undefined])
  assert.equal(recycler.isHoldingBack, false)
})
