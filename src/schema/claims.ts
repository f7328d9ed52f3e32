/**
 * What objects take from stocks that all of them share, such as addresses: one thing is held by one object at a time.
 *
 * A kind says what its objects hold and takes for them what they lack; the registry does the rest. What is taken is written
 * down before the object is stored, and given back when the object is not stored after all, no longer holds it, or goes.
 */

/** One thing of a stock. */
export type Claim = { readonly stock: string; readonly item: string }

/** What came of asking for something; `why` is what clients read. */
export type Taken = { readonly ok: true; readonly item: string } | { readonly ok: false; readonly why: string; readonly isFull: boolean }

/** The stocks that one write may take from. */
export interface Stocks {
  /** The stocks there are, preferred ones first. */
  readonly names: readonly string[]
  /** Takes this item or, when none is named, any free one. */
  take(stock: string, item?: string): Promise<Taken>
}

export interface Claims<O> {
  /** What a stored object holds. */
  readonly held: (o: O) => readonly Claim[]
  /**
   * Writes into the object what it holds beyond the old one, having taken it. Runs once admission has changed the object and
   * before it is prepared and validated, so anything may be in it. Refuses by throwing a StatusError.
   */
  readonly take: (o: O, old: O | undefined, stocks: Stocks) => Promise<void>
}
