/** The transformer that leaves records as they are, and refuses to read encrypted ones. */
import { startsWith, type Transformer } from './transformer.ts'

/** The beginning of every encrypted record. Plain ones begin with `{` or `k8s\0`. */
export const ENCRYPTED = Buffer.from('k8s:enc:')

export const isEncrypted = (stored: Uint8Array): boolean => startsWith(stored, ENCRYPTED)

export const identity: Transformer = {
  toStorage: data => data,
  fromStorage(data) {
    if (isEncrypted(data)) throw new Error('identity transformer tried to read encrypted data')
    return { data, isStale: false }
  },
}
