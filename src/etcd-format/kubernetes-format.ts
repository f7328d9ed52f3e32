/**
 * The record format of kube-apiserver: the same keys, versions and encodings, so that both can work on one etcd, one after the other.
 *
 *     key                                place below the prefix              value
 *     /core/configmaps/default/a         /configmaps/default/a               protobuf in an envelope
 *     /core/services/default/a           /services/specs/default/a           the same
 *     /apiextensions.k8s.io/…/ws.x.org   the same                            JSON, in v1beta1
 *     /x.org/ws/default/a                the same                            JSON, in the version of its definition; CBOR behind its gate
 *     /ranges/servicenodeports           the same                            protobuf of a kind that is not served
 *     /masterleases/10.0.0.1             the same                            protobuf of Endpoints: the addresses of servers
 *     /peerserverleases/apiserver-a      the same                            the same, by the identities of servers
 *     /keelson/identity                  the same                            as it is: kube-apiserver reads nothing there
 *     /allocation/nodeports/30001        /keelson/allocation/nodeports/30001 the same
 *     none                               /leasecandidates/kube-system/a      left alone, as is whatever else is not known here
 *
 * A record holds only fields that kube-apiserver would have written: fields that a gate or a version of this server adds would be lost
 * when kube-apiserver writes the object. Fields that this server does not know are lost with its next write, as with kube-apiserver's.
 */
import { isSelfDescribed } from '../codec/cbor.ts'
import { decodeCbor } from '../codec/cbor-decode.ts'
import { encodeSortedCbor } from '../codec/cbor-encode.ts'
import { parseJson } from '../codec/json.ts'
import { encodeStored, parseObject } from '../codec/stored-bytes.ts'
import { isObject, type JsonObject } from '../lib/json-value.ts'
import type { AnyObject } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import type { Decoded, RecordFormat } from '../storage/etcd/record-format.ts'
import { bytesOf } from '../storage/store.ts'
import { mapJson } from './go-json.ts'
import { type Layout, layoutOf } from './layout.ts'
import { NODE_PORTS, RangeAllocation } from './range-allocation.ts'
import { type StoredKind, storedKind } from './stored-kind.ts'

export type FormatOptions = {
  /** Each built-in kind in its stored version. */
  readonly resources: Iterable<Resource>
  readonly groupDomain: string
  readonly now: () => Date
  /** Whether a feature gate is on; without it, none is. */
  readonly gate?: (name: string) => boolean
}

/** One kind with the places of its records. */
type Kept = { readonly prefix: string; readonly namespaced: boolean; readonly layout: Layout; readonly kind: StoredKind }

export function kubernetesFormat({ resources, groupDomain, now, gate = () => false }: FormatOptions): RecordFormat {
  const byPrefix = new Map<string, Kept>()
  const byBase = new Map<string, Kept>()
  for (const resource of resources) {
    if (resource.def.custom || resource.def.virtual) continue
    const kept = keptOf(resource, { groupDomain, now, gate })
    byPrefix.set(resource.prefix, kept)
    byBase.set(kept.layout.base, kept)
  }
  const storesCbor = gate('CBORServingAndStorage')
  const custom = storesCbor ? CUSTOM_CBOR : CUSTOM_JSON
  const endpoints = byPrefix.get('/core/endpoints/')?.kind ?? AS_IS
  const kindBeside = (key: string): StoredKind => {
    if (key === NODE_PORTS) return NODE_PORT_RANGE
    if (isOfServer(key)) return endpoints
    return key.startsWith(OWN) || isOwnElsewhere(key) ? AS_IS : custom
  }
  const kindOf = (key: string): StoredKind => byPrefix.get(resourceOf(key))?.kind ?? kindBeside(key)

  return {
    placeOf(key) {
      const kept = byPrefix.get(resourceOf(key))
      if (kept) return kept.layout.base + key.slice(kept.prefix.length)
      if (isOwnElsewhere(key)) return OWN + key.slice(1)
      // A record that could not be found again must not be written.
      if (!isBeside(key) && !isCustom(key)) throw new Error(`${key} has no place in etcd`)
      return key
    },
    keyAt(place) {
      if (place === NODE_PORTS) return place
      if (isOfServer(place)) return hasSegments(place.slice(1), [2]) ? place : undefined
      if (place.startsWith(OWN)) {
        const elsewhere = place.slice(OWN.length - 1)
        return isOwnElsewhere(elsewhere) ? elsewhere : place
      }
      const kept = byBase.get(resourceOf(place)) ?? byBase.get(place.slice(0, place.indexOf('/', 1) + 1))
      if (kept) {
        const rest = place.slice(kept.layout.base.length)
        return hasSegments(rest, kept.namespaced ? [2] : [1]) ? kept.prefix + rest : undefined
      }
      // Keys under the group of a built-in kind with another place are ignored.
      return isCustom(place) && !byPrefix.has(resourceOf(place)) && hasSegments(place.slice(1), [3, 4]) ? place : undefined
    },
    placesBelow(prefix) {
      const kept = byPrefix.get(resourceOf(prefix))
      if (kept) return kept.layout.base + prefix.slice(kept.prefix.length)
      if (isOwnElsewhere(prefix)) return OWN + prefix.slice(1)
      for (const resource of byPrefix.keys()) if (resource.startsWith(prefix)) return '/'
      return prefix
    },
    encode(key, value, object) {
      return kindOf(key).encode(value, object as AnyObject | undefined)
    },
    decode(records) {
      return records.map(({ key, stored }) => kindOf(key).decode(stored))
    },
    mayBeStale: key => storesCbor && kindOf(key) === custom,
    isStale: ({ stored }) => !isSelfDescribed(stored),
  }
}

function keptOf(resource: Resource, { groupDomain, now, gate }: Required<Omit<FormatOptions, 'resources'>>): Kept {
  const { prefix, namespaced, def, versions } = resource
  const layout = layoutOf(resource)
  const setDefaults = def.defaults && ((object: AnyObject) => def.defaults!(object, { now: now(), groupDomain, gate }))
  return { prefix, namespaced, layout, kind: storedKind(resource, { layout, versions, ...(setDefaults && { setDefaults }) }) }
}

/** Where records of this server's own are that kube-apiserver has nothing like. */
const OWN = '/keelson/'
/** Where servers say at which addresses they are; each record expires unless it is written again. */
const SERVER_ADDRESSES = ['/masterleases/', '/peerserverleases/'] as const
const isOfServer = (key: string) => SERVER_ADDRESSES.some(prefix => key.startsWith(prefix))
/** Keys that are places, other than those of custom kinds. */
const isBeside = (key: string) => key === NODE_PORTS || key.startsWith(OWN) || isOfServer(key)
/** Kinds with a domain in the first part, other than built-in ones, are custom ones. */
const isCustom = (key: string) => key.slice(1, key.indexOf('/', 1)).includes('.')
/** Keys of its own that are not there by themselves. */
const isOwnElsewhere = (key: string) => key.startsWith('/allocation/')

/** `/core/pods/` of `/core/pods/default/a`. */
const resourceOf = (key: string) => key.slice(0, key.indexOf('/', key.indexOf('/', 1) + 1) + 1)

function hasSegments(path: string, counts: readonly number[]): boolean {
  const segments = path.split('/')
  return counts.includes(segments.length) && segments.every(segment => segment !== '')
}

/** Copied when read: a part of a response of etcd would keep all of it in memory. */
const AS_IS: StoredKind = { encode: bytesOf, decode: value => ({ value: Buffer.from(value) }) }

const NODE_PORT_RANGE = storedKind(
  { kind: 'RangeAllocation', apiVersion: 'v1', type: RangeAllocation },
  { layout: { base: '/ranges/', encoding: 'protobuf', apiVersion: 'v1', alsoWrittenAs: [] } },
)

/** Objects of custom kinds are what their definition says, which may not be known yet. Both encodings are read, whatever is written. */
const customKind = (encode: (value: JsonObject) => Uint8Array): StoredKind => ({
  encode(value, object = parseObject(bytesOf(value))) {
    const { metadata, ...others } = object
    const { resourceVersion: _, selfLink: __, ...kept } = metadata
    return encode({ ...others, metadata: kept } as unknown as JsonObject)
  },
  decode(stored): Decoded {
    let value: unknown
    try {
      value = isSelfDescribed(stored) ? decodeCbor(stored) : parseJson(stored).value
    } catch (error) {
      return { fault: (error as Error).message }
    }
    if (!isObject(value) || !isObject(value['metadata'])) return { fault: 'the record is no object with metadata' }
    const object = value as unknown as AnyObject
    return { value: encodeStored(object), object }
  },
})

const CUSTOM_JSON = customKind(mapJson)
const CUSTOM_CBOR = customKind(encodeSortedCbor)
