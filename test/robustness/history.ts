/** The record of a run: every call with its times and response, every watch with its events. The checker sees nothing else. */
import type { Selection } from './selection.ts'

export type Revision = number
/** Milliseconds of one clock that all clients share. */
export type Time = number
/** `configmaps/east/k-1`; the namespace of cluster kinds is empty. Keys compare as the server orders them. */
export type Key = string
export type Labels = Readonly<Record<string, string>>

/** One revision of an object as a client saw it. Every write sends a value of its own, so a value identifies the write. */
export type Seen = {
  readonly key: Key
  readonly revision: Revision
  readonly uid: string
  readonly value: string
  readonly labels: Labels
}

/** A request and its times; `end` is the time of the response, or when it was clear that none comes. */
type Call = { readonly client: string; readonly start: Time; readonly end: Time }

/** The outcomes of a write. Unknown: no response came, so it may or may not have happened. */
export type WriteOutcome =
  | { readonly is: 'done'; readonly object: Seen }
  | { readonly is: 'refused'; readonly code: number }
  | { readonly is: 'unknown' }

export type Put = Call & {
  readonly type: 'put'
  readonly verb: 'create' | 'replace' | 'patch'
  readonly key: Key
  readonly value: string
  /** The labels sent; null in a patch removes one. */
  readonly labels: Readonly<Record<string, string | null>>
  /** The only revision that the write may replace. */
  readonly expects?: Revision
  readonly outcome: WriteOutcome
}

export type Delete = Call & {
  readonly type: 'delete'
  readonly key: Key
  readonly expects?: Revision
  /** Not every response to a delete has the revision of the deletion, but all identify the object. */
  readonly outcome: { readonly is: 'done'; readonly uid: string; readonly revision?: Revision } | Exclude<WriteOutcome, { is: 'done' }>
}

/** Delete collection: each selected object on its own, not all at once. */
export type Sweep = Call & {
  readonly type: 'sweep'
  readonly selection: Selection
  readonly outcome:
    | { readonly is: 'done'; readonly revision: Revision; readonly items: readonly Seen[] }
    | Exclude<WriteOutcome, { is: 'done' }>
}

export type Get = Call & { readonly type: 'get'; readonly key: Key; readonly found: Seen | undefined }

/** One page of a list; a whole list is one page without a limit. */
export type Page = Call & {
  readonly type: 'page'
  readonly selection: Selection
  /** The page begins after this key, the last of the page before. */
  readonly after?: Key
  /** The requested snapshot: by the client, or by the page before. */
  readonly exactly?: Revision
  readonly atLeast?: Revision
  /** Whether it may be older than known state: one of several servers may be behind. */
  readonly mayBeOld?: boolean
  readonly revision: Revision
  readonly items: readonly Seen[]
  readonly more: boolean
  readonly remaining?: number
}

export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly time: Time; readonly object: Seen }
  | { readonly type: 'BOOKMARK'; readonly time: Time; readonly revision: Revision; readonly endsInitial: boolean }

/** One watch, from its request to its end. */
export type Session = Call & {
  readonly type: 'watch'
  readonly selection: Selection
  /** Watches everything after this revision; undefined when the current objects were requested first. */
  readonly from?: Revision
  /** Whether it may begin with older than known state. */
  readonly mayBeOld?: boolean
  /** Whether a bookmark will mark the end of the initial objects. */
  readonly isMarked: boolean
  readonly events: readonly WatchEvent[]
  /** Expired: the server has compacted the revision that the client needs. */
  readonly how: 'closed' | 'ended' | 'cut' | 'expired'
}

export type Act = Put | Delete | Sweep | Get | Page | Session

export type History = {
  /** The whole state before. */
  readonly base: { readonly revision: Revision; readonly objects: readonly Seen[] }
  /** The minimum history window of the server. */
  readonly windowMs: number
  readonly acts: readonly Act[]
}

/** A violated guarantee, and its position in the history. */
export type Violation = {
  readonly promise: string
  readonly what: string
  readonly key?: Key
  readonly revision?: Revision
  readonly time?: Time
}

export const sameObject = (a: Seen, b: Seen): boolean =>
  a.key === b.key && a.uid === b.uid && a.value === b.value && sameLabels(a.labels, b.labels)

export function sameLabels(a: Labels, b: Labels): boolean {
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every(key => a[key] === b[key])
}
