import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as names from './names.ts'

const SUBDOMAIN_MESSAGE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const LABEL_MESSAGE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const KEY_MESSAGE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

const fine = (check: (value: string) => readonly unknown[], ...values: string[]) => {
  for (const value of values) assert.deepEqual(check(value), [], JSON.stringify(value))
}
const bad = (check: (value: string) => readonly unknown[], ...values: string[]) => {
  for (const value of values) assert.notDeepEqual(check(value), [], JSON.stringify(value))
}

test('DNS labels and names are checked with the messages clients know', () => {
  fine(names.isDNS1123Label, 'a', '0', 'a-b', 'a--1', 'x'.repeat(63))
  assert.deepEqual(names.isDNS1123Label('a.b'), ['must not contain dots'])
  assert.deepEqual(names.isDNS1123Label('A'), [LABEL_MESSAGE])
  assert.deepEqual(names.isDNS1123Label(`${'x'.repeat(64)}_`), ['must be no more than 63 characters', LABEL_MESSAGE])
  fine(names.isDNS1123Subdomain, 'a', 'a.b', '0.1', 'x-y.z')
  assert.deepEqual(names.isDNS1123Subdomain(''), [SUBDOMAIN_MESSAGE])
  for (const value of ['a..b', '.a', 'a.', '-a', 'a-', 'A', 'a_b', 'a\n', 'é'])
    assert.deepEqual(names.isDNS1123Subdomain(value), [SUBDOMAIN_MESSAGE])
  assert.deepEqual(names.isDNS1123Subdomain('a'.repeat(254)), ['must be no more than 253 characters'])
  fine(names.isDNS1123SubdomainWithUnderscore, '_a', '_a._b', 'a_b')
  bad(names.isDNS1123SubdomainWithUnderscore, 'a_', '__a')
  fine(names.isDNS1123SubdomainCaseless, 'A.b')
  bad(names.isDNS1123SubdomainCaseless, 'A_b')
  fine(names.isDNS1035Label, 'a', 'a-1')
  bad(names.isDNS1035Label, '1a', '', 'a.b')
  fine(names.isWildcardDNS1123Subdomain, '*.a', '*.a.b')
  bad(names.isWildcardDNS1123Subdomain, '*', '*.', 'a.b', '*.*.a', '*a.b')
})

test('errors of label keys name the part that is invalid', () => {
  fine(names.isQualifiedName, 'a', 'A_b.c', 'example.com/a', '1')
  assert.deepEqual(names.isQualifiedName(''), ['name part must be non-empty', `name part ${KEY_MESSAGE}`])
  assert.deepEqual(names.isQualifiedName('/a'), ['prefix part must be non-empty'])
  assert.deepEqual(names.isQualifiedName('A/b'), [`prefix part ${SUBDOMAIN_MESSAGE}`])
  assert.deepEqual(names.isQualifiedName('a'.repeat(64)), ['name part must be no more than 63 bytes'])
  assert.deepEqual(names.isQualifiedName('a/b/c'), [
    `a valid label key ${KEY_MESSAGE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
  ])
  assert.deepEqual(names.isPrefixedLabelKey('a'), ["must include a prefix (e.g. 'example.com/key')"])
  fine(names.isPrefixedLabelKey, 'a.b/c')
  fine(names.isValidLabelValue, '', 'a', 'A.b_c')
  bad(names.isValidLabelValue, '-a', 'a b', 'a'.repeat(64))
  assert.deepEqual(names.isValidLabelValue('_a'), [
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ])
})

test('lengths count bytes, not characters', () => {
  assert.deepEqual(names.isValidLabelValue('é'.repeat(32))[0], 'must be no more than 63 bytes')
  assert.equal(names.isValidLabelValue('é'.repeat(31)).length, 1)
})

test('keys, variables, ports, headers, percentages and integers follow their rules', () => {
  fine(names.isConfigMapKey, 'a.b_c-D', '.a', 'a..')
  assert.deepEqual(names.isConfigMapKey('..a'), ["must not start with '..'"])
  assert.deepEqual(names.isConfigMapKey('..'), ["must not be '..'"])
  assert.deepEqual(names.isConfigMapKey('.'), ["must not be '.'"])
  bad(names.isConfigMapKey, '', 'a/b', 'a b')
  fine(names.isRelaxedEnvVarName, '1a', 'a b', '{}')
  bad(names.isRelaxedEnvVarName, '', 'a=b', 'a\n', 'é', '\x7f')
  fine(names.isValidPortName, 'http', 'a1-b')
  assert.deepEqual(names.isValidPortName('--'), [
    'must contain at least one letter (a-z)',
    'must not contain consecutive hyphens',
    'must not begin or end with a hyphen',
  ])
  assert.deepEqual(names.isValidPortName('aaaaaaaaaaaaaaaa'), ['must be no more than 15 characters'])
  assert.deepEqual(names.isValidPortNum(0), ['must be between 1 and 65535, inclusive'])
  assert.deepEqual(names.isValidPortNum(65535n), [])
  assert.deepEqual(names.isValidUserID(-1), ['must be between 0 and 2147483647, inclusive'])
  fine(names.isHTTPHeaderName, 'X-A')
  bad(names.isHTTPHeaderName, '', 'X_A')
  fine(names.isValidPercent, '0%', '250%')
  bad(names.isValidPercent, '%', '1', '-1%')
  fine(names.isCIdentifier, '_a1')
  bad(names.isCIdentifier, '1', 'a-b', '')
  fine(names.isDecimalInteger, '0', '-1', '10')
  bad(names.isDecimalInteger, '', '-', '-0', '01', '+1', '1.0')
})

test('errors of qualified domains and prefixed paths name the part that is invalid', () => {
  fine(names.isFullyQualifiedName, 'a.b.c')
  assert.deepEqual(names.isFullyQualifiedName(''), [{ type: 'required' }])
  assert.deepEqual(names.isFullyQualifiedName('a.b'), [
    { type: 'invalid', value: 'a.b', message: 'should be a domain with at least three segments separated by dots' },
  ])
  fine(names.isFullyQualifiedDomainName, 'a.b', 'a.b.')
  assert.deepEqual(names.isFullyQualifiedDomainName('.'), [{ type: 'invalid', value: '', message: SUBDOMAIN_MESSAGE }])
  assert.deepEqual(names.isFullyQualifiedDomainName(`${'a'.repeat(64)}.b`), [
    { type: 'invalid', value: 'a'.repeat(64), message: 'must be no more than 63 characters' },
  ])
  fine(names.isDomainPrefixedPath, 'a.io/b/c')
  bad(names.isDomainPrefixedPath, '', 'a', '/a', 'a/', 'A/b', 'a/ b')
  assert.deepEqual(names.isDomainPrefixedPath('a.io'), [
    { type: 'invalid', value: 'a.io', message: 'must be a domain-prefixed path (such as "acme.io/foo")' },
  ])
  fine(names.isDomainPrefixedKey, 'a.io/b')
  bad(names.isDomainPrefixedKey, '', 'b', 'a.io/b/c')
})

test('a prefix of generated names may end with a dash', () => {
  assert.deepEqual(names.nameIsDNSSubdomain('web-', 'prefix'), [])
  assert.deepEqual(names.nameIsDNSLabel('web-', 'prefix'), [])
  assert.deepEqual(names.nameIsDNS1035Label('web-', 'prefix'), [])
  assert.deepEqual(names.nameIsDNSSubdomain('-', 'prefix'), [SUBDOMAIN_MESSAGE])
  assert.deepEqual(names.nameIsDNSSubdomain('web-'), [SUBDOMAIN_MESSAGE])
})

test('a path segment may hold anything but slashes, percent signs and dots alone', () => {
  fine(names.isValidPathSegmentName, 'a:b', '', 'system:x', '...')
  assert.deepEqual(names.isValidPathSegmentName('..'), ["may not be '..'"])
  assert.deepEqual(names.nameIsPathSegment('a/%'), ["may not contain '/'", "may not contain '%'"])
  assert.deepEqual(names.nameIsPathSegment('.', 'prefix'), [])
})

test('dotted names are those that the pattern in the message describes', () => {
  const checks = [
    names.isDNS1123Subdomain,
    names.isDNS1123SubdomainWithUnderscore,
    names.isWildcardDNS1123Subdomain,
    (value: string) => names.isDNS1123SubdomainCaseless(value.toLowerCase()),
  ]
  const patterns = checks.map(check => new RegExp(`^(?:${/regex used for validation is '(.*)'\)$/.exec(check('!')[0]!)![1]!})$`))
  const text = fc.string({ unit: fc.constantFrom('a', 'z', '0', '-', '_', '.', '*'), maxLength: 9 })
  fc.assert(
    fc.property(text, value => {
      for (const [i, check] of checks.entries()) assert.equal(check(value).length === 0, patterns[i]!.test(value), `${i}: ${value}`)
      assert.deepEqual(names.isDNS1123SubdomainCaseless(value.toUpperCase()), names.isDNS1123SubdomainCaseless(value))
    }),
    { numRuns: 5_000 },
  )
})

test('hostile names are rejected in linear time', () => {
  for (const text of ['a'.repeat(1e6), 'a-'.repeat(5e5), 'a.'.repeat(5e5)])
    for (const check of [names.isDNS1123Subdomain, names.isQualifiedName, names.isDNS1123SubdomainWithUnderscore]) bad(check, `${text}!`)
})
