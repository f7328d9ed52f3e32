/** Parses an HTTP/1.1 request that has arrived whole and in its plainest form. node:http decides about everything else. */
import { LIMITS } from '../../lib/limits.ts'
import { isHost } from './host.ts'

export type WholeRequest = {
  readonly method: string
  readonly target: string
  /** Headers by lower-case name; none is repeated. */
  readonly headers: Readonly<Record<string, string>>
  /** Names and values, alternating, as they were sent. */
  readonly headerLines: readonly string[]
  readonly body: Uint8Array
}

const REQUEST_LINE = /^(GET|POST|PUT|PATCH|DELETE) (\/[!-~]*) HTTP\/1\.1$/
/** Header lines in visible ASCII, with a value. Other valid forms are rare. */
const HEADER_LINES = /^(?:\r\n[A-Za-z0-9-]+: *[!-~][ -~]*)+$/
const LENGTH = /^\d{1,7}$/
const LINE = '\r\n'
const END = '\r\n\r\n'
const NOTHING = new Uint8Array(0)
/** Headers that change the framing of the connection, and names that every object has. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  ...['expect', 'http2-settings', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...Object.getOwnPropertyNames(Object.prototype).map(name => name.toLowerCase()),
])
/**
 * Header names as sent, and in lower case; empty for those that are not plain. Clients send the same few again and again, and V8 takes long
 * to use a new string as the name of a property.
 */
const names = new Map<string, string>()

function lowerCase(sent: string): string {
  const known = names.get(sent)
  if (known !== undefined) return known
  const lower = sent.toLowerCase()
  const name = NOT_PLAIN.has(lower) ? '' : lower
  if (names.size < LIMITS.cachedHeaderNames) names.set(sent, name)
  return name
}

type Headers = Pick<WholeRequest, 'headers' | 'headerLines'> & {
  /** The announced bytes of the body. */
  readonly length: number
}

/** Parses the requests of one connection. */
export class WholeReader {
  /** The last header lines, and their parsed form: most clients send the same with every request. */
  #lines = ''
  #headers: Headers | undefined

  /** The request in these bytes; undefined when they are incomplete, more than one, or not plain. */
  read(bytes: Buffer): WholeRequest | undefined {
    const end = bytes.indexOf(END)
    if (end < 0 || end > LIMITS.plainHeadBytes) return undefined
    const line = bytes.indexOf(LINE)
    const found = REQUEST_LINE.exec(bytes.toString('latin1', 0, line))
    if (found === null) return undefined
    const read = this.#headersOf(bytes.toString('latin1', line, end))
    if (read === undefined || read.length !== bytes.length - end - END.length) return undefined
    const { headers, headerLines, length } = read
    return { method: found[1]!, target: found[2]!, headers, headerLines, body: length === 0 ? NOTHING : bytes.subarray(end + END.length) }
  }

  #headersOf(lines: string): Headers | undefined {
    if (this.#headers !== undefined && lines === this.#lines) return this.#headers
    const headers = readHeaders(lines)
    if (headers === undefined) return undefined
    this.#lines = lines
    this.#headers = headers
    return headers
  }
}

function readHeaders(lines: string): Headers | undefined {
  if (!HEADER_LINES.test(lines)) return undefined
  const headerLines: string[] = []
  const headers: Record<string, string> = {}
  let at = 0
  while (at >= 0) {
    const start = at + LINE.length
    const colon = lines.indexOf(':', start)
    at = lines.indexOf(LINE, colon)
    const sent = lines.slice(start, colon)
    const name = lowerCase(sent)
    const value = lines.slice(colon + 1, at < 0 ? lines.length : at).trim()
    if (name === '' || headers[name] !== undefined) return undefined
    headers[name] = value
    headerLines.push(sent, value)
  }
  const { host, connection, 'content-length': length = '0' } = headers
  if (host === undefined || !isHost(host) || headerLines.length > 2 * LIMITS.headerPairs) return undefined
  if (connection !== undefined && connection.toLowerCase() !== 'keep-alive') return undefined
  return LENGTH.test(length) ? { headers, headerLines, length: Number(length) } : undefined
}
