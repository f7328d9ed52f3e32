/** Attaches volumes to nodes and detaches them, as the external-attacher beside a real driver does. */
import type { Client, ResourceClient } from '../../client/client.ts'
import { VolumeAttachment } from '../../kinds/storage/volumeattachment.ts'
import { ATTACHER_FINALIZER, DRIVER } from './driver.ts'

export class Attacher {
  readonly #attachments: ResourceClient<VolumeAttachment>

  constructor(client: Client) {
    this.#attachments = client.of(VolumeAttachment)
  }

  async reconcile(name: string): Promise<void> {
    const attachment = this.#attachments.get({ name })
    if (!attachment || attachment.spec.attacher !== DRIVER) return
    if (attachment.metadata.deletionTimestamp) await this.#detach(attachment)
    else await this.#attach(attachment)
  }

  /** Adds the finalizer first: an attachment that is deleted meanwhile stays until it is detached. */
  async #attach(attachment: VolumeAttachment): Promise<void> {
    const { finalizers = [] } = attachment.metadata
    const held = finalizers.includes(ATTACHER_FINALIZER)
      ? attachment
      : await this.#withFinalizers(attachment, [...finalizers, ATTACHER_FINALIZER])
    if (held && !held.status.attached) await this.#attachments.updateStatus({ ...held, status: { attached: true } })
  }

  async #detach(attachment: VolumeAttachment): Promise<void> {
    const { finalizers = [] } = attachment.metadata
    const others = finalizers.filter(each => each !== ATTACHER_FINALIZER)
    if (others.length < finalizers.length) await this.#withFinalizers(attachment, others)
  }

  /** Undefined when the attachment has changed meanwhile. */
  async #withFinalizers(attachment: VolumeAttachment, finalizers: string[]): Promise<VolumeAttachment | undefined> {
    return (await this.#attachments.update({ ...attachment, metadata: { ...attachment.metadata, finalizers } }))?.object
  }
}
