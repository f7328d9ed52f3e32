/** Which objects of a resource a list or watch is about, in the terms that indexes understand. */
import type { CachedRevision } from './cached-revision.ts'

export type Selection = {
  /** Empty for all namespaces. */
  readonly namespace: string
  /** Empty for any name. */
  readonly name: string
  /** Something every selected object must have, for an index to start from: one of these values of a label or field. */
  readonly term?: Term
  /** A condition beside namespace and name. */
  readonly test?: (object: CachedRevision) => boolean
}

export type Term = { readonly on: 'label' | 'field'; readonly key: string; readonly values: readonly string[] }

export const selects = (s: Selection, v: CachedRevision): boolean =>
  (s.namespace === '' || s.namespace === v.namespace) && (s.name === '' || s.name === v.name) && (s.test === undefined || s.test(v))

/** The value by which an object is found under a term's key. */
export const termValue = (on: Term['on'], key: string, v: CachedRevision): string | undefined => {
  const from = on === 'label' ? v.labels : v.fields
  return Object.hasOwn(from, key) ? from[key] : undefined
}
