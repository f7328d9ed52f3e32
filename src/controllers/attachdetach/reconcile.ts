/** Plans which volumes to attach to a node and to detach from it, given the volumes that its pods use. */
import { createHash } from 'node:crypto'
import type { Volume } from '../../kinds/rules/persistent-volume/binding.ts'

/** A volume that pods of a node use; the pods as `NAMESPACE/NAME`. */
export type Needed = { readonly volume: Volume; readonly pods: readonly string[] }

export type Attachment = {
  readonly metadata: { readonly name?: string; readonly deletionTimestamp?: string }
  readonly spec: { readonly nodeName: string; readonly source: { readonly persistentVolumeName?: string } }
  readonly status: { readonly attached: boolean }
}

export type NodePlan<A extends Attachment> = {
  readonly attach: readonly Volume[]
  /** Volumes that only one node can have, and another has. */
  readonly blocked: readonly (Needed & { readonly by: string })[]
  readonly detach: readonly A[]
  /** As the status of the node names them. */
  readonly attached: readonly string[]
}

/** The attachment of a volume to a node; its name depends on volume and node alone. */
export const attachmentName = (handle: string, driver: string, node: string): string =>
  `csi-${createHash('sha256').update(`${handle}${driver}${node}`).digest('hex')}`

export const isAttachmentName = (name: string): boolean => /^csi-[0-9a-f]{64}$/.test(name)

const uniqueName = ({ spec: { csi } }: Volume): string => `kubernetes.io/csi/${csi?.driver ?? ''}^${csi?.volumeHandle ?? ''}`

export type NodeState<A extends Attachment> = {
  readonly name: string
  readonly needed: readonly Needed[]
  /** The attachments of the node, and those of the volumes that it needs. */
  readonly attachments: readonly A[]
  readonly volume: (name: string) => Volume | undefined
  /** Volumes that the node still has mounted, as its status names them. */
  readonly inUse: readonly string[]
}

export function planFor<A extends Attachment>({ name, needed, attachments, volume: volumeNamed, inUse }: NodeState<A>): NodePlan<A> {
  const here = new Map<string, A>()
  const elsewhere = new Map<string, string>()
  for (const each of attachments) {
    const volume = each.spec.source.persistentVolumeName
    if (volume === undefined) continue
    if (each.spec.nodeName === name) here.set(volume, each)
    else elsewhere.set(volume, each.spec.nodeName)
  }
  const attach: Volume[] = []
  const blocked: (Needed & { by: string })[] = []
  const wanted = new Set<string>()
  const attached: string[] = []
  for (const each of needed) {
    const { volume } = each
    const key = volume.metadata.name ?? ''
    wanted.add(key)
    const found = here.get(key)
    const by = elsewhere.get(key)
    if (found) {
      if (found.status.attached && !found.metadata.deletionTimestamp) attached.push(uniqueName(volume))
    } else if (by !== undefined && isForOneNode(volume)) blocked.push({ ...each, by })
    else attach.push(volume)
  }
  const detach: A[] = []
  for (const [key, attachment] of here) {
    if (wanted.has(key) || attachment.metadata.deletionTimestamp) continue
    const volume = volumeNamed(key)
    if (volume && inUse.includes(uniqueName(volume))) attached.push(uniqueName(volume))
    else detach.push(attachment)
  }
  return { attach, blocked, detach, attached: attached.sort() }
}

const isForOneNode = ({ spec: { accessModes = [] } }: Volume): boolean =>
  accessModes.length > 0 && accessModes.every(mode => mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod')

/** Why a pod waits for a volume that another node has. `others` are the pods there that use it. */
export function blockedMessage(volume: string, namespace: string, others: readonly string[]): string {
  const own = others.filter(pod => pod.startsWith(`${namespace}/`)).map(pod => pod.slice(namespace.length + 1))
  const foreign = others.length - own.length
  const start = `Multi-Attach error for volume "${volume}" Volume is already`
  if (others.length === 0) return `${start} exclusively attached to one node and can't be attached to another`
  const elsewhere = `${foreign} pod(s) in different namespaces`
  if (own.length === 0) return `${start} used by ${elsewhere}`
  return `${start} used by pod(s) ${own.join(', ')}${foreign > 0 ? ` and ${elsewhere}` : ''}`
}
