/** Headers as they were sent. */

export type SentHeaders = {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  /** Names and values, alternating. */
  readonly headerLines?: readonly string[] | undefined
}

/** Every header line by its lower-case name. Node joins repeated headers with commas, which may be part of a value. */
export function* linesOf({ headers, headerLines: lines }: SentHeaders): Iterable<readonly [name: string, value: string]> {
  // Node reads header lines as Latin-1, but their content is UTF-8.
  const decoded = (value: string) => Buffer.from(value, 'latin1').toString('utf8')
  if (lines === undefined) {
    for (const [name, value] of Object.entries(headers)) for (const one of [value ?? []].flat()) yield [name.toLowerCase(), decoded(one)]
    return
  }
  for (let at = 0; at + 1 < lines.length; at += 2) yield [lines[at]!.toLowerCase(), decoded(lines[at + 1]!)]
}

/** The key of an extra attribute in a header name; a badly encoded one is taken as it is. */
export function unescapeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
