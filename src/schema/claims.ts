/**
 * Allocations from shared ranges, such as cluster IPs: an item is held by one object at a time.
 *
 * A kind declares the items that its objects hold and allocates missing ones; the registry does the rest. An allocation is recorded before
 * the object is stored, and released when the write fails, or the object no longer holds the item or is deleted.
 */
import type { Step } from '../lib/step.ts'
import type { RequestContext } from './request-context.ts'

/** An item of an allocator, held by an object. */
export type Claim = { readonly allocator: string; readonly item: string }

/** An allocated item, or the reason of the failure; clients see `why`. */
export type AllocationResult =
  | { readonly ok: true; readonly item: string }
  | { readonly ok: false; readonly why: string; readonly isFull: boolean }

/** The allocators that one write may use. */
export interface Allocators {
  /** Names of the allocators, preferred ones first. */
  readonly names: readonly string[]
  /** Allocates this item or, if undefined, any free one. */
  take(allocator: string, item?: string): Step<AllocationResult>
  /** Allocates several at once, which share one write. When it fails, none is still pending, as all are released then. */
  takeAll(allocator: string, items: readonly (string | undefined)[]): Step<readonly AllocationResult[]>
}

export interface Claims<O> {
  /** The items that a stored object holds. */
  readonly held: (o: O) => readonly Claim[]
  /**
   * Allocates the items that the object needs beyond the old one and sets them in the object. Runs after mutating admission and before
   * preparation and validation, so the object may contain anything. Refuses by throwing a StatusError.
   */
  readonly take: (o: O, old: O | undefined, taking: Taking) => Step<void>
}

export type Taking = { readonly allocators: Allocators; readonly gate: RequestContext['gate'] }
