/** Warns by events about pods that use the same volume with different SELinux labels or policies. */
import { namedBy, queueKey } from '../../client/change.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { CSIDriver } from '../../kinds/storage/csidriver.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { defineController, watch } from '../controller.ts'
import { CLAIM_INDEX, isOver } from '../protection/usage.ts'
import { conflictsOf, labelsByVolume, type PodLabels, type Use, useOf } from './labels.ts'

export const selinuxWarningController = defineController({
  name: 'selinux-warning-controller',
  identity: 'selinux-warning-controller',
  component: 'selinux_warning',
  create({ client, recorder }) {
    const [pods, claims] = [client.of(Pod), client.of(PersistentVolumeClaim)]
    const [volumes, drivers] = [client.of(PersistentVolume), client.of(CSIDriver)]
    /** Uses by volume and pod. */
    const uses = new Map<string, Map<string, Use>>()
    const volumesOf = new Map<string, Set<string>>()

    function forget(key: string): void {
      for (const volume of volumesOf.get(key) ?? []) {
        const users = uses.get(volume)
        users?.delete(key)
        if (users?.size === 0) uses.delete(volume)
      }
      volumesOf.delete(key)
    }

    /** The volume behind a volume of a pod, and whether it can be mounted with a label; undefined for those of one pod alone. */
    function sharedVolume(pod: Pod, name: string): { readonly id: string; readonly isSupported: boolean } | undefined {
      const volume = pod.spec.volumes?.find(each => each.name === name)
      const claim = volume?.persistentVolumeClaim?.claimName ?? (volume?.ephemeral && `${pod.metadata.name}-${name}`)
      if (claim === undefined) return undefined
      const { volumeName = '' } = claims.get({ namespace: pod.metadata.namespace!, name: claim })?.spec ?? {}
      const bound = volumeName === '' ? undefined : volumes.get({ name: volumeName })
      if (!bound) return undefined
      const { csi, iscsi, fc } = bound.spec
      if (!csi) return { id: volumeName, isSupported: iscsi !== undefined || fc !== undefined }
      return { id: `${csi.driver}^${csi.volumeHandle}`, isSupported: drivers.get({ name: csi.driver })?.spec.seLinuxMount === true }
    }

    function record(key: string, id: string, use: Use): void {
      const users = uses.get(id) ?? new Map<string, Use>()
      if (deepEqual(users.get(key) as never, use as never)) return
      const others = [...users].flatMap(([other, each]) => (other === key ? [] : [each]))
      uses.set(id, users.set(key, use))
      volumesOf.set(key, (volumesOf.get(key) ?? new Set()).add(id))
      for (const { pod: named, reason, message } of conflictsOf(use, others)) {
        const involved = pods.get(named)
        if (involved) recorder.event(involved, 'Normal', reason, message)
      }
    }

    const podsOfClaim = (claim: { readonly namespace: string; readonly name: string }) =>
      [...pods.byIndex(CLAIM_INDEX, queueKey(claim))].map(({ metadata }) => queueKey(metadata))

    return {
      watches: [
        watch(Pod, ({ current, type }) =>
          type !== 'updated' || isOver(current.fields['status.phase']) || !volumesOf.has(queueKey(current)) ? queueKey(current) : undefined,
        ),
        watch(PersistentVolumeClaim, ({ current }) => podsOfClaim(current)),
        watch(PersistentVolume, ({ current }) => {
          const { namespace, name } = current.object?.spec.claimRef ?? {}
          return namespace && name ? podsOfClaim({ namespace, name }) : undefined
        }),
        watch(CSIDriver, ({ current }) => [...uses].flatMap(([id, users]) => (id.startsWith(`${current.name}^`) ? [...users.keys()] : []))),
      ],
      async reconcile(key) {
        const pod = pods.get(namedBy(key))
        if (!pod || isOver(pod.status.phase)) return forget(key)
        const spec = pod.spec as PodLabels
        for (const [name, labels] of labelsByVolume(spec)) {
          if (labels.size > 1) {
            const message = `Volume "${name}" is mounted twice with different SELinux labels inside this pod`
            recorder.event(pod, 'Warning', 'MultipleSELinuxLabels', message)
            continue
          }
          const shared = sharedVolume(pod, name)
          const [label = ''] = labels
          const named = { namespace: pod.metadata.namespace!, name: pod.metadata.name! }
          if (shared) record(key, shared.id, useOf(named, spec, { label, isSupported: shared.isSupported }))
        }
      },
    }
  },
})
