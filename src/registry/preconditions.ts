/** Conditions that a request names for the object that it changes or deletes, and the conflicts when they do not hold. */
import type { AnyObject } from '../schema/object-meta.ts'
import { type Resource, recordsPath } from '../schema/resource.ts'
import { conflict, type StatusError } from '../schema/status-error.ts'
import type { Call } from './api.ts'
import type { DeleteOptions, WriteOptions } from './options.ts'

/** A conflict that kube-apiserver finds where it stores the object. */
export function storageConflict(
  { resource, namespace, name }: Pick<Call, 'resource' | 'namespace' | 'name'>,
  { dryRun }: Pick<WriteOptions, 'dryRun'>,
  why: string,
): StatusError {
  // A dry run does not come as far as where the prefix of all keys is added.
  const key = `${dryRun ? '' : '/registry'}${recordsPath(resource)}${resource.namespaced ? `${namespace}/` : ''}${name}`
  return conflict(resource, name, `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`)
}

/** A deletion may name the uid and the resourceVersion of the object that is meant. */
export function checkPreconditions(
  resource: Resource,
  { metadata }: AnyObject,
  { preconditions }: Pick<DeleteOptions, 'preconditions'>,
): void {
  const { uid, resourceVersion } = preconditions
  // A kind that is deleted in steps of its own checks them itself, in other words.
  if (resource.def.deletion?.hasSpecFinalizers || resource.def.deletion?.onFirst) {
    checkOwnPreconditions(resource, metadata, preconditions)
    return
  }
  const subject = { ...(resource.conversion?.storedVersion ?? resource), plural: resource.kind }
  if (uid !== undefined && uid !== metadata.uid)
    throw conflict(
      subject,
      metadata.name!,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    )
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw conflict(
      subject,
      metadata.name!,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    )
}

function checkOwnPreconditions(
  resource: Resource,
  { name, ...metadata }: AnyObject['metadata'],
  { uid, resourceVersion }: DeleteOptions['preconditions'],
): void {
  const begin = resource.def.deletion?.onFirst ? 'precondition' : 'Precondition'
  const failed = (field: string, expected: string, actual: string | undefined) =>
    conflict(resource, name!, `${begin} failed: ${field} in precondition: ${expected}, ${field} in object meta: ${actual}`)
  if (uid !== undefined && uid !== metadata.uid) throw failed('UID', uid, metadata.uid)
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw failed('ResourceVersion', resourceVersion, metadata.resourceVersion)
}
