/** Node selector and node affinity of a pod. */
import type { Node } from '../../kinds/core/node.ts'
import type { NodeAffinity } from '../../kinds/rules/pod/scheduling/affinity.ts'
import { nodesSelectedBy, preferredNodes, requiredNodeNames, requiredNodes } from '../../kinds/rules/pod/scheduling/node-match.ts'
import { type Plugin, scaleToMax, unresolvable } from '../plugin.ts'

const REJECTION = unresolvable("node(s) didn't match Pod's node affinity/selector")
const CONFLICT = unresolvable('pod affinity terms conflict')

const ENFORCED = unresolvable("node(s) didn't match scheduler-enforced node affinity")

export type NodeAffinityArgs = {
  /** Holds for every pod, in addition to its own. */
  readonly addedAffinity?: NodeAffinity
}

export function nodeAffinityWith({ addedAffinity }: NodeAffinityArgs): Plugin {
  const enforced = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const isEnforced = enforced && nodesSelectedBy(enforced)
  const added = addedAffinity ? preferredNodes({ affinity: { nodeAffinity: addedAffinity } }) : []
  return {
    name: 'NodeAffinity',
    isLocal: true,
    weight: 2,
    filter({ pod: { spec } }) {
      const matches = requiredNodes(spec)
      if (!matches && !isEnforced) return undefined
      const names = requiredNodeNames(spec)
      if (names?.size === 0) return CONFLICT
      return {
        test: node => (isEnforced?.(node) === false ? ENFORCED : matches?.(node) === false ? REJECTION : undefined),
        ...(names && { names }),
      }
    },
    score({ pod: { spec } }) {
      if (added.length === 0 && !spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution) return undefined
      const terms = [...added, ...preferredNodes(spec)]
      return {
        score: node => terms.reduce((sum, { weight, matches }) => (matches(node) ? sum + weight : sum), 0),
        normalize: scores => scaleToMax(scores),
      }
    },
    queueingHints: {
      'node added': ({ spec }, event) =>
        event.about === 'node' && isMatch(isEnforced, event.after) && isMatch(requiredNodes(spec), event.after),
      'node labels': ({ spec }, event) => {
        if (event.about !== 'node' || !isMatch(isEnforced, event.after)) return false
        const matches = requiredNodes(spec)
        // A node may come to match the one affinity or the other.
        return isMatch(matches, event.after) && !(isMatch(isEnforced, event.before) && isMatch(matches, event.before))
      },
    },
  }
}

export const nodeAffinity = nodeAffinityWith({})

const isMatch = (matches: ReturnType<typeof requiredNodes>, node: Node | undefined): boolean =>
  node !== undefined && (matches?.({ name: node.metadata.name ?? '', labels: node.metadata.labels ?? {} }) ?? true)
