/** Claims of devices: their number, and the devices that they ask for by device class. */
import { addQuantity, compareQuantity, type Quantity, quantityOf, quantitySign, subtractQuantity } from '../../../lib/quantity.ts'
import type { AnyObject } from '../../../schema/object-meta.ts'
import type { Reader } from '../../reader.ts'
import { countName, type Evaluator } from './evaluator.ts'
import { DEVICE_CLASS_PREFIX, isExtendedResourceInQuota, type PodParts, podUsage } from './pods.ts'
import { ONE, type ResourceList, ZERO } from './resource-list.ts'

const PODS = { group: '', version: 'v1', plural: 'pods' }
const REQUESTS_PREFIX = 'requests.'
/** Claims that the scheduler makes for pods that ask for devices as resources of a container. */
const MADE_FOR_POD = 'resource.kubernetes.io/extended-resource-claim'
/** The number that a request for all devices counts as: the most that a claim can be given. */
const ALL_DEVICES = 32n

export type ClaimParts = PodParts & {
  readonly reader: Reader
  readonly groupDomain: string
  /** Whether devices of claims count as the extended resources that their classes stand for. */
  readonly hasExtendedResources: boolean
}

type DeviceCount = { readonly deviceClassName?: string; readonly allocationMode?: string; readonly count?: number }
/** In v1beta1 a request has the fields itself that later versions have under `exactly`. */
type Request = DeviceCount & { readonly exactly?: DeviceCount; readonly firstAvailable?: readonly DeviceCount[] }

export function resourceClaims(parts: ClaimParts): Evaluator {
  const { reader, groupDomain } = parts
  const group = `resource.${groupDomain}`
  const count = countName({ group, plural: 'resourceclaims' })
  const perClass = `.deviceclass.${group}/devices`
  const classes = () => reader.list({ group, version: 'v1', plural: 'deviceclasses' })
  const resourceNameOf = (deviceClass: AnyObject): string | undefined => deviceClass['spec']?.extendedResourceName

  /** The amounts for quotas on resources of containers; a pod that the claim was made for has been counted already. */
  function asExtendedResources(devices: ResourceList, claim: AnyObject): ResourceList {
    const used = new Map<string, Quantity>()
    for (const [name, amount] of devices) {
      if (!name.endsWith(perClass) || name === perClass) continue
      const className = name.slice(0, -perClass.length)
      used.set(REQUESTS_PREFIX + DEVICE_CLASS_PREFIX + className, amount)
      const found = classes().find(({ metadata }) => metadata.name === className)
      const resourceName = found && resourceNameOf(found)
      if (resourceName) used.set(REQUESTS_PREFIX + resourceName, amount)
    }
    const pod = podOf(claim, parts, group)
    const byPod = pod ? podUsage(pod, parts) : new Map<string, Quantity>()
    return new Map(
      [...used]
        .map(([name, amount]) => [name, subtractQuantity(amount, byPod.get(name) ?? ZERO)] as const)
        .filter(([, amount]) => quantitySign(amount) > 0),
    )
  }

  return {
    handles: ({ operation, subresource }) => subresource === '' && (operation === 'CREATE' || operation === 'UPDATE'),
    limits(name) {
      if (name === count || name.endsWith(perClass)) return true
      if (!parts.hasExtendedResources || !isExtendedResourceInQuota(name)) return false
      const resourceName = name.slice(REQUESTS_PREFIX.length)
      return classes().some(each => resourceNameOf(each) === resourceName || DEVICE_CLASS_PREFIX + each.metadata.name === resourceName)
    },
    usage(claim) {
      const usage = new Map<string, Quantity>([[count, ONE]])
      for (const request of (claim['spec']?.devices?.requests ?? []) as readonly Request[])
        for (const [className, amount] of devicesOf(request)) {
          const name = className + perClass
          usage.set(name, addQuantity(usage.get(name) ?? ZERO, amount))
        }
      return parts.hasExtendedResources ? new Map([...usage, ...asExtendedResources(usage, claim)]) : usage
    },
  }
}

/** Devices by class. Of alternatives of one class the greatest counts. */
function devicesOf(request: Request): ReadonlyMap<string, Quantity> {
  const { firstAvailable = [], exactly = request } = request
  const devices = new Map<string, Quantity>()
  for (const asked of firstAvailable.length > 0 ? firstAvailable : [exactly]) {
    if (asked.deviceClassName === undefined) continue
    const amount = quantityOf(numberOf(asked))
    const present = devices.get(asked.deviceClassName)
    if (!present || compareQuantity(amount, present) > 0) devices.set(asked.deviceClassName, amount)
  }
  return devices
}

function numberOf({ allocationMode, count = 0 }: DeviceCount): bigint {
  return allocationMode === 'ExactCount' ? BigInt(count) : allocationMode === 'All' ? ALL_DEVICES : 0n
}

/** The pod that a claim was made for, if it is certain that it was. */
function podOf({ metadata }: AnyObject, { reader }: ClaimParts, group: string): AnyObject | undefined {
  const { namespace = '', name = '', annotations = {}, ownerReferences = [], creationTimestamp = '' } = metadata
  const owner = ownerReferences.find(({ controller }) => controller)
  if (annotations[MADE_FOR_POD] !== 'true' || owner?.kind !== 'Pod' || owner.apiVersion !== 'v1') return undefined
  const pod = reader.get(PODS, owner.name, namespace)
  if (pod?.metadata.uid !== owner.uid) return undefined
  const status = pod!['status']?.extendedResourceClaimStatus
  if (status) return status.resourceClaimName === name ? pod : undefined
  // Before the pod says which claim is its own, it is the oldest.
  const isOlder = (other: AnyObject) => {
    const created = other.metadata.creationTimestamp ?? ''
    return created < creationTimestamp || (created === creationTimestamp && (other.metadata.name ?? '') < name)
  }
  const others = reader.list({ group, version: 'v1', plural: 'resourceclaims' }, namespace)
  const isOwned = (other: AnyObject) =>
    other.metadata.annotations?.[MADE_FOR_POD] === 'true' &&
    other.metadata.ownerReferences?.some(each => each.controller && each.uid === owner.uid)
  return others.some(other => isOwned(other) && isOlder(other)) ? undefined : pod
}
