/** Answers which pods use which devices, by the claims that were allocated and reserved for them. */

import { queueKey } from '../../client/change.ts'
import type { Client, ResourceClient } from '../../client/client.ts'
import type { IndexDefinition } from '../../client/informer.ts'
import { poolId } from '../../devices/device.ts'
import type { DeviceName } from '../../devices/device-taints.ts'
import { type GroupClaims, isGroupConsumer } from '../../devices/pod-claims.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { DeviceTaint } from '../../kinds/resource/device-taint.ts'
import { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import { ResourceSlice } from '../../kinds/resource/resourceslice.ts'
import { GROUP_INDEX } from '../pods/group-members.ts'

const CLAIMS_BY_POOL: IndexDefinition<ResourceClaim> = {
  name: 'allocated-pool',
  valuesOf: ({ object }) => [
    ...new Set((object?.status.allocation?.devices.results ?? []).map(({ driver, pool }) => poolId(driver, pool))),
  ],
}
const SLICES_BY_POOL: IndexDefinition<ResourceSlice> = {
  name: 'device-pool',
  valuesOf: ({ fields }) => [poolId(fields['spec.driver'] ?? '', fields['spec.pool.name'] ?? '')],
}

export type DeviceTest = (device: DeviceName) => boolean

export class DeviceUsers {
  readonly #claims: ResourceClient<ResourceClaim>
  readonly #slices: ResourceClient<ResourceSlice>
  readonly #pods: ResourceClient<Pod>
  readonly #hasGroupClaims: boolean

  /** Without group claims, a reservation for a group, which an earlier run may have left, is ignored. */
  constructor(client: Client, { hasGroupClaims }: GroupClaims) {
    this.#pods = client.of(Pod)
    this.#hasGroupClaims = hasGroupClaims
    this.#claims = client.of(ResourceClaim)
    this.#slices = client.of(ResourceSlice)
  }

  claim(namespace: string, name: string): ResourceClaim | undefined {
    return this.#claims.get({ namespace, name })
  }

  /** The taints that the slices of a pool put on a device. */
  taintsOf({ driver, pool, device }: DeviceName): readonly DeviceTaint[] {
    for (const { spec } of this.#currentSlices(poolId(driver, pool)))
      for (const each of spec.devices ?? []) if (each.name === device) return each.taints ?? []
    return []
  }

  /** The keys of the pods that a claim is reserved for, itself or by their group. */
  ofClaim(claim: ResourceClaim | undefined): string[] {
    return (claim?.status.reservedFor ?? []).flatMap(consumer => {
      const { apiGroup, resource, name } = consumer
      const key = queueKey({ namespace: claim!.metadata.namespace ?? '', name })
      if (isGroupConsumer(consumer) && this.#hasGroupClaims) return Array.from(this.#pods.informer.byIndex(GROUP_INDEX, key), queueKey)
      return !apiGroup && resource === 'pods' ? [key] : []
    })
  }

  /** The keys of the pods that use a device of the pool of a slice. */
  ofPool(slice: Parameters<typeof SLICES_BY_POOL.valuesOf>[0]): string[] {
    const [pool] = SLICES_BY_POOL.valuesOf(slice)
    return [...this.#claims.byIndex(CLAIMS_BY_POOL, pool!)].flatMap(claim => this.ofClaim(claim))
  }

  /** The keys of the pods that use one of the selected devices. */
  ofDevices(isSelected: DeviceTest): string[] {
    const keys: string[] = []
    for (const claim of this.#claims.list())
      if (claim.status.allocation?.devices.results?.some(isSelected)) keys.push(...this.ofClaim(claim))
    return keys
  }

  /** How many of the selected devices are published, and how many allocations of them there are. */
  count(isSelected: DeviceTest): { readonly published: number; readonly allocated: number } {
    const pools = new Set([...this.#slices.list()].map(({ spec }) => poolId(spec.driver, spec.pool.name)))
    const published = [...pools]
      .flatMap(pool => this.#currentSlices(pool))
      .flatMap(({ spec }) =>
        (spec.devices ?? []).filter(({ name }) => isSelected({ driver: spec.driver, pool: spec.pool.name, device: name })),
      )
    const allocated = [...this.#claims.list()].flatMap(({ status }) => (status.allocation?.devices.results ?? []).filter(isSelected))
    return { published: published.length, allocated: allocated.length }
  }

  /** The slices of a pool that count: those of its highest generation. */
  #currentSlices(pool: string): ResourceSlice[] {
    const all = [...this.#slices.byIndex(SLICES_BY_POOL, pool)]
    const newest = all.reduce(
      (highest, { spec }) => (spec.pool.generation > highest ? spec.pool.generation : highest),
      0 as number | bigint,
    )
    return all.filter(({ spec }) => spec.pool.generation === newest)
  }
}
