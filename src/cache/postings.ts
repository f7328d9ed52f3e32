/**
 * Which current objects have which value of a label or field. An index is built when its key is first used. Every write
 * updates all indexes, and clients choose the keys: only the most recently used ones are kept.
 */

import type { CachedRevision } from './cached-revision.ts'
import { type Term, termValue } from './selection.ts'

type Index = { readonly on: Term['on']; readonly key: string; readonly byValue: Map<string, Set<string>> }

const MAX_INDEXES = 32

export class Postings {
  /** Most recently used last. */
  readonly #indexes = new Map<string, Index>()

  /** The keys of objects that have one of the term's values; `all` is read when the index is first needed. */
  keys(term: Term, all: Iterable<CachedRevision>): string[] {
    const id = `${term.on} ${term.key}`
    let index = this.#indexes.get(id)
    if (!index) {
      index = { on: term.on, key: term.key, byValue: new Map() }
      for (const object of all) add(index, object)
    }
    this.#indexes.delete(id)
    this.#indexes.set(id, index)
    if (this.#indexes.size > MAX_INDEXES) this.#indexes.delete(this.#indexes.keys().next().value!)
    return term.values.flatMap(value => [...(index.byValue.get(value) ?? [])])
  }

  /** Moves an object from its old values to its new ones. */
  replace(before: CachedRevision | undefined, after: CachedRevision | undefined): void {
    for (const index of this.#indexes.values()) {
      if (before) remove(index, before)
      if (after) add(index, after)
    }
  }
}

function add({ on, key, byValue }: Index, object: CachedRevision): void {
  const value = termValue(on, key, object)
  if (value === undefined) return
  const keys = byValue.get(value)
  if (keys) keys.add(object.key)
  else byValue.set(value, new Set([object.key]))
}

function remove({ on, key, byValue }: Index, object: CachedRevision): void {
  const value = termValue(on, key, object)
  if (value === undefined) return
  const keys = byValue.get(value)
  keys?.delete(object.key)
  if (keys?.size === 0) byValue.delete(value)
}
