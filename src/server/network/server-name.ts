/** The name of a server among those over the same store. */
import { createHash } from 'node:crypto'
import { hostName } from '../../lib/environment.ts'

export type Listening = { readonly address: string; readonly port: number }

/** kube-apiserver names itself after its machine; here several servers may run on one, and their addresses distinguish them. */
export function serverNameAt({ address, port }: Listening): string {
  const hash = createHash('sha256').update(`${hostName()} ${address} ${port}`).digest().subarray(0, 16)
  return `apiserver-${base32(hash)}`
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

function base32(bytes: Uint8Array): string {
  let bits = 0n
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte)
  const length = Math.ceil((bytes.length * 8) / 5)
  bits <<= BigInt(length * 5 - bytes.length * 8)
  return Array.from({ length }, (_, i) => ALPHABET[Number((bits >> BigInt((length - 1 - i) * 5)) & 31n)]).join('')
}
