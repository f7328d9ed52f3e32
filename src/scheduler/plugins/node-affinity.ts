/** Node selector and node affinity of a pod. */
import type { Node } from '../../kinds/core/node.ts'
import { preferredNodes, requiredNodeNames, requiredNodes } from '../../kinds/rules/pod/scheduling/node-match.ts'
import { type Plugin, scaleToMax, unresolvable } from '../plugin.ts'

const REJECTION = unresolvable("node(s) didn't match Pod's node affinity/selector")
const CONFLICT = unresolvable('pod affinity terms conflict')

export const nodeAffinity: Plugin = {
  name: 'NodeAffinity',
  isLocal: true,
  weight: 2,
  filter({ pod: { spec } }) {
    const matches = requiredNodes(spec)
    if (!matches) return undefined
    const names = requiredNodeNames(spec)
    if (names?.size === 0) return CONFLICT
    return { test: node => (matches(node) ? undefined : REJECTION), ...(names && { names }) }
  },
  score({ pod: { spec } }) {
    if (!spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution) return undefined
    const terms = preferredNodes(spec)
    return {
      score: node => terms.reduce((sum, { weight, matches }) => (matches(node) ? sum + weight : sum), 0),
      normalize: scores => scaleToMax(scores),
    }
  },
  queueingHints: {
    'node added': ({ spec }, event) => event.about === 'node' && isMatch(requiredNodes(spec), event.after),
    'node labels': ({ spec }, event) => {
      if (event.about !== 'node') return false
      const matches = requiredNodes(spec)
      return isMatch(matches, event.after) && !isMatch(matches, event.before)
    },
  },
}

const isMatch = (matches: ReturnType<typeof requiredNodes>, node: Node | undefined): boolean =>
  node !== undefined && (matches?.({ name: node.metadata.name ?? '', labels: node.metadata.labels ?? {} }) ?? true)
