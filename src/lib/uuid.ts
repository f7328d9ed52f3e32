/**
 * The text of a UUID of 16 random bytes. Node's own are put together from many pieces, which V8 joins when the text is first read; each
 * request has one, which is read at once.
 */
export const UUID_BYTES = 16

const DIGITS = Uint8Array.from('0123456789abcdef', digit => digit.charCodeAt(0))
/** Where the digits of each byte are in the text. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const
const VERSION_PLACE = 14
const VARIANT_PLACE = 19
/** The digits of version 4: 4, and one of 8 to b. */
const VERSION_DIGIT = DIGITS[4]!
const VARIANT_BITS = 0x8
const FREE_BITS = 0x3

const text = Buffer.from('00000000-0000-0000-0000-000000000000', 'latin1')

/** The UUID, of version 4, of the bytes from an offset on. */
export function uuidOf(bytes: Uint8Array, offset: number): string {
  for (let i = 0; i < UUID_BYTES; i++) {
    const byte = bytes[offset + i]!
    const place = PLACES[i]!
    text[place] = DIGITS[byte >> 4]!
    text[place + 1] = DIGITS[byte & 0xf]!
  }
  text[VERSION_PLACE] = VERSION_DIGIT
  text[VARIANT_PLACE] = DIGITS[VARIANT_BITS | ((bytes[offset + 8]! >> 4) & FREE_BITS)]!
  return text.toString('latin1')
}
