/** Prefers nodes on which the pod brings the shares of resources in use closer together. */
import type { Plugin } from '../plugin.ts'
import { balanceScorer, CPU_AND_MEMORY, type WeightedResource } from '../resource-scoring.ts'

export type BalancedAllocationArgs = { readonly resources: readonly WeightedResource[] }

export function balancedAllocationWith({ resources }: BalancedAllocationArgs): Plugin {
  const scorerFor = balanceScorer(resources)
  return {
    name: 'NodeResourcesBalancedAllocation',
    isLocal: true,
    weight: 1,
    score({ info }) {
      const score = scorerFor(info)
      return score && { score }
    },
  }
}

export const balancedAllocation = balancedAllocationWith({ resources: CPU_AND_MEMORY })
