// Sets of fields, such as those that a manager owns or that a write changed.
//
// A set is a trie of path elements. `{ spec: { replicas }, labels, labels.app }` is
//
//   f:spec ─ f:replicas*          * = the field itself is in the set
//   f:labels* ─ f:app*
//
// Sets are immutable and share what they have in common: an operation that changes nothing returns its first operand,
// so "nothing changed" is an identity check. Every node below the root is owned or has children.
import type { JsonObject } from '../lib/json-value.ts'
import { finish } from '../lib/step.ts'
import { elementText, fieldElement, type PathElement, sortElements } from './path-element.ts'

export interface FieldSet {
  /** Whether the field at this path is itself in the set; never at the root, as no manager owns a whole object. */
  readonly owned: boolean
  readonly children: ReadonlyMap<PathElement, FieldSet> | undefined
  /** The document of this part, once it was read or written; only `fields-v1.ts` looks at it. */
  document: JsonObject | undefined
}

export type Path = readonly PathElement[]

/** A part of a set, or with `owned` false a whole one. */
export const fieldSet = (owned: boolean, children: ReadonlyMap<PathElement, FieldSet> | undefined): FieldSet => ({
  owned,
  children,
  document: undefined,
})

const NO_FIELDS: JsonObject = Object.freeze({})
export const EMPTY_SET: FieldSet = Object.freeze({ owned: false, children: undefined, document: NO_FIELDS })
/** A field in the set with none of its parts named. */
export const LEAF: FieldSet = Object.freeze({ owned: true, children: undefined, document: NO_FIELDS })

/** The set of the named fields, each a dotted path of field names such as `metadata.name`. */
export function fieldSetOfNames(...names: readonly string[]): FieldSet {
  const builder = new FieldSetBuilder()
  for (const name of names) builder.add(name.split('.').map(fieldElement))
  return builder.set
}

export const isEmptySet = (set: FieldSet): boolean => set.children === undefined

/** All fields of both. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || (b.children === undefined && (a.owned || !b.owned))) return a
  if (a.children === undefined && (b.owned || !a.owned)) return b
  // The larger set is the one to copy.
  if (a.children !== undefined && b.children !== undefined && b.children.size > MUCH_LARGER * a.children.size) return union(b, a)
  let children = a.children
  if (b.children !== undefined) {
    let merged: Map<PathElement, FieldSet> | undefined
    for (const [element, theirs] of b.children) {
      const ours = a.children?.get(element)
      const both = ours === undefined ? theirs : union(ours, theirs)
      if (both === ours) continue
      merged ??= new Map(a.children)
      merged.set(element, both)
    }
    children = merged ?? children
  }
  const owned = a.owned || b.owned
  return children === a.children && owned === a.owned ? a : fieldSet(owned, children)
}

const MUCH_LARGER = 8

/** The fields that are in both. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a
  const owned = a.owned && b.owned
  return filtered(a, owned, (element, child) => {
    const theirs = b.children?.get(element)
    return theirs && intersection(child, theirs)
  })
}

/** The fields of the first that are not in the second; a field stays though its parent goes, and a parent though its parts go. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return EMPTY_SET
  if (b.children === undefined && !(a.owned && b.owned)) return a
  const owned = a.owned && !b.owned
  if (b.children === undefined) return a.children === undefined ? EMPTY_SET : fieldSet(owned, a.children)
  return filtered(a, owned, (element, child) => {
    const theirs = b.children?.get(element)
    return theirs === undefined ? child : difference(child, theirs)
  })
}

/** The fields of the first that are neither in the second nor part of a field in it. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (b.children === undefined) return a
  return filtered(a, a.owned, (element, child) => {
    const theirs = b.children?.get(element)
    if (theirs === undefined) return child
    return theirs.owned ? undefined : recursiveDifference(child, theirs)
  })
}

/** The fields of which no part is in the set. */
export function leaves(set: FieldSet): FieldSet {
  return filtered(set, set.owned && set.children === undefined, (_, child) => leaves(child))
}

export function equalSets(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true
  if (a.owned !== b.owned || a.children?.size !== b.children?.size) return false
  if (a.children === undefined || b.children === undefined) return true
  for (const [element, child] of a.children) {
    const theirs = b.children.get(element)
    if (theirs === undefined || !equalSets(child, theirs)) return false
  }
  return true
}

/** The same set as `next`, made of the parts of `previous` wherever they are equal. */
export function sharing(previous: FieldSet, next: FieldSet): FieldSet {
  if (next.children === undefined || previous.children === undefined) return next
  let same = previous.owned === next.owned && previous.children.size === next.children.size
  let children: Map<PathElement, FieldSet> | undefined
  for (const [element, child] of next.children) {
    const before = previous.children.get(element)
    const shared = before === undefined ? child : sharing(before, child)
    if (shared !== before) same = false
    if (shared === child) continue
    children ??= new Map(next.children)
    children.set(element, shared)
  }
  if (same) return previous
  return children === undefined ? next : fieldSet(next.owned, children)
}

/** Whether the field at the path is itself in the set. */
export function hasPath(set: FieldSet, path: Path): boolean {
  let node: FieldSet | undefined = set
  for (const element of path) node = node?.children?.get(element)
  return node?.owned === true && path.length > 0
}

/** How many fields are in the set. */
export function countFields({ children }: FieldSet): number {
  let count = 0
  for (const child of children?.values() ?? []) count += (child.owned ? 1 : 0) + countFields(child)
  return count
}

/** The fields in the set, in the order in which conflicts are reported: those of a level first, then those below them. */
export function pathsOf(set: FieldSet, limit = Number.POSITIVE_INFINITY): Path[] {
  const found: Path[] = []
  collect(set, [], { found, limit })
  return found
}

function collect(set: FieldSet, above: Path, into: { readonly found: Path[]; readonly limit: number }): void {
  if (set.children === undefined) return
  const { found, limit } = into
  const sorted = finish(sortElements(set.children.keys()))
  for (const element of sorted) {
    if (found.length >= limit) return
    if (set.children.get(element)!.owned) found.push([...above, element])
  }
  for (const element of sorted) {
    if (found.length >= limit) return
    const child = set.children.get(element)!
    if (child.children !== undefined) collect(child, [...above, element], into)
  }
}

/** `.spec.template.spec.containers[name="main"].image` */
export const pathText = (path: Path): string => path.map(elementText).join('')

/** Replaces each child by the result of `keep`; drops those that are left empty. */
function filtered(set: FieldSet, owned: boolean, keep: (element: PathElement, child: FieldSet) => FieldSet | undefined): FieldSet {
  if (set.children === undefined) return owned === set.owned ? set : owned ? LEAF : EMPTY_SET
  let children: Map<PathElement, FieldSet> | undefined
  let same = 0
  for (const [element, child] of set.children) {
    const kept = keep(element, child)
    if (children === undefined) {
      if (kept === child) {
        same++
        continue
      }
      children = firstOf(set.children, same)
    }
    if (kept?.owned || kept?.children) children.set(element, kept)
  }
  if (children === undefined) return owned === set.owned ? set : fieldSet(owned, set.children)
  if (children.size > 0) return fieldSet(owned, children)
  return owned ? LEAF : EMPTY_SET
}

/** The first so many entries. */
function firstOf(entries: ReadonlyMap<PathElement, FieldSet>, count: number): Map<PathElement, FieldSet> {
  const first = new Map<PathElement, FieldSet>()
  if (count === 0) return first
  for (const [element, child] of entries) {
    first.set(element, child)
    if (first.size === count) break
  }
  return first
}

type Growing = { owned: boolean; children: Map<PathElement, Growing> | undefined; document: JsonObject | undefined }

const growing = fieldSet as (owned: boolean, children: Map<PathElement, Growing> | undefined) => Growing

/** Collects fields one by one into a set. */
export class FieldSetBuilder {
  #root: Growing = growing(false, undefined)

  /** The set collected so far; nothing may be added after it is taken. */
  get set(): FieldSet {
    return this.#root.children === undefined ? EMPTY_SET : this.#root
  }

  add(path: Path): void {
    this.addTree(path, LEAF)
  }

  /** Adds a set below a path at which nothing was added before, the path itself if the set's root is owned. */
  addTree(path: Path, tree: FieldSet): void {
    if (path.length === 0) {
      if (tree.children !== undefined) this.#root = growing(false, tree.children as Map<PathElement, Growing>)
      return
    }
    let node = this.#root
    const last = path.length - 1
    for (let i = 0; i < last; i++) {
      node.children ??= new Map()
      let next = node.children.get(path[i]!)
      if (next === undefined || next === LEAF) {
        next = growing(next?.owned ?? false, undefined)
        node.children.set(path[i]!, next)
      }
      node = next
    }
    node.children ??= new Map()
    const there = node.children.get(path[last]!)
    if (there === undefined) node.children.set(path[last]!, tree as Growing)
    else if (tree.owned) node.children.set(path[last]!, growing(true, there.children))
  }
}
