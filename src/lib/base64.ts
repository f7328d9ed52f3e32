// Standard base64 as Go reads it for byte fields: padding required, line breaks ignored.

/** A string that is not base64; the message is that of kube-apiserver. */
export class Base64Error extends Error {
  override readonly name = 'Base64Error'
}

/** The bytes of a base64 text; throws Base64Error. */
export function decodeBase64(text: string): Buffer {
  checkBase64(text)
  return Buffer.from(text, 'base64')
}

function checkBase64(text: string): void {
  const fault = findFault(text)
  if (fault >= 0) throw new Base64Error(`illegal base64 data at input byte ${Buffer.byteLength(text.slice(0, fault))}`)
}

/** The base64 text of bytes, padded and on one line. */
export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

/** The canonical base64 text of a byte field; throws Base64Error. */
export function canonicalBase64(text: string): string {
  checkBase64(text)
  return CANONICAL.test(text.slice(-3)) && !LINE_BREAK.test(text) ? text : encodeBase64(Buffer.from(text, 'base64'))
}

/** How valid text ends that is canonical: the bits that padding leaves over are zero. */
const CANONICAL = /(?:[AQgw]==|[AEIMQUYcgkosw048]=|[^=])$/
const LINE_BREAK = /[\r\n]/

const EQUALS = 0x3d

/** The index of the first invalid character, as Go reports it; -1 if there is none. */
function findFault(text: string): number {
  let inGroup = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (isLineBreak(code)) continue
    if (isDigit(code)) inGroup = (inGroup + 1) & 3
    else return code === EQUALS && inGroup >= 2 ? paddingFault(text, i, inGroup) : i
  }
  // Go counts the characters of the last, incomplete group back from the end.
  return inGroup === 0 ? -1 : text.length - inGroup
}

/** Checks from the first equals sign on: it must complete the group and be the end. */
function paddingFault(text: string, first: number, inGroup: number): number {
  let i = first + 1
  if (inGroup === 2) {
    i = skipLineBreaks(text, i)
    if (i === text.length) return i
    if (text.charCodeAt(i) !== EQUALS) return i - 1
    i++
  }
  i = skipLineBreaks(text, i)
  return i === text.length ? -1 : i
}

function skipLineBreaks(text: string, from: number): number {
  let i = from
  while (i < text.length && isLineBreak(text.charCodeAt(i))) i++
  return i
}

function isLineBreak(code: number): boolean {
  return code === 0x0a || code === 0x0d
}

function isDigit(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2f
  )
}
