/** The order in which API groups are listed: built-in groups as kube-apiserver ranks them, then all others by name. */
import type { Catalog } from '../../registry/catalog.ts'
import type { Resource } from '../../schema/resource.ts'

export type GroupVersion = { readonly group: string; readonly version: string }
export type ServedGroup = { readonly group: string; readonly versions: readonly string[] }

const DOMAIN = '{group_domain}'

/** Clients resolve a short name that several groups share to the first group that has it, so the order is part of the API. */
const RANKED: readonly string[] = [
  `apiregistration.${DOMAIN}`,
  'apps',
  `events.${DOMAIN}`,
  `authentication.${DOMAIN}`,
  `authorization.${DOMAIN}`,
  'autoscaling',
  'batch',
  `certificates.${DOMAIN}`,
  `networking.${DOMAIN}`,
  'policy',
  `rbac.authorization.${DOMAIN}`,
  `storage.${DOMAIN}`,
  `admissionregistration.${DOMAIN}`,
  `apiextensions.${DOMAIN}`,
  `scheduling.${DOMAIN}`,
  `coordination.${DOMAIN}`,
  `node.${DOMAIN}`,
  `discovery.${DOMAIN}`,
  `resource.${DOMAIN}`,
  `flowcontrol.apiserver.${DOMAIN}`,
  `internal.apiserver.${DOMAIN}`,
  `storagemigration.${DOMAIN}`,
  `lifecycle.${DOMAIN}`,
]

/** Every group but the core one, in serving order, each with its versions, preferred first. */
export function servedGroups(catalog: Catalog): ServedGroup[] {
  const ranks = new Map<string, number>()
  for (const { group, def } of catalog) ranks.set(group, rankOf(def.group))
  return [...catalog.groups()]
    .filter(([group]) => group !== '')
    .map(([group, versions]) => ({ group, versions }))
    .sort((a, b) => ranks.get(a.group)! - ranks.get(b.group)! || (a.group < b.group ? -1 : 1))
}

/** The versions of the core group, preferred first. */
export const coreVersions = (catalog: Catalog): readonly string[] => catalog.groups().get('') ?? []

/** `apps/v1`, or `v1` for the core group. */
export const groupVersionText = ({ group, version }: GroupVersion) => (group === '' ? version : `${group}/${version}`)

/** What discovery says can be done with a resource. */
export const advertisedVerbs = ({ verbs, def }: Resource): readonly string[] => def.custom?.advertised ?? [...verbs].sort()

/** Whether objects of this resource are kept, unlike reviews and bindings that are only answered. */
export const isStored = ({ verbs }: Resource) => verbs.includes('create') && verbs.includes('get')

function rankOf(declared: string): number {
  const rank = RANKED.indexOf(declared)
  return rank === -1 ? RANKED.length : rank
}
