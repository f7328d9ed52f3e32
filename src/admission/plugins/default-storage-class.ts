/** Claims that name no class of storage get the default one, if there is one. */
import { isDefaultStorageClass, newestDefault } from '../../kinds/rules/default-class.ts'
import type { PersistentVolumeClaimSpec } from '../../kinds/rules/persistent-volume/claim.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'

export function defaultStorageClass(reader: Reader, groupDomain: string): Plugin {
  const classes = { group: `storage.${groupDomain}`, version: 'v1', plural: 'storageclasses' }
  return {
    name: 'DefaultStorageClass',
    plurals: ['persistentvolumeclaims'],
    mutate({ operation, resource, subresource, object }: Attributes) {
      if (operation !== 'CREATE' || subresource !== '' || resource.group !== '' || resource.plural !== 'persistentvolumeclaims') return
      const claim = object as (AnyObject & { spec: PersistentVolumeClaimSpec }) | undefined
      // The empty class is asked for, too: it means none.
      if (!claim || classOf(claim) !== undefined) return
      const name = newestDefault(reader.list(classes), isDefaultStorageClass)?.metadata.name
      if (name !== undefined) claim.spec.storageClassName = name
    },
  }
}
