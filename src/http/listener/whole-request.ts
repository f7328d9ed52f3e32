/** Reads an HTTP/1.1 request that has come whole and in its plainest form. About everything else node:http decides. */
import { LIMITS } from '../../lib/limits.ts'
import { isHost } from './host.ts'

export type WholeRequest = {
  readonly method: string
  readonly target: string
  /** By lower-case name; none is repeated. */
  readonly headers: Readonly<Record<string, string>>
  /** Names and values in turn, as they were sent. */
  readonly headerLines: readonly string[]
  readonly body: Uint8Array
}

const REQUEST_LINE = /^(GET|POST|PUT|PATCH|DELETE) (\/[!-~]*) HTTP\/1\.1$/
/** Header lines in visible ASCII, with a value. What else the protocol allows is seldom sent. */
const HEADER_LINES = /^(?:\r\n[A-Za-z0-9-]+: *[!-~][ -~]*)+$/
/** Texts of a head keep all of it in memory. */
const LONGEST_HEAD = 8 * 1024
const LENGTH = /^\d{1,7}$/
const LINE = '\r\n'
const END = '\r\n\r\n'
const NOTHING = new Uint8Array(0)
/** Headers that change how the rest of the connection is read, and names that every object has. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  ...['expect', 'http2-settings', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...Object.getOwnPropertyNames(Object.prototype).map(name => name.toLowerCase()),
])
/**
 * Names as they are sent, and in lower case; empty for those that are not plain. Clients send the same few again and again, and V8 takes
 * long to use a text that it has not seen before as the name of a property.
 */
const names = new Map<string, string>()
const MOST_NAMES = 512

function lowerCase(sent: string): string {
  const known = names.get(sent)
  if (known !== undefined) return known
  const lower = sent.toLowerCase()
  const name = NOT_PLAIN.has(lower) ? '' : lower
  if (names.size < MOST_NAMES) names.set(sent, name)
  return name
}

type Headers = Pick<WholeRequest, 'headers' | 'headerLines'> & {
  /** Bytes of the body that they announce. */
  readonly length: number
}

/** Reads the requests of one connection. */
export class WholeReader {
  /** The header lines that came last, and what they are: most clients send the same with every request. */
  #lines = ''
  #headers: Headers | undefined

  /** The request that these bytes are; undefined when they are less, more, or anything that needs a closer look. */
  read(bytes: Buffer): WholeRequest | undefined {
    const end = bytes.indexOf(END)
    if (end < 0 || end > LONGEST_HEAD) return undefined
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
