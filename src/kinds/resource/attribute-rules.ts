/** Rules for device attributes: one value of one type per name, limited in total. */
import { type FieldError, invalid, type Ref, tooLong, withValue } from '../../schema/refs.ts'
import { type Finding, late } from './findings.ts'
import type { DeviceAttribute } from './slice-shapes.ts'

const MAX_VALUE_BYTES = 64
const TYPES = ['int', 'bool', 'string', 'version', 'ints', 'bools', 'strings', 'versions'] as const

const NUMBER = '(0|[1-9]\\d*)'
const PRERELEASE = '(0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)'
const BUILD = '[0-9a-zA-Z-]+'
const VERSION = new RegExp(`^${NUMBER}\\.${NUMBER}\\.${NUMBER}(-${PRERELEASE}(\\.${PRERELEASE})*)?(\\+${BUILD}(\\.${BUILD})*)?$`)

/** Rules for one attribute. */
export function* validateAttribute(attribute: DeviceAttribute, at: Ref<DeviceAttribute>): Iterable<Finding> {
  if (attribute.string !== undefined) yield* validateText(attribute.string, at.string)
  if (attribute.version !== undefined) yield* validateVersion(attribute.version, at.version)
  for (const type of ['bools', 'ints', 'strings', 'versions'] as const) {
    if (attribute[type]?.length === 0) yield invalid(at[type], 'must not be empty if specified')
    if (type === 'strings') for (const [i, text] of (attribute.strings ?? []).entries()) yield* validateText(text, at.strings[i]!)
    if (type === 'versions') for (const [i, text] of (attribute.versions ?? []).entries()) yield* validateVersion(text, at.versions[i]!)
  }
  yield* late(validateOneType(attribute, at))
}

function* validateOneType(attribute: DeviceAttribute, at: Ref<DeviceAttribute>): Iterable<FieldError> {
  const given = TYPES.filter(type => isGiven(attribute[type]))
  const all = TYPES.map(type => `\`${type}\``).join(', ')
  if (given.length === 0) yield invalid(withValue(at, ''), `must specify one of: ${all}`)
  if (given.length > 1) yield invalid(withValue(at, `{${given.join(', ')}}`), `must specify exactly one of: ${all}`)
}

const isGiven = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : value !== undefined)

function* validateText(text: string, at: Ref<string>): Iterable<FieldError> {
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) yield tooLong(at, MAX_VALUE_BYTES)
}

function* validateVersion(text: string, at: Ref<string>): Iterable<FieldError> {
  if (!VERSION.test(text)) yield invalid(at, 'must be a string compatible with semver.org spec 2.0.0')
  yield* validateText(text, at)
}

/** The number of values of attributes, lists counted by their items. */
export function countValues(attributes: Readonly<Record<string, DeviceAttribute>> | undefined): number {
  let count = 0
  for (const { bools = [], ints = [], strings = [], versions = [] } of Object.values(attributes ?? {}))
    count += bools.length + ints.length + strings.length + versions.length || 1
  return count
}

/** Whether an attribute is a list. */
export const isList = ({ bools, ints, strings, versions }: DeviceAttribute): boolean =>
  [bools, ints, strings, versions].some(list => list !== undefined)
