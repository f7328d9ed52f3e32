/** Creates VolumeAttachments for volumes that pods of a node use, and deletes those that are no longer used there. */
import { type IndexDefinition, NODE_INDEX } from '../../client/informer.ts'
import { type Change, namedBy, queueKey } from '../../client/object-revision.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { PersistentVolumeClaim } from '../../kinds/core/persistentvolumeclaim.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { CSIDriver } from '../../kinds/storage/csidriver.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { deepEqual } from '../../lib/json-value.ts'
import { defineController, watch } from '../controller.ts'
import { CLAIM_INDEX, claimsOf, isOver } from '../protection/usage.ts'
import { attachmentName, blockedMessage, isAttachmentName, type Needed, planFor } from './reconcile.ts'

type Volume = PersistentVolume

const BY_NODE: IndexDefinition<VolumeAttachment> = { name: 'node', valuesOf: ({ object }) => (object ? [object.spec.nodeName] : []) }
const BY_VOLUME: IndexDefinition<VolumeAttachment> = {
  name: 'volume',
  valuesOf: ({ object }) => (object?.spec.source.persistentVolumeName ? [object.spec.source.persistentVolumeName] : []),
}
/** On nodes whose kubelet leaves it to this controller. */
const MANAGED = 'volumes.kubernetes.io/controller-managed-attach-detach'

export const attachDetachController = defineController({
  name: 'persistentvolume-attach-detach-controller',
  identity: 'attachdetach-controller',
  component: 'attachdetach-controller',
  workers: 5,
  create({ client, recorder }) {
    const [pods, nodes, claims] = [client.of(Pod), client.of(Node), client.of(PersistentVolumeClaim)]
    const [volumes, attachments, drivers] = [client.of(PersistentVolume), client.of(VolumeAttachment), client.of(CSIDriver)]
    /** By volume: the nodes that wait until another one lets go of it. */
    const blockedOn = new Map<string, Set<string>>()

    const hasClaims = (namespace: string): boolean => {
      for (const _ of claims.revisions({ namespace })) return true
      return false
    }
    function onPod({ type, current, previous }: Change<Pod>): string | undefined {
      const node = current.fields['spec.nodeName']
      if (!node || !hasClaims(current.namespace)) return undefined
      const isRelevant =
        type !== 'updated' || !previous?.fields['spec.nodeName'] || current.terminating || isOver(current.fields['status.phase'])
      return isRelevant && current.object && claimsOf(current.object).length > 0 ? node : undefined
    }

    /** The volumes that pods of a node use, and that have to be attached for that. */
    function neededOn(node: string): Needed[] {
      const found = new Map<string, { volume: Volume; pods: string[] }>()
      for (const pod of pods.byIndex(NODE_INDEX, node)) {
        if (isDone(pod)) continue
        for (const key of claimsOf(pod)) {
          const volume = boundVolume(key)
          if (!volume || !isAttachable(volume)) continue
          const known = found.get(volume.metadata.name ?? '')
          if (known) known.pods.push(queueKey(pod.metadata))
          else found.set(volume.metadata.name ?? '', { volume, pods: [queueKey(pod.metadata)] })
        }
      }
      return [...found.values()]
    }

    function boundVolume(key: string): Volume | undefined {
      const claim = claims.get(namedBy(key))
      if (claim?.status.phase !== 'Bound' || !claim.spec.volumeName) return undefined
      const volume = volumes.get({ name: claim.spec.volumeName })
      return volume && volume.spec.claimRef?.uid === claim.metadata.uid ? volume : undefined
    }

    const isAttachable = ({ spec: { csi } }: Volume): boolean =>
      csi !== undefined && drivers.get({ name: csi.driver })?.spec?.attachRequired !== false

    function attachmentsAround(name: string, needed: readonly Needed[]): VolumeAttachment[] {
      const found = new Map<string, VolumeAttachment>()
      const add = (each: VolumeAttachment) => found.set(each.metadata.name ?? '', each)
      for (const each of attachments.byIndex(BY_NODE, name)) if (isMadeHere(each)) add(each)
      for (const { volume } of needed) for (const each of attachments.byIndex(BY_VOLUME, volume.metadata.name ?? '')) add(each)
      return [...found.values()]
    }

    /** Attachments with other names belong to others and are ignored. For a deleted volume only the form of the name can be checked. */
    function isMadeHere({ spec, metadata: { name = '' } }: VolumeAttachment): boolean {
      const { persistentVolumeName: volume } = spec.source
      if (volume === undefined) return false
      const handle = volumes.get({ name: volume })?.spec.csi?.volumeHandle
      return handle === undefined ? isAttachmentName(name) : name === attachmentName(handle, spec.attacher, spec.nodeName)
    }

    async function reconcileNode(name: string): Promise<void> {
      const node = nodes.get({ name })
      if (node && !Object.hasOwn(node.metadata.annotations ?? {}, MANAGED)) return
      // What was attached to a node that is gone is detached.
      const needed = node ? neededOn(name) : []
      const plan = planFor({
        name,
        needed,
        attachments: attachmentsAround(name, needed),
        volume: key => volumes.get({ name: key }),
        inUse: node?.status.volumesInUse ?? [],
      })
      for (const { metadata, spec } of plan.attach) {
        const { driver = '', volumeHandle = '' } = spec.csi ?? {}
        await attachments.create({
          metadata: { name: attachmentName(volumeHandle, driver, name) },
          spec: { attacher: driver, nodeName: name, source: { persistentVolumeName: metadata.name } },
        })
      }
      for (const { volume, pods: waiting, by } of plan.blocked) sayBlocked(volume, waiting, { node: name, by })
      // The status says first what is no longer to be used.
      if (node) await report(node, plan.attached)
      for (const each of plan.detach) await attachments.delete(each)
    }

    function usersOn(node: string, { spec: { claimRef } }: Pick<Needed['volume'], 'spec'>) {
      const users = claimRef ? [...pods.byIndex(CLAIM_INDEX, queueKey(claimRef))] : []
      return users.filter(pod => pod.spec.nodeName === node && !isDone(pod))
    }

    function sayBlocked(volume: Needed['volume'], waiting: readonly string[], { node, by }: { node: string; by: string }): void {
      const name = volume.metadata.name ?? ''
      const nodesWaiting = blockedOn.get(name) ?? new Set()
      if (nodesWaiting.has(node)) return
      blockedOn.set(name, nodesWaiting.add(node))
      const there = usersOn(by, volume).map(({ metadata }) => queueKey(metadata))
      for (const key of waiting) {
        const pod = pods.get(namedBy(key))
        if (pod) recorder.event(pod, 'Warning', 'FailedAttachVolume', blockedMessage(name, pod.metadata.namespace ?? '', there))
      }
    }

    async function report({ metadata, status }: Node, attached: readonly string[]): Promise<void> {
      const volumesAttached = attached.map(name => ({ name, devicePath: '' }))
      if (deepEqual(status.volumesAttached ?? [], volumesAttached)) return
      await nodes.patch(metadata, { status: { volumesAttached } }, { subresource: 'status' })
    }

    /** The driver has reported whether a volume is attached: waiting pods get an event. */
    function onAttachment({ type, current, previous }: Change<VolumeAttachment>): string[] {
      const { spec, status } = current.object ?? {}
      const volume = spec?.source.persistentVolumeName
      if (!spec || volume === undefined) return []
      const was = previous?.object?.status
      const error = status?.attachError?.message
      if (type === 'updated' && status?.attached && !was?.attached)
        tell(volume, spec.nodeName, { type: 'Normal', message: `AttachVolume.Attach succeeded for volume "${volume}" ` })
      else if (type === 'updated' && error !== undefined && error !== was?.attachError?.message)
        tell(volume, spec.nodeName, { type: 'Warning', message: `AttachVolume.Attach failed for volume "${volume}" : ${error}` })
      if (type !== 'deleted') return [spec.nodeName]
      const waiting = [...(blockedOn.get(volume) ?? [])]
      blockedOn.delete(volume)
      return [spec.nodeName, ...waiting]
    }

    function tell(name: string, node: string, { type, message }: { type: 'Normal' | 'Warning'; message: string }): void {
      const volume = volumes.get({ name })
      const reason = type === 'Normal' ? 'SuccessfulAttachVolume' : 'FailedAttachVolume'
      for (const pod of volume ? usersOn(node, volume) : []) recorder.event(pod, type, reason, message)
    }

    return {
      watches: [
        watch(Pod, change => onPod(change as Change<Pod>)),
        watch(Node, ({ current, type, previous }) => {
          const isSame = deepEqual(current.object?.status.volumesInUse, previous?.object?.status.volumesInUse)
          return type === 'updated' && isSame ? undefined : current.name
        }),
        watch(PersistentVolumeClaim, ({ current, previous }) => {
          if (current.object?.status.phase !== 'Bound' || previous?.object?.status.phase === 'Bound') return undefined
          return [...pods.byIndex(CLAIM_INDEX, queueKey(current))].flatMap(({ spec }) => spec.nodeName || [])
        }),
        watch(VolumeAttachment, onAttachment),
      ],
      reconcile: reconcileNode,
    }
  },
})

/** Whether a pod needs its volumes no more: it has ended, or is being deleted and none of its containers runs. */
function isDone({ metadata, status }: { readonly metadata: Pod['metadata']; readonly status: Pod['status'] }): boolean {
  if (isOver(status.phase)) return true
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
  return metadata.deletionTimestamp !== undefined && all.length > 0 && all.every(({ state }) => !state?.running)
}
