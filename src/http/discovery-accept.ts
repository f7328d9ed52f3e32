/** The media ranges of an Accept header, most wanted first. */

export type MediaRange = { readonly type: string; readonly subtype: string; readonly parameters: ReadonlyMap<string, string> }

/** Reads an Accept header; ranges of equal weight keep their order, those of weight zero are left out, none at all means anything. */
export function acceptedTypes(accept: string | undefined): MediaRange[] {
  if (accept === undefined || accept.trim() === '') return [{ type: '*', subtype: '*', parameters: new Map() }]
  return accept
    .split(',')
    .map(parseRange)
    .filter(range => range.weight > 0)
    .sort((a, b) => b.weight - a.weight)
}

function parseRange(text: string): MediaRange & { weight: number } {
  const [name = '', ...rest] = text.split(';')
  const [type = '', subtype = ''] = name.trim().toLowerCase().split('/')
  const parameters = new Map(rest.map(parseParameter))
  const weight = Number(parameters.get('q') ?? 1)
  return { type, subtype, parameters, weight: Number.isNaN(weight) ? 0 : weight }
}

function parseParameter(text: string): [name: string, value: string] {
  const at = text.indexOf('=')
  if (at === -1) return [text.trim().toLowerCase(), '']
  return [
    text.slice(0, at).trim().toLowerCase(),
    text
      .slice(at + 1)
      .trim()
      .replace(/^"(.*)"$/, '$1'),
  ]
}
