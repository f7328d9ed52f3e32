import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { evaluate, problemOf, shown } from '../../../test/kits/cel/kubernetes.ts'

const holds = (...expressions: string[]) => {
  for (const expression of expressions) assert.equal(evaluate(expression), true, expression)
}

test('patterns find text', () => {
  holds(
    "'abc 123'.find('[0-9]+') == '123'",
    "'abc 123'.find('xyz') == ''",
    "'123 abc 456'.findAll('[0-9]+') == ['123', '456']",
    "'123 abc 456'.findAll('[0-9]+', 1) == ['123']",
    "'123 abc 456'.findAll('[0-9]+', 0) == []",
    "'123 abc 456'.findAll('xyz') == []",
    "'ab'.findAll('x*') == ['', '', '']",
    "'aab'.findAll('a*') == ['aa', '']",
    "'😀x😀'.findAll('😀') == ['😀', '😀']",
  )
  assert.equal(problemOf("'a'.find('[' + 'x')"), 'Illegal regex: error parsing regexp: missing closing ]: `[x`')
})

test('URLs have parts', () => {
  const parts = (url: string) =>
    ['getScheme', 'getHost', 'getHostname', 'getPort', 'getEscapedPath'].map(part => shown(`url('${url}').${part}()`))
  assert.deepEqual(parts('https://user:pass@example.com:80/path?query=val#fragment'), [
    'https',
    'example.com:80',
    'example.com',
    '80',
    '/path',
  ])
  assert.deepEqual(parts('https://[::1]:80/'), ['https', '[::1]:80', '::1', '80', '/'])
  assert.deepEqual(parts('/path'), ['', '', '', '', '/path'])
  assert.deepEqual(parts('https://example.com/path with spaces/'), ['https', 'example.com', 'example.com', '', '/path%20with%20spaces/'])
  assert.deepEqual(parts('https://example.com'), ['https', 'example.com', 'example.com', '', ''])
  holds(
    "url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']}",
    "url('https://example.com/path?key with spaces=value+with%20spaces').getQuery() == {'key with spaces': ['value with spaces']}",
    "url('https://example.com/path?').getQuery() == {}",
    "url('https://example.com/a') == url('https://example.com/a')",
    "url('https://example.com/a') != url('https://example.com/b')",
  )
})

test('strings that are no absolute URLs are rejected', () => {
  holds(
    "isURL('https://user:pass@example.com:80/path?query=val#fragment')",
    "isURL('/absolute-path')",
    "!isURL('../relative-path')",
    "!isURL('')",
  )
  const problem = (url: string) => problemOf(`url('${url}')`).replace('URL parse error during conversion from string: ', '')
  assert.equal(problem('https://a:b:c/'), 'parse "https://a:b:c/": invalid port ":b:c" after host')
  assert.equal(problem('../relative-path'), 'parse "../relative-path": invalid URI for request')
  assert.equal(problem(''), 'parse "": empty url')
  assert.equal(problem(':x'), 'parse ":x": missing protocol scheme')
  assert.equal(problem('https://[::1'), `parse "https://[::1": missing ']' in host`)
  assert.equal(problem('https://a b/'), 'parse "https://a b/": invalid character " " in host name')
  assert.equal(problem('/%zz'), 'parse "/%zz": invalid URL escape "%zz"')
})

test('quantities are parsed, compared and added', () => {
  holds(
    "isQuantity('1.3G')",
    "isQuantity('1.3Gi')",
    "!isQuantity('1,3G')",
    "isQuantity('10000k')",
    "!isQuantity('200K')",
    "!isQuantity('Three')",
    "quantity('50000000G').isInteger()",
    "quantity('50k').isInteger()",
    "quantity('50k').asInteger() == 50000",
    "!quantity('9999999999999999999999999999999999999G').isInteger()",
    "!quantity('1.5').isInteger()",
    "quantity('50k').sub(20000).asApproximateFloat() == 30000.0",
    "quantity('50k').add(quantity('20k')) == quantity('70k')",
    "quantity('50k').add(20) == quantity('50020')",
    "quantity('50k').sub(quantity('20k')) == quantity('30k')",
    "quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20')",
    "quantity('200M').compareTo(quantity('0.2G')) == 0",
    "quantity('50M').compareTo(quantity('50Mi')) == -1",
    "quantity('50Mi').compareTo(quantity('50M')) == 1",
    "quantity('150Mi').isGreaterThan(quantity('100Mi'))",
    "!quantity('50Mi').isGreaterThan(quantity('100Mi'))",
    "quantity('50M').isLessThan(quantity('100M'))",
    "sign(quantity('-5')) == -1",
    "sign(quantity('0')) == 0",
    "quantity('30k') == quantity('50k').sub(quantity('20k'))",
  )
  assert.equal(problemOf("quantity('200K')"), "unable to parse quantity's suffix")
  assert.equal(
    problemOf("quantity('Three')"),
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  )
  assert.equal(problemOf("quantity('9999999999999999999999999999999999999G').asInteger()"), 'cannot convert value to integer')
})

test('semantic versions are parsed, compared and have numbers', () => {
  holds(
    "isSemver('1.0.0')",
    "!isSemver('hello')",
    "!isSemver('v1.0')",
    "isSemver('v1.0', true)",
    "isSemver('01.01.01', true)",
    "semver('v1.0', true) == semver('1.0.0')",
    "semver('01.01.01', true) == semver('1.1.1')",
    "semver('1.2.3').major() == 1",
    "semver('1.2.3').minor() == 2",
    "semver('1.2.3').patch() == 3",
    "semver('1.2.3').compareTo(semver('1.2.3')) == 0",
    "semver('1.2.3').compareTo(semver('2.0.0')) == -1",
    "semver('1.2.3').compareTo(semver('0.1.2')) == 1",
    "semver('1.2.3').isLessThan(semver('1.10.0'))",
    "semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))",
    "semver('1.0.0-1').isLessThan(semver('1.0.0-a'))",
    "semver('1.0.0+a') == semver('1.0.0+b')",
  )
  assert.equal(problemOf("semver('200K')"), 'No Major.Minor.Patch elements found')
  assert.equal(problemOf("semver('')"), 'Version string empty')
  assert.equal(problemOf("semver('01.0.0')"), 'Major number must not contain leading zeroes "01"')
  assert.equal(problemOf("semver('1-a', true)"), 'short version cannot contain PreRelease/Build meta data')
})

test('named formats say what is wrong with a string', () => {
  holds(
    "!format.dns1123Label().validate('my-label-name').hasValue()",
    "!format.dns1123Subdomain().validate('apiextensions.k8s.io').hasValue()",
    "!format.qualifiedName().validate('apiextensions.k8s.io/v1beta1').hasValue()",
    "!format.dns1123LabelPrefix().validate('my-label-prefix-').hasValue()",
    "!format.uri().validate('http://example.com').hasValue()",
    "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
    "!format.byte().validate('aGVsbG8=').hasValue()",
    "!format.date().validate('2021-01-01').hasValue()",
    "!format.datetime().validate('2021-01-01T00:00:00Z').hasValue()",
    "format.uuid().validate('x').value() == ['does not match the UUID format']",
    "format.byte().validate('=').value() == ['invalid base64']",
    "format.date().validate('2021-02-30').value() == ['invalid date']",
    "format.datetime().validate('2021-01-01T24:00:00Z').value() == ['invalid datetime']",
    "format.named('dns1035Label').value() == format.dns1035Label()",
    "!format.named('nope').hasValue()",
    'format.date() != format.datetime()',
  )
  assert.match(shown("format.dns1123Label().validate('A')"), /^optional\(\[a lowercase RFC 1123 label must consist of/)
  assert.equal(shown("format.uri().validate('x')"), 'optional([parse "x": invalid URI for request])')
})

test('numbers of versions order them, whatever they are', () => {
  const number = fc.nat({ max: 20 })
  fc.assert(
    fc.property(fc.tuple(number, number, number), fc.tuple(number, number, number), (a, b) => {
      const expected = a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
      assert.equal(evaluate(`semver('${a.join('.')}').compareTo(semver('${b.join('.')}'))`), Math.sign(expected))
    }),
    { numRuns: 60 },
  )
})
