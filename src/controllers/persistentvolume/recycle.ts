/** Decides the next step of recycling a volume, which a pod empties. */
import type { Draft } from '../../client/client.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import { capacityOf, type Volume } from '../../kinds/rules/persistent-volume/binding.ts'
import { integerValue } from '../../lib/quantity.ts'

export const RECYCLER_NAMESPACE = 'default'
const PREFIX = 'recycler-for-'
export const recyclerName = (volume: string): string => `${PREFIX}${volume}`
/** The volume that a pod of this name empties. */
export const recycledBy = (pod: string): string | undefined => (pod.startsWith(PREFIX) ? pod.slice(PREFIX.length) : undefined)

export type RecycleStep =
  | { readonly step: 'start'; readonly pod: Draft<Pod> }
  /** The pod is not ours, or of an earlier life: it says nothing about the volume. */
  | { readonly step: 'clear'; readonly pod: Pod }
  | { readonly step: 'wait' }
  | { readonly step: 'done'; readonly pod: Pod }
  | { readonly step: 'failed'; readonly pod: Pod; readonly why: string }

/** The next step, given the pod with the name of the recycler. `isOurs` tells whether this process has started it. */
export function nextRecycleStep(volume: Volume, pod: Pod | undefined, isOurs: boolean): RecycleStep {
  if (!pod) return { step: 'start', pod: recyclerFor(volume) }
  if (!isOurs) return pod.metadata.deletionTimestamp ? { step: 'wait' } : { step: 'clear', pod }
  const { phase, message } = pod.status
  if (phase === 'Succeeded') return { step: 'done', pod }
  if (phase === 'Failed')
    return { step: 'failed', pod, why: `Recycle failed: failed to recycle volume: ${message || 'pod failed, pod.Status.Message unknown'}` }
  return { step: 'wait' }
}

const GI = 1024n ** 3n
const SECONDS_PER_GI = 30n

function recyclerFor(volume: Volume): Draft<Pod> {
  const { hostPath, nfs } = volume.spec
  const source = hostPath ? { hostPath: { path: hostPath.path } } : { nfs: { server: nfs?.server ?? '', path: nfs?.path ?? '' } }
  const least = hostPath ? 60n : 300n
  const bySize = (integerValue(capacityOf(volume)) / GI) * SECONDS_PER_GI
  return {
    metadata: { namespace: RECYCLER_NAMESPACE, name: recyclerName(volume.metadata.name ?? '') },
    spec: {
      activeDeadlineSeconds: Number(bySize > least ? bySize : least),
      restartPolicy: 'Never',
      volumes: [{ name: 'vol', ...source }],
      containers: [
        {
          name: 'pv-recycler',
          image: 'registry.k8s.io/build-image/debian-base:bookworm-v1.0.6',
          command: ['/bin/sh'],
          args: ['-c', 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'],
          volumeMounts: [{ name: 'vol', mountPath: '/scrub' }],
        },
      ],
    },
  } as Draft<Pod>
}
