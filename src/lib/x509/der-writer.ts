/** The part of DER, ASN.1's distinguished encoding, that certificates need. */

const tlv = (tag: number, content: Uint8Array): Buffer => Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length])
  const bytes: number[] = []
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

export const sequence = (...items: readonly Uint8Array[]): Buffer => tlv(0x30, Buffer.concat(items))
export const setOf = (...items: readonly Uint8Array[]): Buffer => tlv(0x31, Buffer.concat(items))
export const boolean = (value: boolean): Buffer => tlv(0x01, Buffer.from([value ? 0xff : 0]))
export const octets = (bytes: Uint8Array): Buffer => tlv(0x04, bytes)
export const utf8 = (text: string): Buffer => tlv(0x0c, Buffer.from(text))
/** PrintableString: only letters, digits and a few symbols. */
export const printable = (text: string): Buffer => tlv(0x13, Buffer.from(text, 'latin1'))
export const NULL: Buffer = Buffer.from([0x05, 0x00])
/** A value under a context-specific tag, wrapped whole or in place of its own tag. */
export const explicit = (tag: number, item: Uint8Array): Buffer => tlv(0xa0 | tag, item)
export const implicit = (tag: number, bytes: Uint8Array): Buffer => tlv(0x80 | tag, bytes)

/** A bit string of whole bytes, less the unused bits at the end. */
export const bits = (bytes: Uint8Array, unused = 0): Buffer => tlv(0x03, Buffer.concat([Buffer.from([unused]), bytes]))

/** A non-negative integer from its big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  let start = 0
  while (start < bytes.length - 1 && bytes[start] === 0) start++
  const digits = bytes.subarray(start)
  // A leading one bit would read as a minus sign.
  return tlv(0x02, (digits[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), digits]) : digits)
}

/** An object identifier from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second]
  for (const arc of rest) {
    const digits = [arc & 0x7f]
    for (let left = arc >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80)
    bytes.push(...digits)
  }
  return tlv(0x06, Buffer.from(bytes))
}

/** A time to the second, in the form that certificates use for its century. */
export function time(moment: Date): Buffer {
  const text = `${moment.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`
  return moment.getUTCFullYear() < 2050 ? tlv(0x17, Buffer.from(text.slice(2))) : tlv(0x18, Buffer.from(text))
}
