/** The metrics of a kubelet, as far as the simulation has values for them. */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Family } from '../../lib/exposition.ts'
import { integerValue, parseQuantity } from '../../lib/quantity.ts'
import { bytesOf, type Look, running, total, wholeNode } from '../usage/node-usage.ts'

export function ownFamilies(look: Look): Family[] {
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

export function resourceFamilies(look: Look): Family[] {
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

export function cadvisorFamilies(look: Look): Family[] {
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

const labelsOf = ({ metadata }: Pod): Record<string, string> => ({ namespace: metadata.namespace ?? '', pod: metadata.name ?? '' })
const everyContainer = (look: Look) =>
  running(look).flatMap(({ pod, containers }) => containers.map(each => ({ ...each, labels: { container: each.name, ...labelsOf(pod) } })))

const secondsOf = (ms: number): number => Math.round(ms) / 1000
