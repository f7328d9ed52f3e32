/** Remembers when each kubelet was last heard of: by a heartbeat in the status of its node, or by a renewal of its lease. */
import type { Node } from '../../kinds/core/node.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { readyOf } from './reconcile.ts'

/** The last contact with a kubelet. After a restart of this server every node gets a full grace period. */
type Contact = { readonly uid: string; atMs: number; heartbeat: string | undefined; renewed: string | undefined }

export type NodeContactsParts = {
  /** Milliseconds. */
  readonly now: () => number
  /** The renewal time of the lease of a node. */
  readonly renewTimeOf: (node: string) => string | undefined
  readonly onRegistered: (node: Node) => void
}

export class NodeContacts {
  readonly #parts: NodeContactsParts
  readonly #contacts = new Map<string, Contact>()

  constructor(parts: NodeContactsParts) {
    this.#parts = parts
  }

  /** For how many milliseconds nothing was heard of the kubelet of a node. */
  silenceOf(node: Node): number {
    const { name = '' } = node.metadata
    const nowMs = this.#parts.now()
    const heartbeat = readyOf(node)?.lastHeartbeatTime
    const contact = this.#contactOf(node, heartbeat, nowMs)
    this.#contacts.set(name, contact)
    if (heartbeat !== contact.heartbeat) contact.atMs = nowMs
    contact.heartbeat = heartbeat
    return nowMs - contact.atMs
  }

  /** A lease was renewed. */
  renewed(name: string, renewTime: string | undefined): void {
    const contact = this.#contacts.get(name)
    if (!contact || renewTime === undefined || renewTime <= (contact.renewed ?? '')) return
    contact.renewed = renewTime
    contact.atMs = this.#parts.now()
  }

  forget(name: string): void {
    this.#contacts.delete(name)
  }

  #contactOf(node: Node, heartbeat: string | undefined, nowMs: number): Contact {
    const { name = '', uid = '', creationTimestamp } = node.metadata
    const known = this.#contacts.get(name)
    if (known?.uid === uid) return known
    if (!known) this.#parts.onRegistered(node)
    const renewed = this.#parts.renewTimeOf(name)
    const isHeard = Boolean(heartbeat || renewed)
    return { uid, atMs: isHeard ? nowMs : Math.min(nowMs, millisecondsAt(creationTimestamp, nowMs)), heartbeat, renewed }
  }
}
