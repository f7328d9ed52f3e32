import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareSemver, formatSemver, parseSemver, parseSemverLeniently } from './semver.ts'

const problem = (text: string, parse = parseSemver): string => {
  try {
    return `fine: ${formatSemver(parse(text))}`
  } catch (error) {
    return (error as Error).message
  }
}

test('versions are parsed', () => {
  for (const text of ['0.0.0', '1.2.3', '1.2.3-alpha.1', '1.2.3-0.a-b+build.007', '18446744073709551615.0.0'])
    assert.equal(problem(text), `fine: ${text}`)
})

test('invalid versions are rejected', () => {
  assert.equal(problem(''), 'Version string empty')
  assert.equal(problem('1.2'), 'No Major.Minor.Patch elements found')
  assert.equal(problem('a.2.3'), 'Invalid character(s) found in major number "a"')
  assert.equal(problem('1.02.3'), 'Minor number must not contain leading zeroes "02"')
  assert.equal(problem('1.2.x'), 'Invalid character(s) found in patch number "x"')
  assert.equal(problem('..'), 'strconv.ParseUint: parsing "": invalid syntax')
  assert.equal(problem('18446744073709551616.0.0'), 'strconv.ParseUint: parsing "18446744073709551616": value out of range')
  assert.equal(problem('1.2.3-'), 'Prerelease is empty')
  assert.equal(problem('1.2.3-01'), 'Numeric PreRelease version must not contain leading zeroes "01"')
  assert.equal(problem('1.2.3-a_b'), 'Invalid character(s) found in prerelease "a_b"')
  assert.equal(problem('1.2.3+'), 'Build meta data is empty')
  assert.equal(problem('1.2.3+ä'), 'Invalid character(s) found in build meta data "ä"')
})

test('the lenient parser fills in missing parts', () => {
  const lenient = (text: string) => problem(text, parseSemverLeniently)
  assert.equal(lenient('v1'), 'fine: 1.0.0')
  assert.equal(lenient('1.02'), 'fine: 1.2.0')
  assert.equal(lenient('01.00.003-rc.1'), 'fine: 1.0.3-rc.1')
  assert.equal(lenient('1.2-rc'), 'short version cannot contain PreRelease/Build meta data')
  assert.equal(lenient('vv1'), 'Invalid character(s) found in major number "0v1"')
})

test('versions are ordered by numbers first and prereleases before releases', () => {
  const ordered = ['1.0.0-1', '1.0.0-2', '1.0.0-10', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-beta', '1.0.0', '1.0.1', '1.1.0', '10.0.0'].map(
    parseSemver,
  )
  for (const [i, a] of ordered.entries()) for (const [j, b] of ordered.entries()) assert.equal(compareSemver(a, b), Math.sign(i - j))
  assert.equal(compareSemver(parseSemver('1.0.0+a'), parseSemver('1.0.0+b')), 0)
})

test('printed versions are parsed back', () => {
  const part = fc.oneof(fc.nat().map(String), fc.stringMatching(/^[a-z][a-z0-9-]{0,4}$/))
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.nat(), fc.array(part, { maxLength: 3 }), (major, minor, patch, pre) => {
      const text = `${major}.${minor}.${patch}${pre.length > 0 ? `-${pre.join('.')}` : ''}`
      assert.equal(formatSemver(parseSemver(text)), text)
    }),
  )
})
