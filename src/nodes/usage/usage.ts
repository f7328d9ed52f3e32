/**
 * The resource usage of simulated containers: scripted by annotations of their pod, or a part of their requests.
 *
 *     sim.keelson.dev/cpu-usage: 250m                          always a quarter of a processor
 *     web.sim.keelson.dev/cpu-usage: 20%, 150% after 1m        of the requests of the container web, more after a minute
 */
import type { Pod } from '../../kinds/core/pod/pod.ts'
import type { Container } from '../../kinds/rules/pod/containers/container.ts'
import { milliValue, parseQuantity, quantityOf } from '../../lib/quantity.ts'
import { millisecondsAt } from '../../lib/time.ts'
import { annotatedScript } from '../script/script.ts'
import type { Use } from './scripted-use.ts'

/** Usage of each resource, as quantities. */
export type Usage = Readonly<Record<'cpu' | 'memory', string>>
export type ContainerUsage = { readonly name: string; readonly usage: Usage }

/** Defaults: shares of the request, and amounts for containers without requests. All amounts here are thousandths. */
const DEFAULTS = { cpu: { percent: 30, without: 10n }, memory: { percent: 60, without: 32n * 1024n ** 2n * 1000n } }
/** The usage of a node without pods. */
export const OF_NODE = { cpu: 50n, memory: 300n * 1024n ** 2n * 1000n }

type Amounts = { readonly cpu: bigint; readonly memory: bigint }

/** A running container: its current usage in thousandths, and the processor time used since its start. */
export type Measured = { readonly name: string; readonly startedMs: number; readonly amounts: Amounts; readonly cpuMs: number }

/** The running containers of a pod; undefined before it runs and after it has ended. */
export function podUsage(pod: Pod, nowMs: number): ContainerUsage[] | undefined {
  const found = measure(pod, nowMs)
  return found?.map(({ name, amounts }) => ({ name, usage: quantities(amounts) }))
}

/** The usage of a node with the pods on it. */
export function nodeUsage(pods: Iterable<Pod>, nowMs: number): Usage {
  let { cpu, memory } = OF_NODE
  for (const pod of pods)
    for (const { amounts } of measure(pod, nowMs) ?? []) {
      cpu += amounts.cpu
      memory += amounts.memory
    }
  return quantities({ cpu, memory })
}

/** Undefined for a pod that does not run. */
export function measure({ metadata, spec, status }: Pod, nowMs: number): Measured[] | undefined {
  if (status?.phase !== 'Running') return undefined
  const running = new Map<string, number>()
  for (const { name, state } of [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])])
    if (state?.running) running.set(name, millisecondsAt(state.running.startedAt, Number.NaN))
  const of = (container: Container, isInit: boolean) => {
    const startedMs = running.get(container.name)
    if (startedMs === undefined) return []
    const { cpuUse, memoryUse } = annotatedScript(metadata, container, isInit)
    const ranMs = Math.max(0, nowMs - startedMs) || 0
    const amounts = { cpu: amountOf(container, 'cpu', cpuUse, ranMs), memory: amountOf(container, 'memory', memoryUse, ranMs) }
    const cpuMs = processorMs(cpuUse, ranMs, use => amountOf(container, 'cpu', use ? [{ ...use, afterMs: 0 }] : [], 0))
    return [{ name: container.name, startedMs, amounts, cpuMs }]
  }
  const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  const found = [...(spec.containers ?? []).flatMap(each => of(each, false)), ...sidecars.flatMap(each => of(each, true))]
  return found.length > 0 ? found : undefined
}

function amountOf({ resources }: Container, resource: 'cpu' | 'memory', uses: readonly Use[], ranMs: number): bigint {
  const requests: Readonly<Record<string, string>> = resources?.requests ?? {}
  const requested = requests[resource] === undefined ? undefined : milliValue(parseQuantity(requests[resource]))
  const { percent, without } = DEFAULTS[resource]
  const use = uses.findLast(({ afterMs }) => afterMs <= ranMs)
  if (use?.milli !== undefined) return use.milli
  // A share of a request of zero is zero; a container without a request uses the default amount.
  if (use?.percent !== undefined) return ((requested ?? 0n) * BigInt(use.percent)) / 100n
  return requested === undefined ? without : (requested * BigInt(percent)) / 100n
}

const quantities = ({ cpu, memory }: Amounts): Usage => ({
  cpu: quantityOf(cpu, -3).text,
  // Whole kibibytes, as a metrics server reports them.
  memory: quantityOf((memory / 1_024_000n) * 1024n, 0, 'BinarySI').text,
})

/** The milliseconds of one processor that a container has used since its start, from usages in thousandths, each valid from a time on. */
function processorMs(uses: readonly Use[], ranMs: number, milliOf: (use: Use | undefined) => bigint): number {
  const changes = [...new Set([0, ...uses.map(({ afterMs }) => afterMs)])].filter(at => at < ranMs).sort((a, b) => a - b)
  let sum = 0
  for (const [i, from] of changes.entries()) {
    const until = Math.min(changes[i + 1] ?? ranMs, ranMs)
    const use = uses.findLast(({ afterMs }) => afterMs <= from)
    sum += (until - from) * Number(milliOf(use))
  }
  return sum / 1000
}
