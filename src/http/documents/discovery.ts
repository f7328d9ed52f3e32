/** Discovery: the served groups, versions and resources, derived from the catalog and cached until it changes. */
import { createHash } from 'node:crypto'
import type { Catalog } from '../../registry/catalog.ts'
import type { Resource, Subresource } from '../../schema/resource.ts'
import type { Aggregated } from '../aggregated.ts'
import type { Peers } from '../peers.ts'
import { aggregatedDiscovery, aggregatedMediaType } from './discovery-aggregated.ts'
import { type ServedDocument, servedDocument } from './discovery-document.ts'
import { advertisedVerbs, coreVersions, type GroupVersion, groupVersionText, isStored, servedGroups } from './discovery-groups.ts'
import { discoveryBytes, discoveryTypes, negotiateDiscovery } from './discovery-media.ts'

export type DiscoveryOptions = {
  /** The request's Accept header. */
  readonly accept?: string | undefined
  /** `HOST:PORT` that clients should use. */
  readonly serverAddress: string
  /** Group versions of other servers. */
  readonly aggregated?: Aggregated | undefined
  /** Servers whose resources the aggregated document has, too. */
  readonly peers?: Peers | undefined
  /** Whether storage version hashes of built-in kinds are left out. */
  readonly hidesStorage?: boolean
  /** Whether the server serves CBOR. */
  readonly servesCbor?: boolean
}

/**
 * The discovery document at a path such as `/api`, `/apis/apps` or `/apis/apps/v1`, in the media type that the client prefers; undefined
 * when there is none. `/api` and `/apis` return aggregated discovery to clients that request it.
 */
export function discoveryDocument(catalog: Catalog, path: string, options: DiscoveryOptions): ServedDocument | undefined {
  const { accept, serverAddress, aggregated: others, peers, hidesStorage = false, servesCbor = false } = options
  if (path.startsWith('/apis//')) return undefined
  const [root, ...rest] = withoutSlashes(path).split('/')
  if ((root !== 'api' && root !== 'apis') || rest.length > (root === 'api' ? 1 : 2)) return undefined
  const documents = documentsOf(catalog, serverAddress, `${others?.version} ${peers?.version}`)
  const at = { root, rest, serverAddress, others, hidesStorage } as const
  const [group = ''] = rest
  const isRouted = root === 'api' || (rest.length === 2 && catalog.hasBuiltInGroup(group))
  const plain = `${[root, ...rest].join('/')}`
  // A missing document is missing in every media type.
  if (!documents.has(plain) && !classicValue(catalog, at)) return undefined
  // kube-apiserver's discovery of custom kinds was left without CBOR.
  const served = discoveryTypes(servesCbor && (rest.length < 2 || isRouted))
  const { mediaType, aggregated, isWithoutPeers } = negotiateDiscovery(accept, { isRoot: rest.length === 0, isRouted, served })
  // Every server has the core group, which is not merged, and clients that know only v2beta1 know no peers.
  const merged = aggregated === 'v2' && root === 'apis' && !isWithoutPeers ? peers : undefined
  const key = aggregated || mediaType !== 'application/json' ? `${plain} ${mediaType} ${aggregated ?? ''} ${merged ? 'merged' : ''}` : plain
  let document = documents.get(key)
  if (merged) merged.discovered(document ? 'merged before' : 'merged anew')
  else if (aggregated === 'v2' && isWithoutPeers) peers?.discovered('of this server')
  if (!document) {
    document = aggregated
      ? servedDocument(discoveryBytes(aggregatedDiscovery(catalog, root, { version: aggregated, others, peers: merged }), mediaType), {
          contentType: aggregatedMediaType(mediaType, aggregated),
          cacheControl: 'public',
        })
      : servedDocument(discoveryBytes(classicValue(catalog, at)!, mediaType), {
          contentType: mediaType,
          cacheControl: 'no-cache, private',
        })
    // Only existing documents are cached: clients choose the paths and must not fill the memory.
    documents.set(key, document)
  }
  return document
}

/** A path without its first slash and trailing ones. */
function withoutSlashes(path: string): string {
  let end = path.length
  while (end > 1 && path[end - 1] === '/') end--
  return path.slice(1, end)
}

type Kept = {
  readonly version: number
  /** The versions of other servers. */
  readonly others: string
  readonly serverAddress: string
  readonly documents: Map<string, ServedDocument>
}
const kept = new WeakMap<Catalog, Kept>()

function documentsOf(catalog: Catalog, serverAddress: string, others: string): Map<string, ServedDocument> {
  const now = kept.get(catalog)
  if (now?.version === catalog.version && now.others === others && now.serverAddress === serverAddress) return now.documents
  const documents = new Map<string, ServedDocument>()
  kept.set(catalog, { version: catalog.version, others, serverAddress, documents })
  return documents
}

type At = {
  readonly root: 'api' | 'apis'
  readonly rest: readonly string[]
  readonly serverAddress: string
  readonly others: Aggregated | undefined
  readonly hidesStorage: boolean
}

function classicValue(catalog: Catalog, { root, rest, serverAddress, others, hidesStorage }: At): object | undefined {
  if (root === 'api') {
    const [version] = rest
    return version === undefined ? apiVersions(catalog, serverAddress) : apiResourceList(catalog, { group: '', version }, hidesStorage)
  }
  const [group, version] = rest
  if (group === undefined) return apiGroupList(catalog, others)
  if (group === '') return undefined
  return version === undefined ? apiGroup(catalog, group, others) : apiResourceList(catalog, { group, version }, hidesStorage)
}

/** `/api`. Like the core group's other documents it names no apiVersion, which old clients expect. */
function apiVersions(catalog: Catalog, serverAddress: string): object {
  return {
    kind: 'APIVersions',
    versions: coreVersions(catalog),
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

function apiGroupList(catalog: Catalog, others: Aggregated | undefined): object {
  const groups = servedGroups(catalog, others).map(({ group, versions }) => groupOf(group, versions))
  return { kind: 'APIGroupList', apiVersion: 'v1', groups }
}

function apiGroup(catalog: Catalog, name: string, others: Aggregated | undefined): object | undefined {
  const found = servedGroups(catalog, others).find(({ group }) => group === name)
  return found && { kind: 'APIGroup', apiVersion: 'v1', ...groupOf(name, found.versions) }
}

function groupOf(group: string, versions: readonly string[]): object {
  const served = versions.map(version => ({ groupVersion: groupVersionText({ group, version }), version }))
  return { name: group, versions: served, preferredVersion: served[0] }
}

function apiResourceList(catalog: Catalog, groupVersion: GroupVersion, hidesStorage: boolean): object | undefined {
  const resources = catalog.resources(groupVersion.group, groupVersion.version)
  if (!resources) return undefined
  const entries = [...resources]
    .sort((a, b) => (a.plural < b.plural ? -1 : 1))
    .flatMap(resource => [
      resourceEntry(catalog, resource, hidesStorage),
      ...resource.subresources.map(sub => subresourceEntry(resource, sub)),
    ])
  return {
    kind: 'APIResourceList',
    ...(groupVersion.group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: groupVersionText(groupVersion),
    resources: entries,
  }
}

function resourceEntry(catalog: Catalog, resource: Resource, hidesStorage: boolean) {
  const { short, categories } = resource.def.names
  return {
    name: resource.plural,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: resource.kind,
    verbs: advertisedVerbs(resource),
    ...(short?.length ? { shortNames: short } : {}),
    ...(categories?.length ? { categories } : {}),
    ...(showsStorage(catalog, resource) && (!hidesStorage || resource.def.custom)
      ? { storageVersionHash: storageVersionHash(catalog, resource) }
      : {}),
  }
}

function subresourceEntry(resource: Resource, { name, verbs, bodyKind }: Subresource) {
  const foreign = bodyKind && (bodyKind.group !== resource.group || bodyKind.version !== resource.version)
  return {
    name: `${resource.plural}/${name}`,
    singularName: '',
    namespaced: resource.namespaced,
    ...(foreign ? { group: bodyKind.group, version: bodyKind.version } : {}),
    kind: bodyKind?.kind ?? resource.kind,
    verbs: [...verbs].sort(),
  }
}

/** Custom kinds have a storage version hash only while the stored version is served. */
const showsStorage = (catalog: Catalog, resource: Resource) =>
  isStored(resource) &&
  (!resource.def.custom || catalog.find(resource.group, resource.def.storedAs?.version ?? resource.version, resource.plural) !== undefined)

/**
 * The storage version hash, by which clients recognize that two paths show the same stored objects: eight bytes of the hash of their
 * storage version.
 */
function storageVersionHash(catalog: Catalog, { group, plural, kind, def }: Resource): string {
  const preferred = catalog
    .groups()
    .get(group)!
    .find(version => catalog.find(group, version, plural))
  const stored = { group, version: preferred, ...def.storedAs }
  return createHash('sha256').update(`${stored.group}/${stored.version}/${kind}`).digest().subarray(0, 8).toString('base64')
}
