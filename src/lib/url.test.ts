import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseUrl } from './url.ts'

test('the parts of a URL are told apart', () => {
  assert.deepEqual(parseUrl('HTTPS://u:p@host:8443/a/b?q=1#f'), {
    scheme: 'https',
    user: 'u:p',
    host: 'host:8443',
    path: '/a/b',
    query: 'q=1',
    fragment: 'f',
  })
  assert.deepEqual(parseUrl(''), { scheme: '', user: undefined, host: '', path: '', query: '', fragment: '' })
  assert.equal((parseUrl('https://[::1]:1/x') as { host: string }).host, '[::1]:1')
})

test('what Go refuses is refused in its words', () => {
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
