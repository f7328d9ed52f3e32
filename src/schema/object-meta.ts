/** ObjectMeta and its parts: the envelope every object shares. */
import { atomic, bool, int64, keyed, mapOf, message, raw, type Static, set, string, time } from './types.ts'

export const OwnerReference = message('OwnerReference', {
  apiVersion: [5, string.always(), 'API group and version of the owner.'],
  kind: [1, string.always(), 'Kind of the owner.'],
  name: [3, string.always(), 'Name of the owner.'],
  uid: [4, string.always(), 'UID of the owner.'],
  controller: [6, bool.optional(), 'Whether the owner is the one that manages this object.'],
  blockOwnerDeletion: [7, bool.optional(), 'Whether a foreground deletion of the owner waits for this object.'],
}).atomic()

export const ManagedFieldsEntry = message('ManagedFieldsEntry', {
  manager: [1, string, 'The name of the manager that owns these fields.'],
  operation: [2, string, 'How they came to be owned: Apply or Update.'],
  apiVersion: [3, string, 'The version in which the fields are named.'],
  time: [4, time.optional(), 'When ownership last changed.'],
  fieldsType: [6, string, 'The format of the fields; always FieldsV1.'],
  fieldsV1: [7, raw.optional(), 'The owned fields.'],
  subresource: [8, string, 'The subresource written through, empty for the object itself.'],
})

export const ObjectMeta = message('ObjectMeta', {
  name: [1, string, 'Unique within its namespace and resource. Cannot change.'],
  generateName: [2, string, 'Prefix from which the server makes a unique name when none is given.'],
  namespace: [3, string, 'The space within which the name is unique. Cannot change.'],
  selfLink: [4, string, 'Deprecated; always empty.'],
  uid: [5, string, 'Unique in time and space; set by the server.'],
  resourceVersion: [6, string, 'Opaque version of this object, for concurrency and watches; set by the server.'],
  generation: [7, int64, 'Counts changes of the desired state; set by the server.'],
  creationTimestamp: [8, time, 'CreationTimestamp is a timestamp of when the server created this object. Set by the server.'],
  deletionTimestamp: [9, time.optional(), 'When the object is to be gone; set by the server once deletion is asked for.'],
  deletionGracePeriodSeconds: [10, int64.optional(), 'Seconds allowed for a graceful end; set by the server.'],
  labels: [11, mapOf(string), 'Keys and values by which objects are selected.'],
  annotations: [12, mapOf(string), 'Keys and values that tools keep with the object; not selectable.'],
  ownerReferences: [
    13,
    keyed(OwnerReference, 'uid').mergedBy('uid'),
    'The objects this one depends on; it is collected when all are gone.',
  ],
  finalizers: [14, set(string).mergedBy(), 'Names that must be removed before the object disappears.'],
  managedFields: [17, atomic(ManagedFieldsEntry).optional(), 'Which manager owns which fields.'],
})
export type ObjectMeta = Static<typeof ObjectMeta>
export type OwnerReference = Static<typeof OwnerReference>
export type ManagedFieldsEntry = Static<typeof ManagedFieldsEntry>

export type Envelope = { apiVersion: string; kind: string; metadata: ObjectMeta }
/** Clients search the descriptions of the fields that all objects have: they begin as in Kubernetes. */
export const API_VERSION_DOC = 'APIVersion defines the group and version of the API that this object is written in.'
export const KIND_DOC = 'Kind is a string value that names the type of this object, in CamelCase. Cannot be updated.'
export const METADATA_DOC = "Standard object's metadata: its name, labels and the rest of what all objects share."
export const LIST_METADATA_DOC = 'Standard list metadata: the revision that was listed, and where to continue.'

/** Any stored object, for code that does not know its kind. */
export type AnyObject = Envelope & { [field: string]: any }
