/** The order of API groups: by their registered priorities, then by name. */
import { byPreference, type Catalog } from '../../registry/catalog.ts'
import { CUSTOM_PRIORITIES, type Priorities, prioritiesOf } from '../../registry/group-priorities.ts'
import type { Resource } from '../../schema/resource.ts'
import type { Aggregated } from '../aggregated.ts'

export type GroupVersion = { readonly group: string; readonly version: string }
export type ServedGroup = { readonly group: string; readonly versions: readonly string[] }

/**
 * Every group but the core one, in serving order, each with its versions, preferred first. Clients resolve a short name that several
 * groups share to the first group that has it, so the order is part of the API.
 */
export function servedGroups(catalog: Catalog, aggregated?: Aggregated): ServedGroup[] {
  const groups = new Map<string, { priority: number; readonly versions: Map<string, number> }>()
  const add = (group: string, version: string, { groupPriorityMinimum, versionPriority }: Priorities) => {
    let found = groups.get(group)
    if (!found) groups.set(group, (found = { priority: 0, versions: new Map() }))
    found.priority = Math.max(found.priority, groupPriorityMinimum)
    found.versions.set(version, versionPriority)
  }
  for (const { group, version, def } of catalog)
    if (group !== '') add(group, version, def.custom ? CUSTOM_PRIORITIES : prioritiesOf(def.group.replace('.{group_domain}', ''), version))
  for (const { group, version, groupPriority, versionPriority } of aggregated?.all() ?? [])
    if (group !== '') add(group, version, { groupPriorityMinimum: groupPriority, versionPriority })
  return [...groups]
    .sort(([a, { priority: p }], [b, { priority: q }]) => q - p || (a < b ? -1 : 1))
    .map(([group, { versions }]) => ({
      group,
      versions: [...versions].sort(([a, p], [b, q]) => q - p || byPreference(a, b)).map(([version]) => version),
    }))
}

/** The versions of the core group, preferred first. */
export const coreVersions = (catalog: Catalog): readonly string[] => catalog.groups().get('') ?? []

/** `apps/v1`, or `v1` for the core group. */
export const groupVersionText = ({ group, version }: GroupVersion) => (group === '' ? version : `${group}/${version}`)

/** The verbs of a resource in discovery. */
export const advertisedVerbs = ({ verbs, def }: Resource): readonly string[] => def.custom?.advertised ?? [...verbs].sort()

/** Whether objects of this resource are stored, unlike reviews and bindings. */
export const isStored = ({ verbs }: Resource) => verbs.includes('create') && verbs.includes('get')
