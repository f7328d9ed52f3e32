/**
 * Which nodes need which objects. Edges are added and removed with the stored objects that define them:
 *
 *     secret s ──→ pod p ──→ node n            defined by pod p
 *     secret t ──→ volume v ──→ claim c        defined by volume v
 *     claim c  ──→ pod p                       defined by pod p
 *
 * so node n may read s, and t, which its pod needs for the volume behind its claim. Changes are only recorded when they arrive; objects are
 * decoded when a node sends a request.
 */
import type { AnyObject } from '../../schema/object-meta.ts'
import { type Edge, edgesOf, nodeVertex, type RelatingResource, type Vertex, vertex } from './relations.ts'

type Noted = { readonly namespace: string; readonly name: string; readonly read: () => unknown }
type Change = { readonly plural: RelatingResource; readonly read: (() => unknown) | undefined }

export class NodeGraph {
  /** The edges of a vertex, each with the number of objects that define it. */
  readonly #edges = new Map<Vertex, Map<Vertex, number>>()
  /** The edges that each object defines. */
  readonly #edgesOfObject = new Map<Vertex, readonly Edge[]>()
  readonly #changed = new Map<Vertex, Change>()

  /** Records the current state of an object. */
  put(plural: RelatingResource, { namespace, name, read }: Noted): void {
    this.#changed.set(vertex(plural, namespace, name), { plural, read })
  }

  remove(plural: RelatingResource, { namespace, name }: Omit<Noted, 'read'>): void {
    this.#changed.set(vertex(plural, namespace, name), { plural, read: undefined })
  }

  /** Whether there is a path from an object to a node. */
  leadsTo(from: Vertex, nodeName: string): boolean {
    this.#settle()
    const goal = nodeVertex(nodeName)
    const seen = new Set<Vertex>()
    const ahead = [from]
    for (let at = ahead.pop(); at !== undefined; at = ahead.pop())
      for (const next of this.#edges.get(at)?.keys() ?? []) {
        if (next === goal) return true
        if (seen.has(next)) continue
        seen.add(next)
        ahead.push(next)
      }
    return false
  }

  #settle(): void {
    for (const [source, { plural, read }] of this.#changed) {
      for (const edge of this.#edgesOfObject.get(source) ?? []) this.#take(edge)
      const object = read?.() as AnyObject | undefined
      const edges = object ? edgesOf(plural, object) : []
      if (edges.length > 0) this.#edgesOfObject.set(source, edges)
      else this.#edgesOfObject.delete(source)
      for (const edge of edges) this.#add(edge)
    }
    this.#changed.clear()
  }

  #add([from, to]: Edge): void {
    let next = this.#edges.get(from)
    if (!next) this.#edges.set(from, (next = new Map()))
    next.set(to, (next.get(to) ?? 0) + 1)
  }

  #take([from, to]: Edge): void {
    const next = this.#edges.get(from)
    const count = next?.get(to) ?? 0
    if (!next || count === 0) return
    if (count > 1) next.set(to, count - 1)
    else next.delete(to)
    if (next.size === 0) this.#edges.delete(from)
  }
}
