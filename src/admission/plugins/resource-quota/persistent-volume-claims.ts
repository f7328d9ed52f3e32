/** Claims of volumes: their number and the storage that they ask for, in all and by storage class. */
import { getOwn } from '../../../lib/json-value.ts'
import { compareQuantity, integerValue, parseQuantity, type Quantity, quantityOf } from '../../../lib/quantity.ts'
import type { AnyObject } from '../../../schema/object-meta.ts'
import { type Evaluator, meetsRequirement } from './evaluator.ts'
import { ONE } from './resource-list.ts'

const COUNT = 'count/persistentvolumeclaims'
const CLAIMS = 'persistentvolumeclaims'
const STORAGE = 'requests.storage'
const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class'
const ATTRIBUTES_CLASS_SCOPE = 'VolumeAttributesClass'

export function persistentVolumeClaims(groupDomain: string): Evaluator {
  const byClass = `.storageclass.storage.${groupDomain}/`
  return {
    // Allocated resources and the attributes class are the parts of the status that count.
    handles: ({ operation, subresource }) =>
      (subresource === '' && (operation === 'CREATE' || operation === 'UPDATE')) || (subresource === 'status' && operation === 'UPDATE'),
    limits: name => [COUNT, CLAIMS, STORAGE].includes(name) || name.endsWith(byClass + CLAIMS) || name.endsWith(byClass + STORAGE),
    inScope: (requirement, claim) =>
      requirement.scopeName === ATTRIBUTES_CLASS_SCOPE && meetsRequirement(requirement, attributesClassesOf(claim)),
    usage(claim) {
      const storageClass = getOwn(claim.metadata.annotations ?? {}, CLASS_ANNOTATION) ?? claim['spec']?.storageClassName
      const storage = storageOf(claim)
      const usage = new Map<string, Quantity>([
        [CLAIMS, ONE],
        [COUNT, ONE],
      ])
      if (storageClass) usage.set(storageClass + byClass + CLAIMS, ONE)
      if (storage) usage.set(STORAGE, storage)
      if (storage && storageClass) usage.set(storageClass + byClass + STORAGE, storage)
      return usage
    },
  }
}

/** Whole bytes: the requested ones, or the allocated ones where those are more. */
function storageOf(claim: AnyObject): Quantity | undefined {
  const asked = quantityIn(claim['spec']?.resources?.requests)
  if (!asked) return undefined
  const allocated = quantityIn(claim['status']?.allocatedResources)
  return roundedUp(allocated && compareQuantity(allocated, asked) > 0 ? allocated : asked)
}

function quantityIn(amounts: Readonly<Record<string, string>> | undefined): Quantity | undefined {
  const text = amounts && getOwn(amounts, 'storage')
  return text === undefined ? undefined : parseQuantity(text)
}

function roundedUp(quantity: Quantity): Quantity {
  if (quantity.scale >= 0) return quantity
  const rounded = quantityOf(integerValue(quantity), 0, quantity.format)
  return compareQuantity(rounded, quantity) === 0 ? quantity : rounded
}

/** The attributes classes that a claim has, wants, or is being changed to. */
function attributesClassesOf({ spec, status }: AnyObject): readonly string[] {
  const named = [
    spec?.volumeAttributesClassName,
    status?.currentVolumeAttributesClassName,
    status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
  ]
  return [...new Set(named.filter((name): name is string => !!name))]
}
