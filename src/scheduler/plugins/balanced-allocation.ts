/** Prefers nodes on which the pod brings the shares of CPU and memory in use closer together. */
import { MAX_SCORE, type Plugin } from '../plugin.ts'

const NAMES = ['cpu', 'memory'] as const

export const balancedAllocation: Plugin = {
  name: 'NodeResourcesBalancedAllocation',
  weight: 1,
  score({ info: { requests } }) {
    // A pod that asks for nothing changes no balance: scored, all of them would go to the same node.
    if (requests.cpu === 0 && requests.memory === 0) return undefined
    return {
      score({ allocatable, requested }) {
        const names = NAMES.filter(name => allocatable[name] > 0)
        const shares = (extra: typeof requests | undefined) =>
          names.map(name => Math.min(1, (requested[name] + (extra?.[name] ?? 0)) / allocatable[name]))
        const half = MAX_SCORE / 2
        return half + Math.trunc((half + balance(shares(requests)) - balance(shares(undefined))) / 2)
      },
    }
  },
}

/** 100 for equal shares, less the further they are apart. */
function balance(shares: readonly number[]): number {
  const deviation = shares.length === 2 ? Math.abs((shares[0]! - shares[1]!) / 2) : 0
  return Math.trunc((1 - deviation) * MAX_SCORE)
}
