/** Messages that every group uses and no kind declares: Status, watch events, lists and discovery itself. */
import { API_VERSION_DOC, KIND_DOC, LIST_METADATA_DOC, METADATA_DOC, ObjectMeta } from '../schema/object-meta.ts'
import { type AnyType, atomic, bool, type Fields, int32, int64, message, raw, string } from '../schema/types.ts'

const KIND = [0, string, KIND_DOC] as const
const API_VERSION = [0, string, API_VERSION_DOC] as const

const ShardInfo = message('ShardInfo', { selector: [1, string.always(), 'The selector of the shard that was listed.'] })

export const ListMeta = message('ListMeta', {
  selfLink: [1, string, 'Deprecated; always empty.'],
  resourceVersion: [2, string, 'The version of the whole list, from which a watch can go on.'],
  continue: [3, string, 'Set when there are more items: the token of the next page.'],
  remainingItemCount: [4, int64.optional(), 'How many items are left after this page, if known.'],
  shardInfo: [5, ShardInfo, 'Which part of the collection this is, for a sharded list.'],
})

const StatusCause = message('StatusCause', {
  reason: [1, string, 'Why, for machines.'],
  message: [2, string, 'Why, for people.'],
  field: [3, string, 'The field at fault, as a path.'],
})

const StatusDetails = message('StatusDetails', {
  name: [1, string, 'The object the answer is about.'],
  group: [2, string, 'Its group.'],
  kind: [3, string, 'Its kind, or its resource.'],
  causes: [4, atomic(StatusCause), 'The single faults behind a failure.'],
  retryAfterSeconds: [5, int32, 'How long to wait before another try.'],
  uid: [6, string, 'The UID of the object.'],
})

export const Status = message('Status', {
  kind: KIND,
  apiVersion: API_VERSION,
  metadata: [1, ListMeta.orEmpty(), LIST_METADATA_DOC],
  status: [2, string, 'Success or Failure.'],
  message: [3, string, 'A description for people.'],
  reason: [4, string, 'Why it failed, for machines.'],
  details: [5, StatusDetails, 'Further data about the reason.'],
  code: [6, int32, 'The HTTP status of the answer.'],
})

/** The body of a patch; its format depends on the media type. */
export const Patch = message('Patch', {})

export const WatchEvent = message('WatchEvent', {
  type: [1, string.always(), 'ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.'],
  object: [2, raw.always(), 'The object after the change, before its deletion, or the Status of an error.'],
})

export const APIResource = message('APIResource', {
  name: [1, string.always(), 'The plural name, with its subresource after a slash.'],
  singularName: [6, string.always(), 'The singular name.'],
  namespaced: [2, bool.always(), 'Whether its objects are namespaced.'],
  group: [8, string, 'The group of its bodies, when not the one of the list.'],
  version: [9, string, 'The version of its bodies, when not the one of the list.'],
  kind: [3, string.always(), 'The kind of its bodies.'],
  verbs: [4, atomic(string).unmarked().always(), 'The supported verbs.'],
  shortNames: [5, atomic(string), 'Short names for people.'],
  categories: [7, atomic(string), 'Groups of resources such as all.'],
  storageVersionHash: [10, string, 'Equal for resources that show the same stored objects.'],
})
export const APIResourceList = message('APIResourceList', {
  kind: KIND,
  apiVersion: API_VERSION,
  groupVersion: [1, string.always(), 'The group and version listed.'],
  resources: [2, atomic(APIResource).always(), 'The resources that it serves.'],
})

const GroupVersionForDiscovery = message('GroupVersionForDiscovery', {
  groupVersion: [1, string.always(), 'Group and version.'],
  version: [2, string.always(), 'The version alone.'],
})
const ServerAddressByClientCIDR = message('ServerAddressByClientCIDR', {
  clientCIDR: [1, string.always(), 'The range the client is in.'],
  serverAddress: [2, string.always(), 'The address it should use.'],
})
export const APIGroup = message('APIGroup', {
  kind: KIND,
  apiVersion: API_VERSION,
  name: [1, string.always(), 'The name of the group.'],
  versions: [2, atomic(GroupVersionForDiscovery).always(), 'The versions served.'],
  preferredVersion: [3, GroupVersionForDiscovery.openapiDefault({} as never), 'The version to use when in doubt.'],
  serverAddressByClientCIDRs: [4, atomic(ServerAddressByClientCIDR), 'Where clients should connect.'],
})
export const APIGroupList = message('APIGroupList', {
  kind: KIND,
  apiVersion: API_VERSION,
  groups: [1, atomic(APIGroup).always(), 'The groups served.'],
})
export const APIVersions = message('APIVersions', {
  kind: KIND,
  apiVersion: API_VERSION,
  versions: [1, atomic(string).always(), 'The versions served.'],
  serverAddressByClientCIDRs: [2, atomic(ServerAddressByClientCIDR).always(), 'Where clients should connect.'],
})

/** The response of `/version`. */
export const VersionInfo = message('Info', {
  major: [0, string.always(), 'Major version.'],
  minor: [0, string.always(), 'Minor version.'],
  gitVersion: [0, string.always(), 'The whole version.'],
  gitCommit: [0, string.always(), 'The commit it was built from.'],
  gitTreeState: [0, string.always(), 'Whether the tree was clean.'],
  buildDate: [0, string.always(), 'When it was built.'],
  goVersion: [0, string.always(), 'The runtime.'],
  compiler: [0, string.always(), 'The compiler.'],
  platform: [0, string.always(), 'Operating system and architecture.'],
  emulationMajor: [0, string, 'Major version that is emulated.'],
  emulationMinor: [0, string, 'Minor version that is emulated.'],
  minCompatibilityMajor: [0, string, 'Major version of the oldest server to be compatible with.'],
  minCompatibilityMinor: [0, string, 'Minor version of the oldest server to be compatible with.'],
})

/** A message as a top-level object: the body of a create subresource may be declared without the fields of all objects. */
export function withEnvelope(name: string, type: AnyType): AnyType {
  return message(name, {
    kind: KIND,
    apiVersion: API_VERSION,
    metadata: [1, ObjectMeta.orEmpty(), METADATA_DOC],
    ...fieldsOf(type),
  })
}

/** The list type of a kind. */
export const listOf = (listKind: string, item: AnyType) =>
  message(listKind, {
    kind: KIND,
    apiVersion: API_VERSION,
    metadata: [1, ListMeta.orEmpty(), LIST_METADATA_DOC],
    items: [2, atomic(item).unmarked().always(), 'The objects.'],
  })

function fieldsOf({ shape }: AnyType): Fields {
  return shape.kind === 'message' ? shape.fields : {}
}
