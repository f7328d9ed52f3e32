/** Truncates strings that are shown to people. */

/** The string, or its beginning and its length. */
export function truncate(text: string, limit: number): string {
  return text.length <= limit ? text : `${cutAt(text, limit)}… (truncated, ${text.length} characters in all)`
}

/** The beginning of a string, which never ends inside a surrogate pair. */
export function cutAt(text: string, limit: number): string {
  if (text.length <= limit) return text
  return text.slice(0, isHighSurrogate(text.charCodeAt(limit - 1)) ? limit - 1 : limit)
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff
