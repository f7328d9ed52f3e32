/** The media types of discovery: negotiation by Accept header, and encoding. */
import { CBOR } from '../../codec/cbor.ts'
import { encodeCbor } from '../../codec/cbor-encode.ts'
import { toProtobuf } from '../../codec/protobuf-encode.ts'
import { envelope, PROTOBUF } from '../../codec/protobuf-envelope.ts'
import { stringifyYaml } from '../../codec/yaml-writer.ts'
import type { Json, JsonObject } from '../../lib/json-value.ts'
import { ObjectMeta } from '../../schema/object-meta.ts'
import { notAcceptable, StatusError } from '../../schema/status-error.ts'
import { type AnyType, atomic, type Fields, message, string } from '../../schema/types.ts'
import { accepts, parseAccept } from '../accept.ts'
import * as common from '../common-messages.ts'
import type { MediaType } from '../negotiate.ts'
import { type AggregatedVersion, aggregatedVersionIn } from './discovery-aggregated.ts'

export type DiscoveryMedia = {
  readonly mediaType: MediaType
  /** The version of aggregated discovery; undefined for one document per group and version. */
  readonly aggregated: AggregatedVersion | undefined
  /** Whether the client wants the document of this server alone, without its peers. */
  readonly isWithoutPeers: boolean
}

const SERVED: readonly MediaType[] = ['application/json', 'application/yaml', PROTOBUF]
const SERVED_WITH_CBOR: readonly MediaType[] = [...SERVED, CBOR]

/** The media types of a document. */
export const discoveryTypes = (servesCbor: boolean): readonly MediaType[] => (servesCbor ? SERVED_WITH_CBOR : SERVED)

const PLAIN: DiscoveryMedia = { mediaType: 'application/json', aggregated: undefined, isWithoutPeers: false }

/**
 * The available format that the client prefers; throws 406 when there is none. kube-apiserver's router of built-in kinds knows no ranges
 * such as `application/*`, except the one for everything.
 */
export function negotiateDiscovery(
  accept: string | undefined,
  { isRoot, isRouted, served }: { readonly isRoot: boolean; readonly isRouted: boolean; readonly served: readonly MediaType[] },
): DiscoveryMedia {
  if (accept === undefined || accept === '' || accept === '*/*') return PLAIN
  const clauses = parseAccept(accept)
  const routed = clauses.filter(({ type, subtype }) => !isRouted || subtype !== '*' || type === '*')
  if (isRouted && !routed.some(clause => served.some(type => accepts(clause, type))))
    throw new StatusError(406, 'NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${served.join(', ')}`, {})
  for (const clause of clauses) {
    const mediaType = served.find(type => accepts(clause, type))
    if (mediaType === undefined) continue
    if (!['as', 'g', 'v'].some(name => clause.params.has(name))) return { ...PLAIN, mediaType }
    const aggregated = isRoot ? aggregatedVersionIn(clause) : undefined
    if (aggregated) return { mediaType, aggregated, isWithoutPeers: clause.params.get('profile') === 'nopeer' }
  }
  throw notAcceptable(served)
}

/** A document in a media type. */
export function discoveryBytes(value: object, mediaType: DiscoveryMedia['mediaType']): Buffer {
  const document = value as JsonObject
  if (mediaType === 'application/json') return Buffer.from(JSON.stringify(document))
  if (mediaType === 'application/yaml') return Buffer.from(stringifyYaml(document))
  if (mediaType === CBOR) return encodeCbor(document)
  const { kind, apiVersion = '' } = document as { kind: string; apiVersion?: string }
  return envelope({ kind, apiVersion }, toProtobuf(MESSAGES[kind]!, wrapVerbs(kind, document)))
}

// In protobuf the verbs of a resource are a message of their own.
const Verbs = message('Verbs', { items: [1, atomic(string)] })
const resourceFields = (common.APIResource.shape as { readonly fields: Fields }).fields
const ApiResource = message('APIResource', { ...resourceFields, verbs: [4, Verbs] })

const GroupVersionKind = message('GroupVersionKind', { group: [1, string], version: [2, string], kind: [3, string] })
const Subresource = message('APISubresourceDiscovery', {
  subresource: [1, string],
  responseKind: [2, GroupVersionKind],
  acceptedTypes: [3, atomic(GroupVersionKind)],
  verbs: [4, atomic(string)],
})
const AggregatedResource = message('APIResourceDiscovery', {
  resource: [1, string],
  responseKind: [2, GroupVersionKind],
  scope: [3, string],
  singularResource: [4, string],
  verbs: [5, atomic(string)],
  shortNames: [6, atomic(string)],
  categories: [7, atomic(string)],
  subresources: [8, atomic(Subresource)],
})
const Version = message('APIVersionDiscovery', {
  version: [1, string],
  resources: [2, atomic(AggregatedResource)],
  freshness: [3, string],
})
const Group = message('APIGroupDiscovery', { metadata: [1, ObjectMeta.orEmpty()], versions: [2, atomic(Version)] })

const MESSAGES: Readonly<Record<string, AnyType>> = {
  APIVersions: common.APIVersions,
  APIGroupList: common.APIGroupList,
  APIGroup: common.APIGroup,
  APIResourceList: message('APIResourceList', { groupVersion: [1, string], resources: [2, atomic(ApiResource)] }),
  APIGroupDiscoveryList: message('APIGroupDiscoveryList', { metadata: [1, common.ListMeta.orEmpty()], items: [2, atomic(Group)] }),
}

function wrapVerbs(kind: string, document: JsonObject): Json {
  if (kind !== 'APIResourceList') return document
  const resources = (document['resources'] as JsonObject[]).map(each => ({ ...each, verbs: { items: each['verbs'] ?? [] } }))
  return { ...document, resources }
}
