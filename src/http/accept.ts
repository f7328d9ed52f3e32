/** The Accept header: the media types that a client accepts, preferred first. */

/** One accepted media type or range, with its quality and parameters. */
export type Clause = { readonly type: string; readonly subtype: string; readonly q: number; readonly params: ReadonlyMap<string, string> }

/** The clauses of an Accept header, preferred first; equal ones keep their order and wildcards come last. */
export function parseAccept(accept: string): Clause[] {
  const clauses: Clause[] = []
  for (const part of accept.split(',')) {
    const [range = '', ...rest] = part.split(';')
    const [type = '', subtype = type === '*' ? '*' : '', more] = range.trim().split('/')
    if (type === '' || subtype === '' || more !== undefined) continue
    const params = new Map<string, string>()
    for (const param of rest) {
      const [key = '', value = '', extra] = param.split('=')
      if (value !== '' && extra === undefined) params.set(key.trim(), value.trim())
    }
    const q = params.has('q') ? Number(params.get('q')) || 0 : 1
    params.delete('q')
    clauses.push({ type, subtype, q, params })
  }
  const wildness = (c: Clause) => (c.type === '*' ? 2 : c.subtype === '*' ? 1 : 0)
  return clauses.sort((a, b) => b.q - a.q || wildness(a) - wildness(b))
}

/** Whether a media type matches a clause. */
export function accepts({ type, subtype }: Clause, mediaType: string): boolean {
  if (type === '*') return subtype === '*'
  return mediaType === `${type}/${subtype}` || (subtype === '*' && mediaType.startsWith(`${type}/`))
}
