/**
 * Allocations of claims that are chosen and not written yet. The pods of a group can share a claim: the first that is placed chooses its
 * devices, and those after it go where these are. The devices stay taken until the last of them has written the allocation, or gives up.
 */
import type { DeviceUsage } from '../../devices/usage.ts'
import type { AllocationResult } from '../../kinds/resource/allocation-shapes.ts'

type Pending = { readonly allocation: AllocationResult; readonly holders: Set<string> }

export class SharedAllocations {
  readonly #usage: Pick<DeviceUsage, 'assume' | 'forget'>
  /** The key is the uid of the claim. */
  readonly #pending = new Map<string, Pending>()

  constructor(usage: Pick<DeviceUsage, 'assume' | 'forget'>) {
    this.#usage = usage
  }

  /** The allocation that a claim is about to get. */
  of(claim: string): AllocationResult | undefined {
    return this.#pending.get(claim)?.allocation
  }

  /** Whether another pod of the group has chosen the devices of a claim. */
  isHeldByOthers(claim: string, pod: string): boolean {
    for (const holder of this.#pending.get(claim)?.holders ?? []) if (holder !== pod) return true
    return false
  }

  /** Takes the devices for a pod. */
  hold(claim: string, allocation: AllocationResult, pod: string): void {
    const pending = this.#pending.get(claim) ?? { allocation, holders: new Set() }
    if (pending.holders.size === 0) this.#usage.assume(claim, allocation.devices.results ?? [])
    pending.holders.add(pod)
    this.#pending.set(claim, pending)
  }

  /** A claim that was not there when its devices were chosen is there now. */
  rename(from: string, to: string): void {
    const pending = this.#pending.get(from)
    if (!pending) return
    this.#pending.delete(from)
    this.#pending.set(to, pending)
    this.#usage.forget(from)
    this.#usage.assume(to, pending.allocation.devices.results ?? [])
  }

  /** The pod has written the allocation, or will not. */
  drop(claim: string, pod: string): void {
    const pending = this.#pending.get(claim)
    if (!pending?.holders.delete(pod) || pending.holders.size > 0) return
    this.#pending.delete(claim)
    this.#usage.forget(claim)
  }
}
