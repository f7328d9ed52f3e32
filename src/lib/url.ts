/** URLs as Go's net/url parses and prints them, with its error messages. Text is handled as bytes, since escapes stand for bytes. */
import { goQuote } from './go-text.ts'
import { NetipError, parseAddress } from './ip.ts'

export interface ParsedUrl {
  readonly scheme: string
  /** Host and port as written, escapes resolved. */
  readonly host: string
  /** The host without port and brackets. */
  readonly hostname: string
  readonly port: string
  /** The path with escapes where it needs them. */
  readonly escapedPath: string
  /** The values of each parameter, in order; parameters that cannot be decoded are left out. */
  readonly query: ReadonlyMap<string, readonly string[]>
  /** The URL put together again; equal URLs have equal texts. */
  readonly text: string
}

/** The parts of any URL, also a relative one. */
export interface Url {
  readonly scheme: string
  /** Name and password before the host, escaped; undefined if absent. */
  readonly user: string | undefined
  readonly host: string
  readonly query: string
  readonly fragment: string
}

/** A string that is not a URL; the message is that of Go. */
export class UrlError extends Error {
  override readonly name = 'UrlError'
}

/** The parts of a URL (url.Parse), or its error. */
export function parseUrl(text: string): Url | { readonly problem: string } {
  const [main, fragment = ''] = cut(text, '#')
  try {
    const { scheme, user, host, query = '' } = parse(main, { isRequest: false })
    checkEscapes(toBytes(fragment), reason => failure(text, reason))
    return { scheme, user: user && fromBytes(user), host: fromBytes(host), query: fromBytes(query), fragment }
  } catch (error) {
    if (error instanceof UrlError) return { problem: error.message }
    throw error
  }
}

/** Checks that a text is an absolute URL or an absolute path (url.ParseRequestURI); throws UrlError. */
export function checkRequestUri(text: string): void {
  parse(text, { isRequest: true })
}

/** The parts of an absolute URL or path, with a fragment if there is one; throws UrlError. */
export function parseRequestUri(text: string): ParsedUrl {
  checkRequestUri(text)
  const [main, fragment = ''] = cut(text, '#')
  const read = parse(main, { isRequest: false })
  const parts = { ...read, path: encoded(read.path, 'path', reason => failure(text, reason)) }
  const shownFragment = fragment === '' ? '' : `#${encoded(fragment, 'fragment', reason => failure(text, reason))}`
  const [hostname, port] = splitPort(parts.host)
  return {
    scheme: fromBytes(parts.scheme),
    host: fromBytes(parts.host),
    hostname: fromBytes(hostname),
    port: fromBytes(port),
    escapedPath: fromBytes(parts.path),
    query: parseQuery(parts.query ?? ''),
    text: fromBytes(assemble(parts) + shownFragment),
  }
}

/** A path with escapes where it needs them. */
export const escapePath = (path: string): string => fromBytes(percentEncode(toBytes(path), 'path'))

/** Byte strings: each character is a byte. */
interface Parts {
  readonly scheme: string
  readonly opaque: string
  /** Escaped again; undefined if absent. */
  readonly user: string | undefined
  readonly host: string
  readonly omitsHost: boolean
  /** As written, with valid escapes. */
  readonly path: string
  /** Undefined when there is no question mark. */
  readonly query: string | undefined
}

type Mode = 'host' | 'zone' | 'user' | 'path' | 'fragment' | 'query'
type Fail = (reason: string) => UrlError

const toBytes = (text: string): string => Buffer.from(text).toString('latin1')
const fromBytes = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()
const failure = (text: string, reason: string): UrlError => new UrlError(`parse ${goQuote(text)}: ${reason}`)

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that Go refuses.
const CONTROL = /[\x00-\x1f\x7f]/
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*)?:/
const USER = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/
const PORT = /^(?::[0-9]*)?$/

function parse(text: string, { isRequest }: { isRequest: boolean }): Parts {
  const fail: Fail = reason => failure(text, reason)
  if (CONTROL.test(text)) throw fail('net/url: invalid control character in URL')
  if (text === '' && isRequest) throw fail('empty url')
  const nothing = { scheme: '', opaque: '', user: undefined, host: '', omitsHost: false, path: '', query: undefined }
  if (text === '*') return { ...nothing, path: '*' }
  const bytes = toBytes(text)
  const written = SCHEME.exec(bytes)
  if (written && written[1] === undefined) throw fail('missing protocol scheme')
  const scheme = (written?.[1] ?? '').toLowerCase()
  const [rest, query] = cut(written ? bytes.slice(written[0].length) : bytes, '?')
  if (!rest.startsWith('/')) {
    if (scheme !== '') return { ...nothing, scheme, opaque: rest, query }
    if (isRequest) throw fail('invalid URI for request')
    if (cut(rest, '/')[0].includes(':')) throw fail('first path segment in URL cannot contain colon')
  }
  const hasAuthority = rest.startsWith('//') && (scheme !== '' || (!isRequest && !rest.startsWith('///')))
  const omitsHost = !hasAuthority && scheme !== ''
  if (!hasAuthority) {
    checkEscapes(rest, fail)
    return { ...nothing, scheme, omitsHost, path: rest, query }
  }
  const slash = rest.indexOf('/', 2)
  const authority = rest.slice(2, slash < 0 ? undefined : slash)
  const { user, host } = parseAuthority(authority, fail)
  const path = slash < 0 ? '' : rest.slice(slash)
  checkEscapes(path, fail)
  return { ...nothing, scheme, user, host, path, query }
}

function parseAuthority(authority: string, fail: Fail): { user: string | undefined; host: string } {
  const at = authority.lastIndexOf('@')
  const host = parseHost(authority.slice(at + 1), fail)
  if (at < 0) return { user: undefined, host }
  const written = authority.slice(0, at)
  if (!USER.test(written)) throw fail('net/url: invalid userinfo')
  const [name, password] = cut(written, ':').map(part => part && percentEncode(percentDecode(part, 'user', fail), 'user'))
  return { user: password === undefined ? name : `${name}:${password}`, host }
}

function parseHost(host: string, fail: Fail): string {
  const open = host.lastIndexOf('[')
  if (open < 0) {
    const colon = host.indexOf(':')
    if (colon >= 0) checkPort(host.slice(colon), fail)
    return percentDecode(host, 'host', fail)
  }
  const close = host.lastIndexOf(']')
  if (close < 0) throw fail("missing ']' in host")
  const port = host.slice(close + 1)
  checkPort(port, fail)
  const inner = host.slice(open + 1, close)
  const zone = inner.indexOf('%25')
  const literal =
    zone < 0
      ? percentDecode(inner, 'host', fail)
      : percentDecode(inner.slice(0, zone), 'host', fail) + percentDecode(inner.slice(zone), 'zone', fail)
  checkLiteral(literal, fail)
  return `[${literal}]${percentDecode(port, 'host', fail)}`
}

/** Only IPv6 addresses stand in brackets. */
function checkLiteral(literal: string, fail: Fail): void {
  try {
    if (parseAddress(fromBytes(literal)).address.family === 4) throw fail('invalid IP-literal')
  } catch (error) {
    throw error instanceof NetipError ? fail(`invalid host: ${error.message}`) : error
  }
}

function checkPort(port: string, fail: Fail): void {
  if (!PORT.test(port)) throw fail(`invalid port ${goQuote(fromBytes(port))} after host`)
}

function splitPort(host: string): [string, string] {
  const colon = host.lastIndexOf(':')
  const hasPort = colon >= 0 && PORT.test(host.slice(colon))
  const name = hasPort ? host.slice(0, colon) : host
  return [name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name, hasPort ? host.slice(colon + 1) : '']
}

function assemble({ scheme, opaque, user, host, omitsHost, path, query }: Parts): string {
  let out = scheme === '' ? '' : `${scheme}:`
  if (opaque !== '') out += opaque
  else {
    if (!omitsHost && (scheme !== '' || host !== '' || user !== undefined)) {
      if (host !== '' || path !== '' || user !== undefined) out += '//'
      out += (user === undefined ? '' : `${user}@`) + percentEncode(host, 'host')
    }
    out += path
  }
  return query === undefined ? out : `${out}?${query}`
}

/** The escapes as written where they are valid and mean the same, else as Go writes them. */
function encoded(written: string, mode: 'path' | 'fragment', fail: Fail): string {
  const plain = percentDecode(written, mode, fail)
  return isValidlyEncoded(written, mode) ? written : percentEncode(plain, mode)
}

const isValidlyEncoded = (bytes: string, mode: Mode): boolean => !ESCAPED_IN_WRITING[mode].test(bytes)

/** Takes runs of characters and of escapes at once: a string may be as long as a body. */
const RUNS = /(?:%[0-9A-Fa-f]{2})+|%[\s\S]{0,2}|[^%]+/g

function percentDecode(bytes: string, mode: Mode, fail: Fail): string {
  const written = mode === 'query' ? bytes.replaceAll('+', ' ') : bytes
  const isInHost = mode === 'host' || mode === 'zone'
  return written.replace(RUNS, run => {
    if (!run.startsWith('%')) {
      const odd = isInHost ? ODD_IN_HOST.exec(run)?.[0] : undefined
      if (odd !== undefined) throw fail(`invalid character ${goQuote(odd)} in host name`)
      return run
    }
    const wrong =
      run.length < 3 || BAD_ESCAPE.test(run) ? run : isInHost ? run.match(/.../g)!.find(each => !isAllowedEscape(each, mode)) : undefined
    if (wrong !== undefined) throw fail(`invalid URL escape ${goQuote(fromBytes(wrong))}`)
    return Buffer.from(run.replaceAll('%', ''), 'hex').toString('latin1')
  })
}

const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/

/** Checks the escapes of a path or a fragment. */
function checkEscapes(bytes: string, fail: Fail): void {
  const at = bytes.search(BAD_ESCAPE)
  if (at >= 0) throw fail(`invalid URL escape ${goQuote(fromBytes(bytes.slice(at, at + 3)))}`)
}

/** In host names only bytes past ASCII may be escaped, and the percent sign of a zone. */
function isAllowedEscape(triple: string, mode: Mode): boolean {
  if (triple === '%25') return true
  const code = Number.parseInt(triple.slice(1), 16)
  if (mode === 'host') return code >= 0x80
  if (mode === 'zone') return code === 0x20 || !mustEscape(String.fromCharCode(code), 'host')
  return true
}

const percentEncode = (bytes: string, mode: Mode): string => bytes.replace(ESCAPED[mode], char => PERCENT[char.charCodeAt(0)]!)
const PERCENT = Array.from({ length: 256 }, (_, byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)

const SPECIAL: Readonly<Record<Mode, string>> = {
  host: '!$&\'()*+,;=:[]<>"',
  zone: '!$&\'()*+,;=:[]<>"',
  user: '$&+,;=',
  path: '$&+,/:;=@',
  fragment: '$&+,/:;=?@!()*',
  query: '',
}

const mustEscape = (char: string, mode: Mode): boolean => char.search(ESCAPED[mode]) >= 0

/** The class of all characters except these, letters, digits and the marks that are never escaped. */
const allBut = (characters: string): string => `[^A-Za-z0-9\\-_.~${characters.replace(/[\]\\^-]/g, '\\$&')}]`

const eachMode = (make: (mode: Mode) => RegExp): Readonly<Record<Mode, RegExp>> => ({
  host: make('host'),
  zone: make('zone'),
  user: make('user'),
  path: make('path'),
  fragment: make('fragment'),
  query: make('query'),
})

const ESCAPED = eachMode(mode => new RegExp(allBut(SPECIAL[mode]), 'g'))
const ESCAPED_IN_WRITING = eachMode(mode => new RegExp(allBut(`${SPECIAL[mode]}!$&'()*+,;=:@[]%`)))
/** Bytes past ASCII are fine in a host. */
const ODD_IN_HOST = new RegExp(`(?![\\x80-\\xff])${allBut(SPECIAL.host)}`)

function parseQuery(query: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>()
  const fail: Fail = reason => new UrlError(reason)
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue
    const [key, value = ''] = cut(pair, '=')
    try {
      const name = fromBytes(percentDecode(key, 'query', fail))
      const text = fromBytes(percentDecode(value, 'query', fail))
      const known = values.get(name)
      if (known) known.push(text)
      else values.set(name, [text])
    } catch (error) {
      if (!(error instanceof UrlError)) throw error
    }
  }
  return values
}

function cut(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
