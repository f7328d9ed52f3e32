/** The report of a doctor: findings that are wrong, and figures to look at. */

/** A problem is wrong now; a warning will be, or may be. */
export type Level = 'problem' | 'warning'

export type Check = 'store' | 'records' | 'certificates' | 'webhooks' | 'apiservices' | 'deletions' | 'clocks' | 'files'

export type Finding = {
  readonly check: Check
  readonly level: Level
  /** The object, record or file. */
  readonly subject: string
  readonly message: string
  /** The remedy. */
  readonly advice?: string
  /** How `--fix` mends it, where it can. */
  readonly fix?: Fix
}

export type Fix =
  | { readonly kind: 'remove-record'; readonly key: string; readonly modified: number }
  | { readonly kind: 'renew-certificates' }
  | { readonly kind: 'remove-leftover'; readonly path: string }
  | { readonly kind: 'close-file'; readonly path: string }

export type StoreFigures = {
  readonly bytes?: number
  readonly usedBytes?: number
  readonly freePages?: number
  readonly quotaBytes?: number
  readonly isFull?: boolean
  /** The newest revision, and the oldest that can still be read. */
  readonly revision: number
  readonly oldestRevision: number
  /** The oldest revision that a reader, such as a snapshot, keeps from being compacted. */
  readonly heldRevision?: number
}

export type KindFigures = { readonly resource: string; readonly objects: number; readonly bytes: number }

export type UnreadableRecord = { readonly key: string; readonly modified: number; readonly fault: string }

export type RecordFigures = {
  readonly checked: number
  readonly unreadable: readonly UnreadableRecord[]
  readonly kinds: readonly KindFigures[]
  /** The newest creation time of an object. */
  readonly newest?: { readonly key: string; readonly time: string }
}

export type NamedCertificate = { readonly name: string; readonly subject: string; readonly notBefore: string; readonly notAfter: string }

export type SlowRequest = {
  readonly time: string
  readonly verb: string
  readonly path: string
  readonly user: string
  readonly status: number
  readonly ms: number
}

/** The part of a report that only a server can give: the answer of its endpoint. */
export type ServerReport = {
  readonly time: string
  readonly version: string
  readonly groupDomain: string
  readonly store: StoreFigures
  readonly records: RecordFigures
  readonly certificates: readonly NamedCertificate[]
  readonly slowestRequests: readonly SlowRequest[]
}
