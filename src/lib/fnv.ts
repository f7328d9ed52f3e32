// The FNV-1a hash, which Kubernetes uses to derive short names and shards from longer data.

/** The 64-bit FNV-1a hash of bytes or of a string in UTF-8. */
export function fnv64a(data: string | Uint8Array): bigint {
  let high = 0xcbf29ce4
  let low = 0x84222325
  for (const byte of bytesOf(data)) {
    low = (low ^ byte) >>> 0
    // The prime is 2^40 + 0x1b3: half words keep every product exact in a double, where bigints would be many times slower.
    const product = low * 0x1b3
    high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0
    low = product >>> 0
  }
  return (BigInt(high) << 32n) | BigInt(low)
}

/** The 32-bit FNV-1a hash of bytes or of a string in UTF-8. */
export function fnv32a(data: string | Uint8Array): number {
  let hash = 0x811c9dc5
  for (const byte of bytesOf(data)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? Buffer.from(data) : data
}
