/** Checks that pod-level resources cover the containers together with their resource claims on the node. */
import { addQuantity, compareQuantity, parseQuantity, type Quantity, quantityOf } from '../../../../lib/quantity.ts'
import type { PodSpec } from '../spec.ts'
import type { NodeAllocatableResourceClaimStatus, PodStatus } from '../status/status.ts'
import { containerTotals } from './level-resources.ts'
import { isHugePageResource, isPodLevelResource } from './resource-rules.ts'

type Totals = Map<string, Quantity>

/** The error message for uncovered resources; undefined if everything is covered. */
export function coverageFault(spec: PodSpec, { nodeAllocatableResourceClaimStatuses: claims = [] }: PodStatus): string | undefined {
  return requestFault(spec, claims) ?? hugePageFault(spec, claims) ?? containerFault(spec, claims)
}

type Claims = readonly NodeAllocatableResourceClaimStatus[]

function requestFault(spec: PodSpec, claims: Claims): string | undefined {
  const needed = containerTotals(spec, 'requests')
  add(needed, takenTogether(claims))
  for (const [name, amount] of Object.entries(spec.resources?.requests ?? {}))
    if (isPodLevelResource(name) && exceeds(needed.get(name), amount))
      return `pod level request for ${name} is insufficient to cover the aggregated container and node-allocatable DRA requests`
  return undefined
}

function hugePageFault(spec: PodSpec, claims: Claims): string | undefined {
  const limits = new Map(Object.entries(spec.resources?.limits ?? {}))
  const needed = containerTotals(spec, 'limits')
  add(needed, takenTogether(claims))
  for (const [name, total] of needed)
    if (isHugePageResource(name) && exceeds(total, limits.get(name)))
      return `pod level limit for ${name} is insufficient to cover the aggregated container and node-allocatable DRA limits`
  return undefined
}

function containerFault(spec: PodSpec, claims: Claims): string | undefined {
  const limits = new Map(Object.entries(spec.resources?.limits ?? {}))
  const byContainer = new Map<string, NodeAllocatableResourceClaimStatus[]>()
  for (const claim of claims)
    for (const container of new Set(claim.containers)) {
      const known = byContainer.get(container)
      if (known) known.push(claim)
      else byContainer.set(container, [claim])
    }
  for (const { name: container, resources } of spec.containers ?? []) {
    const taken = takenFor(byContainer.get(container) ?? [])
    for (const [name, limit] of Object.entries(resources?.limits ?? {})) {
      const extra = taken.get(name)
      const needed = extra ? addQuantity(parseQuantity(limit), extra) : parseQuantity(limit)
      if (!isHugePageResource(name) && exceeds(needed, limits.get(name)))
        return `pod level limit for ${name} is insufficient to cover the limit and DRA overhead for container ${container}`
    }
  }
  return undefined
}

/** The amounts of claims for all their containers. */
export const takenTogether = (claims: Claims): Totals => taken(claims, claim => BigInt(claim.containers?.length ?? 0))

/** The amounts of claims for one of their containers. */
const takenFor = (claims: Claims): Totals => taken(claims, () => 1n)

function taken(claims: Claims, times: (claim: NodeAllocatableResourceClaimStatus) => bigint): Totals {
  const totals: Totals = new Map()
  for (const claim of claims) {
    for (const { name, quantity } of claim.mapping ?? []) if (quantity) add(totals, [[name, parseQuantity(quantity)]])
    for (const { name, perPod, perContainer } of claim.overhead ?? []) {
      if (perPod) add(totals, [[name, parseQuantity(perPod)]])
      if (perContainer) add(totals, [[name, multiplied(parseQuantity(perContainer), times(claim))]])
    }
  }
  return totals
}

const multiplied = ({ unscaled, scale, format }: Quantity, times: bigint): Quantity => quantityOf(unscaled * times, scale, format)

function add(totals: Totals, amounts: Iterable<readonly [string, Quantity]>): void {
  for (const [name, amount] of amounts) {
    const total = totals.get(name)
    totals.set(name, total ? addQuantity(total, amount) : amount)
  }
}

const exceeds = (needed: Quantity | undefined, amount: string | undefined): boolean =>
  needed !== undefined && amount !== undefined && compareQuantity(needed, parseQuantity(amount)) > 0
