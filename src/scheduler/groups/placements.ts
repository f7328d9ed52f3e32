/** Sets of nodes on which the pods of a group may be together: the topology domains that its constraint names. */
import type { NodeInfo } from '../node-info.ts'
import { MAX_SCORE } from '../plugin.ts'
import type { PodInfo } from '../pod-info.ts'
import type { GroupNode } from './pod-groups.ts'

/** `nodes` is undefined for all nodes of the cluster. */
export type NodeSet = { readonly nodes: readonly NodeInfo[] | undefined }

export type Domains = { readonly type: 'found'; readonly sets: readonly NodeSet[] } | { readonly type: 'error'; readonly message: string }

type Parts = {
  /** The pods of the group that have a node already: the others must join them. */
  readonly scheduled: readonly PodInfo[]
  readonly nodeOf: (name: string) => NodeInfo | undefined
  readonly allNodes: readonly NodeInfo[]
}

/** The label of nodes that must be the same for all pods of a group; the API allows one. */
export const topologyKeyOf = ({ object: { spec } }: GroupNode): string | undefined => spec.schedulingConstraints?.topology?.[0]?.key

/** The sets of nodes to try for a group, inside the set that a group above it has. */
export function domainsOf(node: GroupNode, within: NodeSet, { scheduled, nodeOf, allNodes }: Parts): Domains {
  const key = topologyKeyOf(node)
  if (key === undefined) return { type: 'found', sets: [within] }
  let required: string | undefined
  for (const pod of scheduled) {
    const there = nodeOf(pod.nodeName)
    if (!there) return unclear(`getting node for pod ${pod.namespace}/${pod.name}: nodeinfo not found for node name "${pod.nodeName}"`)
    const domain = there.labels[key]
    if (domain === undefined) return unclear(`no topology domain found for pod ${pod.namespace}/${pod.name}`)
    if (required !== undefined && required !== domain) return unclear(`more than 1 domain found for pod group: ${required}, ${domain}`)
    required = domain
  }
  const domains = new Map<string, NodeInfo[]>()
  for (const each of within.nodes ?? allNodes) {
    const domain = each.labels[key]
    if (domain === undefined || (required !== undefined && domain !== required)) continue
    const nodes = domains.get(domain)
    if (nodes) nodes.push(each)
    else domains.set(domain, [each])
  }
  return { type: 'found', sets: [...domains.values()].map(nodes => ({ nodes })) }
}

const unclear = (message: string): Domains => ({ type: 'error', message: `cannot determine domain for already scheduled pods: ${message}` })

/** One way to place a group: the nodes, and the pods that were placed on them. */
export type Candidate = { readonly nodes: readonly NodeInfo[]; readonly placed: readonly PodInfo[] }

/** Scores candidates: the fuller the nodes and the more pods are placed, the better. */
export function scoresOf(candidates: readonly Candidate[], scheduled: number): number[] {
  const most = Math.max(...candidates.map(({ placed }) => scheduled + placed.length))
  return candidates.map(candidate => {
    const count = Math.trunc(((scheduled + candidate.placed.length) * MAX_SCORE) / Math.max(most, 1))
    return fullness(candidate) + count
  })
}

/** How much of the CPU and the memory of the nodes is taken, from 0 to the maximum score. */
function fullness({ nodes, placed }: Candidate): number {
  let sum = 0
  let weights = 0
  for (const resource of ['cpu', 'memory'] as const) {
    let allocatable = 0
    let requested = 0
    for (const node of nodes) {
      allocatable += node.allocatable[resource]
      requested += node.nonZero[resource]
    }
    for (const pod of placed) requested += pod.nonZero[resource]
    if (allocatable === 0) continue
    sum += Math.trunc((Math.min(requested, allocatable) * MAX_SCORE) / allocatable)
    weights++
  }
  return weights === 0 ? 0 : Math.trunc(sum / weights)
}
