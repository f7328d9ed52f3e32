/** The parts of the controller of persistent volumes over a registry in memory, for tests of one part at a time. */
import { ClaimReconciler } from '../../src/controllers/persistentvolume/claim-reconciler.ts'
import { VolumeReconciler } from '../../src/controllers/persistentvolume/volume-reconciler.ts'
import { VolumeRecycler } from '../../src/controllers/persistentvolume/volume-recycler.ts'
import { VolumeWriter } from '../../src/controllers/persistentvolume/volume-writer.ts'
import { PersistentVolume } from '../../src/kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../src/kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../src/kinds/core/pod/pod.ts'
import { StorageClass } from '../../src/kinds/storage/storageclass.ts'
import { listRecorder, openControllerBench, type Scope } from './controllers.ts'

export async function openVolumeParts(t: Scope) {
  const { client } = await openControllerBench(t, [PersistentVolume, PersistentVolumeClaim, StorageClass, Pod])
  const [claims, volumes, pods] = [client.of(PersistentVolumeClaim), client.of(PersistentVolume), client.of(Pod)]
  const recorder = listRecorder()
  const enqueued: string[] = []
  const enqueue = (key: string) => void enqueued.push(key)
  const writer = new VolumeWriter(volumes, recorder)
  const recycler = new VolumeRecycler({ client, recorder, writer })
  const claimReconciler = new ClaimReconciler({ client, recorder, writer, enqueue })
  const volumeReconciler = new VolumeReconciler({ client, recorder, writer, recycler, enqueue })
  return {
    ...{ client, claims, volumes, pods, enqueued, events: recorder.events, writer, recycler, claimReconciler, volumeReconciler },
    claim: (name: string) => claims.get({ namespace: 'default', name }),
    volume: (name: string) => volumes.get({ name }),
    addClaim: (name: string, spec: object = {}) =>
      claims.create({
        metadata: { namespace: 'default', name },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'fast', ...spec },
      }),
    addVolume: (name: string, spec: object = {}) =>
      volumes.create({
        metadata: { name },
        spec: {
          accessModes: ['ReadWriteOnce'],
          capacity: { storage: '1Gi' },
          storageClassName: 'fast',
          hostPath: { path: `/data/${name}` },
          ...spec,
        },
      }),
    addPod: (name: string, claimName: string) =>
      pods.create({
        metadata: { namespace: 'default', name },
        spec: {
          containers: [{ name: 'main', image: 'i' }],
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
        },
      }),
  }
}
