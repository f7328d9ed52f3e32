/** Fences: writes are refused once another key of the store has changed. */

/**
 * A key of the store and the revision that it must still have when a write is made, 0 where there is no such key. A write of the key
 * holds back every write with this fence that is still on its way: what the last leader sent must not follow what the next one does,
 * and nothing may be created in a namespace that is being emptied.
 */
export type Fence = { readonly key: string; readonly modified: number }
