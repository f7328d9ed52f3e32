/** Semantic versions: semver, isSemver, their numbers and order. */

import { compareSemver, formatSemver, parseSemver, parseSemverLeniently, type Semver } from '../../lib/semver.ts'
import type { Library } from '../checker/library.ts'
import { boolType, intType, objectType, stringType } from '../checker/types.ts'
import { CelFault, CelOpaque, type CelValue, intOf, noSuchOverload } from '../runtime/values.ts'
import { traversal, unitCost } from './call-costs.ts'
import { attempt, fn, global, member } from './declare.ts'

export const semverType = objectType('kubernetes.Semver')

/** A version as a value. */
export class SemverValue extends CelOpaque {
  readonly type = semverType
  readonly version: Semver
  constructor(version: Semver) {
    super()
    this.version = version
  }
  equalTo(other: CelValue): boolean | CelFault {
    return other instanceof SemverValue ? compareSemver(this.version, other.version) === 0 : noSuchOverload
  }
  override toString(): string {
    return formatSemver(this.version)
  }
}

const text = [stringType]
const textAndChoice = [stringType, boolType]
const cost = unitCost

const compared = (id: string, result: typeof boolType, tell: (order: -1 | 0 | 1) => CelValue) =>
  member({ id, params: [semverType, semverType], result, cost }, (a: SemverValue, b: SemverValue) =>
    tell(compareSemver(a.version, b.version)),
  )

const numberOf = (id: string, name: 'major' | 'minor' | 'patch') =>
  fn(
    name,
    // Numbers past 63 bits come out negative, as they do in Kubernetes.
    member({ id, params: [semverType], result: intType, cost }, ({ version }: SemverValue) => intOf(BigInt.asIntN(64, version[name]))),
  )

export const semverLibrary = (): Library => ({
  functions: [
    fn(
      'semver',
      global({ id: 'string_to_semver', params: text, result: semverType, cost: traversal }, parse),
      global({ id: 'string_bool_to_semver', params: textAndChoice, result: semverType, cost: traversal }, parse),
    ),
    fn(
      'isSemver',
      global({ id: 'is_semver_string', params: text, result: boolType, cost: traversal }, isSemver),
      global({ id: 'is_semver_string_bool', params: textAndChoice, result: boolType, cost: traversal }, isSemver),
    ),
    fn(
      'isGreaterThan',
      compared('semver_is_greater_than', boolType, order => order === 1),
    ),
    fn(
      'isLessThan',
      compared('semver_is_less_than', boolType, order => order === -1),
    ),
    fn(
      'compareTo',
      compared('semver_compare_to', intType, order => order),
    ),
    numberOf('semver_major', 'major'),
    numberOf('semver_minor', 'minor'),
    numberOf('semver_patch', 'patch'),
  ],
})

function parse(version: string, isLenient = false): CelValue {
  return attempt(() => new SemverValue(isLenient ? parseSemverLeniently(version) : parseSemver(version)))
}

const isSemver = (version: string, isLenient = false): CelValue => !(parse(version, isLenient) instanceof CelFault)
