import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkRequestUri, parseRequestUri, UrlError } from './request-uri.ts'

const problem = (text: string): string => {
  try {
    return `fine: ${parseRequestUri(text).text}`
  } catch (error) {
    assert.ok(error instanceof UrlError)
    return error.message.replace(/^parse ".*?": /s, '')
  }
}

test('URLs are put together again as they were', () => {
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
    assert.equal(problem(text), `fine: ${text}`)
  assert.equal(problem('http://ü.example/'), 'fine: http://%C3%BC.example/')
  assert.equal(problem('HTTP://example.com/a b#c d'), 'fine: http://example.com/a%20b#c%20d')
})

test('what is refused is told as Go does', () => {
  assert.equal(problem(''), 'empty url')
  assert.equal(problem('a/b'), 'invalid URI for request')
  assert.equal(problem('http://a\u007f/'), 'net/url: invalid control character in URL')
  assert.equal(problem('http://a:80:90/'), 'invalid port ":80:90" after host')
  assert.equal(problem('http://[::1]x/'), 'invalid port "x" after host')
  assert.equal(problem('http://[1.2.3.4]/'), 'invalid IP-literal')
  assert.equal(problem('http://[x]/'), 'invalid host: ParseAddr("x"): unable to parse IP')
  assert.equal(problem('http://a%20b/'), 'invalid URL escape "%20"')
  assert.equal(problem('http://a/%2'), 'invalid URL escape "%2"')
  assert.equal(problem('http://a^b@c/'), 'net/url: invalid userinfo')
})

test('queries are read value by value', () => {
  const query = (text: string) => Object.fromEntries(parseRequestUri(`/x?${text}`).query)
  assert.deepEqual(query('a=1&b=2&a=3&c'), { a: ['1', '3'], b: ['2'], c: [''] })
  assert.deepEqual(query('a+b=%20%2B&&x;y=1&bad=%zz'), { 'a b': [' +'] })
})

test('hosts come with and without their ports', () => {
  const { host, hostname, port } = parseRequestUri('http://[::1]:80/')
  assert.deepEqual([host, hostname, port], ['[::1]:80', '::1', '80'])
})

test('no text does worse than be refused', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('/', ':', '%', '[', ']', '@', '?', '#', 'a', '4', ' ', 'ü'), maxLength: 20 }), text => {
      const told = problem(text)
      if (told.startsWith('fine')) checkRequestUri(text)
    }),
    { numRuns: 500 },
  )
})
