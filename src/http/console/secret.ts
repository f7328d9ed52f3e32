/** Random secrets for browsers. Only their digests are kept and compared, so that no lookup tells anything about them. */
import { createHash, randomBytes } from 'node:crypto'

const BYTES = 32

export const newSecret = (): string => randomBytes(BYTES).toString('base64url')

/** Undefined for a text that is no such secret. */
export const digestOf = (secret: string): string | undefined =>
  /^[\w-]{43}$/.test(secret) ? createHash('sha256').update(secret).digest('base64url') : undefined
