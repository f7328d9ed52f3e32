/** How much of the resources that a node has anyway, such as CPU and memory, the devices of claims stand for, or cost beside. */
import type { Pod } from '../kinds/core/pod/pod.ts'
import type { Device, NodeAllocatableMapping } from '../kinds/resource/slice-shapes.ts'
import type { NodeAllocatableResourceClaimStatus } from '../kinds/rules/pod/status/status.ts'
import { addQuantity, parseQuantity, type Quantity, quantityOf } from '../lib/quantity.ts'
import { AllocationError } from './claim-requests.ts'
import { claimNameOf } from './pod-claims.ts'

/** A device that a claim has, and how much of its capacities the claim takes, if they can be shared. */
export type GivenDevice = { readonly device: Device; readonly consumed: Readonly<Record<string, string>> | undefined }
export type GivenClaim = { readonly namespace: string; readonly name: string; readonly devices: readonly GivenDevice[] }

/** Whether a device stands for resources of the node: no two pods can have the same ones. */
export const isMapped = ({ nodeAllocatableResources = {} }: Device): boolean =>
  Object.values(nodeAllocatableResources).some(({ mapping }) => mapping)

/** The amounts of each claim that has any, as they are kept in the status of the pod. Throws AllocationError. */
export function nodeResourcesOf(pod: Pod, claims: readonly GivenClaim[]): NodeAllocatableResourceClaimStatus[] {
  const statuses = claims.flatMap(claim => {
    const { mapping, overhead } = amountsOf(claim)
    if (mapping.length === 0 && overhead.length === 0) return []
    return [{ resourceClaimName: claim.name, containers: containersOf(pod, claim.name), mapping, overhead }]
  })
  return statuses.sort((a, b) => (a.resourceClaimName < b.resourceClaimName ? -1 : 1))
}

function amountsOf({ namespace, name, devices }: GivenClaim) {
  const mapped = new Map<string, Quantity>()
  const [perPod, perContainer] = [new Map<string, Quantity>(), new Map<string, Quantity>()]
  for (const { device, consumed } of devices)
    for (const [resource, { mapping, overhead }] of Object.entries(device.nodeAllocatableResources ?? {})) {
      const origin = () => `claim ${namespace}/${name}, device ${device.name}`
      const amount = mapping && mappedAmount(mapping, { consumed, resource, origin })
      if (amount) add(mapped, resource, amount)
      if (overhead?.perPod) add(perPod, resource, parseQuantity(overhead.perPod))
      if (overhead?.perContainer) add(perContainer, resource, parseQuantity(overhead.perContainer))
    }
  const text = (amounts: ReadonlyMap<string, Quantity>, resource: string) => amounts.get(resource)?.text
  return {
    mapping: [...mapped.keys()].sort().map(resource => ({ name: resource, quantity: text(mapped, resource)! })),
    overhead: [...new Set([...perPod.keys(), ...perContainer.keys()])].sort().map(resource => ({
      name: resource,
      ...(perPod.has(resource) && { perPod: text(perPod, resource)! }),
      ...(perContainer.has(resource) && { perContainer: text(perContainer, resource)! }),
    })),
  }
}

type Mapped = { readonly consumed: GivenDevice['consumed']; readonly resource: string; readonly origin: () => string }

/** How much of a resource a device is: so much each, or in proportion to the capacity that is taken of it. */
function mappedAmount(
  { capacityKey, capacityMultiplier, deviceMultiplier }: NodeAllocatableMapping,
  { consumed, resource, origin }: Mapped,
): Quantity | undefined {
  if (!capacityKey) return deviceMultiplier ? parseQuantity(deviceMultiplier) : undefined
  if (!consumed)
    throw new AllocationError(
      `${origin()}: ConsumedCapacity is nil, but Capacity key '${capacityKey}' is set in NodeAllocatableResources for resource ${resource}`,
    )
  if (!Object.hasOwn(consumed, capacityKey)) return undefined
  const taken = parseQuantity(consumed[capacityKey]!)
  return capacityMultiplier ? multiplied(taken, parseQuantity(capacityMultiplier)) : taken
}

const multiplied = (a: Quantity, b: Quantity): Quantity => quantityOf(a.unscaled * b.unscaled, a.scale + b.scale, a.format)

function add(totals: Map<string, Quantity>, name: string, amount: Quantity): void {
  const present = totals.get(name)
  totals.set(name, present ? addQuantity(present, amount) : amount)
}

/** The containers that use a claim, each once, init containers first. */
function containersOf(pod: Pod, claim: string): string[] {
  const names = new Set(
    (pod.spec.resourceClaims ?? []).flatMap(entry => {
      const named = claimNameOf(pod, entry)
      return 'name' in named && named.name === claim ? [entry.name] : []
    }),
  )
  return [...(pod.spec.initContainers ?? []), ...(pod.spec.containers ?? [])].flatMap(({ name, resources }) =>
    resources?.claims?.some(each => names.has(each.name)) ? [name] : [],
  )
}
