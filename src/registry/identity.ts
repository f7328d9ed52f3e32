/** The identity of objects: name, namespace and uid, as a request must give them and as the server sets them. */
import type { AnyObject, ObjectMeta } from '../schema/object-meta.ts'
import type { Resource } from '../schema/resource.ts'
import { badRequest } from '../schema/status-error.ts'
import type { Call } from './api.ts'
import { storageConflict } from './preconditions.ts'
import type { Write } from './write-value.ts'

/** Names in a body must be those of the path. */
export function checkIdentity({ resource, namespace, name }: Call, { metadata }: AnyObject): void {
  if (!metadata.name) throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
  if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`)
  if (resource.namespaced && metadata.namespace && metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (resource.namespaced) metadata.namespace = namespace
}

/** An object with a uid must replace the object with that uid, not another one of the same name. */
export function checkUid({ call, object, stored, options }: Write): void {
  const { uid } = object!.metadata
  const current = stored?.metadata.uid ?? ''
  if (!uid || uid === current) return
  throw storageConflict(call, options, `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current}`)
}

/** Sets the namespace of an object to that of the path; a body may repeat it but not contradict it. Cluster-scoped objects have none. */
export function settleNamespace(
  { resource, namespace }: { readonly resource: Resource; readonly namespace: string },
  { metadata }: AnyObject,
): void {
  const expected = resource.namespaced ? namespace : ''
  if (expected !== '' && metadata.namespace && metadata.namespace !== expected)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  if (expected !== '') metadata.namespace = expected
  else delete metadata.namespace
}

/** Metadata that only the server sets. */
const SET_BY_SERVER = ['deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink', 'uid', 'creationTimestamp'] as const

/** Removes metadata that only the server sets. Absent fields are left alone: V8 takes long to find nothing to delete. */
export function wipeIdentity({ metadata }: AnyObject): void {
  for (const field of SET_BY_SERVER) if (metadata[field] !== undefined) delete metadata[field]
}

/** Metadata of a new object that no admission can decide; a time of deletion stays if admission has set one. */
const SET_AFTER_ADMISSION = ['selfLink', 'uid', 'creationTimestamp', 'managedFields']

/** The metadata of a new object. Owned fields come last, as Kubernetes writes them: errors show objects in that order. */
export function newMetadata(metadata: ObjectMeta, uid: string, creationTimestamp: string): ObjectMeta {
  const { managedFields } = metadata
  // A new object: deleting a field and adding it again would make every later access slower.
  const result: Record<string, unknown> = {}
  for (const field in metadata) if (!SET_AFTER_ADMISSION.includes(field)) result[field] = metadata[field as keyof ObjectMeta]
  result['uid'] = uid
  result['creationTimestamp'] = creationTimestamp
  if (managedFields) result['managedFields'] = managedFields
  return result
}
