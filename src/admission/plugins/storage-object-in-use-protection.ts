/** Volumes, claims and attributes classes get a finalizer, so that none is removed while it is in use. */
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'

/** Finalizers by resource, under the groups of the domain. */
const FINALIZERS = {
  '/persistentvolumes': 'kubernetes.io/pv-protection',
  '/persistentvolumeclaims': 'kubernetes.io/pvc-protection',
  'storage/volumeattributesclasses': 'kubernetes.io/vac-protection',
} as const

export function storageObjectInUseProtection(groupDomain: string): Plugin {
  const byResource = new Map(
    Object.entries(FINALIZERS).map(([key, finalizer]) => [key.replace('storage/', `storage.${groupDomain}/`), finalizer]),
  )
  return {
    name: 'StorageObjectInUseProtection',
    plurals: Object.keys(FINALIZERS).map(name => name.slice(name.indexOf('/') + 1)),
    mutate({ operation, resource, subresource, object }: Attributes) {
      if (operation !== 'CREATE' || subresource !== '') return
      const finalizer = byResource.get(`${resource.group}/${resource.plural}`)
      if (finalizer !== undefined && object) addFinalizer(object, finalizer)
    },
  }
}

/** Adds a finalizer, once. */
export function addFinalizer({ metadata }: AnyObject, finalizer: string): void {
  if (!metadata.finalizers?.includes(finalizer)) metadata.finalizers = [...(metadata.finalizers ?? []), finalizer]
}
