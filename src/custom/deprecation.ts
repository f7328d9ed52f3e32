/** The warning that clients of a deprecated version get. */
import type { Spec } from '../kinds/apiextensions/definition-shapes.ts'
import { byPreference } from '../registry/catalog.ts'

/** The warning of a version; undefined for one that is not deprecated. */
export function deprecationOf({ group, names, versions }: Spec, name: string): string | undefined {
  const version = versions?.find(v => v.name === name)
  if (!version?.deprecated) return undefined
  if (version.deprecationWarning !== undefined) return version.deprecationWarning
  const newer = (versions ?? []).filter(v => v.served && !v.deprecated && byPreference(v.name, name) < 0).map(v => v.name)
  const [best] = newer.sort(byPreference)
  const warning = `${group}/${name} ${names.kind} is deprecated`
  return best === undefined ? warning : `${warning}; use ${group}/${best} ${names.kind}`
}
