/** The headers that name the user of a request to an aggregated server, which trusts them because of this server's certificate. */
import type { User } from '../schema/user.ts'

/** Throws an Error when a value cannot be sent in a header. */
export function remoteUserHeaders({ name, uid = '', groups, extra = {} }: User): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'x-remote-user': headerValue('X-Remote-User', name) }
  if (uid !== '') headers['x-remote-uid'] = headerValue('X-Remote-Uid', uid)
  if (groups.length > 0) headers['x-remote-group'] = groups.map(group => headerValue('X-Remote-Group', group))
  for (const [key, values] of Object.entries(extra)) {
    const header = `x-remote-extra-${escapeKey(key)}`
    headers[header] = values.map(value => headerValue(header, value))
  }
  return headers
}

/** Strings are sent as bytes of UTF-8, as in Go. Line breaks become spaces. */
function headerValue(header: string, text: string): string {
  const bytes = Buffer.from(text.replace(/[\r\n]/g, ' ')).toString('latin1')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what no header can hold.
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(bytes)) throw new Error(`net/http: invalid header field value for "${header}"`)
  return bytes
}

/** Percent-encodes characters that are invalid in header names. */
function escapeKey(key: string): string {
  let escaped = ''
  for (const byte of Buffer.from(key.toLowerCase())) {
    const char = String.fromCharCode(byte)
    escaped += /[a-z0-9!#$&'*+.^_`|~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return escaped
}
