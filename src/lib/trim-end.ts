/**
 * Removes a repeated character from the end of a string. A pattern such as `/\/+$/` tries every start of a repetition up to its end, and
 * takes minutes for a hostile string.
 */

/** The string without any occurrences of the character at its end. */
export function trimEnd(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}
