/** Aggregated discovery: every group, version, resource and subresource in one document, which clients since 1.26 request first. */
import type { JsonObject } from '../../lib/json-value.ts'
import type { Catalog } from '../../registry/catalog.ts'
import type { Resource, Subresource } from '../../schema/resource.ts'
import type { Clause } from '../accept.ts'
import type { Aggregated } from '../aggregated.ts'
import type { DiscoveredGroup, DiscoveredResource, DiscoveredVersion, Peers } from '../peers.ts'
import { advertisedVerbs, coreVersions, groupVersionText, type ServedGroup, servedGroups } from './discovery-groups.ts'
import { mergedGroups } from './discovery-merged.ts'

export type AggregatedVersion = 'v2' | 'v2beta1'

/** The group is part of a media type that clients have compiled in, so it does not depend on the group domain. */
const GROUP = 'apidiscovery.k8s.io'
const KIND = 'APIGroupDiscoveryList'

export const aggregatedMediaType = (mediaType: string, version: AggregatedVersion) => `${mediaType};g=${GROUP};v=${version};as=${KIND}`

/** The aggregated version that a clause of an Accept header requests. */
export function aggregatedVersionIn({ params }: Clause): AggregatedVersion | undefined {
  const version = params.get('v')
  const isKnown = params.get('as') === KIND && params.get('g') === GROUP
  // Clients before 1.30 know only v2beta1, which kube-apiserver no longer serves; for them one document is better than one per version.
  return isKnown && (version === 'v2' || version === 'v2beta1') ? version : undefined
}

/** The aggregated document of the core group (`api`) or of all others (`apis`), with those of peers, if they are given. */
export function aggregatedDiscovery(catalog: Catalog, root: 'api' | 'apis', { version, others, peers }: AggregatedOptions): object {
  const groups = root === 'apis' ? servedGroups(catalog, others) : [{ group: '', versions: coreVersions(catalog) }]
  const foreign = new Map(Array.from(others?.all() ?? [], each => [groupVersionText(each), each.described?.discovery]))
  const own = groups.map(group => groupItem(catalog, group, foreign)).filter(({ versions }) => versions.length > 0)
  const items = peers ? mergedGroups(own, peers) : own
  return { kind: KIND, apiVersion: `${GROUP}/${version}`, metadata: {}, items }
}

type AggregatedOptions = {
  readonly version: AggregatedVersion
  readonly others: Aggregated | undefined
  readonly peers?: Peers | undefined
}

/** A version of another server is listed once its discovery document has been fetched. */
function groupItem(
  catalog: Catalog,
  { group, versions }: ServedGroup,
  foreign: ReadonlyMap<string, JsonObject | undefined>,
): DiscoveredGroup {
  const own = (version: string) => ({
    version,
    resources: (catalog.resources(group, version) ?? []).map(resourceItem),
    freshness: 'Current',
  })
  return {
    metadata: group === '' ? {} : { name: group },
    versions: versions.flatMap((version): DiscoveredVersion[] => {
      const at = groupVersionText({ group, version })
      return foreign.has(at) ? ([foreign.get(at) ?? []].flat() as unknown as DiscoveredVersion[]) : [own(version)]
    }),
  }
}

function resourceItem(resource: Resource): DiscoveredResource {
  const { short, categories } = resource.def.names
  return {
    resource: resource.plural,
    responseKind: { ...groupVersionOf(resource), kind: resource.kind },
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: advertisedVerbs(resource),
    ...(short?.length ? { shortNames: short } : {}),
    ...(categories?.length ? { categories } : {}),
    ...(resource.subresources.length ? { subresources: resource.subresources.map(sub => subresourceItem(resource, sub)) } : {}),
  }
}

/** Empty group and version mean those under which the resource is listed; custom kinds set them. */
const groupVersionOf = ({ group, version, def }: Resource) => (def.custom ? { group, version } : { group: '', version: '' })

function subresourceItem(resource: Resource, { name, verbs, bodyKind }: Subresource): JsonObject {
  const foreign = bodyKind && (bodyKind.group !== resource.group || bodyKind.version !== resource.version)
  return {
    subresource: name,
    responseKind: {
      ...(foreign ? { group: bodyKind.group, version: bodyKind.version } : groupVersionOf(resource)),
      kind: bodyKind?.kind ?? resource.kind,
    },
    verbs: [...verbs].sort(),
  }
}
