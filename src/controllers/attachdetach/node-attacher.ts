/** Attaches to a node the volumes that its pods use, detaches the others, and lists the attached ones in the node's status. */
import type { Client, ResourceClient } from '../../client/client.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import { Node } from '../../kinds/core/node.ts'
import { PersistentVolume } from '../../kinds/core/persistentvolume.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { deepEqual } from '../../lib/json-value.ts'
import type { AttachEvents } from './attach-events.ts'
import { attachmentName, isAttachmentName, type Needed, planFor } from './reconcile.ts'
import type { VolumeUsage } from './volume-usage.ts'

const BY_NODE: IndexDefinition<VolumeAttachment> = { name: 'node', valuesOf: ({ object }) => (object ? [object.spec.nodeName] : []) }
const BY_VOLUME: IndexDefinition<VolumeAttachment> = {
  name: 'volume',
  valuesOf: ({ object }) => (object?.spec.source.persistentVolumeName ? [object.spec.source.persistentVolumeName] : []),
}
/** Annotates nodes whose kubelet leaves attaching to this controller. */
const MANAGED = 'volumes.kubernetes.io/controller-managed-attach-detach'

export type NodeAttacherParts = {
  readonly client: Client
  readonly usage: Pick<VolumeUsage, 'neededOn'>
  readonly events: Pick<AttachEvents, 'blocked'>
}

export class NodeAttacher {
  readonly #nodes: ResourceClient<Node>
  readonly #volumes: ResourceClient<PersistentVolume>
  readonly #attachments: ResourceClient<VolumeAttachment>
  readonly #parts: NodeAttacherParts

  constructor(parts: NodeAttacherParts) {
    this.#parts = parts
    this.#nodes = parts.client.of(Node)
    this.#volumes = parts.client.of(PersistentVolume)
    this.#attachments = parts.client.of(VolumeAttachment)
  }

  async reconcile(name: string): Promise<void> {
    const { usage, events } = this.#parts
    const node = this.#nodes.get({ name })
    if (node && !Object.hasOwn(node.metadata.annotations ?? {}, MANAGED)) return
    // A node that is gone needs nothing: its volumes are detached.
    const needed = node ? usage.neededOn(name) : []
    const plan = planFor({
      name,
      needed,
      attachments: this.#attachmentsFor(name, needed),
      volume: volume => this.#volumes.get({ name: volume }),
      inUse: node?.status.volumesInUse ?? [],
    })
    for (const volume of plan.attach) await this.#attach(volume, name)
    for (const blocked of plan.blocked) events.blocked(name, blocked)
    // A volume leaves the status before it is detached, so that the kubelet mounts it no more.
    if (node) await this.#report(node, plan.attached)
    for (const attachment of plan.detach) await this.#attachments.delete(attachment)
  }

  async #attach({ metadata, spec }: Needed['volume'], nodeName: string): Promise<void> {
    const { driver = '', volumeHandle = '' } = spec.csi ?? {}
    await this.#attachments.create({
      metadata: { name: attachmentName(volumeHandle, driver, nodeName) },
      spec: { attacher: driver, nodeName, source: { persistentVolumeName: metadata.name } },
    })
  }

  async #report({ metadata, status }: Node, attached: readonly string[]): Promise<void> {
    const volumesAttached = attached.map(name => ({ name, devicePath: '' }))
    if (deepEqual(status.volumesAttached ?? [], volumesAttached)) return
    await this.#nodes.patch(metadata, { status: { volumesAttached } }, { subresource: 'status' })
  }

  /** The attachments of a node that this controller has made, and all attachments of the volumes that the node needs. */
  #attachmentsFor(node: string, needed: readonly Needed[]): VolumeAttachment[] {
    const found = new Map<string, VolumeAttachment>()
    const add = (each: VolumeAttachment) => found.set(each.metadata.name ?? '', each)
    for (const each of this.#attachments.byIndex(BY_NODE, node)) if (this.#isOwn(each)) add(each)
    for (const { volume } of needed) for (const each of this.#attachments.byIndex(BY_VOLUME, volume.metadata.name ?? '')) add(each)
    return [...found.values()]
  }

  /** Attachments with other names belong to others and are ignored. For a deleted volume only the form of the name can be checked. */
  #isOwn({ spec, metadata: { name = '' } }: VolumeAttachment): boolean {
    const { persistentVolumeName: volume } = spec.source
    if (volume === undefined) return false
    const handle = this.#volumes.get({ name: volume })?.spec.csi?.volumeHandle
    return handle === undefined ? isAttachmentName(name) : name === attachmentName(handle, spec.attacher, spec.nodeName)
  }
}
