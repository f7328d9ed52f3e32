/** Texts that are shown to people, cut where they are too long to be read. */

/** The text, or its beginning and how much of it there is. */
export function truncate(text: string, limit: number): string {
  return text.length <= limit ? text : `${cutAt(text, limit)}… (truncated, ${text.length} characters in all)`
}

/** The beginning of a text, which ends before the halves of a pair rather than between them. */
export function cutAt(text: string, limit: number): string {
  if (text.length <= limit) return text
  return text.slice(0, isHighSurrogate(text.charCodeAt(limit - 1)) ? limit - 1 : limit)
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff
