/**
 * What a kubelet tells of itself and its pods, at `/api/v1/nodes/NAME/proxy/…`: its health, its pods, what they use, and metrics for
 * Prometheus.
 */
import type { Client } from '../../client/client.ts'
import { encodeObject } from '../../codec/stored-bytes.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import type { PodObject } from '../../kinds/core/pod/preparation.ts'
import { containersOf } from '../../kinds/shapes/pod/containers/container.ts'
import { integerValue, parseQuantity } from '../../lib/quantity.ts'
import { formatTime, instantOf } from '../../lib/time.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { NodeObject } from '../node/simulated-node.ts'
import { type Measured, measure, OF_NODE } from '../usage/usage.ts'
import { type Family, metricsText } from './metrics-text.ts'

export type KubeletAnswer = { readonly mediaType: string; readonly text: string }

type Look = { readonly node: NodeObject; readonly pods: readonly PodObject[]; readonly now: number }
type Endpoint = (look: Look) => KubeletAnswer

/** Undefined where a kubelet tells nothing. */
export function kubeletAnswer(client: Client, node: NodeObject, path: string): KubeletAnswer | undefined {
  const endpoint = ENDPOINTS.get(path.replace(/\/+$/, '') || '/')
  if (!endpoint) return undefined
  const { name = '' } = node.metadata
  const pods = [...client.of(Pod).list({ field: { key: 'spec.nodeName', value: name } })] as unknown as PodObject[]
  return endpoint({ node, pods, now: client.now.getTime() })
}

const healthy: Endpoint = () => ({ mediaType: 'text/plain; charset=utf-8', text: 'ok' })
const json = (value: unknown): KubeletAnswer => ({ mediaType: 'application/json', text: JSON.stringify(value) })
const metrics =
  (families: (look: Look) => readonly Family[]): Endpoint =>
  look => ({ mediaType: 'text/plain; version=0.0.4; charset=utf-8', text: metricsText(families(look)) })

const podList = (items: readonly object[]) => json({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items })
const plain = (pod: PodObject): object => JSON.parse(Buffer.from(encodeObject(pod as unknown as AnyObject)).toString())

const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map([
  ['/healthz', healthy],
  ['/healthz/ping', healthy],
  ['/healthz/log', healthy],
  ['/healthz/syncloop', healthy],
  ['/pods', ({ pods }) => podList(pods.map(plain))],
  ['/runningpods', look => podList(running(look).map(({ pod, containers }) => runningPod(pod, containers)))],
  ['/configz', ({ node }) => json({ kubeletconfig: configuration(node) })],
  ['/stats/summary', look => json(summary(look))],
  ['/metrics', metrics(ownFamilies)],
  ['/metrics/resource', metrics(resourceFamilies)],
  ['/metrics/cadvisor', metrics(cadvisorFamilies)],
  ['/metrics/probes', metrics(() => [])],
])

type Running = { readonly pod: PodObject; readonly containers: readonly Measured[] }

function running({ pods, now }: Look): Running[] {
  return pods.flatMap(pod => {
    const containers = measure(pod, now)
    return containers ? [{ pod, containers }] : []
  })
}

/** What the container runtime knows of a pod. */
function runningPod({ metadata, spec }: PodObject, containers: readonly Measured[]): object {
  const images = new Map(containersOf(spec).map(({ name, image }) => [name, image]))
  const { name, namespace, uid } = metadata
  return {
    metadata: { name, namespace, uid, creationTimestamp: null },
    spec: { containers: containers.map(each => ({ name: each.name, image: images.get(each.name), resources: {} })) },
    status: {},
  }
}

/** What of a kubelet's configuration can be told from what the node does. */
function configuration({ spec, status }: NodeObject): object {
  return {
    enableServer: true,
    port: status.daemonEndpoints?.kubeletEndpoint?.Port,
    clusterDomain: 'cluster.local',
    nodeStatusUpdateFrequency: '10s',
    nodeStatusReportFrequency: '5m0s',
    nodeLeaseDurationSeconds: 40,
    maxPods: Number(status.capacity?.['pods'] ?? 0),
    ...(spec.podCIDR && { podCIDR: spec.podCIDR }),
    crashLoopBackOff: { maxContainerRestartPeriod: '5m0s' },
  }
}

const secondsOf = (ms: number): number => Math.round(ms) / 1000
const bytesOf = (milli: bigint): number => Number(milli / 1000n)
const total = (containers: readonly Measured[]) => ({
  cpuMs: containers.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  cpu: containers.reduce((sum, { amounts }) => sum + amounts.cpu, 0n),
  memory: containers.reduce((sum, { amounts }) => sum + amounts.memory, 0n),
})
const startOf = ({ metadata }: { readonly metadata: AnyObject['metadata'] }): number => Date.parse(metadata.creationTimestamp ?? '') || 0

/** What the node itself uses, and its pods. */
function wholeNode(look: Look) {
  const own = total(running(look).flatMap(({ containers }) => containers))
  const upMs = Math.max(0, look.now - startOf(look.node))
  return { cpuMs: own.cpuMs + (upMs * Number(OF_NODE.cpu)) / 1000, cpu: own.cpu + OF_NODE.cpu, memory: own.memory + OF_NODE.memory }
}

function summary(look: Look): object {
  const time = formatTime(instantOf(look.now))
  const usage = ({ cpuMs, cpu, memory }: { cpuMs: number; cpu: bigint; memory: bigint }) => ({
    cpu: { time, usageNanoCores: Number(cpu) * 1e6, usageCoreNanoSeconds: Math.round(cpuMs * 1e6) },
    memory: { time, usageBytes: bytesOf(memory), workingSetBytes: bytesOf(memory), rssBytes: bytesOf(memory) },
  })
  const whole = wholeNode(look)
  const capacity = Number(integerValue(parseQuantity(String(look.node.status.capacity?.['memory'] ?? '0'))))
  const { cpu, memory } = usage(whole)
  return {
    node: {
      nodeName: look.node.metadata.name,
      startTime: look.node.metadata.creationTimestamp,
      cpu,
      memory: { ...memory, availableBytes: Math.max(0, capacity - bytesOf(whole.memory)) },
    },
    pods: running(look).map(({ pod, containers }) => ({
      podRef: { name: pod.metadata.name, namespace: pod.metadata.namespace, uid: pod.metadata.uid },
      startTime: pod.status.startTime,
      containers: containers.map(each => ({
        name: each.name,
        startTime: formatTime(instantOf(each.startedMs)),
        ...usage({ cpuMs: each.cpuMs, ...each.amounts }),
      })),
      ...usage(total(containers)),
    })),
  }
}

/** A kubelet's own metrics, as far as there is something behind them. */
function ownFamilies(look: Look): Family[] {
  const states = { created: 0, exited: 0, running: 0, unknown: 0 }
  for (const { status } of look.pods)
    for (const { state } of [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])]) {
      if (state.running) states.running++
      if (state.terminated) states.exited++
    }
  return [
    {
      name: 'kubelet_node_name',
      type: 'gauge',
      help: "The node's name. The count is always 1.",
      samples: [[{ node: look.node.metadata.name ?? '' }, 1]],
    },
    {
      name: 'kubelet_running_pods',
      type: 'gauge',
      help: 'Number of pods that have a running pod sandbox',
      samples: [[{}, running(look).length]],
    },
    {
      name: 'kubelet_running_containers',
      type: 'gauge',
      help: 'Number of containers currently running',
      samples: Object.entries(states).map(([state, count]) => [{ container_state: state }, count]),
    },
  ]
}

function resourceFamilies(look: Look): Family[] {
  const pods = running(look).map(({ pod, containers }) => ({ ...total(containers), labels: labelsOf(pod) }))
  const containers = everyContainer(look)
  const whole = wholeNode(look)
  return [
    {
      name: 'container_cpu_usage_seconds_total',
      type: 'counter',
      help: 'Cumulative cpu time consumed by the container in core-seconds',
      samples: containers.map(({ labels, cpuMs }) => [labels, secondsOf(cpuMs)]),
    },
    {
      name: 'container_memory_working_set_bytes',
      type: 'gauge',
      help: 'Current working set of the container in bytes',
      samples: containers.map(({ labels, amounts }) => [labels, bytesOf(amounts.memory)]),
    },
    {
      name: 'container_start_time_seconds',
      type: 'gauge',
      help: 'Start time of the container since unix epoch in seconds',
      samples: containers.map(({ labels, startedMs }) => [labels, secondsOf(startedMs)]),
    },
    {
      name: 'node_cpu_usage_seconds_total',
      type: 'counter',
      help: 'Cumulative cpu time consumed by the node in core-seconds',
      samples: [[{}, secondsOf(whole.cpuMs)]],
    },
    {
      name: 'node_memory_working_set_bytes',
      type: 'gauge',
      help: 'Current working set of the node in bytes',
      samples: [[{}, bytesOf(whole.memory)]],
    },
    {
      name: 'pod_cpu_usage_seconds_total',
      type: 'counter',
      help: 'Cumulative cpu time consumed by the pod in core-seconds',
      samples: pods.map(({ labels, cpuMs }) => [labels, secondsOf(cpuMs)]),
    },
    {
      name: 'pod_memory_working_set_bytes',
      type: 'gauge',
      help: 'Current working set of the pod in bytes',
      samples: pods.map(({ labels, memory }) => [labels, bytesOf(memory)]),
    },
    {
      name: 'resource_scrape_error',
      type: 'gauge',
      help: '1 if there was an error while getting container metrics, 0 otherwise',
      samples: [[{}, 0]],
    },
  ]
}

function cadvisorFamilies(look: Look): Family[] {
  const containers = everyContainer(look)
  const { capacity } = look.node.status
  const amount = (resource: string) => Number(integerValue(parseQuantity(String(capacity?.[resource] ?? '0'))))
  return [
    {
      name: 'container_cpu_usage_seconds_total',
      type: 'counter',
      help: 'Cumulative cpu time consumed in seconds.',
      samples: containers.map(({ labels, cpuMs }) => [{ ...labels, cpu: 'total' }, secondsOf(cpuMs)]),
    },
    {
      name: 'container_memory_working_set_bytes',
      type: 'gauge',
      help: 'Current working set in bytes.',
      samples: containers.map(({ labels, amounts }) => [labels, bytesOf(amounts.memory)]),
    },
    {
      name: 'container_start_time_seconds',
      type: 'gauge',
      help: 'Start time of the container since unix epoch in seconds.',
      samples: containers.map(({ labels, startedMs }) => [labels, secondsOf(startedMs)]),
    },
    { name: 'machine_cpu_cores', type: 'gauge', help: 'Number of logical CPU cores.', samples: [[{}, amount('cpu')]] },
    { name: 'machine_memory_bytes', type: 'gauge', help: 'Amount of memory installed on the machine.', samples: [[{}, amount('memory')]] },
  ]
}

const labelsOf = ({ metadata }: PodObject): Record<string, string> => ({ namespace: metadata.namespace ?? '', pod: metadata.name ?? '' })
const everyContainer = (look: Look) =>
  running(look).flatMap(({ pod, containers }) => containers.map(each => ({ ...each, labels: { container: each.name, ...labelsOf(pod) } })))
