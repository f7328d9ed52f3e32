/** Checks the host that a request names: exactly once, and with valid characters. Rules and messages are those of Go's servers. */

/** Why an HTTP/1.1 request is refused for its header lines; undefined when it is not. */
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

/** Whether a value is valid in a Host header. The host need not exist: any name may resolve to this server. */
export const isHost = (value: string): boolean => /^[\w!$%&'()*+,\-.:;=[\]~]*$/.test(value)

/** Why an HTTP/2 request is refused: its two names for the host must not differ, as either may be used for decisions (RFC 9113, 8.3.1). */
export function authorityProblem(headers: { readonly ':authority'?: string | undefined; readonly host?: string | undefined }) {
  const { ':authority': authority, host } = headers
  if (authority === undefined || host === undefined || authority.toLowerCase() === host.toLowerCase()) return undefined
  return '400 Bad Request: Host is not the :authority'
}
