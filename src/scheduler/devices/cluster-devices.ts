/** The devices of the cluster and their allocations, kept up to date change by change. */

import type { Change } from '../../client/change.ts'
import type { TaintRule } from '../../devices/device-taints.ts'
import { DeviceExpressions } from '../../devices/expressions.ts'
import { ResourceClasses } from '../../devices/extended-resources.ts'
import type { AllocatorFeatures } from '../../devices/features.ts'
import { DevicePools } from '../../devices/pools.ts'
import { DeviceUsage, type Results } from '../../devices/usage.ts'
import type { DeviceClass } from '../../kinds/resource/deviceclass.ts'
import type { ResourceClaim } from '../../kinds/resource/resourceclaim.ts'
import type { ResourceSlice } from '../../kinds/resource/resourceslice.ts'
import { nextIteration } from '../../lib/environment.ts'
import { Assertions } from '../../schema/assertions.ts'

export class ClusterDevices {
  readonly features: AllocatorFeatures
  readonly pools: DevicePools
  readonly usage = new DeviceUsage()
  readonly expressions: DeviceExpressions
  readonly classes: ResourceClasses

  readonly #assertions: Assertions

  constructor(features: AllocatorFeatures, assertions = new Assertions()) {
    this.features = features
    this.#assertions = assertions
    this.pools = new DevicePools(features)
    this.expressions = new DeviceExpressions(features)
    this.classes = new ResourceClasses(features)
  }

  onSlice({ type, current }: Change<ResourceSlice>): void {
    const slice = type === 'deleted' ? undefined : current.object
    if (slice) this.pools.setSlice(slice)
    else this.pools.removeSlice(current.name)
  }

  onRule({ type, current }: Change<TaintRule>): void {
    const rule = type === 'deleted' ? undefined : current.object
    if (rule) this.pools.setRule(rule)
    else this.pools.removeRule(current.name)
  }

  onClass({ type, current }: Change<DeviceClass>): void {
    const found = type === 'deleted' ? undefined : current.object
    if (found) this.classes.set(found)
    else this.classes.remove(current.name)
  }

  onClaim({ type, current, previous }: Change<ResourceClaim>): void {
    // A name may have gone to another claim in between.
    if (previous && previous.uid !== current.uid) this.usage.store(previous.uid, undefined, current.revision)
    const allocation = type === 'deleted' ? undefined : current.object?.status.allocation
    const results = allocation?.devices.results ?? []
    this.usage.store(current.uid, allocation && results, current.revision)
    // Where everything was read again, changes do not come in the order in which they were made.
    if (this.usage.givenTwice(results)) nextIteration(() => this.#checkGivenOnce(`${current.namespace}/${current.name}`, results))
  }

  /** Counts and reports a device that two stored claims have. */
  #checkGivenOnce(claim: string, results: Results): void {
    const device = this.usage.givenTwice(results)
    if (device) this.#assertions.failed('allocated_once', `the device ${device} is given to the claim ${claim} and to another`)
  }
}
