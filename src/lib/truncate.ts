/** Texts that are shown to people, cut where they are too long to be read. */

/** The text, or its beginning and how much of it there is. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text
  // Not between the halves of a pair.
  const end = isHighSurrogate(text.charCodeAt(limit - 1)) ? limit - 1 : limit
  return `${text.slice(0, end)}… (truncated, ${text.length} characters in all)`
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff
