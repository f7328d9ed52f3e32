/** StorageVersion shows in which version each server writes the records of a resource, and which versions it can read. */
import { isDNS1035Label, isDNS1123Subdomain, isQualifiedName, type NameCheck, nameIsDNSSubdomain, regexMessage } from '../../lib/names.ts'
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { duplicate, type FieldError, invalid, invalidEach, type Ref, required, withValue } from '../../schema/refs.ts'
import { int64, keyed, message, type Static, set, string, time } from '../../schema/types.ts'

const ServerStorageVersion = message('ServerStorageVersion', {
  apiServerID: [1, string.always().openapiDefault(), 'The server.'],
  encodingVersion: [2, string.always().openapiDefault(), 'The version in which it writes records.'],
  decodableVersions: [3, set(string).always(), 'The versions that it can read.'],
  servedVersions: [4, set(string), 'The versions that it serves; all of them can be read.'],
})
type ServerStorageVersion = Static<typeof ServerStorageVersion>

const StorageVersionCondition = message('StorageVersionCondition', {
  type: [1, string.always(), 'The type of the condition.'],
  status: [2, string.always(), 'True, False or Unknown.'],
  observedGeneration: [3, int64, 'The generation this describes.'],
  lastTransitionTime: [4, time.always().omittable(), 'When the status last changed.'],
  reason: [5, string.always(), 'A word for the reason.'],
  message: [6, string.always().openapiDefault(), 'The reason in words.'],
})
type StorageVersionCondition = Static<typeof StorageVersionCondition>

const StorageVersionStatus = message('StorageVersionStatus', {
  storageVersions: [1, keyed(ServerStorageVersion, 'apiServerID'), 'The versions of each server.'],
  commonEncodingVersion: [2, string.optional(), 'The version in which all servers write records; absent while they disagree.'],
  conditions: [3, keyed(StorageVersionCondition, 'type'), 'The latest observations.'],
})
type StorageVersionStatus = Static<typeof StorageVersionStatus>

const StorageVersionSpec = message('StorageVersionSpec', {})

/** Group and plural of a resource, with a dot between them. */
const nameOfStorageVersion: NameCheck = name => {
  const dot = name.lastIndexOf('.')
  if (dot < 0) return ['name must be in the form of <group>.<resource>']
  return [
    ...isDNS1123Subdomain(name.slice(0, dot)).map(fault => `the group segment ${fault}`),
    ...isDNS1035Label(name.slice(dot + 1)).map(fault => `the resource segment ${fault}`),
  ]
}

export const StorageVersion = defineKind({
  group: 'internal.apiserver.{group_domain}',
  version: 'v1alpha1',
  kind: 'StorageVersion',
  scope: 'Cluster',
  names: { plural: 'storageversions' },
  doc: 'The versions in which servers write and read the records of a resource.',
  name: nameOfStorageVersion,
  expectsMetadata: true,
  spec: StorageVersionSpec,
  status: StorageVersionStatus,
  allowUnconditionalUpdate: false,

  subresources: {
    status: {
      keepsMetadata: true,
      *validate({ status }, { status: at }) {
        yield* validateStatus(status, at)
      },
    },
  },
  columns: {
    CommonEncodingVersion: [
      'string',
      o => o.status.commonEncodingVersion ?? '<unset>',
      'If all API server instances agree on the same encoding storage version, then this field is set to that version. Otherwise this field is left empty. API servers should finish updating its storageVersionStatus entry before serving write operations, so that this field will be in sync with the reality.',
    ],
    StorageVersions: ['string', o => summaryOf(o.status.storageVersions ?? []), 'The reported versions per API server instance.'],
    Age: age,
  },
})

/** An object of the kind StorageVersion. */
export type StorageVersion = ObjectOf<typeof StorageVersion>

const MAX_SHOWN = 3

function summaryOf(versions: readonly ServerStorageVersion[]): string {
  const shown = versions.slice(0, MAX_SHOWN).map(({ apiServerID, encodingVersion }) => `${apiServerID}=${encodingVersion}`)
  const more = versions.length - MAX_SHOWN
  if (versions.length === 0) return '<unset>'
  return `${shown.join(',')}${more > 0 ? ` + ${more} more...` : ''}`
}

function* validateStatus(status: StorageVersionStatus, at: Ref<StorageVersionStatus>): Iterable<FieldError> {
  const { storageVersions = [], conditions = [] } = status
  const servers = new Set<string>()
  for (const [i, version] of storageVersions.entries()) {
    const here = at.storageVersions[i]!
    if (servers.has(version.apiServerID)) yield duplicate(here.apiServerID)
    servers.add(version.apiServerID)
    yield* validateVersions(version, here)
  }
  yield* validateCommonVersion(status, at)
  yield* validateConditions(conditions, at)
}

function* validateVersions(version: ServerStorageVersion, at: Ref<ServerStorageVersion>): Iterable<FieldError> {
  const { apiServerID, encodingVersion, servedVersions = [] } = version
  const decodable = version.decodableVersions ?? []
  yield* invalidEach(at.apiServerID, nameIsDNSSubdomain(apiServerID))
  yield* validateApiVersion(encodingVersion, at.encodingVersion)
  for (const [i, each] of decodable.entries()) yield* validateApiVersion(each, at.decodableVersions[i]!)
  if (!decodable.includes(encodingVersion))
    yield invalid(
      withValue(at.decodableVersions, version.decodableVersions),
      `decodableVersions must include encodingVersion ${encodingVersion}`,
    )
  for (const [i, each] of servedVersions.entries()) {
    yield* validateApiVersion(each, at.servedVersions[i]!)
    if (!decodable.includes(each))
      yield invalid(
        at.servedVersions[i]!,
        `individual served version : ${each} must be included in decodableVersions : [${decodable.join(' ')}]`,
      )
  }
}

function* validateCommonVersion({ storageVersions = [], commonEncodingVersion }: StorageVersionStatus, at: Ref<StorageVersionStatus>) {
  const [first, ...others] = storageVersions.map(version => version.encodingVersion)
  const common = others.every(each => each === first) ? first : undefined
  if (common === commonEncodingVersion) return
  if (common === undefined)
    yield invalid(
      at.commonEncodingVersion,
      'should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet',
    )
  else if (commonEncodingVersion === undefined)
    yield invalid(withValue(at.commonEncodingVersion, null), `the common encoding version is ${common}`)
  else yield invalid(at.commonEncodingVersion, `the actual common encoding version is ${common}`)
}

/** Their paths lack the name of the list: as in kube-apiserver. */
function* validateConditions(conditions: readonly StorageVersionCondition[], at: Ref<StorageVersionStatus>): Iterable<FieldError> {
  const seen = new Map<string, number>()
  for (const [i, { type, status, reason, message: text }] of conditions.entries()) {
    const here = (at as unknown as Ref<StorageVersionCondition[]>)[i]!
    const typeAt = withValue(here.type, type)
    const also = seen.get(type)
    if (also !== undefined) yield invalid(typeAt, `the type of the condition is not unique, it also appears in conditions[${also}]`)
    seen.set(type, i)
    yield* invalidEach(typeAt, isQualifiedName(type))
    yield* invalidEach(withValue(here.status, status), isQualifiedName(status))
    if (reason === '') yield required(here.reason)
    if (text === '') yield required(here.message)
  }
}

function* validateApiVersion(text: string, at: Ref<string>): Iterable<FieldError> {
  const faults = faultsOfApiVersion(text)
  if (faults.length > 0) yield invalid(at, faults.join(','))
}

const EMPTY = 'must be non-empty'
const LABEL =
  "a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character"

function faultsOfApiVersion(text: string): string[] {
  const parts = text.split('/')
  if (parts.length > 2)
    return [
      `an apiVersion is ${regexMessage(LABEL, '[a-z]([-a-z0-9]*[a-z0-9])?', 'my-name', 'abc-123')} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`,
    ]
  const [version = '', group] = parts.reverse()
  const groupFaults = group === undefined ? [] : group === '' ? [EMPTY] : isDNS1123Subdomain(group)
  const versionFaults = version === '' ? [EMPTY] : isDNS1035Label(version)
  return [...groupFaults.map(fault => `group part: ${fault}`), ...versionFaults.map(fault => `version part: ${fault}`)]
}
