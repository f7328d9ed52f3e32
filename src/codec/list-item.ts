/** An item of a list: its bytes, or how to read them when it is sent. */

/** Bytes that are not in memory: a list of many large objects reads one after the other while it is sent. */
export interface LateItem {
  readonly byteLength: number
  /** Throws a StatusError when they can no longer be read. */
  read(): Uint8Array
}
export type ListItem = Uint8Array | LateItem

export const itemBytes = (item: ListItem): Uint8Array => (item instanceof Uint8Array ? item : item.read())
