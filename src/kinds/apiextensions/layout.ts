/**
 * A definition in the layout that its rules use. Parts that all versions share are kept once, above them, as in the first version of this
 * API, and errors name them there: for a definition with one version, that is everything but its name.
 */
import { deepEqual } from '../../lib/json-value.ts'
import type { DefinitionVersion, Spec } from './definition-shapes.ts'

/** The parts of a version that all versions can share. */
export type Parts = Pick<DefinitionVersion, 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields'>

export type Layout = {
  /** The parts that all versions share. */
  readonly shared: Parts
  /** Every version without the shared parts. */
  readonly versions: readonly DefinitionVersion[]
}

const PARTS = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const

/** Separates the shared parts of versions from their own. */
export function layoutOf({ versions }: Spec): Layout {
  const [first, ...others] = versions ?? []
  if (!first) return { shared: {}, versions: [] }
  const common = PARTS.filter(part => others.every(other => deepEqual(first[part] ?? null, other[part] ?? null)))
  const shared: Parts = Object.fromEntries(common.filter(part => first[part] !== undefined).map(part => [part, first[part]]))
  const isOwn = ([name]: [string, unknown]) => !(common as readonly string[]).includes(name)
  const own = versions!.map(version => Object.fromEntries(Object.entries(version).filter(isOwn)) as DefinitionVersion)
  return { shared, versions: own }
}

/** Whether a version has a status subresource. */
export const hasStatus = ({ shared }: Layout, version: DefinitionVersion): boolean =>
  (version.subresources ?? shared.subresources)?.status !== undefined

/** Whether any version has. */
export const anyHasStatus = ({ shared, versions }: Layout): boolean =>
  [shared, ...versions].some(({ subresources }) => subresources?.status !== undefined)
