/** On which nodes the pods of a DaemonSet run, and how a pod is bound to one of them. */

import type { Draft } from '../../client/client.ts'
import type { DaemonSet } from '../../kinds/apps/daemonset.ts'
import type { Node } from '../../kinds/core/node.ts'
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Affinity, Toleration } from '../../kinds/rules/pod/scheduling/affinity.ts'
import { requiredNodes } from '../../kinds/rules/pod/scheduling/node-match.ts'
import { type InEffect, isTolerated, untoleratedTaint } from '../../kinds/rules/pod/scheduling/tolerance.ts'
import type { PodSpec } from '../../kinds/rules/pod/spec.ts'
import { podFromTemplate } from '../pods/pod-template.ts'
import { POD_REVISION_LABEL } from '../revisions/revision.ts'

/** Whether a node is to get a pod, and whether one that is there may stay. */
export type Placement = { readonly mayStart: boolean; readonly mayStay: boolean }

/** How a DaemonSet judges nodes. */
export function placementOf({ spec: { template } }: DaemonSet, inEffect: InEffect): (node: Node) => Placement {
  const { nodeName } = template.spec
  const tolerations = inEffect(daemonTolerations(template.spec))
  const matches = requiredNodes(template.spec)
  return ({ metadata: { name = '', labels = {} }, spec: { taints = [] } }) => {
    if ((nodeName && nodeName !== name) || matches?.({ name, labels }) === false) return { mayStart: false, mayStay: false }
    const mayStay = taints.every(taint => taint.effect !== 'NoExecute' || isTolerated(taint, tolerations))
    return { mayStart: untoleratedTaint(taints, tolerations) === undefined, mayStay }
  }
}

/** Pods of DaemonSets stay on nodes that have a problem, and are placed on most of them. */
const TOLERATED: readonly (readonly [taint: string, effect: string])[] = [
  ['not-ready', 'NoExecute'],
  ['unreachable', 'NoExecute'],
  ['disk-pressure', 'NoSchedule'],
  ['memory-pressure', 'NoSchedule'],
  ['pid-pressure', 'NoSchedule'],
  ['unschedulable', 'NoSchedule'],
]

/** The tolerations of a template, and those that every pod of a DaemonSet has. */
function daemonTolerations({ tolerations: own = [], hostNetwork }: PodSpec): Toleration[] {
  let tolerations = [...own]
  for (const [taint, effect] of hostNetwork ? [...TOLERATED, ['network-unavailable', 'NoSchedule'] as const] : TOLERATED) {
    const toleration = { key: `node.kubernetes.io/${taint}`, operator: 'Exists', effect } as Toleration
    const isSame = ({ key, operator, effect, value = '' }: Toleration) =>
      key === toleration.key && operator === toleration.operator && effect === toleration.effect && value === ''
    if (!tolerations.some(isSame)) tolerations.push(toleration)
    else tolerations = tolerations.map(each => (isSame(each) ? toleration : each))
  }
  return tolerations
}

/** The node that a pod is on, or is for; undefined when it does not say. */
export function targetNode({ spec: { nodeName, affinity } }: Pod): string | undefined {
  if (nodeName) return nodeName
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const names = terms.flatMap(({ matchFields = [] }) => matchFields).find(({ key, operator }) => key === NAME_FIELD && operator === 'In')
  return names?.values?.length === 1 ? names.values[0] : undefined
}

const NAME_FIELD = 'metadata.name'

/** A copy of a template counts its changes in an annotation, and pods have that number as a label. */
const GENERATION_ANNOTATION = 'deprecated.daemonset.template.generation'
const GENERATION_LABEL = 'pod-template-generation'

function templateGeneration({ metadata: { annotations } }: DaemonSet): string | undefined {
  const text = annotations?.[GENERATION_ANNOTATION] ?? ''
  return /^[+-]?[0-9]+$/.test(text) ? String(BigInt(text.replace('+', ''))) : undefined
}

/** Whether a pod is of the current template. */
export function isUpdated({ metadata: { labels = {} } }: Pod, set: DaemonSet, hash: string): boolean {
  const generation = templateGeneration(set)
  return labels[POD_REVISION_LABEL] === hash || (generation !== undefined && labels[GENERATION_LABEL] === generation)
}

/** The pod that a DaemonSet runs on a node. It is the scheduler that puts it there. */
export function podFor(set: DaemonSet, node: string, hash: string): Draft<Pod> {
  const { metadata, spec } = set.spec.template
  const generation = templateGeneration(set)
  const labels = { ...metadata.labels, ...(generation && { [GENERATION_LABEL]: generation }), [POD_REVISION_LABEL]: hash }
  const affinity = onNode(spec.affinity, node)
  return podFromTemplate({ metadata: { ...metadata, labels }, spec: { ...spec, tolerations: daemonTolerations(spec), affinity } }, set)
}

function onNode(affinity: Affinity | undefined, node: string): Affinity {
  const matchFields = [{ key: NAME_FIELD, operator: 'In', values: [node] }]
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const selector = { ...required, nodeSelectorTerms: [{ matchFields }] }
  return { ...affinity, nodeAffinity: { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: selector } } as Affinity
}
