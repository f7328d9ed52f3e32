/** The form of keys, and their one order: that of their UTF-8 bytes. */

/** The longest key any store takes, in bytes; an embedded record has to fit its key into one database key. */
const MAX_KEY_BYTES = 1900

/** Compares like the UTF-8 bytes of both keys, without encoding them. */
export function compareKeys(a: string, b: string): number {
  const shared = Math.min(a.length, b.length)
  for (let i = 0; i < shared; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return byteRank(x) - byteRank(y)
  }
  return a.length - b.length
}

/** Throws a RangeError for a key that could not be stored and read back as it is. */
export function checkKey(key: string): void {
  const bytes = Buffer.byteLength(key)
  if (bytes === 0 || bytes > MAX_KEY_BYTES) throw new RangeError(`a key has 1 to ${MAX_KEY_BYTES} bytes, not ${bytes}`)
  if (bytes !== key.length && /\p{Surrogate}/u.test(key)) throw new RangeError('a key is well-formed Unicode')
}

// UTF-16 puts surrogates, which stand for code points past U+FFFF, below U+E000 to U+FFFF; UTF-8 puts them above.
function byteRank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}
