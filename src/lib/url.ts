/** URLs as Go's net/url reads them: what it refuses and how it says so, where clients see it. */

export type Url = {
  readonly scheme: string
  /** Name and password, as written before the host; undefined without any. */
  readonly user: string | undefined
  readonly host: string
  readonly path: string
  readonly query: string
  readonly fragment: string
}

/** The parts of a URL, or what is wrong with it. */
export function parseUrl(text: string): Url | { readonly problem: string } {
  const [main = '', fragment = ''] = splitAt(text, '#')
  const problem = (why: string) => ({ problem: `parse ${JSON.stringify(text)}: ${why}` })
  if (CONTROL.test(main)) return problem('net/url: invalid control character in URL')
  if (main.startsWith(':')) return problem('missing protocol scheme')
  const scheme = SCHEME.exec(main)?.[1] ?? ''
  const [rest = '', query = ''] = splitAt(scheme === '' ? main : main.slice(scheme.length + 1), '?')
  if (scheme === '' && !rest.startsWith('/') && (rest.split('/')[0] ?? '').includes(':'))
    return problem('first path segment in URL cannot contain colon')
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || !rest.startsWith('///'))
  const slash = rest.indexOf('/', 2)
  const authority = hasAuthority ? rest.slice(2, slash < 0 ? undefined : slash) : ''
  const path = hasAuthority ? (slash < 0 ? '' : rest.slice(slash)) : rest
  const at = authority.lastIndexOf('@')
  const [user, host] = at < 0 ? [undefined, authority] : [authority.slice(0, at), authority.slice(at + 1)]
  if (user !== undefined && !USER.test(user)) return problem('net/url: invalid userinfo')
  const fault = hostFault(host) ?? escapeFault(path) ?? escapeFault(fragment)
  if (fault !== undefined) return problem(fault)
  return { scheme: scheme.toLowerCase(), user, host, path, query, fragment }
}

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/
const USER = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that Go refuses.
const CONTROL = /[\x00-\x1f\x7f]/

function splitAt(text: string, mark: string): [string, string] {
  const i = text.indexOf(mark)
  return i < 0 ? [text, ''] : [text.slice(0, i), text.slice(i + 1)]
}

function hostFault(host: string): string | undefined {
  if (host.startsWith('[')) {
    const end = host.lastIndexOf(']')
    if (end < 0) return "missing ']' in host"
    return portFault(host.slice(end + 1))
  }
  const colon = host.lastIndexOf(':')
  const fault = colon < 0 ? undefined : portFault(host.slice(colon))
  if (fault !== undefined) return fault
  const odd = /[ "<>\\^`{|}]/.exec(host)?.[0]
  return odd === undefined ? escapeFault(host) : `invalid character ${JSON.stringify(odd)} in host name`
}

function portFault(port: string): string | undefined {
  return /^(?::[0-9]*)?$/.test(port) ? undefined : `invalid port ${JSON.stringify(port)} after host`
}

function escapeFault(text: string): string | undefined {
  const bad = /%(?![0-9A-Fa-f]{2}).{0,2}/s.exec(text)?.[0]
  return bad === undefined ? undefined : `invalid URL escape ${JSON.stringify(bad)}`
}
