/** Semantic versions as the `blang/semver` library parses and orders them, with its error messages. */
import { goQuote } from './go-text.ts'

export interface Semver {
  readonly major: bigint
  readonly minor: bigint
  readonly patch: bigint
  readonly prerelease: readonly (bigint | string)[]
  readonly build: readonly string[]
}

/** A string that is no version; the message is the library's. */
class SemverError extends Error {
  override readonly name = 'SemverError'
}

/** The version of a string; throws SemverError. */
export function parseSemver(text: string): Semver {
  if (text === '') throw new SemverError('Version string empty')
  const [major, minor, rest] = splitThree(text)
  if (major === undefined || minor === undefined || rest === undefined) throw new SemverError('No Major.Minor.Patch elements found')
  const numbers = [parseNumber(major, 'major', 'Major'), parseNumber(minor, 'minor', 'Minor')] as const
  const [beforeBuild, build] = cut(rest, '+')
  const [patch, prerelease] = cut(beforeBuild, '-')
  return {
    major: numbers[0],
    minor: numbers[1],
    patch: parseNumber(patch, 'patch', 'Patch'),
    prerelease: prerelease?.split('.').map(parsePrerelease) ?? [],
    build: build?.split('.').map(parseBuild) ?? [],
  }
}

/** As parseSemver, but accepts a leading `v`, missing minor and patch numbers and leading zeros. */
export function parseSemverLeniently(text: string): Semver {
  const parts = splitThree(text.startsWith('v') ? text.slice(1) : text).map(withoutLeadingZeros)
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? '')) {
    throw new SemverError('short version cannot contain PreRelease/Build meta data')
  }
  while (parts.length < 3) parts.push('0')
  return parseSemver(parts.join('.'))
}

/** -1, 0 or 1 as the first comes before, with or after the second; build data does not count. */
export function compareSemver(a: Semver, b: Semver): -1 | 0 | 1 {
  const byNumber = order(a.major, b.major) || order(a.minor, b.minor) || order(a.patch, b.patch)
  if (byNumber !== 0) return byNumber
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return order(b.prerelease.length, a.prerelease.length)
  for (const [i, part] of a.prerelease.entries()) {
    const other = b.prerelease[i]
    if (other === undefined) return 1
    const compared = comparePart(part, other)
    if (compared !== 0) return compared
  }
  return a.prerelease.length < b.prerelease.length ? -1 : 0
}

/** The version as text. */
export function formatSemver({ major, minor, patch, prerelease, build }: Semver): string {
  const suffix = (mark: string, parts: readonly (bigint | string)[]) => (parts.length === 0 ? '' : mark + parts.join('.'))
  return `${major}.${minor}.${patch}${suffix('-', prerelease)}${suffix('+', build)}`
}

const MAX_UINT64 = 2n ** 64n - 1n
const NUMERIC = /^[0-9]*$/
const ALPHANUMERIC = /^[0-9A-Za-z-]*$/

function splitThree(text: string): string[] {
  const [first, rest] = cut(text, '.')
  if (rest === undefined) return [first]
  const [second, third] = cut(rest, '.')
  return third === undefined ? [first, second] : [first, second, third]
}

function cut(text: string, mark: string): [string, string | undefined] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

function withoutLeadingZeros(part: string): string {
  if (part.length < 2) return part
  const trimmed = part.replace(/^0+/, '')
  return /^[0-9]/.test(trimmed) ? trimmed : `0${trimmed}`
}

function parseNumber(text: string, name: string, capitalized: string): bigint {
  if (!NUMERIC.test(text)) throw new SemverError(`Invalid character(s) found in ${name} number ${goQuote(text)}`)
  if (hasLeadingZero(text)) throw new SemverError(`${capitalized} number must not contain leading zeroes ${goQuote(text)}`)
  return parseUint(text)
}

function parseUint(text: string): bigint {
  if (text === '') throw new SemverError('strconv.ParseUint: parsing "": invalid syntax')
  // Numbers this long are past 64 bits; converting them would take quadratic time.
  const value = text.length > 20 ? MAX_UINT64 + 1n : BigInt(text)
  if (value > MAX_UINT64) throw new SemverError(`strconv.ParseUint: parsing ${goQuote(text)}: value out of range`)
  return value
}

function parsePrerelease(text: string): bigint | string {
  if (text === '') throw new SemverError('Prerelease is empty')
  if (NUMERIC.test(text)) {
    if (hasLeadingZero(text)) throw new SemverError(`Numeric PreRelease version must not contain leading zeroes ${goQuote(text)}`)
    return parseUint(text)
  }
  if (!ALPHANUMERIC.test(text)) throw new SemverError(`Invalid character(s) found in prerelease ${goQuote(text)}`)
  return text
}

function parseBuild(text: string): string {
  if (text === '') throw new SemverError('Build meta data is empty')
  if (!ALPHANUMERIC.test(text)) throw new SemverError(`Invalid character(s) found in build meta data ${goQuote(text)}`)
  return text
}

const hasLeadingZero = (text: string): boolean => text.length > 1 && text[0] === '0'

function comparePart(a: bigint | string, b: bigint | string): -1 | 0 | 1 {
  if (typeof a !== typeof b) return typeof a === 'bigint' ? -1 : 1
  return order(a, b)
}

const order = <T extends bigint | number | string>(a: T, b: T): -1 | 0 | 1 => (a < b ? -1 : a > b ? 1 : 0)
