/** Which writes take long. */
import type { CallContext } from './api.ts'

/** Bytes from which on the steps of a write take long enough for others to notice. */
const LARGE_BYTES = 128 * 1024

/** Whether the steps of a write should be told apart by turns: when what is written, or what is stored, is large. */
export const isLong = ({ body }: CallContext, stored = 0): boolean => Math.max(body?.bytes.byteLength ?? 0, stored) >= LARGE_BYTES
