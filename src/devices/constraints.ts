/** The constraints of a claim on attributes that its devices must or must not share. Devices are added and taken back one by one, the last first. */
import type { DeviceConstraint } from '../kinds/resource/claim-shapes.ts'
import type { DeviceAttribute } from '../kinds/resource/slice-shapes.ts'

export interface Constraint {
  readonly attribute: string
  /** The requests and subrequests that it is about; all when empty. */
  readonly requests: ReadonlySet<string>
  /** Whether a device can join those that are there; if so it has. */
  add(attribute: DeviceAttribute | undefined): boolean
  /** Takes back the last one that was added. */
  remove(): void
}

/** Undefined for a constraint of a type that is not known. */
export function constraintOf(
  { matchAttribute, distinctAttribute, requests }: DeviceConstraint,
  { lists }: { readonly lists: boolean },
): Constraint | undefined {
  const about = new Set(requests ?? [])
  if (matchAttribute !== undefined) return { attribute: matchAttribute, requests: about, ...matching(lists) }
  return distinctAttribute === undefined ? undefined : { attribute: distinctAttribute, requests: about, ...distinct(lists) }
}

type Rule = Pick<Constraint, 'add' | 'remove'>

/** All devices have a value in common. */
function matching(lists: boolean): Rule {
  /** The values that all have so far, device by device. */
  const common: (readonly string[])[] = []
  return {
    add(attribute) {
      const values = attribute && valuesOf(attribute, lists)
      if (!values) return false
      const before = common.at(-1)
      const after = before ? before.filter(value => values.includes(value)) : values
      if (before && after.length === 0) return false
      common.push(after)
      return true
    },
    remove: () => void common.pop(),
  }
}

/** No two devices have a value in common. */
function distinct(lists: boolean): Rule {
  const taken: (readonly string[])[] = []
  return {
    add(attribute) {
      const values = attribute && valuesOf(attribute, lists)
      if (!values || (values.length === 0 && taken.length > 0)) return false
      if (taken.some(other => other.some(value => values.includes(value)))) return false
      taken.push(values)
      return true
    },
    remove: () => void taken.pop(),
  }
}

/** The values of an attribute with their type; empty where lists are not compared, undefined where there is nothing to compare. */
function valuesOf(attribute: DeviceAttribute, lists: boolean): readonly string[] | undefined {
  const { int, bool, string, version, ints, bools, strings, versions } = attribute
  if (!lists && (ints ?? bools ?? strings ?? versions)) return []
  if (ints?.length) return ints.map(value => `int ${value}`)
  if (bools?.length) return bools.map(value => `bool ${value}`)
  if (strings?.length) return strings.map(value => `string ${value}`)
  if (versions?.length) return versions.map(value => `version ${value}`)
  if (int !== undefined) return [`int ${int}`]
  if (bool !== undefined) return [`bool ${bool}`]
  if (string !== undefined) return [`string ${string}`]
  return version === undefined ? undefined : [`version ${version}`]
}
