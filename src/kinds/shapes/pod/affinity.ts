/** Which nodes, and which neighbours, a pod wants or avoids. */
import { atomic, int32, int64, message, type Static, string } from '../../../schema/types.ts'
import { LabelSelector } from '../meta.ts'

export const NodeSelectorRequirement = message('NodeSelectorRequirement', {
  key: [1, string.always(), ''],
  operator: [2, string.always(), ''],
  values: [3, atomic(string), ''],
})
export type NodeSelectorRequirement = Static<typeof NodeSelectorRequirement>

export const NodeSelectorTerm = message('NodeSelectorTerm', {
  matchExpressions: [1, atomic(NodeSelectorRequirement), ''],
  matchFields: [2, atomic(NodeSelectorRequirement), ''],
}).atomic()
export type NodeSelectorTerm = Static<typeof NodeSelectorTerm>

export const NodeSelector = message('NodeSelector', {
  nodeSelectorTerms: [1, atomic(NodeSelectorTerm).always(), ''],
}).atomic()
export type NodeSelector = Static<typeof NodeSelector>

export const PreferredSchedulingTerm = message('PreferredSchedulingTerm', {
  weight: [1, int32.always(), ''],
  preference: [2, NodeSelectorTerm.orEmpty(), ''],
})
export type PreferredSchedulingTerm = Static<typeof PreferredSchedulingTerm>

export const NodeAffinity = message('NodeAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: [1, NodeSelector, ''],
  preferredDuringSchedulingIgnoredDuringExecution: [2, atomic(PreferredSchedulingTerm), ''],
})
export type NodeAffinity = Static<typeof NodeAffinity>

export const PodAffinityTerm = message('PodAffinityTerm', {
  labelSelector: [1, LabelSelector, ''],
  namespaces: [2, atomic(string), ''],
  topologyKey: [3, string.always(), ''],
  namespaceSelector: [4, LabelSelector, ''],
  matchLabelKeys: [5, atomic(string), ''],
  mismatchLabelKeys: [6, atomic(string), ''],
})
export type PodAffinityTerm = Static<typeof PodAffinityTerm>

export const WeightedPodAffinityTerm = message('WeightedPodAffinityTerm', {
  weight: [1, int32.always(), ''],
  podAffinityTerm: [2, PodAffinityTerm.orEmpty(), ''],
})
export type WeightedPodAffinityTerm = Static<typeof WeightedPodAffinityTerm>

export const PodAffinity = message('PodAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: [1, atomic(PodAffinityTerm), ''],
  preferredDuringSchedulingIgnoredDuringExecution: [2, atomic(WeightedPodAffinityTerm), ''],
})
export type PodAffinity = Static<typeof PodAffinity>

export const PodAntiAffinity = message('PodAntiAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: [1, atomic(PodAffinityTerm), ''],
  preferredDuringSchedulingIgnoredDuringExecution: [2, atomic(WeightedPodAffinityTerm), ''],
})
export type PodAntiAffinity = Static<typeof PodAntiAffinity>

export const Affinity = message('Affinity', {
  nodeAffinity: [1, NodeAffinity, ''],
  podAffinity: [2, PodAffinity, ''],
  podAntiAffinity: [3, PodAntiAffinity, ''],
})
export type Affinity = Static<typeof Affinity>

export const Toleration = message('Toleration', {
  key: [1, string, ''],
  operator: [2, string, ''],
  value: [3, string, ''],
  effect: [4, string, ''],
  tolerationSeconds: [5, int64.optional(), ''],
})
export type Toleration = Static<typeof Toleration>

export const TopologySpreadConstraint = message('TopologySpreadConstraint', {
  maxSkew: [1, int32.always(), ''],
  topologyKey: [2, string.always(), ''],
  whenUnsatisfiable: [3, string.always(), ''],
  labelSelector: [4, LabelSelector, ''],
  minDomains: [5, int32.optional(), ''],
  nodeAffinityPolicy: [6, string.optional(), ''],
  nodeTaintsPolicy: [7, string.optional(), ''],
  matchLabelKeys: [8, atomic(string), ''],
})
export type TopologySpreadConstraint = Static<typeof TopologySpreadConstraint>
