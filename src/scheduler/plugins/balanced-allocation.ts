/** Prefers nodes on which the pod brings the shares of CPU and memory in use closer together. */
import { MAX_SCORE, type Plugin } from '../plugin.ts'

export const balancedAllocation: Plugin = {
  name: 'NodeResourcesBalancedAllocation',
  isLocal: true,
  weight: 1,
  score({ info: { requests } }) {
    // A pod that asks for nothing changes no balance: scored, all of them would go to the same node.
    if (requests.cpu === 0 && requests.memory === 0) return undefined
    return {
      score({ allocatable, requested }) {
        const half = MAX_SCORE / 2
        const [then, now] = [balance(allocatable, requested, requests), balance(allocatable, requested, NOTHING)]
        return half + Math.trunc((half + then - now) / 2)
      },
    }
  },
}

type Amounts = { readonly cpu: number; readonly memory: number }
const NOTHING: Amounts = { cpu: 0, memory: 0 }

/** 100 for equal shares in use, less the further they are apart. A resource that the node does not have is in balance with the other. */
function balance(allocatable: Amounts, requested: Amounts, extra: Amounts): number {
  if (!(allocatable.cpu > 0 && allocatable.memory > 0)) return MAX_SCORE
  const cpu = Math.min(1, (requested.cpu + extra.cpu) / allocatable.cpu)
  const memory = Math.min(1, (requested.memory + extra.memory) / allocatable.memory)
  return Math.trunc((1 - Math.abs((cpu - memory) / 2)) * MAX_SCORE)
}
