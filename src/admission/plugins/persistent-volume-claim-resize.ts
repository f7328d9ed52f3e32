/** A claim may grow once it is bound, and where its class of storage lets volumes grow. */

import type { PersistentVolumeClaimSpec } from '../../kinds/rules/persistent-volume/claim.ts'
import { classOf } from '../../kinds/rules/storage-class.ts'
import { getOwn } from '../../lib/json-value.ts'
import { compareQuantity, parseQuantity } from '../../lib/quantity.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { forbiddenRequest } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import type { Plugin } from '../plugin.ts'
import type { Reader } from '../reader.ts'

type Claim = AnyObject & { spec: PersistentVolumeClaimSpec; status: { phase?: string } }

export function persistentVolumeClaimResize(reader: Reader, groupDomain: string): Plugin {
  const classes = { group: `storage.${groupDomain}`, version: 'v1', plural: 'storageclasses' }
  const mayGrow = (claim: Claim, old: Claim): boolean => {
    const name = classOf(claim)
    return name !== undefined && name !== '' && name === classOf(old) && reader.get(classes, name)?.['allowVolumeExpansion'] === true
  }
  return {
    name: 'PersistentVolumeClaimResize',
    plurals: ['persistentvolumeclaims'],
    validate({ operation, resource, subresource, name, object, oldObject }: Attributes) {
      if (operation !== 'UPDATE' || subresource !== '' || resource.group !== '' || resource.plural !== 'persistentvolumeclaims') return
      const [claim, before] = [object as Claim, oldObject as Claim]
      if (compareQuantity(sizeOf(claim), sizeOf(before)) <= 0) return
      if (before.status.phase !== 'Bound') throw forbiddenRequest(resource, name, 'Only bound persistent volume claims can be expanded')
      if (!mayGrow(claim, before))
        throw forbiddenRequest(
          resource,
          name,
          'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
        )
    },
  }
}

const sizeOf = ({ spec }: Claim) => parseQuantity(getOwn(spec.resources.requests ?? {}, 'storage') ?? '0')
