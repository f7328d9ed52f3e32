/** Bytes on HTTP/1.1 connections with ambiguous boundaries between requests, and their required interpretation. */

export type RawText = {
  readonly name: string
  readonly text: string
  /** The requests that are served, in order: method, target and the bytes of their bodies. */
  readonly read: readonly string[]
  /** Afterwards the connection accepts another request, is closed, or is closed with the status of a refusal. */
  readonly after: 'kept' | 'closed' | number
}

export const TEXTS: RawText[] = []

const add = (name: string, text: string, { read, after }: Pick<RawText, 'read' | 'after'>) => TEXTS.push({ name, text, read, after })
const refused = (name: string, text: string, after = 400) => add(name, text, { read: [], after })
const kept = (name: string, text: string, ...read: string[]) => add(name, text, { read, after: 'kept' })
const closed = (name: string, text: string, ...read: string[]) => add(name, text, { read, after: 'closed' })

const head = (line: string, ...headers: string[]) => `${[line, ...headers].join('\r\n')}\r\n\r\n`
const get = (...headers: string[]) => head('GET /a HTTP/1.1', ...headers)
const post = (...headers: string[]) => head('POST /a HTTP/1.1', 'Host: a', ...headers)
const CHUNKED = 'Transfer-Encoding: chunked'
const chunks = (text: string, ...more: string[]) => post(CHUNKED, ...more) + text
/** If a request ended earlier than announced, this would be the next one. */
const HIDDEN = head('GET /hidden HTTP/1.1', 'Host: a')
const LAST = '0\r\n\r\n'

// Go's servers accept some input that is refused here on purpose, such as folded lines, bare line feeds and a length beside chunks.

// Host. At 6256f0f1 repeated and malformed ones were accepted.
refused('no Host', get())
refused('two Hosts', get('Host: a', 'Host: b'))
refused('two equal Hosts', get('Host: a', 'Host: a'))
refused('two Hosts in different case', get('Host: a', 'hOST: b'))
refused('two Hosts, far apart', get('Host: a', ...Array.from({ length: 100 }, (_, i) => `X-${i}: ${i}`), 'Host: b'))
refused('two Hosts in front of a hidden request', get('Host: a', 'Host: b') + HIDDEN)
refused('two Hosts with a body', `${head('POST /a HTTP/1.1', 'Host: a', 'Host: b', 'Content-Length: 3')}abc`)
refused('two Hosts of HTTP/1.0', head('GET /a HTTP/1.0', 'Host: a', 'Host: b'))
refused('two Hosts in an upgrade', get('Host: a', 'Host: b', 'Connection: Upgrade', 'Upgrade: websocket'))
refused('a Host with a space', get('Host: a b'))
refused('a Host with a path', get('Host: a/b'))
refused('a Host with a user', get('Host: root@a'))
refused('a Host with quotes', get('Host: "a"'))
refused('a Host with a backslash', get('Host: a\\b'))
refused('a Host beyond ASCII', get('Host: \u00e4'))
refused('a Host with a question mark', get('Host: a?b'))
refused('a Host on a folded line', get('Host: a', ' b'))
refused('a space before the colon of Host', get('Host : a'))
kept('an empty Host', get('Host:'), 'GET /a 0')
kept('a Host of any name', get('Host: any_name.example.com:99999'), 'GET /a 0')
kept('a Host that is an address', get('Host: [::1]:6443'), 'GET /a 0')
closed('no Host in HTTP/1.0', head('GET /a HTTP/1.0'), 'GET /a 0')

// The length of a body.
refused('Content-Length and chunks', post('Content-Length: 5', CHUNKED) + LAST + HIDDEN)
refused('chunks and Content-Length', post(CHUNKED, 'Content-Length: 5') + LAST + HIDDEN)
refused('Content-Length of zero and chunks', post('Content-Length: 0', CHUNKED) + LAST)
refused('two lengths', `${post('Content-Length: 3', `Content-Length: ${3 + HIDDEN.length}`)}abc${HIDDEN}`)
refused('two equal lengths', `${post('Content-Length: 3', 'Content-Length: 3')}abc`)
refused('a list of lengths', `${post('Content-Length: 3, 3')}abc`)
refused('a list of different lengths', `${post(`Content-Length: 3, ${3 + HIDDEN.length}`)}abc${HIDDEN}`)
refused('a length with a sign', `${post('Content-Length: +3')}abc`)
refused('a negative length', post('Content-Length: -3') + HIDDEN)
refused('a hexadecimal length', `${post('Content-Length: 0x3')}abc`)
refused('a length in two parts', `${post('Content-Length: 3 3')}abc`)
refused('a length with a fraction', `${post('Content-Length: 3.0')}abc`)
refused('a length with an exponent', `${post('Content-Length: 3e0')}abc`)
refused('a length with an underscore', `${post('Content-Length: 0_3')}abc`)
refused('an empty length', post('Content-Length:') + HIDDEN)
refused('a length in quotes', `${post('Content-Length: "3"')}abc`)
refused('a length beyond 64 bits', `${post('Content-Length: 18446744073709551619')}abc`)
refused('a length on a folded line', `${post('Content-Length:', ' 3')}abc`)
refused('a space before the colon of a length', `${post('Content-Length : 3')}abc`)
kept('a length with zeros before it', `${post('Content-Length: 0003')}abc`, 'POST /a 3')
kept('a length between spaces', `${post('Content-Length:   3  ')}abc`, 'POST /a 3')
kept('a GET with a body', get('Host: a', `Content-Length: ${HIDDEN.length}`) + HIDDEN, `GET /a ${HIDDEN.length}`)
kept('a POST without a length, and another request', post() + HIDDEN, 'POST /a 0', 'GET /hidden 0')
kept('an almost equal name of a length', post('Content_Length: 3'), 'POST /a 0')

// Transfer-Encoding.
kept('chunks', chunks(`3\r\nabc\r\n${LAST}`), 'POST /a 3')
kept('chunks in capital letters', `${post('TRANSFER-ENCODING: CHUNKED')}3\r\nabc\r\n${LAST}`, 'POST /a 3')
refused('an unknown encoding', post('Transfer-Encoding: xchunked') + LAST + HIDDEN, 501)
refused('an encoding with more behind it', post('Transfer-Encoding: chunkedx') + LAST + HIDDEN, 501)
refused('chunks that are encoded again', post('Transfer-Encoding: chunked, identity') + LAST + HIDDEN)
refused('chunks twice', post('Transfer-Encoding: chunked, chunked') + LAST + HIDDEN)
refused('chunks twice, in two lines', post(CHUNKED, CHUNKED) + LAST + HIDDEN)
refused('two encodings in two lines', post(CHUNKED, 'Transfer-Encoding: identity') + LAST + HIDDEN)
refused('no encoding', post('Transfer-Encoding: identity') + HIDDEN, 501)
refused('an encoding in quotes', post('Transfer-Encoding: "chunked"') + LAST + HIDDEN, 501)
refused('an encoding after a vertical tab', post('Transfer-Encoding: \u000bchunked') + LAST + HIDDEN)
refused('an encoding before a NUL', post('Transfer-Encoding: chunked\u0000') + LAST + HIDDEN)
refused('an encoding on a folded line', post('Transfer-Encoding:', ' chunked') + LAST + HIDDEN)
refused('a space before the colon of an encoding', post('Transfer-Encoding : chunked') + LAST + HIDDEN)
refused('a tab before the colon of an encoding', post('Transfer-Encoding\t: chunked') + LAST + HIDDEN)
refused('compressed chunks', post('Transfer-Encoding: gzip, chunked') + LAST + HIDDEN, 501)
refused('chunks of HTTP/1.0', head('POST /a HTTP/1.0', 'Host: a', CHUNKED) + LAST + HIDDEN)
kept('an almost equal name of an encoding', post('Transfer_Encoding: chunked'), 'POST /a 0')

// Chunks.
kept('many chunks', chunks(`1\r\na\r\n02\r\nbc\r\n${LAST}`), 'POST /a 3')
kept('a chunk with an extension', chunks(`3;a=b\r\nabc\r\n${LAST}`), 'POST /a 3')
kept('a chunk with a quoted extension', chunks(`3;a="b c"\r\nabc\r\n${LAST}`), 'POST /a 3')
kept('trailers', chunks('3\r\nabc\r\n0\r\nX-Trailer: a\r\n\r\n', 'Trailer: X-Trailer'), 'POST /a 3')
refused('a chunk whose size is no number', chunks(`x\r\nabc\r\n${LAST}${HIDDEN}`))
refused('a chunk whose size has a prefix', chunks(`0x3\r\nabc\r\n${LAST}${HIDDEN}`))
refused('a chunk whose size has a sign', chunks(`+3\r\nabc\r\n${LAST}${HIDDEN}`))
refused('a chunk of negative size', chunks(`-3\r\nabc\r\n${LAST}${HIDDEN}`))
refused('a space before the size of a chunk', chunks(` 3\r\nabc\r\n${LAST}${HIDDEN}`))
refused('an empty size of a chunk', chunks(`\r\nabc\r\n${LAST}${HIDDEN}`))
refused('a chunk of more than 64 bits', chunks(`10000000000000003\r\nabc\r\n${LAST}${HIDDEN}`))
refused('a chunk that is longer than it says', chunks(`3\r\nabcd\r\n${LAST}${HIDDEN}`))
refused('a chunk that does not end in a line', chunks(`3\r\nabc${LAST}${HIDDEN}`))
refused('a chunk whose size ends in a bare line feed', chunks(`3\nabc\r\n${LAST}${HIDDEN}`))
refused('a chunk whose size ends in a bare carriage return', chunks(`3\rabc\r\n${LAST}${HIDDEN}`))
refused('a chunk that ends in a bare line feed', chunks(`3\r\nabc\n${LAST}${HIDDEN}`))
refused('an extension with a bare line feed', chunks(`3;a\nb\r\nabc\r\n${LAST}${HIDDEN}`))
refused('an extension with a NUL', chunks(`3;a=\u0000\r\nabc\r\n${LAST}${HIDDEN}`))
refused('extensions without end', chunks(`3;${'a'.repeat(70_000)}\r\nabc\r\n${LAST}${HIDDEN}`), 413)
refused('a trailer without a colon', chunks(`0\r\nX-Trailer\r\n\r\n${HIDDEN}`))
refused('a trailer with a space in its name', chunks(`0\r\nX Trailer: a\r\n\r\n${HIDDEN}`))
refused('trailers without end', chunks(`0\r\nX-Trailer: ${'a'.repeat(100_000)}\r\n\r\n${HIDDEN}`), 431)

// Request lines.
kept('an empty line before a request', `\r\n${get('Host: a')}`, 'GET /a 0')
kept('a whole URL', head('GET https://a/b HTTP/1.1', 'Host: a'), 'GET /b 0')
kept('a whole URL of another host', head('GET https://other.example/b?c HTTP/1.1', 'Host: a'), 'GET /b?c 0')
kept('a whole URL without a path', head('GET http://a HTTP/1.1', 'Host: a'), 'GET / 0')
kept('OPTIONS of the server', head('OPTIONS * HTTP/1.1', 'Host: a'), 'OPTIONS * 0')
kept('an encoded line end', head('GET /a%0d%0aHost:%20b HTTP/1.1', 'Host: a'), 'GET /a%0d%0aHost:%20b 0')
refused('a tunnel', head('CONNECT elsewhere.example:443 HTTP/1.1', 'Host: elsewhere.example:443') + HIDDEN, 405)
kept('a whole URL of another scheme', head('GET file:///etc/passwd HTTP/1.1', 'Host: a'), 'GET file:///etc/passwd 0')
refused('a target without a slash', head('GET a HTTP/1.1', 'Host: a'))
kept('a star without OPTIONS', head('GET * HTTP/1.1', 'Host: a'), 'GET * 0')
kept('a fragment', head('GET /a#b HTTP/1.1', 'Host: a'), 'GET /a#b 0')
refused('an empty target', head('GET  HTTP/1.1', 'Host: a'))
refused('a target with a space', head('GET /a b HTTP/1.1', 'Host: a'))
refused('a target with a tab', head('GET /a\tb HTTP/1.1', 'Host: a'))
refused('a target with a NUL', head('GET /a\u0000b HTTP/1.1', 'Host: a'))
refused('a target with a bare carriage return', head('GET /a\rb HTTP/1.1', 'Host: a'))
kept('two spaces after the method', head('GET  /a HTTP/1.1', 'Host: a'), 'GET /a 0')
kept('two spaces before the version', head('GET /a  HTTP/1.1', 'Host: a'), 'GET /a 0')
refused('a space after the version', head('GET /a HTTP/1.1 ', 'Host: a'))
refused('a tab after the method', head('GET\t/a HTTP/1.1', 'Host: a'))
refused('a space before the method', head(' GET /a HTTP/1.1', 'Host: a'))
refused('no version', head('GET /a', 'Host: a'), 505)
refused('a version in lower case', head('GET /a http/1.1', 'Host: a'))
refused('version 1.10', head('GET /a HTTP/1.10', 'Host: a'))
refused('version 1.2', head('GET /a HTTP/1.2', 'Host: a'))
refused('version 0.9', head('GET /a HTTP/0.9', 'Host: a'), 505)
refused('version 2.0', head('GET /a HTTP/2.0', 'Host: a'), 505)
refused('version 3.0', head('GET /a HTTP/3.0', 'Host: a'))
refused('a method in lower case', head('get /a HTTP/1.1', 'Host: a'))
refused('a method that nobody knows', head('BREW /a HTTP/1.1', 'Host: a'))
refused('a line that ends in a bare line feed', 'GET /a HTTP/1.1\nHost: a\r\n\r\n')
refused('a line that ends in a bare carriage return', 'GET /a HTTP/1.1\rHost: a\r\n\r\n')
refused('a target without end', head(`GET /${'a'.repeat(100_000)} HTTP/1.1`, 'Host: a'), 431)

// Header lines.
refused('a line without a colon', get('Host: a', 'X-Odd'))
refused('a line without a name', get('Host: a', ': b'))
refused('a space before a colon', get('Host: a', 'X-Odd : b'))
refused('a space in a name', get('Host: a', 'X Odd: b'))
refused('a parenthesis in a name', get('Host: a', 'X(Odd): b'))
refused('a name beyond ASCII', get('Host: a', 'X-\u00e4: b'))
refused('a first line that begins with a space', get(' Host: a'))
refused('a folded line', get('Host: a', 'X-Odd: b', ' c'))
refused('a line folded with a tab', get('Host: a', 'X-Odd: b', '\tc'))
refused('a NUL in a value', get('Host: a', 'X-Odd: \u0000'))
refused('a control character in a value', get('Host: a', 'X-Odd: \u0001'))
refused('a bare carriage return in a value', get('Host: a', `X-Odd: b\r${CHUNKED}`))
refused('a bare carriage return before an end', `GET /a HTTP/1.1\r\nHost: a\r\n\r\r\n${HIDDEN}`)
refused('lines that end in a bare line feed', 'GET /a HTTP/1.1\r\nHost: a\nX-Odd: b\r\n\r\n')
refused('a head that ends in a bare line feed', 'GET /a HTTP/1.1\r\nHost: a\r\n\n')
refused('a header without end', get('Host: a', `X-Odd: ${'a'.repeat(100_000)}`), 431)
refused('headers without number', get('Host: a', ...Array.from({ length: 300 }, (_, i) => `X-${i}: a`)), 431)
kept('a value beyond ASCII', get('Host: a', 'X-Odd: \u00e4'), 'GET /a 0')
kept('a value with a tab', get('Host: a', 'X-Odd: a\tb'), 'GET /a 0')

// Headers that determine the rest of a connection.
closed('a last request with another behind it', get('Host: a', 'Connection: close') + HIDDEN, 'GET /a 0')
closed('a last request among other words', get('Host: a', 'Connection: keep-alive, close') + HIDDEN, 'GET /a 0')
kept('two requests', get('Host: a') + HIDDEN, 'GET /a 0', 'GET /hidden 0')
closed('a request, and nonsense', `${get('Host: a')}nonsense\r\n\r\n`, 'GET /a 0')
refused('an expectation that nobody knows', get('Host: a', 'Expect: wonders'), 417)
refused('the beginning of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
closed(
  'an upgrade to HTTP/2',
  get('Host: a', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk') + HIDDEN,
  'GET /a 0',
)
