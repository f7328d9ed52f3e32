/** The host that a request names: once, and in characters that can be part of one. The rules and the words are those of Go's servers. */

/** Why a request of HTTP/1.1 is refused for the lines of its header; undefined when it is not. */
export function hostProblem(headerLines: readonly string[], isNeeded: boolean): string | undefined {
  let host: string | undefined
  for (let i = 0; i < headerLines.length; i += 2) {
    const name = headerLines[i]!
    if (name.length !== HOST.length || name.toLowerCase() !== HOST) continue
    if (host !== undefined) return 'too many Host headers'
    host = headerLines[i + 1]!
  }
  if (host === undefined) return isNeeded ? 'missing required Host header' : undefined
  return isHost(host) ? undefined : 'malformed Host header'
}

const HOST = 'host'

/** Whether a value is one that a Host header may have. What it names need not exist: any name may lead to this server. */
export const isHost = (value: string): boolean => /^[\w!$%&'()*+,\-.:;=[\]~]*$/.test(value)

/** Why a request of HTTP/2 is refused: who decides by one of its two names for the host must not be shown another (RFC 9113, 8.3.1). */
export function authorityProblem(headers: { readonly ':authority'?: string | undefined; readonly host?: string | undefined }) {
  const { ':authority': authority, host } = headers
  if (authority === undefined || host === undefined || authority.toLowerCase() === host.toLowerCase()) return undefined
  return '400 Bad Request: Host is not the :authority'
}
