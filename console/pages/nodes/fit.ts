/** Why a pod does not fit on a node, filter by filter, computed from the present objects as the scheduler's filters would. */
import type { KubeObject } from '../../core/object.ts'
import { quantity, short } from '../../core/quantity.ts'

export type Verdict = { readonly plugin: string; readonly isFit: boolean; readonly reason: string }

export type Usage = Readonly<Record<string, number>>

/** The requests of a pod: of its containers together, or of its largest init container. */
export function requestsOf(pod: KubeObject): Record<string, number> {
  const total: Record<string, number> = {}
  const { containers = [], initContainers = [], overhead = {} } = pod['spec'] ?? {}
  for (const { resources } of containers)
    for (const [name, amount] of Object.entries(resources?.requests ?? {})) total[name] = (total[name] ?? 0) + quantity(amount)
  for (const { resources } of initContainers)
    for (const [name, amount] of Object.entries(resources?.requests ?? {})) total[name] = Math.max(total[name] ?? 0, quantity(amount))
  for (const [name, amount] of Object.entries(overhead)) total[name] = (total[name] ?? 0) + quantity(amount)
  return total
}

/** The requests of all pods on a node. */
export function usageOf(pods: readonly KubeObject[]): Record<string, number> {
  const total: Record<string, number> = {}
  for (const pod of pods) for (const [name, amount] of Object.entries(requestsOf(pod))) total[name] = (total[name] ?? 0) + amount
  total['pods'] = pods.length
  return total
}

type Taint = { key: string; value?: string; effect: string }
type Toleration = { key?: string; operator?: string; value?: string; effect?: string }
type Expression = { key: string; operator: string; values?: string[] }

export function verdictsOf(pod: KubeObject, node: KubeObject, onNode: readonly KubeObject[]): Verdict[] {
  const spec = pod['spec'] ?? {}
  const labels = node.metadata.labels ?? {}
  const verdict = (plugin: string, reason: string): Verdict => ({ plugin, isFit: reason === '', reason })
  const tolerations: Toleration[] = spec.tolerations ?? []
  const taints: Taint[] = node['spec']?.taints ?? []
  const isUnschedulable =
    node['spec']?.unschedulable === true &&
    !tolerations.some(one => tolerates(one, { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }))
  const untolerated = taints.find(taint => taint.effect !== 'PreferNoSchedule' && !tolerations.some(one => tolerates(one, taint)))
  const missing = Object.entries((spec.nodeSelector ?? {}) as Record<string, string>).find(([key, value]) => labels[key] !== value)
  const terms: { matchExpressions?: Expression[]; matchFields?: Expression[] }[] =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  const isAffine =
    terms.length === 0 ||
    terms.some(
      ({ matchExpressions = [], matchFields = [] }) =>
        matchExpressions.every(one => expressionFits(one, labels)) &&
        matchFields.every(one => expressionFits(one, { 'metadata.name': node.metadata.name })),
    )
  return [
    verdict('NodeName', spec.nodeName && spec.nodeName !== node.metadata.name ? 'another node is named' : ''),
    verdict('NodeUnschedulable', isUnschedulable ? 'the node is cordoned' : ''),
    verdict(
      'TaintToleration',
      untolerated
        ? `taint ${untolerated.key}${untolerated.value ? `=${untolerated.value}` : ''}:${untolerated.effect} is not tolerated`
        : '',
    ),
    verdict('NodeAffinity', missing ? `label ${missing[0]}=${missing[1]} is missing` : isAffine ? '' : 'no term of the node affinity fits'),
    verdict('NodePorts', portTaken(spec, onNode)),
    verdict('NodeResourcesFit', tooLittle(pod, node, onNode)),
  ]
}

function tolerates({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (!key) return operator === 'Exists'
  return key === taint.key && (operator === 'Exists' || value === (taint.value ?? ''))
}

function expressionFits({ key, operator, values = [] }: Expression, labels: Readonly<Record<string, string>>): boolean {
  const value = labels[key]
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    case 'Gt':
      return Number(value) > Number(values[0])
    case 'Lt':
      return Number(value) < Number(values[0])
    default:
      return false
  }
}

const portsOf = (spec: any): string[] =>
  (spec.containers ?? []).flatMap((container: any) =>
    (container.ports ?? []).filter((port: any) => port.hostPort).map((port: any) => `${port.hostPort}/${port.protocol ?? 'TCP'}`),
  )

function portTaken(spec: any, onNode: readonly KubeObject[]): string {
  const taken = new Set(onNode.flatMap(pod => portsOf(pod['spec'] ?? {})))
  const port = portsOf(spec).find(one => taken.has(one))
  return port ? `port ${port} is taken` : ''
}

function tooLittle(pod: KubeObject, node: KubeObject, onNode: readonly KubeObject[]): string {
  const allocatable: Record<string, string> = node['status']?.allocatable ?? {}
  const used = usageOf(onNode)
  const missing = Object.entries({ ...requestsOf(pod), pods: 1 }).flatMap(([name, wanted]) => {
    const free = quantity(allocatable[name]) - (used[name] ?? 0)
    return wanted > free + 1e-9
      ? [`${name}: ${short(wanted, name !== 'cpu')} wanted, ${short(Math.max(0, free), name !== 'cpu')} free`]
      : []
  })
  return missing.join('; ')
}
