/** Which nodes, and which neighbours, a pod wants or avoids. */
import { atomic, int32, int64, message, type Static, string } from '../../../../schema/types.ts'
import { LabelSelector } from '../../meta.ts'

export const NodeSelectorRequirement = message('NodeSelectorRequirement', {
  key: [1, string.always(), 'The label or field.'],
  operator: [2, string.always(), 'In, NotIn, Exists, DoesNotExist, Gt or Lt.'],
  values: [3, atomic(string), 'What it is compared with; one number for Gt and Lt.'],
})
export type NodeSelectorRequirement = Static<typeof NodeSelectorRequirement>

export const NodeSelectorTerm = message('NodeSelectorTerm', {
  matchExpressions: [1, atomic(NodeSelectorRequirement), 'Conditions on labels of the node.'],
  matchFields: [2, atomic(NodeSelectorRequirement), 'Conditions on fields of the node.'],
}).atomic()
export type NodeSelectorTerm = Static<typeof NodeSelectorTerm>

export const NodeSelector = message('NodeSelector', {
  nodeSelectorTerms: [1, atomic(NodeSelectorTerm).always(), 'Terms of which one must match.'],
}).atomic()
export type NodeSelector = Static<typeof NodeSelector>

export const PreferredSchedulingTerm = message('PreferredSchedulingTerm', {
  weight: [1, int32.always(), 'How much a match counts, 1 to 100.'],
  preference: [2, NodeSelectorTerm.orEmpty().expected(), 'What the node should match.'],
})
export type PreferredSchedulingTerm = Static<typeof PreferredSchedulingTerm>

export const NodeAffinity = message('NodeAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: [1, NodeSelector, 'What nodes must match when the pod is placed.'],
  preferredDuringSchedulingIgnoredDuringExecution: [2, atomic(PreferredSchedulingTerm), 'What nodes had better match, with weights.'],
})
export type NodeAffinity = Static<typeof NodeAffinity>

export const PodAffinityTerm = message('PodAffinityTerm', {
  labelSelector: [1, LabelSelector, 'Which pods are meant.'],
  namespaces: [2, atomic(string), 'Namespaces to look in; that of the pod when nothing is said.'],
  topologyKey: [3, string.always(), 'The node label that says what counts as one place.'],
  namespaceSelector: [4, LabelSelector, 'Namespaces to look in, by label.'],
  matchLabelKeys: [5, atomic(string), 'Labels whose values they must share with the pod.'],
  mismatchLabelKeys: [6, atomic(string), 'Labels whose values they must not share with the pod.'],
})
export type PodAffinityTerm = Static<typeof PodAffinityTerm>

export const WeightedPodAffinityTerm = message('WeightedPodAffinityTerm', {
  weight: [1, int32.always(), 'How much a match counts, 1 to 100.'],
  podAffinityTerm: [2, PodAffinityTerm.orEmpty().expected(), 'Which pods are meant, and what is near.'],
})
export type WeightedPodAffinityTerm = Static<typeof WeightedPodAffinityTerm>

export const PodAffinity = message('PodAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: [1, atomic(PodAffinityTerm), 'Pods that must be near when the pod is placed.'],
  preferredDuringSchedulingIgnoredDuringExecution: [2, atomic(WeightedPodAffinityTerm), 'Pods to be near if possible, with weights.'],
})
export type PodAffinity = Static<typeof PodAffinity>

export const PodAntiAffinity = message('PodAntiAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: [1, atomic(PodAffinityTerm), 'Pods that must not be near when the pod is placed.'],
  preferredDuringSchedulingIgnoredDuringExecution: [
    2,
    atomic(WeightedPodAffinityTerm),
    'Pods to stay away from if possible, with weights.',
  ],
})
export type PodAntiAffinity = Static<typeof PodAntiAffinity>

export const Affinity = message('Affinity', {
  nodeAffinity: [1, NodeAffinity, 'Rules about nodes.'],
  podAffinity: [2, PodAffinity, 'Pods to be near.'],
  podAntiAffinity: [3, PodAntiAffinity, 'Pods to be away from.'],
})
export type Affinity = Static<typeof Affinity>

export const Toleration = message('Toleration', {
  key: [1, string, 'The taint; all when empty.'],
  operator: [2, string, 'Exists, or Equal to compare the value.'],
  value: [3, string, 'The value of the taint, for Equal.'],
  effect: [4, string, 'The effect it accepts: NoSchedule, PreferNoSchedule or NoExecute; all when empty.'],
  tolerationSeconds: [5, int64.optional(), 'Seconds a NoExecute taint is accepted; forever when absent.'],
})
export type Toleration = Static<typeof Toleration>

export const TopologySpreadConstraint = message('TopologySpreadConstraint', {
  maxSkew: [1, int32.always(), 'How uneven the spread may be.'],
  topologyKey: [2, string.always(), 'The node label that says what counts as one place.'],
  whenUnsatisfiable: [3, string.always(), 'DoNotSchedule, or ScheduleAnyway.'],
  labelSelector: [4, LabelSelector, 'Which pods are counted.'],
  minDomains: [5, int32.optional(), 'Places there must be at least for the spread to count.'],
  nodeAffinityPolicy: [6, string.optional(), 'Whether nodes the pod cannot go to by its own rules count: Honor or Ignore.'],
  nodeTaintsPolicy: [7, string.optional(), 'Whether nodes with taints the pod does not accept count: Honor or Ignore.'],
  matchLabelKeys: [8, atomic(string), 'Labels whose values counted pods share with this one.'],
})
export type TopologySpreadConstraint = Static<typeof TopologySpreadConstraint>
