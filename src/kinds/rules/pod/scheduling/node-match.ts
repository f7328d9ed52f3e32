/** Evaluates the node selector and node affinity of a pod. */
import { type LabelOperator, type LabelTerms, labelTerm, matchesLabelTerms } from '../../../../schema/selectors.ts'
import type { PodSpec } from '../spec.ts'
import type { NodeSelector, NodeSelectorRequirement, NodeSelectorTerm } from './node-selector.ts'

/** The name and labels of a node. */
export type NodeIdentity = { readonly name: string; readonly labels: Readonly<Record<string, string>> }
export type NodeTest = (node: NodeIdentity) => boolean

/** The nodes that a pod requires by labels and name; undefined when it has no requirements. */
export function requiredNodes({ nodeSelector, affinity }: Pick<PodSpec, 'nodeSelector' | 'affinity'>): NodeTest | undefined {
  const labels = Object.entries(nodeSelector ?? {})
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  if (labels.length === 0 && !required) return undefined
  const selects = required ? nodesSelectedBy(required) : undefined
  return node => labels.every(([key, value]) => Object.hasOwn(node.labels, key) && node.labels[key] === value) && (selects?.(node) ?? true)
}

/** The nodes that match one of the terms; without terms none do. */
export function nodesSelectedBy({ nodeSelectorTerms = [] }: NodeSelector): NodeTest {
  const terms = nodeSelectorTerms.flatMap(term => termTest(term) ?? [])
  return node => terms.some(matches => matches(node))
}

/** The nodes that a pod prefers, with weights. */
export function preferredNodes({ affinity }: Pick<PodSpec, 'affinity'>): { readonly weight: number; readonly matches: NodeTest }[] {
  const preferred = affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  return preferred.flatMap(({ weight, preference }) => {
    const matches = weight === 0 ? undefined : termTest(preference)
    return matches ? [{ weight, matches }] : []
  })
}

/** The node names to which every term restricts the pod; undefined when one of them does not. */
export function requiredNodeNames({ affinity }: Pick<PodSpec, 'affinity'>): ReadonlySet<string> | undefined {
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  if (terms.length === 0) return undefined
  const names = new Set<string>()
  for (const { matchFields = [] } of terms) {
    const lists = matchFields.filter(({ key, operator }) => key === NAME && operator === 'In').map(({ values = [] }) => values)
    if (lists.length === 0) return undefined
    for (const name of lists[0]!) if (lists.every(list => list.includes(name))) names.add(name)
  }
  return names
}

const NAME = 'metadata.name'
const OPERATORS: Readonly<Record<string, LabelOperator>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
  Gt: 'gt',
  Lt: 'lt',
}

/** Undefined for an empty or invalid term, which matches no node. */
function termTest({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): NodeTest | undefined {
  if (matchExpressions.length === 0 && matchFields.length === 0) return undefined
  const labels = labelTerms(matchExpressions)
  const isKnown = matchFields.every(({ operator, values = [] }) => (operator === 'In' || operator === 'NotIn') && values.length === 1)
  if (!labels || !isKnown) return undefined
  return node =>
    matchesLabelTerms(labels, node.labels) &&
    matchFields.every(({ key, operator, values }) => ((key === NAME ? node.name : '') === values![0]) === (operator === 'In'))
}

function labelTerms(requirements: readonly NodeSelectorRequirement[]): LabelTerms | undefined {
  const made = requirements.map(({ key, operator, values = [] }) =>
    Object.hasOwn(OPERATORS, operator) ? labelTerm(key, OPERATORS[operator]!, values) : undefined,
  )
  const terms = made.flatMap(each => (each && each.errors.length === 0 ? [each.term] : []))
  return terms.length === made.length ? terms : undefined
}
