/**
 * Texts without what repeats at their end. A pattern such as `/\/+$/` tries every place where a repetition begins, to the end of it, and
 * takes minutes for a text that somebody has made for that.
 */

/** The text without the character at its end, however often it is there. */
export function trimEnd(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}
