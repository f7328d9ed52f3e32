import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkRequestUri, parseRequestUri, parseUrl, UrlError } from './url.ts'

test('a URL is split into its parts', () => {
  assert.deepEqual(parseUrl('HTTPS://u:p@host:8443/a/b?q=1#f'), {
    scheme: 'https',
    user: 'u:p',
    host: 'host:8443',
    query: 'q=1',
    fragment: 'f',
  })
  assert.deepEqual(parseUrl(''), { scheme: '', user: undefined, host: '', query: '', fragment: '' })
  assert.equal((parseUrl('https://[::1]:1/x') as { host: string }).host, '[::1]:1')
})

test('invalid URLs have the error message of Go', () => {
  const problem = (text: string) => (parseUrl(text) as { problem?: string }).problem
  assert.equal(problem(':x'), 'parse ":x": missing protocol scheme')
  assert.equal(problem('a b:c'), 'parse "a b:c": first path segment in URL cannot contain colon')
  assert.equal(problem('https://h:x/'), 'parse "https://h:x/": invalid port ":x" after host')
  assert.equal(problem('https://a b/'), 'parse "https://a b/": invalid character " " in host name')
  assert.equal(problem('https://h/%zz'), 'parse "https://h/%zz": invalid URL escape "%zz"')
  assert.equal(problem('https://h/\n'), 'parse "https://h/\\n": net/url: invalid control character in URL')
  assert.equal(problem('https://[::1/'), 'parse "https://[::1/": missing \']\' in host')
})

test('property: any text is a URL or has a problem', () => {
  fc.assert(fc.property(fc.string(), text => assert.ok('problem' in parseUrl(text) || 'host' in parseUrl(text))))
})

const requestProblem = (text: string): string => {
  try {
    return `fine: ${parseRequestUri(text).text}`
  } catch (error) {
    assert.ok(error instanceof UrlError)
    return error.message.replace(/^parse ".*?": /s, '')
  }
}

test('request URIs are printed as they were written', () => {
  for (const text of [
    'https://user:pass@example.com:8080/a/b?c=d&e#f',
    'http://[fe80::1%25en0]:80/',
    '/absolute',
    'mailto:a@b',
    'file:///etc/hosts',
    'http://example.com',
    'http://example/%E2%82%AC',
    'http://a/?',
    '*',
  ])
    assert.equal(requestProblem(text), `fine: ${text}`)
  assert.equal(requestProblem('http://ü.example/'), 'fine: http://%C3%BC.example/')
  assert.equal(requestProblem('HTTP://example.com/a b#c d'), 'fine: http://example.com/a%20b#c%20d')
})

test('invalid request URIs have the error message of Go', () => {
  assert.equal(requestProblem(''), 'empty url')
  assert.equal(requestProblem('a/b'), 'invalid URI for request')
  assert.equal(requestProblem('http://a\u007f/'), 'net/url: invalid control character in URL')
  assert.equal(requestProblem('http://a:80:90/'), 'invalid port ":80:90" after host')
  assert.equal(requestProblem('http://[::1]x/'), 'invalid port "x" after host')
  assert.equal(requestProblem('http://[1.2.3.4]/'), 'invalid IP-literal')
  assert.equal(requestProblem('http://[x]/'), 'invalid host: ParseAddr("x"): unable to parse IP')
  assert.equal(requestProblem('http://a%20b/'), 'invalid URL escape "%20"')
  assert.equal(requestProblem('http://a/%2'), 'invalid URL escape "%2"')
  assert.equal(requestProblem('http://a^b@c/'), 'net/url: invalid userinfo')
})

test('queries are parsed into lists of values', () => {
  const query = (text: string) => Object.fromEntries(parseRequestUri(`/x?${text}`).query)
  assert.deepEqual(query('a=1&b=2&a=3&c'), { a: ['1', '3'], b: ['2'], c: [''] })
  assert.deepEqual(query('a+b=%20%2B&&x;y=1&bad=%zz'), { 'a b': [' +'] })
})

test('the host is given with and without port', () => {
  const { host, hostname, port } = parseRequestUri('http://[::1]:80/')
  assert.deepEqual([host, hostname, port], ['[::1]:80', '::1', '80'])
})

test('property: any text is a request URI or has a problem', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('/', ':', '%', '[', ']', '@', '?', '#', 'a', '4', ' ', 'ü'), maxLength: 20 }), text => {
      const told = requestProblem(text)
      if (told.startsWith('fine')) checkRequestUri(text)
    }),
    { numRuns: 500 },
  )
})
