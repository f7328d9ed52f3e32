import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { Event } from '../../kinds/core/event.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { ephemeralVolumeController } from './controller.ts'
import { missingClaims } from './reconcile.ts'

const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
const template = { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, spec }
const pod = (metadata: object = {}) =>
  ({
    metadata: { name: 'p', namespace: 'n', uid: 'pu', ...metadata },
    spec: {
      volumes: [
        { name: 'v', ephemeral: { volumeClaimTemplate: template } },
        { name: 'w', emptyDir: {} },
      ],
    },
  }) as never

test('a pod gets a claim for each of its ephemeral volumes, unless the name is taken', () => {
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'pu', controller: true, blockOwnerDeletion: true }
  const metadata = { namespace: 'n', name: 'p-v', ownerReferences: [owner], ...template.metadata }
  assert.deepEqual([...missingClaims(pod(), () => undefined)], [{ volume: 'v', create: { metadata, spec } }])
  assert.deepEqual([...missingClaims(pod(), () => ({ metadata }) as never)], [])
  assert.deepEqual(
    [...missingClaims(pod(), () => ({ metadata: { name: 'p-v' } }) as never)],
    [{ volume: 'v', refused: 'PVC n/p-v was not created for pod n/p (pod is not owner)' }],
  )
  assert.deepEqual([...missingClaims(pod({ deletionTimestamp: 'x' }), () => undefined)], [])
})

test('a claim of a pod is made, and made again when it is deleted', async t => {
  const { client, run } = await openControllerBench(t, [Pod, PersistentVolumeClaim, Event])
  const running = run(ephemeralVolumeController)
  const claims = client.of(PersistentVolumeClaim)
  const volumes = [{ name: 'v', ephemeral: { volumeClaimTemplate: template } }]
  await client.of(Pod).create({
    metadata: { name: 'p', namespace: 'default' },
    spec: { containers: [{ name: 'c', image: 'i' }], volumes },
  } as never)
  const first = (await becomes(
    () => claims.get({ namespace: 'default', name: 'p-v' }),
    claim => claim !== undefined,
  ))!
  await claims.delete(first)
  await becomes(
    () => claims.get({ namespace: 'default', name: 'p-v' }),
    claim => claim !== undefined && claim.metadata.uid !== first.metadata.uid,
  )
  await running.idle()
})
